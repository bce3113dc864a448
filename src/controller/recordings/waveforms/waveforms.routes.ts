import { conflict } from '../../../kernel/fail.ts'
import { type Waveform, WaveformQuery } from '../../../wire/recordings.ts'
import { type AnyRoute, type Done, route } from '../../http/route.ts'
import { byRendition, chosenFile } from '../library/recordings.rules.ts'
import type { RecordingStore } from '../library/recordings.store.ts'
import { channelOf, resampled } from './peaks.rules.ts'
import type { WaveformStore } from './waveforms.store.ts'
import type { Waveforms } from './waveforms.ts'

interface Parts {
  making: Waveforms
  recordings: RecordingStore
  waveforms: WaveformStore
}

const RETRY_SECONDS = 2
const POINTS = 1000

export const waveformRoutes = ({ making, recordings, waveforms }: Parts): AnyRoute[] => [
  // The permission to listen includes the waveform.
  route({
    method: 'GET',
    path: '/recordings/:id/waveform',
    auth: 'user',
    permission: 'recording:playback',
    action: 'recordings.waveform.read',
    target: (p) => ({ type: 'recording', id: p.id }),
    query: WaveformQuery,
    otherwise: { 202: 'It is being made: ask again after Retry-After' },
    run: ({ params: { id }, query: { points = POINTS, rendition } }): Done<Waveform> => {
      recordings.get(id)
      const file = chosenFile(byRendition(recordings.files(id)), rendition)
      if (!file) throw conflict('recording_not_cached', 'Recording is not cached')
      const found = waveforms.find(id, file.checksum)
      const about = { checksum: file.checksum, recordingId: id, rendition: file.rendition }
      if (!found) {
        const data: Waveform = { ...about, state: 'pending', ...making.want(file) }
        return { data, headers: { 'retry-after': String(RETRY_SECONDS) }, status: 202 }
      }
      const peaks = resampled(found.peaks, points)
      const channels = Array.from({ length: peaks.channels }, (_, channel) => channelOf(peaks, channel))
      const { sampleRate, samples: sampleCount } = found
      return { data: { ...about, channels, points: peaks.points, sampleCount, sampleRate, state: 'ready' } }
    },
  }),
]
