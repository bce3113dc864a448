import type { WaveformPreview } from '../../../wire/recordings.ts'
import type { Db } from '../../store/db.ts'
import type { RecordingFile } from '../library/recordings.store.ts'
import type { MadePeaks } from './peaks.ffmpeg.ts'
import { type Peaks, previewOf } from './peaks.rules.ts'

interface Waveform {
  peaks: Peaks
  preview: WaveformPreview
  sampleRate: number
  /** Per channel. */
  samples: number
}

type Bare = Pick<RecordingFile, 'checksum' | 'path' | 'recordingId'>
type Row = { channels: number; peaks: Buffer; points: number; preview: string; sampleRate: number; samples: number }
type NewRow = Omit<Row, 'peaks'> & { checksum: string; now: string; peaks: Int8Array; recordingId: string }

/** Peaks of stored files; those of replaced files are removed with the next insert, all with the recording. */
export function waveformStore(db: Db) {
  const one = db.stmt<{ recordingId: string; checksum: string }, Row>(
    `SELECT channels, sample_rate AS sampleRate, samples, points, peaks, preview FROM recording_waveforms
      WHERE recording_id = @recordingId AND checksum = @checksum`,
  )
  // Only if the recording still has this file: it may have been deleted or retried meanwhile.
  const insert = db.stmt<NewRow>(
    `INSERT INTO recording_waveforms (recording_id, checksum, channels, sample_rate, samples, points, peaks, preview, made_at)
     SELECT recording_id, checksum, @channels, @sampleRate, @samples, @points, @peaks, @preview, @now FROM recording_files
      WHERE recording_id = @recordingId AND checksum = @checksum LIMIT 1
     ON CONFLICT DO NOTHING`,
  )
  const prune = db.stmt<{ recordingId: string }>(
    `DELETE FROM recording_waveforms WHERE recording_id = @recordingId
       AND checksum NOT IN (SELECT checksum FROM recording_files WHERE recording_id = @recordingId)`,
  )
  const bare = db.stmt<{ since: string; limit: number }, Bare>(
    `SELECT f.recording_id AS recordingId, f.path, f.checksum FROM recording_files f INDEXED BY recording_files_stored
      WHERE f.stored_at > @since AND NOT EXISTS (
        SELECT 1 FROM recording_waveforms w WHERE w.recording_id = f.recording_id AND w.checksum = f.checksum)
      ORDER BY f.stored_at DESC LIMIT @limit`,
  )
  return {
    /** The newest files stored after `since` that have none. */
    bare: (since: string, limit: number): Bare[] => bare.all({ since, limit }),
    find(recordingId: string, checksum: string): Waveform | undefined {
      const row = one.get({ recordingId, checksum })
      if (!row) return undefined
      const { channels, peaks, points, preview, sampleRate, samples } = row
      const data = new Int8Array(peaks.buffer, peaks.byteOffset, peaks.length)
      return { peaks: { channels, data, points }, preview: JSON.parse(preview), sampleRate, samples }
    },
    keep(recordingId: string, checksum: string, { peaks, sampleRate, samples }: MadePeaks, now: string): void {
      const preview = previewOf(peaks, { generatedAt: now, sampleCount: samples, sampleRate })
      const { channels, data, points } = peaks
      db.tx(() => {
        prune.run({ recordingId })
        insert.run({
          channels,
          checksum,
          now,
          peaks: data,
          points,
          preview: JSON.stringify(preview),
          recordingId,
          sampleRate,
          samples,
        })
      }, false)
    },
  }
}
export type WaveformStore = ReturnType<typeof waveformStore>
