// The agent's health rules for its inputs (docs/contract/health.md: Rules of the agent).
import type { AudioLevel, MeterFrame } from '../../wire/meters.ts'
import { fall, rise, round2 } from './quality.rules.ts'

interface Thresholds {
  clipDbfs: number
  flatlineDbfs: number
  lowSignalDbfs: number
}

const RULES = ['channel_correlation', 'clipping', 'flatline', 'low_signal'] as const
type Rule = (typeof RULES)[number]

interface Judgement {
  bad: boolean
  details: Record<string, unknown>
}

interface Pair {
  leftChannelIndex: number
  phase: 'same' | 'inverted'
  rightChannelIndex: number
  score: number
}

const ALIKE = 0.98
/** Consecutive judgements needed to raise or resolve an event. */
const AGREEING = 3

const most = (values: (number | undefined)[]): number => Math.max(...values.map((v) => v ?? 0))
const least = (values: (number | undefined)[]): number => Math.min(...values.map((v) => v ?? 0))

function evidence(levels: AudioLevel[]) {
  const q = levels.flatMap(({ quality }) => (quality ? [quality] : []))
  if (q.length === 0) return {}
  return {
    maxBroadbandNoiseScore: most(q.map((it) => it.broadbandNoiseScore)),
    maxHumScore: most(q.map((it) => it.humScore)),
    maxNoiseScore: most(q.map((it) => it.noiseScore)),
    maxSpeechScore: most(q.map((it) => it.speechScore)),
    maxStaticScore: most(q.map((it) => it.staticScore)),
    minEstimatedSnrDb: least(q.map((it) => it.estimatedSnrDb)),
    minIntelligibilityScore: least(q.map((it) => it.intelligibilityScore)),
  }
}

/** One entry a key: the one with the greatest weight. */
function strongest<T>(items: T[], key: (item: T) => string, weight: (item: T) => number): T[] {
  const kept = new Map<string, T>()
  for (const item of items) {
    const before = kept.get(key(item))
    if (!before || weight(item) > weight(before)) kept.set(key(item), item)
  }
  return [...kept.values()]
}

function pairsOf(levels: AudioLevel[]): Pair[] {
  const pairs = levels.flatMap(({ channelIndex, quality }) => {
    if (!quality?.channelCorrelation) return []
    const { peerChannelIndex: peer, phase, score } = quality.channelCorrelation
    const [left, right] = [Math.min(channelIndex, peer), Math.max(channelIndex, peer)]
    return [{ leftChannelIndex: left, phase, rightChannelIndex: right, score }]
  })
  return strongest(
    pairs,
    (pair) => `${pair.leftChannelIndex}:${pair.rightChannelIndex}`,
    ({ score }) => Math.abs(score),
  )
}

function alike(levels: AudioLevel[]): Judgement {
  const all = pairsOf(levels)
  const correlationAbsScore = most(all.map(({ score }) => Math.abs(score)))
  const pairs = all.filter(({ score }) => Math.abs(score) >= ALIKE)
  const faultScore = round2(rise(correlationAbsScore, ALIKE, 1))
  return { bad: pairs.length > 0, details: { correlationAbsScore, faultScore, pairs, quality: evidence(levels) } }
}

function clipping(levels: AudioLevel[], { clipDbfs }: Thresholds): Judgement {
  const clipped = levels.filter((level) => level.clipping)
  const channels = strongest(
    clipped.map(({ channelIndex, label, peakDbfs }) => ({ channelIndex, label, peakDbfs })),
    ({ channelIndex }) => String(channelIndex),
    ({ peakDbfs }) => peakDbfs,
  )
  const loudest = Math.max(...levels.map(({ peakDbfs }) => peakDbfs))
  const faultScore = round2(rise(loudest, clipDbfs, 0))
  return { bad: channels.length > 0, details: { channels, clipDbfs, faultScore, quality: evidence(levels) } }
}

/** Judged by `maxRmsDbfs` of every channel over the judged time. */
function quiet(levels: AudioLevel[], { flatlineDbfs, lowSignalDbfs }: Thresholds) {
  const maxRmsDbfs = Math.max(...levels.map(({ rmsDbfs }) => rmsDbfs))
  const flat = maxRmsDbfs <= flatlineDbfs
  const flatScore = round2(fall(maxRmsDbfs, flatlineDbfs - 40, flatlineDbfs))
  const lowScore = round2(fall(maxRmsDbfs, lowSignalDbfs - 30, lowSignalDbfs))
  const quality = evidence(levels)
  const maxSpeechScore = most(levels.map((level) => level.quality?.speechScore))
  return {
    flatline: { bad: flat, details: { faultScore: flatScore, flatlineDbfs, maxRmsDbfs } },
    low_signal: {
      bad: !flat && maxRmsDbfs <= lowSignalDbfs,
      details: { faultScore: lowScore, lowSignalDbfs, maxRmsDbfs, maxSpeechScore, quality },
    },
  }
}

/** Judges the levels of one interface, from one or several consecutive frames. Needs at least one level. */
const judge = (levels: AudioLevel[], thresholds: Thresholds): Record<Rule, Judgement> => ({
  channel_correlation: alike(levels),
  clipping: clipping(levels, thresholds),
  ...quiet(levels, thresholds),
})

export interface Edge {
  details: Record<string, unknown>
  raised: boolean
  rule: Rule
}

/** Debounces one interface: reports each change once, when enough judgements agree. */
export class InputWatch {
  readonly #each: number
  readonly #state = new Map<Rule, { raised: boolean; run: number }>()
  readonly #thresholds: Thresholds
  #levels: AudioLevel[] = []
  #frames = 0

  /** `each`: frames that are judged together. */
  constructor(thresholds: Thresholds, each: number) {
    this.#thresholds = thresholds
    this.#each = each
  }

  add({ capturedAt, interfaceId, levels, nodeId }: MeterFrame): Edge[] {
    if (levels.length === 0) return []
    this.#levels.push(...levels)
    if (++this.#frames < this.#each) return []
    const judgements = judge(this.#levels, this.#thresholds)
    this.#levels = []
    this.#frames = 0
    return RULES.flatMap((rule) => {
      const { bad, details } = judgements[rule]
      return this.#turns(rule, bad)
        ? [{ details: { capturedAt, interfaceId, nodeId, ...details }, raised: bad, rule }]
        : []
    })
  }

  #turns(rule: Rule, bad: boolean): boolean {
    const { raised, run } = this.#state.get(rule) ?? { raised: false, run: 0 }
    const against = bad === raised ? 0 : run + 1
    const turned = against === AGREEING
    this.#state.set(rule, turned ? { raised: bad, run: 0 } : { raised, run: against })
    return turned
  }
}
