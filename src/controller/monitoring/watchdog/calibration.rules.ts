import type { AudioLevel } from '../../../wire/meters.ts'
import type { Calibration, CalibrationRequest, WatchdogRules } from '../../../wire/watchdog.ts'
import { metricOf, percentile } from './readings.rules.ts'

// From this score on a frame may be speech.
const SPEECH_LIKE = 0.35
const SPEECH_MARGIN = 0.1

const round = (value: number, digits: number): number => Number(value.toFixed(digits))
const clamp = (min: number, max: number, value: number): number => Math.min(Math.max(value, min), max)
const ascending = (values: number[]): number[] => values.toSorted((a, b) => a - b)
const best = (levels: readonly AudioLevel[], score: 'noiseScore' | 'speechScore'): number =>
  levels.reduce((max, { quality }) => Math.max(max, quality?.[score] ?? 0), 0)

/**
 * Recommends thresholds from frames of a room in normal use (docs/contract/health.md: Calibration): a margin below the signal
 * level, and below the speech score of speech. `frames` has at least one with levels.
 */
export function calibrated(
  frames: readonly (readonly AudioLevel[])[],
  rules: Pick<WatchdogRules, 'metric' | 'qualityMode'>,
  { apply: applied, signalMarginDb: marginDb }: Pick<CalibrationRequest, 'apply' | 'signalMarginDb'>,
): Calibration {
  const metrics = ascending(frames.map((levels) => metricOf(levels, rules.metric)))
  const speech = ascending(frames.map((levels) => best(levels, 'speechScore')))
  const noise = frames.map((levels) => best(levels, 'noiseScore'))
  const speechLike = speech.filter((score) => score >= SPEECH_LIKE)
  const observedP95MetricDbfs = percentile(metrics, 0.95)
  const required = rules.qualityMode === 'speech_required'
  const minSpeechScore =
    required && speechLike.length > 0
      ? { minSpeechScore: clamp(0, 1, round(percentile(speechLike, 0.25) - SPEECH_MARGIN, 2)) }
      : {}
  const thresholdDbfs = clamp(-160, 24, round(observedP95MetricDbfs - marginDb, 1))
  return {
    analysis: {
      frameCount: frames.length,
      maxNoiseScore: Math.max(...noise),
      medianMetricDbfs: percentile(metrics, 0.5),
      medianSpeechScore: percentile(speech, 0.5),
      observedMaxMetricDbfs: percentile(metrics, 1),
      observedP95MetricDbfs,
      speechLikeFrameCount: speechLike.length,
    },
    applied,
    recommendation: { marginDb, update: { thresholdDbfs, ...minSpeechScore } },
    warnings: [
      ...(required && speechLike.length === 0 ? (['no_speech_like_frames'] as const) : []),
      ...(speech.every((score) => score === 0) ? (['quality_scores_missing'] as const) : []),
    ],
  }
}
