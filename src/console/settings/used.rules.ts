import type { Schedule } from '../../wire/schedules.ts'
import type { ControllerSettings } from '../../wire/settings.ts'

/** What names one of a family: schedules, the site, and takes, as far as the API finds them by it. */
interface Naming {
  default: keyof ControllerSettings
  schedules: 'recordingProfileId' | 'retentionPolicyId' | 'uploadPolicyIds' | 'watchdogPolicyId'
  takes?: 'recordingProfileId' | 'uploadPolicyId'
}

export const NAMED_BY: Readonly<Record<string, Naming>> = {
  profiles: { default: 'defaultRecordingProfileId', schedules: 'recordingProfileId', takes: 'recordingProfileId' },
  retention: { default: 'defaultRetentionPolicyId', schedules: 'retentionPolicyId' },
  uploads: { default: 'defaultUploadPolicyId', schedules: 'uploadPolicyIds', takes: 'uploadPolicyId' },
  watchdog: { default: 'defaultWatchdogPolicyId', schedules: 'watchdogPolicyId' },
}

type Named = Pick<Schedule, 'name' | Naming['schedules']>

/** Names of the schedules that use it, in their order. */
export const schedulesWith = (id: string, { schedules: field }: Naming, all: readonly Named[]): string[] =>
  all.filter((schedule) => [schedule[field]].flat().includes(id)).map(({ name }) => name)
