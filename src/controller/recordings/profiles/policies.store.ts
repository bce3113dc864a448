import { found } from '../../../kernel/fail.ts'
import type { RecorderCachePolicy } from '../../../wire/nodes.ts'
import type { RetentionPolicy } from '../../../wire/retention.ts'
import type { Db } from '../../store/db.ts'
import { retentionPolicyStore } from '../retention/policies.store.ts'

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
