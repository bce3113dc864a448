import { conflict, found } from '../../../kernel/fail.ts'
import type { RecorderCachePolicy } from '../../../wire/nodes.ts'
import type { RetentionInput, RetentionPatch, RetentionPolicy } from '../../../wire/retention.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, Params } from '../../store/db.ts'
import { Lister } from '../../store/filter.ts'
import { RETENTION_DEFAULTS, recorderCache } from './retention.rules.ts'

type Flag = 'deleteOnlyAfterUploaded' | 'enabled' | 'preserveTagged'
type Row = Omit<RetentionPolicy, Flag> & Record<Flag, number>

const COLUMNS = `x.id, x.name, x.scope, x.action, x.enabled, x.max_age_days AS maxAgeDays, x.max_bytes AS maxBytes,
  x.min_free_disk_percent AS minFreeDiskPercent, x.delete_only_after_uploaded AS deleteOnlyAfterUploaded,
  x.preserve_tagged AS preserveTagged, x.updated_at AS updatedAt`
const BY_NAME = 'x.name COLLATE NOCASE, x.id'

const policyOf = (row: Row): RetentionPolicy => ({
  ...row,
  deleteOnlyAfterUploaded: row.deleteOnlyAfterUploaded === 1,
  enabled: row.enabled === 1,
  preserveTagged: row.preserveTagged === 1,
})

const columns = ({
  deleteOnlyAfterUploaded,
  enabled,
  preserveTagged,
  updatedAt: _,
  ...rest
}: RetentionPolicy): Params => ({
  ...rest,
  deleteOnlyAfterUploaded: Number(deleteOnlyAfterUploaded),
  enabled: Number(enabled),
  preserveTagged: Number(preserveTagged),
})

/** Retention policies (docs/contract/recordings.md: Retention). */
export function retentionPolicyStore(db: Db) {
  const lister = new Lister<Row>(db, { columns: COLUMNS, from: 'retention_policies x' })
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM retention_policies x WHERE x.id = @id`)
  const deleting = db.stmt<{ scope: RetentionPolicy['scope'] }, Row>(
    `SELECT ${COLUMNS} FROM retention_policies x
      WHERE x.enabled = 1 AND x.scope = @scope AND x.action = 'delete_cache' ORDER BY ${BY_NAME}`,
  )
  const insert = db.stmt<Params>(
    `INSERT INTO retention_policies (id, name, scope, action, enabled, max_age_days, max_bytes, min_free_disk_percent,
       delete_only_after_uploaded, preserve_tagged, updated_at)
     VALUES (@id, @name, @scope, @action, @enabled, @maxAgeDays, @maxBytes, @minFreeDiskPercent, @deleteOnlyAfterUploaded,
       @preserveTagged, @now) ON CONFLICT (id) DO NOTHING`,
  )
  const update = db.stmt<Params>(
    `UPDATE retention_policies SET name = @name, scope = @scope, action = @action, enabled = @enabled,
       max_age_days = @maxAgeDays, max_bytes = @maxBytes, min_free_disk_percent = @minFreeDiskPercent,
       delete_only_after_uploaded = @deleteOnlyAfterUploaded, preserve_tagged = @preserveTagged, updated_at = @now WHERE id = @id`,
  )
  const find = (id: string): RetentionPolicy | undefined => {
    const row = byId.get({ id })
    return row && policyOf(row)
  }
  return {
    find,
    list: (visibility: Visibility): RetentionPolicy[] =>
      lister.all(visibility.own('retention_policy'), BY_NAME).map(policyOf),
    /** Missing fields have their defaults. @throws Fail 409 `retention_policy_exists`. */
    create(id: string, input: RetentionInput, now: string): RetentionPolicy {
      const policy = { ...RETENTION_DEFAULTS, ...input, id, updatedAt: now }
      if (insert.run({ ...columns(policy), now }) !== 1)
        throw conflict('retention_policy_exists', 'Retention policy already exists: take another id')
      return policy
    },
    change(before: RetentionPolicy, patch: RetentionPatch, now: string): RetentionPolicy {
      const given = Object.entries(patch).filter(([, value]) => value !== undefined)
      const after = { ...before, ...(Object.fromEntries(given) as Partial<RetentionPolicy>), updatedAt: now }
      update.run({ ...columns(after), now })
      return after
    },
    /** Those that delete takes stored here, in the order of the list. */
    deleting: (): RetentionPolicy[] => deleting.all({ scope: 'controller_cache' }).map(policyOf),
    /** How recorders treat their own copies, by name of the policy. */
    recorderCaches: (): RecorderCachePolicy[] => deleting.all({ scope: 'recorder_cache' }).map(recorderCache),
  }
}
export type RetentionPolicyStore = ReturnType<typeof retentionPolicyStore>

/** Lookups of the policies a recording refers to. */
export function policyStore(db: Db) {
  const retention = retentionPolicyStore(db)
  const uploadPolicy = db.stmt<{ id: string }, { id: string }>('SELECT id FROM upload_policies WHERE id = @id')
  return {
    /** What every recorder does with its own copies, by name. */
    recorderCachePolicies: (): RecorderCachePolicy[] => retention.recorderCaches(),
    /** @throws Fail 404 `retention_policy_not_found`. */
    retentionPolicy: (id: string): RetentionPolicy => found(retention.find(id), 'Retention policy'),
    /** @throws Fail 404 `upload_policy_not_found`. */
    requireUploadPolicy: (id: string): void => void found(uploadPolicy.get({ id }), 'Upload policy'),
  }
}
export type PolicyStore = ReturnType<typeof policyStore>
