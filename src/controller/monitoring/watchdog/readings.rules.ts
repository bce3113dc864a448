import type { AudioLevel, AudioQuality } from '../../../wire/meters.ts'
import type { WatchdogRules } from '../../../wire/watchdog.ts'

interface Pair {
  leftChannelIndex: number
  phase: 'same' | 'inverted'
  rightChannelIndex: number
  score: number
}

/** What one frame says about the judged channels; scores that were not measured are 0. */
export interface Reading {
  broadbandNoise: number
  /** The loudest channel. */
  channelIndex?: number
  clippingChannels: number[]
  hum: number
  interfaceId?: string
  metricDbfs: number
  noise: number
  pairs: Pair[]
  peakDbfs: number
  rmsDbfs: number
  speech: number
  static: number
}

export const SILENCE = -160
/** Value at rank ⌈n·p⌉ of ascending numbers. */
export const percentile = (ascending: readonly number[], p: number): number =>
  ascending[Math.max(Math.ceil(ascending.length * p) - 1, 0)] ?? SILENCE

const ascending = (values: number[]): number[] => values.sort((a, b) => a - b)
const maxOf = (values: number[], least: number): number => values.reduce((a, b) => Math.max(a, b), least)

/** The level that a policy evaluates, over the judged channels. */
export function metricOf(levels: readonly AudioLevel[], metric: WatchdogRules['metric']): number {
  if (metric === 'peak')
    return maxOf(
      levels.map((level) => level.peakDbfs),
      SILENCE,
    )
  const rms = levels.map((level) => level.rmsDbfs)
  return metric === 'rms' ? maxOf(rms, SILENCE) : percentile(ascending(rms), 0.95)
}

/** Silence: the reading of a recording without meter frames (docs/contract/health.md: Watchdog rules). */
export const MISSING: Reading = {
  broadbandNoise: 0,
  clippingChannels: [],
  hum: 0,
  metricDbfs: SILENCE,
  noise: 0,
  pairs: [],
  peakDbfs: SILENCE,
  rmsDbfs: SILENCE,
  speech: 0,
  static: 0,
}

export function readingOf(
  levels: readonly AudioLevel[],
  metric: WatchdogRules['metric'],
  interfaceId: string,
): Reading {
  const loudest = levels.reduce<AudioLevel | undefined>((a, b) => (a && a.rmsDbfs >= b.rmsDbfs ? a : b), undefined)
  if (!loudest) return MISSING
  const score = (name: 'broadbandNoiseScore' | 'humScore' | 'noiseScore' | 'speechScore' | 'staticScore') =>
    maxOf(
      levels.map(({ quality }) => quality?.[name] ?? 0),
      0,
    )
  return {
    broadbandNoise: score('broadbandNoiseScore'),
    channelIndex: loudest.channelIndex,
    clippingChannels: levels.filter((level) => level.clipping).map((level) => level.channelIndex),
    hum: score('humScore'),
    interfaceId,
    metricDbfs: metricOf(levels, metric),
    noise: score('noiseScore'),
    pairs: pairsOf(levels),
    peakDbfs: maxOf(
      levels.map((level) => level.peakDbfs),
      SILENCE,
    ),
    rmsDbfs: loudest.rmsDbfs,
    speech: score('speechScore'),
    static: score('staticScore'),
  }
}

type Correlation = NonNullable<AudioQuality['channelCorrelation']>

// Both channels of a pair must be judged: correlation with a foreign channel says nothing about this recording.
function pairsOf(levels: readonly AudioLevel[]): Pair[] {
  const own = new Set(levels.map((level) => level.channelIndex))
  const pairs = new Map<string, Pair>()
  for (const { channelIndex, quality } of levels) {
    const c: Correlation | undefined = quality?.channelCorrelation
    if (!c || !own.has(c.peerChannelIndex) || c.peerChannelIndex === channelIndex) continue
    const [leftChannelIndex, rightChannelIndex] = ascending([channelIndex, c.peerChannelIndex]) as [number, number]
    const pair = { leftChannelIndex, phase: c.phase, rightChannelIndex, score: c.score }
    pairs.set(`${leftChannelIndex}:${rightChannelIndex}`, pair)
  }
  return [...pairs.values()]
}

/** The strongest correlation, of either phase. */
export const strongestCorrelation = (pairs: readonly Pair[]): number =>
  maxOf(
    pairs.map((pair) => Math.abs(pair.score)),
    0,
  )

/** Which levels of a frame belong to a recording. */
interface Own {
  /** Absent when the take names no interface: any channel of the node may be its own. */
  interfaceId?: string | undefined
  isOwn: (channelIndex: number) => boolean
}

interface CaptureCommand {
  captureChannelSelection?: number[] | undefined
  captureChannels?: number | undefined
  captureInterfaceId?: string | undefined
  channelMap?: { entries: { included: boolean; sourceChannelIndex: number }[] } | undefined
}

/** The channels of a take: its selection, else those of its map, else the first it captures (ADR-0018). */
export function ownOf(command: CaptureCommand | undefined): Own {
  const { captureChannelSelection, captureChannels, captureInterfaceId: interfaceId, channelMap } = command ?? {}
  const mapped = channelMap?.entries.filter((e) => e.included).map((e) => e.sourceChannelIndex)
  const chosen = captureChannelSelection ?? (mapped?.length ? mapped : undefined)
  if (!interfaceId || !chosen)
    return { interfaceId, isOwn: (i) => captureChannels === undefined || i <= captureChannels }
  const own = new Set(chosen)
  return { interfaceId, isOwn: (i) => own.has(i) }
}

/** The recording's own levels of a frame; none when the frame is of another interface. */
export function ownLevels(own: Own, frame: { interfaceId: string; levels: readonly AudioLevel[] }): AudioLevel[] {
  if (own.interfaceId !== undefined && frame.interfaceId !== own.interfaceId) return []
  return frame.levels.filter((level) => own.isOwn(level.channelIndex))
}
