import type { Visibility } from '../http/visibility.ts'
import type { Db } from '../store/db.ts'
import { Lister } from '../store/filter.ts'

/** The settings a schedule refers to, in the order they are checked: the field and its type of target. */
export const SETTINGS_OF = [
  ['recordingProfileId', 'recording_profile'],
  ['watchdogPolicyId', 'watchdog_policy'],
  ['retentionPolicyId', 'retention_policy'],
  ['uploadPolicyIds', 'upload_policy'],
] as const
type SettingType = (typeof SETTINGS_OF)[number][1]

const TABLES: Record<SettingType, string> = {
  recording_profile: 'recording_profiles',
  watchdog_policy: 'watchdog_policies',
  retention_policy: 'retention_policies',
  upload_policy: 'upload_policies',
}

/** Whether what a schedule refers to exists and is visible. */
export function referenceStore(db: Db) {
  const settings = new Map(
    Object.entries(TABLES).map(([type, table]) => [
      type,
      db.stmt<{ id: string }>(`SELECT 1 FROM ${table} WHERE id = @id`),
    ]),
  )
  const nodes = new Lister<{ id: string }>(db, { columns: 'n.id', from: 'nodes n' })
  const strangers = (table: string) =>
    db.stmt<{ ids: string }, { id: string }>(
      `SELECT value AS id FROM json_each(@ids) WHERE value NOT IN (SELECT id FROM ${table})`,
    )
  const [users, groups] = [strangers('users'), strangers('access_groups')]
  return {
    hasSetting: (type: SettingType, id: string): boolean => settings.get(type)?.get({ id }) !== undefined,
    unknownUsers: (ids: string[]): string[] => users.all({ ids: JSON.stringify(ids) }).map((row) => row.id),
    unknownGroups: (ids: string[]): string[] => groups.all({ ids: JSON.stringify(ids) }).map((row) => row.id),
    seesNode: (visibility: Visibility, id: string): boolean =>
      nodes.count([{ sql: 'n.id = @wanted', params: { wanted: id } }, ...visibility.nodes()], 1) === 1,
  }
}
export type ReferenceStore = ReturnType<typeof referenceStore>
