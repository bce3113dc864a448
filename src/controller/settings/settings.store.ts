import { found, notFound } from '../../kernel/fail.ts'
import type { ControllerSettings, ControllerSettingsPatch, Weekday } from '../../wire/settings.ts'
import { BUILT_IN } from '../../wire/settings.ts'
import type { Db, Params } from '../store/db.ts'
import { present } from '../store/filter.ts'

const COLUMNS = `controller_name AS controllerName, week_starts_on AS weekStartsOn,
  default_recording_profile_id AS defaultRecordingProfileId, default_retention_policy_id AS defaultRetentionPolicyId,
  default_upload_policy_id AS defaultUploadPolicyId, default_watchdog_policy_id AS defaultWatchdogPolicyId,
  site_name AS siteName, timezone`

/** Ids used for fields that are left out. */
type DefaultIds = Record<keyof typeof BUILT_IN, string>

/** The one row of settings that people change while the controller runs. */
export function settingsStore(db: Db) {
  const row = db.stmt<object, ControllerSettings>(`SELECT ${COLUMNS} FROM controller_settings WHERE id = 1`)
  const update = db.stmt<Params>(
    `UPDATE controller_settings SET controller_name = @controllerName, week_starts_on = @weekStartsOn,
       default_recording_profile_id = @defaultRecordingProfileId, default_retention_policy_id = @defaultRetentionPolicyId,
       default_upload_policy_id = @defaultUploadPolicyId, default_watchdog_policy_id = @defaultWatchdogPolicyId,
       site_name = @siteName, timezone = @timezone,
       updated_at = @now WHERE id = 1`,
  )
  const exists = (table: string) => db.stmt<{ id: string }, { n: number }>(`SELECT 1 AS n FROM ${table} WHERE id = @id`)
  const columns = [
    ['defaultRecordingProfileId', 'Recording profile', exists('recording_profiles')],
    ['defaultRetentionPolicyId', 'Retention policy', exists('retention_policies')],
    ['defaultUploadPolicyId', 'Upload policy', exists('upload_policies')],
    ['defaultWatchdogPolicyId', 'Watchdog policy', exists('watchdog_policies')],
  ] as const
  const get = (): ControllerSettings => found(row.get({}), 'Controller settings')
  const defaults = (): DefaultIds => {
    const s = get()
    return {
      profile: s.defaultRecordingProfileId ?? BUILT_IN.profile,
      retention: s.defaultRetentionPolicyId ?? BUILT_IN.retention,
      upload: s.defaultUploadPolicyId ?? BUILT_IN.upload,
      watchdog: s.defaultWatchdogPolicyId ?? BUILT_IN.watchdog,
    }
  }

  return {
    /** What a recording or a schedule gets that names nothing: as configured, else built in. */
    defaults,
    get,
    /** Name, time zone and first weekday of the site, as everybody who is signed in may know them. */
    site(): { name: string; timezone: string; unnamed?: true; weekStartsOn: Weekday } {
      const { controllerName, siteName, timezone, weekStartsOn } = get()
      return {
        name: siteName || controllerName,
        timezone: timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
        ...(siteName === '' && { unnamed: true as const }),
        weekStartsOn,
      }
    },
    /** @throws Fail 404 for a default that does not exist. */
    patch(patch: ControllerSettingsPatch, now: string): { before: ControllerSettings; after: ControllerSettings } {
      for (const [name, what, known] of columns) {
        const id = patch[name]
        if (typeof id === 'string' && !known.get({ id })) throw notFound(what)
      }
      const before = get()
      const cleared = Object.fromEntries(Object.entries(patch).filter(([, value]) => value === null))
      update.run({ ...before, ...present(patch), ...cleared, now })
      return { before, after: get() }
    },
  }
}
export type SettingsStore = ReturnType<typeof settingsStore>
