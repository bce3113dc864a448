import * as z from 'zod'
import { AgentJob } from '../../wire/recordings.ts'
import { SAMPLE_FORMATS } from '../capture/format.rules.ts'

export const TAKE_STATUSES = [
  'claimed',
  'capturing',
  'captured',
  'rendered',
  'uploading',
  'uploaded',
  'completed',
  'failed',
  'cancelled',
] as const

const frames = z.number().int().min(0)

/** What is known of one job's take; one file per job, so that no job can overwrite another's. */
export const TakeState = z.object({
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
  /** What goes to the controller, once it is ready. */
  output: z
    .object({
      contentType: z.string(),
      durationSeconds: z.number().min(0),
      /** Name below the job's directory. */
      file: z.string().regex(/^[\w.-]+$/),
      fileName: z.string(),
    })
    .optional(),
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
