import { found } from '../../kernel/fail.ts'
import type { RecorderCachePolicy } from '../../wire/nodes.ts'
import type { Db } from '../store/db.ts'
import { present } from '../store/filter.ts'
import { recorderCache } from './policies.rules.ts'

/** What every controller starts with (sql/0004): the defaults of a recording that names none. */
export const BUILT_IN = {
  profile: 'voice-mp3-vbr',
  retention: 'retention-keep-controller-cache',
  upload: 'upload-policy-stub',
  watchdog: 'scheduled-voice-watchdog',
} as const

export interface RetentionPolicy {
  action: 'keep' | 'delete_cache'
  deleteOnlyAfterUploaded: boolean
  enabled: boolean
  id: string
  maxAgeDays: number | null
  maxBytes: number | null
  minFreeDiskPercent: number | null
  name: string
  preserveTagged: boolean
  scope: 'controller_cache' | 'recorder_cache'
  updatedAt: string
}

export interface UploadPolicy {
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
export interface WatchdogPolicy {
  id: string
  name: string
  rules: Record<string, unknown>
}

const RETENTION = `id, name, scope, action, enabled, max_age_days AS maxAgeDays, max_bytes AS maxBytes,
  min_free_disk_percent AS minFreeDiskPercent, delete_only_after_uploaded AS deleteOnlyAfterUploaded,
  preserve_tagged AS preserveTagged, updated_at AS updatedAt`
const UPLOAD = `id, name, destination_id AS destinationId, enabled, trigger_kind AS "trigger", max_attempts AS maxAttempts,
  path_override AS pathOverride, delete_cache_after_upload AS deleteCacheAfterUpload, updated_at AS updatedAt`

const truths = <T extends object>(row: T, names: readonly (keyof T)[]): T => ({
  ...row,
  ...Object.fromEntries(names.map((name) => [name, row[name] === (1 as never)])),
})

/** Lookups of the policies a recording refers to. */
export function policyStore(db: Db) {
  const retention = db.stmt<{ id: string }, RetentionPolicy>(
    `SELECT ${RETENTION} FROM retention_policies WHERE id = @id`,
  )
  const recorderCaches = db.stmt<object, RetentionPolicy>(
    `SELECT ${RETENTION} FROM retention_policies
      WHERE enabled = 1 AND scope = 'recorder_cache' AND action = 'delete_cache' ORDER BY name`,
  )
  const upload = db.stmt<{ id: string }, UploadPolicy>(`SELECT ${UPLOAD} FROM upload_policies WHERE id = @id`)
  const watchdog = db.stmt<{ id: string }, { id: string; name: string; rules: string }>(
    `SELECT id, name, rules FROM watchdog_policies WHERE id = @id`,
  )
  return {
    /** What every recorder does with its own copies, by name. */
    recorderCachePolicies: (): RecorderCachePolicy[] => recorderCaches.all({}).map(recorderCache),
    /** @throws Fail 404 `retention_policy_not_found`. */
    retentionPolicy: (id: string): RetentionPolicy =>
      truths(found(retention.get({ id }), 'Retention policy'), [
        'enabled',
        'deleteOnlyAfterUploaded',
        'preserveTagged',
      ]),
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
