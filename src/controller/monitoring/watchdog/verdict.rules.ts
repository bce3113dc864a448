import type { HealthEvent } from '../../../wire/health.ts'
import type { WatchdogRules } from '../../../wire/watchdog.ts'
import type { AlarmStem } from './alarms.ts'
import { MISSING, type Reading, strongestCorrelation } from './readings.rules.ts'
import { effective, type Memory, type Sums } from './window.rules.ts'

/** What is judged: the window, the newest reading, and whether the whole window was observed. */
export interface Evidence {
  /** False after a restart, until a whole window was observed again. */
  complete: boolean
  latest: Reading
  rules: WatchdogRules
  sums: Sums
}

export interface Rule {
  details: (e: Evidence) => Record<string, unknown>
  /** `autoResolvedReason` of an alarm that ends by itself. */
  recovered: string
  /** Part of the audit names: `health.watchdog.<stem>.created`. */
  stem: AlarmStem
  type: string
  /** Undefined when too little was observed: nothing is opened, repeated or resolved. */
  verdict: (e: Evidence) => boolean | undefined
}

/** Whether a condition held long enough for an alarm; without a requirement any duration does. */
const sustained = (seconds: number, required: number, coverage: number): boolean =>
  required <= 0 ? seconds > 0 : coverage >= required && seconds >= required

// True is certain; false is not while part of the window was unobserved.
const ifObserved = (holds: boolean, { complete }: Evidence): boolean | undefined =>
  holds || complete ? holds : undefined

function lowSignal(e: Evidence): boolean | undefined {
  const { complete, rules, sums } = e
  const need = effective(rules)
  const silent = sums.maxMetricDbfs < rules.thresholdDbfs
  const quiet = sums.coverageSeconds >= need.signalSeconds && sums.aboveSeconds < need.signalSeconds
  const low = silent || quiet || speechless(e)
  if (complete) return low
  const enough =
    sums.aboveSeconds >= need.signalSeconds && (!need.speechRequired || sums.speechSeconds >= need.speechSeconds)
  return !silent && enough ? false : undefined
}

function speechless({ rules, sums }: Evidence): boolean {
  const { speechRequired, speechSeconds } = effective(rules)
  return speechRequired && sums.coverageSeconds >= speechSeconds && sums.speechSeconds < speechSeconds
}

const QUALITIES = ['broadbandNoiseSeconds', 'humSeconds', 'noiseSeconds', 'staticSeconds'] as const
const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000

/** The rules of docs/contract/health.md: Watchdog rules. */
export const RULES: readonly Rule[] = [
  {
    stem: 'low_signal',
    type: 'watchdog.scheduled_low_signal',
    recovered: 'signal_above_threshold',
    verdict: lowSignal,
    details: (e) => {
      const { latest, rules, sums } = e
      const need = effective(rules)
      return {
        cumulativeSecondsAboveThreshold: rounded(sums.aboveSeconds),
        cumulativeSpeechLikeSeconds: rounded(sums.speechSeconds),
        ...(latest.channelIndex === undefined ? {} : { latestChannelIndex: latest.channelIndex }),
        ...(latest.interfaceId === undefined ? {} : { latestInterfaceId: latest.interfaceId }),
        latestMetricDbfs: latest.metricDbfs,
        latestNoiseScore: latest.noise,
        latestPeakDbfs: latest.peakDbfs,
        latestRmsDbfs: latest.rmsDbfs,
        latestSpeechScore: latest.speech,
        maxMetricDbfs: sums.maxMetricDbfs,
        maxNoiseScore: sums.maxNoise,
        maxSpeechScore: sums.maxSpeech,
        metric: rules.metric,
        minCumulativeSecondsAboveThreshold: need.signalSeconds,
        minCumulativeSpeechSeconds: need.speechSeconds,
        minSpeechScore: need.speech,
        qualityMode: rules.qualityMode ?? 'signal_only',
        signalBelowThreshold: sums.maxMetricDbfs < rules.thresholdDbfs || sums.aboveSeconds < need.signalSeconds,
        speechBelowThreshold: speechless(e),
        thresholdDbfs: rules.thresholdDbfs,
      }
    },
  },
  {
    stem: 'channel_correlation',
    type: 'watchdog.channel_correlation',
    recovered: 'channel_correlation_below_threshold',
    verdict: (e) => {
      const { correlationSeconds } = effective(e.rules)
      if (e.rules.channelCorrelationMode !== 'alert_on_high') return false
      return ifObserved(sustained(e.sums.correlatedSeconds, correlationSeconds, e.sums.coverageSeconds), e)
    },
    details: ({ latest, rules, sums }) => ({
      channelCorrelationAboveThreshold: strongestCorrelation(latest.pairs) >= effective(rules).correlation,
      channelCorrelationMode: rules.channelCorrelationMode ?? 'off',
      channelCorrelationThreshold: effective(rules).correlation,
      cumulativeCorrelatedSeconds: rounded(sums.correlatedSeconds),
      latestChannelCorrelationPairs: latest.pairs.slice(0, MAX_LISTED),
      maxChannelCorrelationScore: sums.maxCorrelation,
      minCumulativeChannelCorrelationSeconds: effective(rules).correlationSeconds,
    }),
  },
  {
    stem: 'clipping',
    type: 'watchdog.clipping',
    recovered: 'clipping_recovered',
    verdict: (e) => {
      const { clippingSeconds } = effective(e.rules)
      if (e.rules.clippingMode !== 'alert_on_clipping') return false
      return ifObserved(sustained(e.sums.clippingSeconds, clippingSeconds, e.sums.coverageSeconds), e)
    },
    details: ({ latest, rules, sums }) => ({
      clippingAboveThreshold: sustained(sums.clippingSeconds, effective(rules).clippingSeconds, sums.coverageSeconds),
      clippingMode: rules.clippingMode ?? 'off',
      cumulativeClippingSeconds: rounded(sums.clippingSeconds),
      latestClippingChannelIndexes: latest.clippingChannels.slice(0, MAX_LISTED),
      maxClippingChannelCount: sums.maxClippingChannels,
      minCumulativeClippingSeconds: effective(rules).clippingSeconds,
    }),
  },
  {
    stem: 'flatline',
    type: 'watchdog.flatline',
    recovered: 'flatline_recovered',
    verdict: (e) => {
      const { flatlineSeconds } = effective(e.rules)
      if (e.rules.flatlineMode !== 'alert_on_flatline') return false
      return ifObserved(sustained(e.sums.flatlineSeconds, flatlineSeconds, e.sums.coverageSeconds), e)
    },
    details: ({ latest, rules, sums }) => ({
      cumulativeFlatlineSeconds: rounded(sums.flatlineSeconds),
      flatlineAboveThreshold: sustained(sums.flatlineSeconds, effective(rules).flatlineSeconds, sums.coverageSeconds),
      flatlineMode: rules.flatlineMode ?? 'off',
      flatlineThresholdDbfs: effective(rules).flatlineDbfs,
      latestFlatline: latest.rmsDbfs <= effective(rules).flatlineDbfs,
      latestPeakDbfs: latest.peakDbfs,
      latestRmsDbfs: latest.rmsDbfs,
      minCumulativeFlatlineSeconds: effective(rules).flatlineSeconds,
    }),
  },
  {
    stem: 'quality_anomaly',
    type: 'watchdog.quality_anomaly',
    recovered: 'quality_anomaly_recovered',
    verdict: (e) => e.rules.qualityAlertMode === 'alert_on_noise_hum_static' && ifObserved(anomalous(e), e),
    details: (e) => qualityDetails(e),
  },
]

