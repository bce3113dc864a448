// Validation of captures, shared by every start and by the writing of schedules, so that all of them refuse the same.

import { type Fail, invalid } from '../../../kernel/fail.ts'
import type { Interface } from '../../../wire/nodes.ts'
import { type ChannelMode, CODEC_CHANNELS, enhances, type Profile } from '../../../wire/profiles.ts'
import { CAPTURE_FORMATS, type Command } from '../../../wire/recordings.ts'
import { outputChannels } from '../../fleet/channels/maps.rules.ts'

/** Why a take cannot be made: the reason for machines; `title` and `way` (what to change) for people. */
interface CaptureFault {
  field: string
  reason: string
  title: string
  way: string
}

const REASONS = [
  'capture_format_unsupported',
  'channel_selection_empty',
  'channel_selection_mode_arity',
  'channel_selection_out_of_range',
  'channel_selection_unknown_channel',
  'codec_channel_limit',
  'sample_rate_unsupported',
] as const
type Reason = (typeof REASONS)[number]

export const isCaptureFault = (reason: string): boolean => (REASONS as readonly string[]).includes(reason)

const fault = (reason: Reason, field: string, title: string, way: string): CaptureFault => ({
  field,
  reason,
  title,
  way,
})

/** As a Fail: 400 with the remedy as its issue. */
export const refusal = ({ field, reason, title, way }: CaptureFault): Fail => invalid(title, [field], way, reason)

const SELECTION = 'captureChannelSelection'
const badSelection = (reason: Reason, way: string): CaptureFault =>
  fault(reason, SELECTION, 'Invalid channel selection', way)
const TOLD_CHANNELS = 8

/** Why these channels cannot be taken from the device in this mode; undefined when they can. */
export function selectionFault(
  device: Interface,
  selection: readonly number[],
  mode: ChannelMode | undefined,
): CaptureFault | undefined {
  if (selection.length === 0) return badSelection('channel_selection_empty', 'choose at least one channel')
  if (selection.some((index) => index < 1 || index > 512))
    return badSelection('channel_selection_out_of_range', 'channels are numbered from 1 to 512')
  const unknown = selection.filter((index) => !device.channels.some((c) => c.index === index))
  if (unknown.length > 0)
    return badSelection(
      'channel_selection_unknown_channel',
      `the interface has no channel ${unknown.slice(0, TOLD_CHANNELS).join(', ')}`,
    )
  if (mode === 'stereo' && selection.length !== 2)
    return badSelection('channel_selection_mode_arity', 'stereo takes exactly two channels')
}

/**
 * The mode of a selection without one: mono for one channel, stereo for two, for more the profile's
 * (docs/contract/recordings.md: Channel selection).
 */
export const modeOfSelection = (selection: readonly number[], profile: Pick<Profile, 'channelMode'>): ChannelMode =>
  ([undefined, 'mono', 'stereo'] as const)[selection.length] ?? profile.channelMode

/** Channels of the file a command makes (docs/contract/agent.md: Rendering). */
export function outputsOf({ captureChannels, channelMap, channelMode }: Command): number {
  if (channelMap) return outputChannels(channelMap)
  if (channelMode === 'mono') return 1
  return channelMode === 'stereo' || channelMode === 'mono_to_stereo_mix' ? 2 : captureChannels
}

/** Why a recorder could not carry out this command; undefined when it can. `device`: what it records from, when known. */
export const commandFault = (command: Command, device: Interface | undefined): CaptureFault | undefined =>
  stereoFault(command) ?? codecFault(command) ?? deviceFault(command, device)

/** Stereo of more than two channels would silently drop the others. An assigned map says which two it takes. */
function stereoFault({ captureChannels, captureChannelSelection, channelMap, channelMode }: Command) {
  if ((channelMap?.channelMode ?? channelMode) !== 'stereo') return undefined
  const taken = captureChannelSelection?.length ?? (channelMap ? 2 : captureChannels)
  if (taken <= 2) return undefined
  return badSelection(
    'channel_selection_mode_arity',
    `stereo takes two channels, this take has ${taken}: choose two of them, or a profile with another channel mode`,
  )
}

