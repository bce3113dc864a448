import { CODECS, type Codec } from '../../wire/profiles.ts'
import { type AgentJob, CONTENT_TYPES } from '../../wire/recordings.ts'
import type { PcmFormat } from '../capture/format.rules.ts'

type Command = AgentJob['command']

/** One output channel: source channels (from 0) with their gains; none is silence. */
export type Mix = { gain: number; source: number }[]

export interface RenderPlan {
  codec: Codec
  contentType: string
  /** Frames of the take, `to` exclusive; undefined when the whole take is meant. */
  cut: { from: number; to: number } | undefined
  /** Undefined when the channels go through as they are. */
  mixes: Mix[] | undefined
  /** False when the take itself is the output. */
  needed: boolean
  outputChannels: number
  /** Source channels (from 0) the job may hear, in order: what may be uploaded when rendering fails. */
  sources: number[]
}

/** The job's codec, else the file's extension, else wav. */
export function codecOf(command: Pick<Command, 'outputCodec' | 'outputFileName'>): Codec {
  const extension = command.outputFileName.split('.').at(-1)?.toLowerCase()
  return command.outputCodec ?? CODECS.find((codec) => codec === extension) ?? 'wav'
}

/** Channels a job needs from the device, counted from the first. */
export function channelSpan({ captureChannels, captureChannelSelection, channelMap }: Command): number {
  const included = channelMap?.entries.filter((e) => e.included).map((e) => e.sourceChannelIndex) ?? []
  if (included.length > 0) return Math.max(channelMap!.sourceChannels, ...included)
  return captureChannelSelection ? Math.max(...captureChannelSelection) : captureChannels
}

type Entry = NonNullable<Command['channelMap']>['entries'][number]

const through = (entry: Entry | undefined): Mix => (entry ? [{ gain: 1, source: entry.sourceChannelIndex - 1 }] : [])

function monoMix(entries: Entry[]): Mix {
  return entries.map((e) => ({ gain: 1 / entries.length, source: e.sourceChannelIndex - 1 }))
}

/** Mixing table of a channel map (contract, section 16); undefined when no entry is included. */
export function mapMixes(map: NonNullable<Command['channelMap']>): Mix[] | undefined {
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

/** What the job takes from a capture of that many channels; undefined when it is all of them as they are. */
function jobMixes(command: Command, channels: number): Mix[] | undefined {
  const mapped = command.channelMap && mapMixes(command.channelMap)
  if (mapped) return mapped
  const selected = command.captureChannelSelection?.map((n) => n - 1)
  const list = selected ?? Array.from({ length: Math.min(command.captureChannels, channels) }, (_, i) => i)
  const asIs = list.length === channels && list.every((source, i) => source === i)
  return asIs ? undefined : identity(list)
}

/** How the take becomes what the job asked for. `frames`: all frames of the take. */
export function renderPlan(command: Command, take: PcmFormat, frames: number, from: number, to: number): RenderPlan {
  const codec = codecOf(command)
  const wanted = jobMixes(command, take.channels)
  // A channel the device does not have is silence, so that the others are where they belong.
  const mixes = wanted?.map((mix) => mix.filter((m) => m.source < take.channels))
  const cut = from === 0 && to === frames ? undefined : { from, to }
  const all = Array.from({ length: take.channels }, (_, i) => i)
  const sources = mixes ? [...new Set(mixes.flat().map((m) => m.source))].sort((a, b) => a - b) : all
  return {
    codec,
    contentType: CONTENT_TYPES[codec],
    cut,
    mixes,
    needed: codec !== 'wav' || mixes !== undefined || cut !== undefined,
    outputChannels: mixes?.length ?? take.channels,
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
export function filterOf({ cut, mixes }: Pick<RenderPlan, 'cut' | 'mixes'>): string | undefined {
  const filters: string[] = []
  if (cut) filters.push(`atrim=start_sample=${cut.from}:end_sample=${cut.to}`, 'asetpts=PTS-STARTPTS')
  if (mixes) {
    const outputs = mixes.map((mix, i) => `c${i}=${mix.length === 0 ? '0*c0' : mix.map(term).join('+')}`)
    filters.push(`pan=${[layout(mixes.length), ...outputs].join('|')}`)
  }
  return filters.length > 0 ? filters.join(',') : undefined
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

export function vbrQuality(kbps: number): number {
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
