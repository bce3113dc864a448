import { found } from '../../../kernel/fail.ts'
import type { RecorderCachePolicy } from '../../../wire/nodes.ts'
import type { RetentionPolicy } from '../../../wire/retention.ts'
import type { Db } from '../../store/db.ts'
import { present } from '../../store/filter.ts'
import { retentionPolicyStore } from '../retention/policies.store.ts'

interface UploadPolicy {
  deleteCacheAfterUpload: boolean
  destinationId?: string
  enabled: boolean
  id: string
  maxAttempts: number
  name: string
  pathOverride?: string
  trigger: 'manual' | 'on_recording_cached'
  updatedAt: string
}

/** Thresholds and modes are stored and returned whole. */
interface WatchdogPolicy {
  id: string
  name: string
  rules: Record<string, unknown>
}

const UPLOAD = `id, name, destination_id AS destinationId, enabled, trigger_kind AS "trigger", max_attempts AS maxAttempts,
  path_override AS pathOverride, delete_cache_after_upload AS deleteCacheAfterUpload, updated_at AS updatedAt`

const truths = <T extends object>(row: T, names: readonly (keyof T)[]): T => ({
  ...row,
  ...Object.fromEntries(names.map((name) => [name, row[name] === (1 as never)])),
})

/** Lookups of the policies a recording refers to. */
export function policyStore(db: Db) {
  const retention = retentionPolicyStore(db)
  const upload = db.stmt<{ id: string }, UploadPolicy>(`SELECT ${UPLOAD} FROM upload_policies WHERE id = @id`)
  const watchdog = db.stmt<{ id: string }, { id: string; name: string; rules: string }>(
    `SELECT id, name, rules FROM watchdog_policies WHERE id = @id`,
  )
  return {
    /** What every recorder does with its own copies, by name. */
    recorderCachePolicies: (): RecorderCachePolicy[] => retention.recorderCaches(),
    /** @throws Fail 404 `retention_policy_not_found`. */
    retentionPolicy: (id: string): RetentionPolicy => found(retention.find(id), 'Retention policy'),
    /** @throws Fail 404 `upload_policy_not_found`. */
    uploadPolicy(id: string): UploadPolicy {
      const row = found(upload.get({ id }), 'Upload policy')
      return present(truths(row, ['enabled', 'deleteCacheAfterUpload'])) as UploadPolicy
    },
    /** @throws Fail 404 `watchdog_policy_not_found`. */
    watchdogPolicy(id: string): WatchdogPolicy {
      const row = found(watchdog.get({ id }), 'Watchdog policy')
      return { ...row, rules: JSON.parse(row.rules) }
    },
  }
}
export type PolicyStore = ReturnType<typeof policyStore>
