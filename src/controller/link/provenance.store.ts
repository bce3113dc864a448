import type { NodeConfig } from '../../wire/nodes.ts'
import type { Db } from '../store/db.ts'

type CachePolicy = NodeConfig['recorderCachePolicies'][number]

/** Small questions of the agent routes: whose is it, and what may the recorder's own cache do. */
export function provenanceStore(db: Db) {
  const owner = {
    recording: db.stmt<{ id: string }, { nodeId: string | null }>(
      `SELECT node_id AS nodeId FROM recordings WHERE id = @id`,
    ),
    schedule: db.stmt<{ id: string }, { nodeId: string | null }>(
      `SELECT node_id AS nodeId FROM schedules WHERE id = @id`,
    ),
  }
  const policies = db.stmt<object, Omit<CachePolicy, 'deleteAfterUpload'>>(
    `SELECT id AS policyId, max_age_days AS maxAgeDays, max_bytes AS maxBytes, min_free_disk_percent AS minFreeDiskPercent
       FROM retention_policies WHERE enabled = 1 AND scope = 'recorder_cache' AND action = 'delete_cache' ORDER BY name`,
  )
  return {
    /** Node id of a recording or schedule; '' when it has none, undefined when it does not exist. */
    ownerOf(kind: 'recording' | 'schedule', id: string): string | undefined {
      const row = owner[kind].get({ id })
      return row && (row.nodeId ?? '')
    },
    recorderCachePolicies: (): CachePolicy[] =>
      policies.all({}).map((p) => ({ ...p, deleteAfterUpload: unlimited(p) })),
  }
}
export type ProvenanceStore = ReturnType<typeof provenanceStore>

// Without any limit the policy means: delete as soon as the controller has the file (contract A, 2.13).
const unlimited = (p: Omit<CachePolicy, 'deleteAfterUpload'>): boolean =>
  p.maxAgeDays === null && p.maxBytes === null && p.minFreeDiskPercent === null
