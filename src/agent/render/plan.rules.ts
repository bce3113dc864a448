import { type ChannelMode, CODECS, type Codec } from '../../wire/profiles.ts'
import { type AgentJob, CONTENT_TYPES } from '../../wire/recordings.ts'
import type { PcmFormat } from '../audio/format.rules.ts'

type Command = AgentJob['command']

/** One output channel: source channels (from 0) with their gains; none is silence. */
export type Mix = { gain: number; source: number }[]

export interface RenderPlan {
  codec: Codec
  contentType: string
  /** Whether ffmpeg has to do it; otherwise the output is the take, or a piece of it. */
  encodes: boolean
  /** Channels of the enhanced rendition, which is mono sound on each of them (docs/contract/agent.md: Enhancement). */
  enhancedChannels: number
  /** Undefined when the channels go through as they are. */
  mixes: Mix[] | undefined
  outputChannels: number
  /** Source channels (from 0) the job may hear, in order: what may be uploaded when rendering fails. */
  sources: number[]
}

/** The job's codec, else the file's extension, else wav. */
function codecOf(command: Pick<Command, 'outputCodec' | 'outputFileName'>): Codec {
  const extension = command.outputFileName.split('.').at(-1)?.toLowerCase()
  return command.outputCodec ?? CODECS.find((codec) => codec === extension) ?? 'wav'
}

/** Channels a job needs from the device, counted from the first. */
export function channelSpan({ captureChannels, captureChannelSelection, channelMap }: Command): number {
  const included = channelMap?.entries.filter((e) => e.included).map((e) => e.sourceChannelIndex) ?? []
  if (included.length > 0) return Math.max(channelMap!.sourceChannels, ...included)
  return captureChannelSelection ? Math.max(...captureChannelSelection) : captureChannels
}

/** The channels of the device a job wants, from 1. */
export function channelsOf({ captureChannels, captureChannelSelection, channelMap }: Command): number[] {
  const included = channelMap?.entries.filter((e) => e.included).map((e) => e.sourceChannelIndex) ?? []
  if (included.length > 0) return [...new Set(included)]
  return captureChannelSelection ?? Array.from({ length: captureChannels }, (_, i) => i + 1)
}

/** Whether the command itself says what becomes of the channels; else a controller of another make is asked. */
export const saysChannels = ({ captureChannelSelection, channelMap, channelMode }: Command): boolean =>
  channelMap !== undefined || channelMode !== undefined || captureChannelSelection !== undefined

type Entry = NonNullable<Command['channelMap']>['entries'][number]

const through = (entry: Entry | undefined): Mix => (entry ? [{ gain: 1, source: entry.sourceChannelIndex - 1 }] : [])

function monoMix(entries: Entry[]): Mix {
  return entries.map((e) => ({ gain: 1 / entries.length, source: e.sourceChannelIndex - 1 }))
}

/** Mixing table of a channel map (docs/contract/agent.md: Rendering); undefined when no entry is included. */
function mapMixes(map: NonNullable<Command['channelMap']>): Mix[] | undefined {
  const order = (e: Entry) => e.outputChannelIndex ?? e.sourceChannelIndex
  const entries = map.entries.filter((e) => e.included).sort((a, b) => order(a) - order(b))
  if (entries.length === 0) return undefined
  const at = (output: number) => entries.find((e) => e.outputChannelIndex === output) ?? entries[output - 1]
  if (map.channelMode === 'mono') return [monoMix(entries)]
  if (map.channelMode === 'mono_to_stereo_mix') return [monoMix(entries), monoMix(entries)]
  if (map.channelMode === 'stereo') return [through(at(1)), through(at(2) ?? at(1))]
  const placed = entries.filter((e) => e.outputChannelIndex !== undefined)
  const count = Math.max(placed.length === 0 ? entries.length : 0, ...placed.map((e) => e.outputChannelIndex!))
  return Array.from({ length: count }, (_, i) =>
    through(placed.length === 0 ? entries[i] : placed.find((e) => e.outputChannelIndex === i + 1)),
  )
}

const identity = (sources: number[]): Mix[] => sources.map((source) => [{ gain: 1, source }])

