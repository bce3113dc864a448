import * as z from 'zod'
import { SEVERITIES } from './health.ts'
import { someField, text } from './scalars.ts'

const dbfs = z.number().min(-160).max(24)
const score = z.number().min(0).max(1)
const whole = (least: number) => z.number().int().min(least).max(86_400)
const seconds = z.number().min(0).max(86_400)

const always = {
  activeDuring: z.enum(['always', 'scheduled_recording', 'recording']),
  graceSeconds: whole(0),
  metric: z.enum(['peak', 'rms', 'percentile_95']),
  minCumulativeSecondsAboveThreshold: seconds,
  name: text(1, 160),
  repeatEverySeconds: whole(1),
  severity: z.enum(SEVERITIES),
  thresholdDbfs: dbfs,
  windowSeconds: whole(1),
}
const sometimes = {
  broadbandNoiseScoreThreshold: score,
  channelCorrelationMode: z.enum(['off', 'alert_on_high']),
  channelCorrelationThreshold: score,
  clippingMode: z.enum(['off', 'alert_on_clipping']),
  flatlineMode: z.enum(['off', 'alert_on_flatline']),
  flatlineThresholdDbfs: dbfs,
  humScoreThreshold: score,
  minCumulativeChannelCorrelationSeconds: seconds,
  minCumulativeClippingSeconds: seconds,
  minCumulativeFlatlineSeconds: seconds,
  minCumulativeQualitySeconds: seconds,
  minCumulativeSpeechSeconds: seconds,
  minSpeechScore: score,
  noiseScoreThreshold: score,
  qualityAlertMode: z.enum(['off', 'alert_on_noise_hum_static']),
  qualityMode: z.enum(['signal_only', 'speech_required']),
  staticScoreThreshold: score,
}

/** Thresholds and modes (docs/contract/health.md: Watchdog policies, which has the values of unset ones). */
export const WatchdogRules = z.object({ ...always, ...z.object(sometimes).partial().shape }).omit({ name: true })
export type WatchdogRules = z.infer<typeof WatchdogRules>
export type WatchdogPolicy = WatchdogRules & { id: string; name: string }

const clearable = Object.fromEntries(
  Object.entries(sometimes).map(([name, schema]) => [name, schema.nullable()]),
) as unknown as { [K in keyof typeof sometimes]: z.ZodNullable<(typeof sometimes)[K]> }
const input = z.strictObject({ ...always, ...clearable }).partial()

/** Only the name is required; the rest comes from the built-in policy. Null unsets an optional field. */
export const WatchdogPolicyInput = input.required({ name: true })
export type WatchdogPolicyInput = z.infer<typeof WatchdogPolicyInput>
export const WatchdogPolicyPatch = input.refine(someField, 'At least one watchdog policy field is required')
export type WatchdogPolicyPatch = z.infer<typeof WatchdogPolicyPatch>

export const CalibrationRequest = z.strictObject({
  apply: z.boolean().default(false),
  frameLimit: z.number().int().min(3).max(600).default(120),
  minFrames: z.number().int().min(3).max(600).default(5),
  nodeId: text(1, 160),
  signalMarginDb: z.number().min(0).max(40).default(8),
})
export type CalibrationRequest = z.infer<typeof CalibrationRequest>

/** What the newest frames of a node say about a policy's thresholds. */
export interface Calibration {
  analysis: {
    frameCount: number
    maxNoiseScore: number
    medianMetricDbfs: number
    medianSpeechScore: number
    observedMaxMetricDbfs: number
    observedP95MetricDbfs: number
    speechLikeFrameCount: number
  }
  applied: boolean
  recommendation: { marginDb: number; update: { minSpeechScore?: number; thresholdDbfs: number } }
  warnings: ('no_speech_like_frames' | 'quality_scores_missing')[]
}
