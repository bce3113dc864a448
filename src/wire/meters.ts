import * as z from 'zod'
import { instant, query, text, toldText } from './scalars.ts'

/** Levels of one frame (docs/contract/agent.md: Meters). */
export const MAX_LEVELS = 512

// Bounded: what is kept packed must fit its field.
const channel = z.number().int().min(1).max(32_767)
const dbfs = z.number().min(-160).max(24)
const ratio = z.number().min(-1).max(1)
const score = z.number().min(0).max(1)
const decibels = z.number().min(0).max(80)

export const AudioQuality = z.object({
  broadbandNoiseScore: score.optional(),
  channelCorrelation: z
    .object({ peerChannelIndex: channel, phase: z.enum(['same', 'inverted']), score: ratio })
    .optional(),
  crestFactorDb: decibels,
  estimatedSnrDb: decibels.optional(),
  humScore: score.optional(),
  intelligibilityScore: score.optional(),
  noiseScore: score,
  speechLike: z.boolean(),
  speechScore: score,
  staticScore: score.optional(),
  zeroCrossingRate: score,
})
export type AudioQuality = z.infer<typeof AudioQuality>

export const AudioLevel = z.object({
  channelIndex: channel,
  clipping: z.boolean(),
  label: toldText(1, 240),
  peakDbfs: dbfs,
  quality: AudioQuality.optional(),
  rmsDbfs: dbfs,
})
export type AudioLevel = z.infer<typeof AudioLevel>

const distinct = (levels: { channelIndex: number }[]): boolean =>
  new Set(levels.map((level) => level.channelIndex)).size === levels.length

export const MeterFrame = z.object({
  capturedAt: instant,
  /** System ref or controller's id as sent (docs/contract/nodes.md: Interfaces); the controller's id wherever it is shown. */
  interfaceId: toldText(1, 255),
  levels: z.array(AudioLevel).max(MAX_LEVELS).refine(distinct, 'a channel is named twice'),
  nodeId: text(1, 160),
  /** Levels of a quarter of a second, sent while somebody watches: shown, but neither kept nor judged. */
  quick: z.boolean().optional(),
  /** Made up, not heard: never judged (ADR-0018). */
  synthetic: z.boolean().optional(),
})
export type MeterFrame = z.infer<typeof MeterFrame>

/** Frames that come together, oldest first. An agent puts no more levels into them than one frame may have. */
export const MeterFrames = z.object({ frames: z.array(MeterFrame).min(1).max(60) })

/** One interface of a node that meters several; by id or system ref. */
export const MeterQuery = z.object({ interfaceId: query(text(1, 255)) })

/** Nodes watched by one stream at the most. */
const MAX_WATCHED = 200

/** `nodes`: ids with commas between; `detail=levels` sends `LevelFrame` in place of whole frames. */
export const MeterStream = z.object({
  detail: query(z.literal('levels')),
  nodes: query(
    z
      .string()
      .max(40_000)
      .transform((ids) => ids.split(',').filter(Boolean))
      .pipe(z.array(text(1, 160)).max(MAX_WATCHED)),
  ),
})
export type MeterStream = z.infer<typeof MeterStream>

/** Levels of one device: `peak` and `rms` (dBFS) of each of `channels`; which channels clip, and which carry speech. */
export interface LevelFrame {
  at: string
  channels: number[]
  clip: number[]
  interfaceId: string
  nodeId: string
  peak: number[]
  rms: number[]
  speech: number[]
  synthetic?: boolean
}