/** A profile's channel mode over the selected channels (from 0). */
export function modeMixes(mode: ChannelMode | undefined, selected: number[]): Mix[] {
  const mean: Mix = selected.map((source) => ({ gain: 1 / selected.length, source }))
  if (mode === 'mono') return [mean]
  if (mode === 'mono_to_stereo_mix') return [mean, mean]
  const [left = 0, right = left] = selected
  return identity(mode === 'stereo' ? [left, right] : selected)
}

/** What the job takes from a capture of that many channels: its map, else its mode, else what it selected. */
function jobMixes(command: Command, channels: number): Mix[] {
  const { captureChannels, captureChannelSelection, channelMap, channelMode } = command
  const first = Array.from({ length: Math.min(captureChannels, channels) }, (_, i) => i)
  const selected = captureChannelSelection?.map((n) => n - 1) ?? first
  return (channelMap && mapMixes(channelMap)) ?? modeMixes(channelMode, selected)
}

/** Whether the channels of a capture go through as they are. */
const untouched = (mixes: Mix[], channels: number): boolean =>
  mixes.length === channels && mixes.every((mix, i) => mix.length === 1 && mix[0]?.gain === 1 && mix[0].source === i)

/** How a capture of that shape becomes what the job asked for. */
export function renderPlan(command: Command, take: Pick<PcmFormat, 'channels'>): RenderPlan {
  const codec = codecOf(command)
  const wanted = jobMixes(command, take.channels)
  // A channel the device does not have is silence, so that the others are where they belong.
  const mixes = untouched(wanted, take.channels)
    ? undefined
    : wanted.map((mix) => mix.filter((m) => m.source < take.channels))
  const all = Array.from({ length: take.channels }, (_, i) => i)
  const sources = mixes ? [...new Set(mixes.flat().map((m) => m.source))].sort((a, b) => a - b) : all
  const outputChannels = mixes?.length ?? take.channels
  const placed = command.channelMap !== undefined || /stereo/.test(command.channelMode ?? '')
  return {
    codec,
    contentType: CONTENT_TYPES[codec],
    encodes: codec !== 'wav' || mixes !== undefined,
    enhancedChannels: placed ? outputChannels : 1,
    mixes,
    outputChannels,
    sources,
  }
}

/**
 * `Nc` means the usual layout of N channels and exists up to eight; `NC` is N channels without a meaning. No layout by
 * name: where it differs from the usual one of the same count, ffmpeg 5.1 mixes the channels instead of mapping them.
 */
const layout = (channels: number): string => `${channels}${channels <= 8 ? 'c' : 'C'}`

const term = ({ gain, source }: Mix[number]): string => (gain === 1 ? `c${source}` : `${gain.toFixed(6)}*c${source}`)

/** ffmpeg's filter graph for a plan; undefined when nothing is to be filtered. */
export function filterOf({ mixes }: Pick<RenderPlan, 'mixes'>): string | undefined {
  if (!mixes) return undefined
  const outputs = mixes.map((mix, i) => `c${i}=${mix.length === 0 ? '0*c0' : mix.map(term).join('+')}`)
  return `pan=${[layout(mixes.length), ...outputs].join('|')}`
}

const WAV_CODEC: Record<PcmFormat['format'], string> = {
  S16_LE: 'pcm_s16le',
  S24_LE: 'pcm_s24le',
  S24_3LE: 'pcm_s24le',
  S32_LE: 'pcm_s32le',
  FLOAT_LE: 'pcm_f32le',
}

/** LAME's quality for a wished bitrate. */
const VBR_STEPS = [245, 225, 190, 175, 165, 128, 112, 96, 80]

function vbrQuality(kbps: number): number {
  const quality = VBR_STEPS.findIndex((step) => kbps >= step)
  return quality < 0 ? 9 : quality
}

/** Encoder arguments; the bits of the source are kept where the codec can hold them. */
export function codecArgs(command: Command, codec: Codec, format: PcmFormat['format']): string[] {
  if (codec === 'wav') return ['-c:a', WAV_CODEC[format], '-rf64', 'auto', '-f', 'wav']
  if (codec === 'flac') return ['-c:a', 'flac', '-sample_fmt', format === 'S16_LE' ? 's16' : 's32', '-f', 'flac']
  const kbps = command.outputBitrateKbps ?? 128
  const rate = command.outputVbr ? ['-q:a', String(vbrQuality(kbps))] : ['-b:a', `${kbps}k`]
  return ['-c:a', 'libmp3lame', ...rate, '-f', 'mp3']
}