const WIDER: Record<string, string> = {
  mp3: 'choose at most two channels, a mixing mode, or a flac or wav profile',
  flac: 'choose at most eight channels or a wav profile',
}

function codecFault(command: Command): CaptureFault | undefined {
  const { outputCodec: codec } = command
  const outputs = outputsOf(command)
  if (!codec || outputs <= CODEC_CHANNELS[codec]) return undefined
  return fault(
    'codec_channel_limit',
    'recordingProfileId',
    `${codec} carries at most ${CODEC_CHANNELS[codec]} channels, this take has ${outputs}`,
    WIDER[codec] ?? 'choose fewer channels',
  )
}

/**
 * Whether the take is enhanced. The chain mixes all channels into one voice (ADR-0017), so a take of more than two separate
 * channels is recorded without it.
 */
export function isEnhanced({ enhancement }: Pick<Profile, 'enhancement'>, command: Command): boolean {
  const mode = command.channelMap?.channelMode ?? command.channelMode
  return enhances(enhancement) && !(mode === 'multichannel' && outputsOf(command) > 2)
}

/** Only a device that is opened directly has to match: all other ways convert. */
function deviceFault(command: Command, device: Interface | undefined): CaptureFault | undefined {
  const { captureFormat: format, captureSampleRate: rate } = command
  if (!(CAPTURE_FORMATS as readonly string[]).includes(format))
    return fault(
      'capture_format_unsupported',
      'audioDefaults.captureFormat',
      `Recorders do not know the sample format ${format}`,
      `set the capture format of the node to one of ${CAPTURE_FORMATS.join(', ')}`,
    )
  if (!device || !isDirect(command) || hasRate(device, rate)) return undefined
  return fault(
    'sample_rate_unsupported',
    'audioDefaults.captureSampleRate',
    `${device.alias} has no sample rate of ${rate} Hz`,
    `it has ${device.sampleRates.join(', ')}; change the capture sample rate of the node`,
  )
}

const isDirect = ({ captureBackend = 'alsa', captureDevice }: Command): boolean =>
  captureBackend === 'alsa' && captureDevice.startsWith('hw:')

/** Whether a device supports a rate. Agents report a range by its ends, or nothing when it is unknown. */
const hasRate = ({ sampleRates }: Pick<Interface, 'sampleRates'>, rate: number): boolean =>
  sampleRates.length === 0 || (rate >= Math.min(...sampleRates) && rate <= Math.max(...sampleRates))

/** The default rate for a device: the usual one, or the nearest it supports. */
export const rateFor = (device: Interface | undefined, usual: number): number =>
  !device || hasRate(device, usual)
    ? usual
    : device.sampleRates.reduce((best, rate) => (Math.abs(rate - usual) < Math.abs(best - usual) ? rate : best))

// A file that the controller would refuse for its size must not be made: a longer take is recorded in chunks, which still end
// as one recording (ADR-0011).

const SAMPLE_BYTES: Record<string, number> = { S16_LE: 2, S24_3LE: 3 }
const WIDEST_SAMPLE = 4
/** The highest rate of MPEG-1 layer III, which a variable bitrate may reach. */
const MP3_KBPS = 320
/** An enhanced rendition has this rate whatever was captured. */
const ENHANCED_HZ = 48_000
/** Margin for headers and an inaccurate sample clock. */
const MARGIN = 0.95
/** Chunks are never shorter: with such a low limit the upload is refused instead. */
const SHORTEST_SECONDS = 10

/** Upper bound of the bytes per second of a finished file; flac is counted without compression. */
function bytesPerSecond(command: Command): number {
  if (command.outputCodec === 'mp3') return (MP3_KBPS * 1000) / 8
  const sample = SAMPLE_BYTES[command.captureFormat] ?? WIDEST_SAMPLE
  return outputsOf(command) * Math.max(command.captureSampleRate, ENHANCED_HZ) * sample
}

/** The longest chunk that stays below `maxBytes`, in seconds; undefined when the take fits as it is. */
export function fittingChunk(command: Command, maxBytes: number): number | undefined {
  const longest = Math.floor((maxBytes * MARGIN) / bytesPerSecond(command))
  const asked = command.chunkSeconds ?? command.durationSeconds
  return asked <= longest || longest < SHORTEST_SECONDS ? undefined : longest
}
