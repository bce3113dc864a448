import type { WatchdogRules } from '../../../wire/watchdog.ts'
import { type Reading, SILENCE, strongestCorrelation } from './readings.rules.ts'

/** Effective thresholds and requirements: unset ones have the defaults of docs/contract/health.md: Watchdog policies. */
export function effective(rules: WatchdogRules) {
  const least = rules.minCumulativeSecondsAboveThreshold
  return {
    broadbandNoise: rules.broadbandNoiseScoreThreshold ?? 0.85,
    clippingSeconds: rules.minCumulativeClippingSeconds ?? 1,
    correlation: rules.channelCorrelationThreshold ?? 0.98,
    correlationSeconds: rules.minCumulativeChannelCorrelationSeconds ?? least,
    flatlineDbfs: rules.flatlineThresholdDbfs ?? -100,
    flatlineSeconds: rules.minCumulativeFlatlineSeconds ?? least,
    hum: rules.humScoreThreshold ?? 0.8,
    noise: rules.noiseScoreThreshold ?? 0.9,
    qualitySeconds: rules.minCumulativeQualitySeconds ?? least,
    signalSeconds: least,
    speech: rules.minSpeechScore ?? 0.55,
    speechRequired: rules.qualityMode === 'speech_required',
    speechSeconds: rules.minCumulativeSpeechSeconds ?? least,
    static: rules.staticScoreThreshold ?? 0.8,
  }
}

/** Seconds for which each condition held, and the extremes, over a stretch of time. */
export interface Sums {
  aboveSeconds: number
  broadbandNoiseSeconds: number
  clippingSeconds: number
  correlatedSeconds: number
  coverageSeconds: number
  flatlineSeconds: number
  humSeconds: number
  maxBroadbandNoise: number
  maxClippingChannels: number
  maxCorrelation: number
  maxHum: number
  maxMetricDbfs: number
  maxNoise: number
  maxSpeech: number
  maxStatic: number
  noiseSeconds: number
  samples: number
  speechSeconds: number
  staticSeconds: number
}

const NOTHING: Sums = {
  aboveSeconds: 0,
  broadbandNoiseSeconds: 0,
  clippingSeconds: 0,
  correlatedSeconds: 0,
  coverageSeconds: 0,
  flatlineSeconds: 0,
  humSeconds: 0,
  maxBroadbandNoise: 0,
  maxClippingChannels: 0,
  maxCorrelation: 0,
  maxHum: 0,
  maxMetricDbfs: SILENCE,
  maxNoise: 0,
  maxSpeech: 0,
  maxStatic: 0,
  noiseSeconds: 0,
  samples: 0,
  speechSeconds: 0,
  staticSeconds: 0,
}

interface Bucket extends Sums {
  from: number
  until: number
}

/** The watchdog's memory of one take: sums of short stretches, not samples, so that its size does not depend on the window. */
export interface Memory {
  buckets: Bucket[]
  /** When a frame of the take's own channels was last received; ms. */
  heardAt?: number
  /** Up to when it was sampled; ms. */
  last?: number
  latest?: Reading
  /** Since when it was sampled without a break; ms. */
  since?: number
}

/** Timing of samples, seconds. */
export interface Pace {
  /** After a longer pause the observation starts again. */
  breakSeconds: number
  /** The longest time that one sample counts for. */
  maxSpanSeconds: number
}

// Stretches per window: the granularity with which old samples leave it.
const STRETCHES = 180

/**
 * Adds a sample. It counts for the time since the previous one, but at most `maxSpanSeconds`: what a gap sounded like is
 * unknown. The first one has no duration.
 */
export function sample(memory: Memory, at: number, reading: Reading, rules: WatchdogRules, pace: Pace): void {
  if (memory.last !== undefined && at <= memory.last) return
  const pause = memory.last === undefined ? 0 : (at - memory.last) / 1000
  const seconds = Math.min(pause, pace.maxSpanSeconds)
  if (memory.since === undefined || pause > pace.breakSeconds) memory.since = at
  memory.last = at
  memory.latest = reading
  const one = sumsOf(reading, seconds, rules)
  const newest = memory.buckets.at(-1)
  const stretch = Math.max(1000, (rules.windowSeconds * 1000) / STRETCHES)
  if (newest && at - newest.from < stretch) Object.assign(newest, together(newest, one), { until: at })
  else memory.buckets.push({ ...one, from: at, until: at })
}

/** Shifts all times by so many ms. */
export function shift(memory: Memory, by: number): void {
  for (const time of ['heardAt', 'last', 'since'] as const)
    if (memory[time] !== undefined) memory[time] = (memory[time] as number) + by
  for (const bucket of memory.buckets) {
    bucket.from += by
    bucket.until += by
  }
}

function sumsOf(r: Reading, seconds: number, rules: WatchdogRules): Sums {
  const limits = effective(rules)
  const during = (holds: boolean) => (holds ? seconds : 0)
  const correlation = strongestCorrelation(r.pairs)
  return {
    aboveSeconds: during(r.metricDbfs >= rules.thresholdDbfs),
    broadbandNoiseSeconds: during(r.broadbandNoise >= limits.broadbandNoise),
    clippingSeconds: during(r.clippingChannels.length > 0),
    correlatedSeconds: during(r.pairs.length > 0 && correlation >= limits.correlation),
    coverageSeconds: seconds,
    flatlineSeconds: during(r.rmsDbfs <= limits.flatlineDbfs),
    humSeconds: during(r.hum >= limits.hum),
    maxBroadbandNoise: r.broadbandNoise,
    maxClippingChannels: r.clippingChannels.length,
    maxCorrelation: correlation,
    maxHum: r.hum,
    maxMetricDbfs: r.metricDbfs,
    maxNoise: r.noise,
    maxSpeech: r.speech,
    maxStatic: r.static,
    noiseSeconds: during(r.noise >= limits.noise),
    samples: 1,
    speechSeconds: during(r.speech >= limits.speech),
    staticSeconds: during(r.static >= limits.static),
  }
}

const KEYS = Object.keys(NOTHING) as (keyof Sums)[]

function together(a: Sums, b: Sums): Sums {
  const out = { ...NOTHING }
  for (const key of KEYS) out[key] = key.startsWith('max') ? Math.max(a[key], b[key]) : a[key] + b[key]
  return out
}

/** Drops what is older than the window, and sums up the rest. */
export function windowed(memory: Memory, now: number, windowSeconds: number): Sums & { startedAt: number } {
  const oldest = now - windowSeconds * 1000
  memory.buckets = memory.buckets.filter((bucket) => bucket.until >= oldest)
  const startedAt = Math.max(memory.buckets[0]?.from ?? now, oldest)
  return { ...memory.buckets.reduce(together, NOTHING), startedAt }
}
