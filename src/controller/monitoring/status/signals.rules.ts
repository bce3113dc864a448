// Levels and live audio as metrics, from memory.
import type { AudioLevel, AudioQuality } from '../../../wire/meters.ts'
import type { ChunkFact } from '../listen/chunks.store.ts'
import { type Family, gauge, type Sample } from './family.rules.ts'

/** A channel in the newest frame. */
export interface Input {
  interfaceId: string
  level: AudioLevel
  nodeId: string
}

/** Open endless answers. */
interface Streams {
  events: number
  listeners: number
}

export interface Signals {
  chunks: ChunkFact[]
  inputs: Input[]
  /** Only for callers who see everything. */
  streams: Streams | undefined
}

const labelsOf = ({ interfaceId, level, nodeId }: Input) => ({
  channel: String(level.channelIndex),
  interface_id: interfaceId,
  node_id: nodeId,
})

type Value = (level: AudioLevel) => number | undefined
const quality =
  (of: (quality: AudioQuality) => number | undefined): Value =>
  ({ quality }) =>
    quality && of(quality)

const INPUTS: [name: string, help: string, value: Value][] = [
  ['rms_dbfs', 'Level of the newest frame, RMS', (l) => l.rmsDbfs],
  ['peak_dbfs', 'Level of the newest frame, peak', (l) => l.peakDbfs],
  ['clipping_ratio', 'Whether the newest frame clips', (l) => Number(l.clipping)],
  ['speech_score', 'Likeness to speech, 0 to 1', quality((q) => q.speechScore)],
  ['noise_score', 'Likeness to noise, 0 to 1', quality((q) => q.noiseScore)],
  ['broadband_noise_score', 'Broadband noise, 0 to 1', quality((q) => q.broadbandNoiseScore)],
  ['hum_score', 'Mains hum, 0 to 1', quality((q) => q.humScore)],
  ['static_score', 'Crackle, 0 to 1', quality((q) => q.staticScore)],
  ['estimated_snr_db', 'Estimated distance of signal and noise, dB', quality((q) => q.estimatedSnrDb)],
  ['intelligibility_score', 'Estimated intelligibility, 0 to 1', quality((q) => q.intelligibilityScore)],
]

export const signalFamilies = ({ chunks, inputs, streams }: Signals): Family[] => [
  ...INPUTS.map(([name, help, value]) =>
    gauge(
      `input_${name}`,
      help,
      inputs.flatMap((input) => {
        const n = value(input.level)
        return n === undefined ? [] : [[labelsOf(input), n] as const]
      }),
    ),
  ),
  gauge('input_channel_correlation_score', 'Correlation with another channel, -1 to 1', inputs.flatMap(correlation)),
  ...listenFamilies(chunks),
  ...(streams
    ? [
        gauge('listen_sessions_active', 'People who listen to nodes', [[{}, streams.listeners]]),
        gauge('event_streams_active', 'Endless answers that are being read', [[{}, streams.events]]),
      ]
    : []),
]

function correlation(input: Input): Sample[] {
  const found = input.level.quality?.channelCorrelation
  if (!found) return []
  return [[{ ...labelsOf(input), peer_channel: String(found.peerChannelIndex), phase: found.phase }, found.score]]
}

function listenFamilies(chunks: ChunkFact[]): Family[] {
  // Raw and enhanced audio of a node share their labels: the newer one counts.
  const newest = new Map<string, ChunkFact>()
  for (const chunk of chunks) {
    const key = `${chunk.nodeId} ${chunk.source}`
    const held = newest.get(key)
    if (!held || chunk.ageSeconds < held.ageSeconds) newest.set(key, chunk)
  }
  const each = (value: (chunk: ChunkFact) => number): Sample[] =>
    [...newest.values()].map((chunk) => [{ node_id: chunk.nodeId, source: chunk.source }, value(chunk)])
  return [
    gauge(
      'listen_monitor_chunk_age_seconds',
      'Age of the newest live audio',
      each((c) => c.ageSeconds),
    ),
    gauge(
      'listen_monitor_chunk_duration_seconds',
      'Length of the newest live audio',
      each((c) => c.durationSeconds),
    ),
  ]
}
