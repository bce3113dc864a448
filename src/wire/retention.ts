import * as z from 'zod'
import { clientId, someField, text } from './scalars.ts'

const RETENTION_SCOPES = ['controller_cache', 'recorder_cache'] as const
const RETENTION_ACTIONS = ['keep', 'delete_cache'] as const

const limit = (least: number, most: number) => z.number().int().min(least).max(most).nullable()
const fields = {
  action: z.enum(RETENTION_ACTIONS),
  deleteOnlyAfterUploaded: z.boolean(),
  enabled: z.boolean(),
  maxAgeDays: limit(1, 3650),
  maxBytes: limit(1, 1e15),
  minFreeDiskPercent: limit(0, 95),
  name: text(1, 160),
  preserveTagged: z.boolean(),
  scope: z.enum(RETENTION_SCOPES),
}

export const RetentionInput = z
  .strictObject({ id: clientId, ...fields })
  .partial()
  .required({ name: true })
export type RetentionInput = z.infer<typeof RetentionInput>
/** A null takes a limit away. */
export const RetentionPatch = z.strictObject(fields).partial().refine(someField, 'At least one field is required')
export type RetentionPatch = z.infer<typeof RetentionPatch>

/** What becomes of stored takes, on the controller or on the recorders (docs/contract/recordings.md: Retention). */
export interface RetentionPolicy {
  action: (typeof RETENTION_ACTIONS)[number]
  /** Only takes whose every upload has succeeded. */
  deleteOnlyAfterUploaded: boolean
  enabled: boolean
  id: string
  maxAgeDays: number | null
  maxBytes: number | null
  minFreeDiskPercent: number | null
  name: string
  preserveTagged: boolean
  scope: (typeof RETENTION_SCOPES)[number]
  updatedAt: string
}