const anomalous = ({ rules, sums }: Evidence): boolean =>
  QUALITIES.some((name) => sustained(sums[name], effective(rules).qualitySeconds, sums.coverageSeconds))

function qualityDetails(e: Evidence): Record<string, unknown> {
  const { latest, rules, sums } = e
  const limits = effective(rules)
  return {
    broadbandNoiseScoreThreshold: limits.broadbandNoise,
    cumulativeHighBroadbandNoiseSeconds: rounded(sums.broadbandNoiseSeconds),
    cumulativeHighHumSeconds: rounded(sums.humSeconds),
    cumulativeHighNoiseSeconds: rounded(sums.noiseSeconds),
    cumulativeHighStaticSeconds: rounded(sums.staticSeconds),
    humScoreThreshold: limits.hum,
    latestBroadbandNoiseScore: latest.broadbandNoise,
    latestHumScore: latest.hum,
    latestNoiseScore: latest.noise,
    latestStaticScore: latest.static,
    maxBroadbandNoiseScore: sums.maxBroadbandNoise,
    maxHumScore: sums.maxHum,
    maxNoiseScore: sums.maxNoise,
    maxStaticScore: sums.maxStatic,
    minCumulativeQualitySeconds: limits.qualitySeconds,
    noiseScoreThreshold: limits.noise,
    qualityAlertMode: rules.qualityAlertMode ?? 'off',
    qualityAnomalyAboveThreshold: anomalous(e),
    staticScoreThreshold: limits.static,
  }
}

// Channels and pairs listed in an event: a large mixing desk must not make a large event.
const MAX_LISTED = 32

/** The evidence of one take; without any frame it counts as silence. */
export const evidenceOf = (memory: Memory, sums: Sums, rules: WatchdogRules, complete: boolean): Evidence => ({
  complete,
  latest: memory.latest ?? MISSING,
  rules,
  sums,
})

/**
 * Whether a continuing alarm is to be repeated. The interval always applies; a suppressed alarm is silent until its
 * suppression ends, without an end for ever (docs/contract/health.md: Watchdog rules).
 */
export function repeatDue(event: HealthEvent, everySeconds: number, now: string): boolean {
  if (event.status === 'suppressed' && (event.suppressedUntil === null || now < event.suppressedUntil)) return false
  const { lastRepeatedAt } = event.details
  const last = typeof lastRepeatedAt === 'string' ? lastRepeatedAt : event.openedAt
  return Date.parse(now) - Date.parse(last) >= everySeconds * 1000
}

/** Whether a policy watches a take: only scheduled ones, unless it is set otherwise. */
export const watches = (rules: WatchdogRules, take: { scheduleId: string | null; source: string }): boolean =>
  rules.activeDuring !== 'scheduled_recording' || (take.source === 'schedule' && take.scheduleId !== null)
