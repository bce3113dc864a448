// A file the controller would refuse for its size must not be made: what is longer is recorded in chunks, which end as one
// recording all the same (ADR-0011).
import type { Command } from '../../../wire/recordings.ts'
import { outputsOf } from './capturevalidation.rules.ts'

const SAMPLE_BYTES: Record<string, number> = { S16_LE: 2, S24_3LE: 3 }
const WIDEST_SAMPLE = 4
/** The highest rate of MPEG-1 layer III, which a variable bitrate may reach. */
const MP3_KBPS = 320
/** An enhanced rendition has this rate whatever was captured. */
const ENHANCED_HZ = 48_000
/** Headers, and a clock that is a little off. */
const MARGIN = 0.95
/** Nothing sensible is cut shorter: such a limit is met as it always was, by the refusal of the upload. */
const SHORTEST_SECONDS = 10

/** At most this many bytes per second of a finished file; flac is counted as if it saved nothing. */
function bytesPerSecond(command: Command): number {
  if (command.outputCodec === 'mp3') return (MP3_KBPS * 1000) / 8
  const sample = SAMPLE_BYTES[command.captureFormat] ?? WIDEST_SAMPLE
  return outputsOf(command) * Math.max(command.captureSampleRate, ENHANCED_HZ) * sample
}

/** The longest chunk that stays below `mostBytes`, in seconds; undefined when the take fits as it is. */
export function fittingChunk(command: Command, mostBytes: number): number | undefined {
  const longest = Math.floor((mostBytes * MARGIN) / bytesPerSecond(command))
  const asked = command.chunkSeconds ?? command.durationSeconds
  return asked <= longest || longest < SHORTEST_SECONDS ? undefined : longest
}
