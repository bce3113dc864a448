// How much disk a take needs until the controller has it (docs/contract/agent.md: The disk), not the capture alone.
import type { AgentJob } from '../../wire/recordings.ts'
import { type PcmFormat, streamSampleBytes, takeBytes } from '../audio/format.rules.ts'
import { enhancementBytes } from '../enhance/chain.rules.ts'
import { renderPlan } from '../render/plan.rules.ts'

type Command = AgentJob['command']

export interface Need {
  /** Rendered and enhanced files with what it takes to make them: without these the take goes up raw, or later. */
  moreBytes: number
  /** The capture itself. */
  rawBytes: number
}

const ENHANCED_RATE = 48_000
/** A variable bitrate is a mean over music nobody knows yet. */
const VBR_MARGIN = 1.5
/** Chunks on the disk at once: one growing, one in the work, two of patience with the controller. */
const CHUNKS_HELD = 4

/** Seconds of a take that are on the disk at once: what the controller has of a chunked one is given back. */
const heldSeconds = ({ chunkSeconds }: Command, seconds: number): number =>
  chunkSeconds === undefined ? seconds : Math.min(seconds, CHUNKS_HELD * chunkSeconds)

/** Whether the capture is given back too: not while somebody needs it whole, or wants a copy of it. */
const givesBack = ({ chunkSeconds, custody, recorderCacheRetention: policy }: Command): boolean =>
  chunkSeconds !== undefined && custody === undefined && (policy === undefined || policy.deleteAfterUpload)

/** Upper bound of an encoded file, in bytes; FLAC of noise is as large as its samples. */
function encodedBytes(command: Command, codec: string, pcmBytesPerSecond: number, seconds: number): number {
  if (codec !== 'mp3') return pcmBytesPerSecond * seconds
  const bytesPerSecond = ((command.outputBitrateKbps ?? 128) * 1000) / 8
  return bytesPerSecond * (command.outputVbr ? VBR_MARGIN : 1) * seconds
}

function memberBytes(command: Command, format: PcmFormat): number {
  const seconds = heldSeconds(command, command.durationSeconds)
  const { codec, encodes, enhancedChannels, outputChannels } = renderPlan(command, format)
  const sample = streamSampleBytes(format.format)
  const raw = encodes ? encodedBytes(command, codec, outputChannels * sample * format.rate, seconds) : 0
  const { enhancement: chain } = command
  if (!chain) return raw
  const enhanced = encodedBytes(command, codec, enhancedChannels * sample * ENHANCED_RATE, seconds)
  return raw + enhanced + enhancementBytes(seconds, chain)
}

/**
 * For one capture of `seconds` in `format` that serves all these jobs; bytes. `chunkSeconds` is that of the jobs that name
 * none; 0 or undefined: one file.
 */
export function neededBytes(asked: Command[], format: PcmFormat, seconds: number, chunkSeconds?: number): Need {
  const commands = chunkSeconds ? asked.map((command) => ({ chunkSeconds, ...command })) : asked
  const held = Math.max(...commands.map((command) => (givesBack(command) ? heldSeconds(command, seconds) : seconds)))
  return {
    moreBytes: Math.ceil(commands.reduce((sum, command) => sum + memberBytes(command, format), 0)),
    rawBytes: Math.ceil(takeBytes(format, held)),
  }
}
