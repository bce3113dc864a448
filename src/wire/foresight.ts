import * as z from 'zod'
import { SEVERITIES, type Severity } from './health.ts'
import { someField } from './scalars.ts'

export interface ForesightRule {
  enabled: boolean
  /** How long before the take begins it is told. */
  leadMinutes: number
  /** With which it is told; what would leave nothing recorded becomes critical at the end, unless this is `info`. */
  severity: Severity
}

const ahead = (leadMinutes: number): ForesightRule => ({ enabled: true, leadMinutes, severity: 'warning' })

/** What is foreseen of the takes of the coming day unless people say otherwise; the health event is `foresight.<kind>`. */
export const FORESIGHT = {
  certificate_ends: ahead(1440),
  channels_missing: ahead(240),
  clash: ahead(1440),
  clock_off: ahead(120),
  controller_disk_short: ahead(1440),
  destination_failing: ahead(120),
  device_changed: ahead(240),
  device_gone: ahead(240),
  disk_short: ahead(1440),
  impossible: ahead(1440),
  recorder_offline: ahead(120),
  unsynced: ahead(60),
} as const satisfies Record<string, ForesightRule>

export type ForesightKind = keyof typeof FORESIGHT
export const FORESIGHT_KINDS = Object.keys(FORESIGHT) as ForesightKind[]

/** What `GET /settings/foresight` answers. */
export interface ForesightSettings {
  kinds: Record<ForesightKind, ForesightRule>
}

const Change = z
  .strictObject({
    enabled: z.boolean(),
    leadMinutes: z.number().int().min(1).max(1440),
    severity: z.enum(SEVERITIES),
  })
  .partial()
  .refine(someField, 'At least one field of the kind is required')

export const ForesightPatch = z.strictObject({
  kinds: z
    .partialRecord(z.enum(FORESIGHT_KINDS), Change)
    .refine((kinds) => Object.keys(kinds).length > 0, 'Name at least one kind'),
})
export type ForesightPatch = z.infer<typeof ForesightPatch>
