import * as z from 'zod'
import { AgentJob, RENDITIONS, RenditionDetails } from '../../wire/recordings.ts'
import { SAMPLE_FORMATS } from '../audio/format.rules.ts'

const TAKE_STATUSES = ['claimed', 'capturing', 'captured', 'uploading', 'uploaded', 'failed', 'cancelled'] as const

const frames = z.number().int().min(0)

/** One file for the controller. Listed once it is complete and on disk. */
export const Output = z.object({
  /** Number of its part, from 0; undefined when the take goes up in one piece. */
  chunk: z.number().int().min(0).optional(),
  /** How many parts there are; with the primary of the last one only. */
  chunkTotal: z.number().int().min(1).optional(),
  contentType: z.string(),
  /** Unreadable details must not cost the take. */
  details: RenditionDetails.optional().catch(undefined),
  durationSeconds: z.number().min(0),
  /** Name below the job's directory. */
  file: z.string().regex(/^[\w.-]+$/),
  /** Name shown to the operator. */
  fileName: z.string(),
  /** Why the controller will never accept it. */
  refused: z.string().optional(),
  /** Undefined: the only rendition there is. */
  rendition: z.enum(RENDITIONS).optional(),
  /** The controller has it, or deleted the recording it belongs to after it had the primary one. */
  uploaded: z.literal(true).optional(),
})
export type Output = z.infer<typeof Output>

/** The state of one job; one file per job, so that no job can overwrite another's. */
export const TakeState = z.object({
  /** How many parts there are, once the last one is made. */
  chunkTotal: z.number().int().min(1).optional(),
  /** When it was claimed, by the clocks that tell how long ago that was. */
  claimed: z.object({ boot: z.number(), upMs: z.number(), wallMs: z.number() }).optional().catch(undefined),
  /** Unix ms of the claim. */
  claimedAt: z.number(),
  /** The file's own format, known from the first sample on. */
  format: z
    .object({ channels: z.number().int().min(1), format: z.enum(SAMPLE_FORMATS), rate: z.number().int().min(1) })
    .optional(),
  /** First frame of the take that belongs to this job: a late member of a running capture does not begin at 0. */
  fromFrame: frames.default(0),
  gaps: z.array(z.object({ atFrame: frames, seconds: z.number().min(0) })).default([]),
  job: AgentJob,
  /** Levels of the chunks enhanced so far; unreadable ones must not cost the take. */
  levelled: z
    .object({
      gainDb: z.number(),
      heard: z.array(z.object({ lufs: z.number(), seconds: z.number() })),
      rider: z.object({ makeupDb: z.number(), ratio: z.number(), thresholdDb: z.number() }).optional(),
    })
    .optional()
    .catch(undefined),
  /** The controller asked for it again: it may not even know the recording. */
  offered: z.literal(true).optional(),
  /** Files for the controller, except those of chunks that it has completely. */
  outputs: z.array(Output).default([]),
  /** Length of a part, fixed when the first one is made; undefined: the take is one part. */
  partSeconds: z.number().int().min(1).optional(),
  /** How many parts, from the first, have all their files: these may be sent. */
  partsMade: frames.default(0),
  /** Why it failed, was cancelled or ended early. */
  reason: z.string().optional(),
  status: z.enum(TAKE_STATUSES),
  /** The sound came from the test source. */
  test: z.literal(true).optional(),
  /** Frame after the last one of this job; known from `captured` on. */
  toFrame: frames.optional(),
  version: z.literal(1),
})
export type TakeState = z.infer<typeof TakeState>
