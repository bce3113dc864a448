// How much disk a take needs, on its recorder and here. The recorder judges for itself (docs/contract/agent.md: The disk); a test
// holds the two together.
import type { Command } from '../../../wire/recordings.ts'
import { outputsOf } from './capturevalidation.rules.ts'

/** In the file of a capture; 24 bits are packed. */
const FILE_BYTES: Record<string, number> = { S16_LE: 2, S24_3LE: 3, S24_LE: 3 }
const WIDEST_SAMPLE = 4
const HEADER_BYTES = 4096
/** Chunks of a take that a recorder holds at once. */
const CHUNKS_HELD = 4
/** A variable bitrate is a mean over music nobody knows yet. */
const VBR_MARGIN = 1.5
/** An enhanced rendition has this rate whatever was captured. */
const ENHANCED_HZ = 48_000

const sampleBytes = ({ captureFormat }: Command): number => FILE_BYTES[captureFormat] ?? WIDEST_SAMPLE

/** Channels the device is opened with, counted from its first. */
function channelSpan({ captureChannels, captureChannelSelection, channelMap }: Command): number {
  const included = channelMap?.entries.filter((e) => e.included).map((e) => e.sourceChannelIndex) ?? []
  if (channelMap && included.length > 0) return Math.max(channelMap.sourceChannels, ...included)
  return captureChannelSelection ? Math.max(...captureChannelSelection) : captureChannels
}

/** Bytes the recorder must have for the capture, or it does not begin it. */
export function captureBytes(command: Command): number {
  const { captureSampleRate: rate, chunkSeconds, durationSeconds, recorderCacheRetention: policy } = command
  const givesBack = chunkSeconds !== undefined && (policy === undefined || policy.deleteAfterUpload)
  const held = givesBack ? Math.min(durationSeconds, CHUNKS_HELD * chunkSeconds) : durationSeconds
  return Math.ceil(channelSpan(command) * sampleBytes(command) * rate * held + HEADER_BYTES)
}

/** Bytes of everything that arrives here of a take; flac is counted without compression. */
export function arrivingBytes(command: Command): number {
  const { captureSampleRate, durationSeconds, enhancement, outputBitrateKbps = 128, outputCodec, outputVbr } = command
  const files = enhancement === undefined ? 1 : 1 + Number(enhancement.keepRaw !== false)
  const perSecond =
    outputCodec === 'mp3'
      ? ((outputBitrateKbps * 1000) / 8) * (outputVbr ? VBR_MARGIN : 1)
      : outputsOf(command) * Math.max(captureSampleRate, enhancement ? ENHANCED_HZ : 0) * sampleBytes(command)
  return Math.ceil(files * perSecond * durationSeconds)
}
