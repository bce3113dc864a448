import * as z from 'zod'
import { isZone } from '../kernel/zones.ts'
import { someField, text } from './scalars.ts'

/** What every controller starts with (sql/0004): the defaults of a recording that names none. */
export const BUILT_IN = {
  profile: 'voice-mp3-vbr',
  retention: 'retention-keep-controller-cache',
  upload: 'upload-policy-stub',
  watchdog: 'scheduled-voice-watchdog',
} as const

export const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const

export type Weekday = (typeof WEEKDAYS)[number]

const fields = {
  controllerName: text(1, 160),
  defaultRecordingProfileId: text(1, 160).nullable(),
  defaultRetentionPolicyId: text(1, 160).nullable(),
  defaultUploadPolicyId: text(1, 160).nullable(),
  defaultWatchdogPolicyId: text(1, 160).nullable(),
  /** What people call the site; empty is the name of the controller. */
  siteName: text(0, 120),
  /** IANA; null is the zone of the machine. */
  timezone: text(1, 64).refine(isZone, 'expected an IANA time zone such as Europe/Berlin').nullable(),
  weekStartsOn: z.enum(WEEKDAYS),
}

/** Null clears a default. */
export const ControllerSettingsPatch = z
  .object(fields)
  .partial()
  .refine(someField, 'At least one controller setting is required')
export type ControllerSettingsPatch = z.infer<typeof ControllerSettingsPatch>

/** The defaults stand in for what a new schedule or recording leaves out; an unset one is null. */
export type ControllerSettings = z.infer<z.ZodObject<typeof fields>>
