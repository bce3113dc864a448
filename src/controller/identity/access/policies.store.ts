import { conflict } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import type { Policy, PolicyInput } from '../../../wire/access.ts'
import type { Db, Params } from '../../store/db.ts'
import { present } from '../../store/filter.ts'
import { locksOut, policyList } from './access.rules.ts'
import type { UserStore } from './users.store.ts'

type Row = { [K in keyof Required<Policy>]: Policy[K] | null }

/** The one list of allow and deny policies, replaced whole. */
export function accessPolicyStore(db: Db, ids: Ids, users: UserStore) {
  const all = db.stmt<object, Row>(
    `SELECT id, effect, subject_type AS subjectType, subject_id AS subjectId, resource_type AS resourceType,
       resource_id AS resourceId, reason FROM access_policies ORDER BY position`,
  )
  const clear = db.stmt<object>(`DELETE FROM access_policies`)
  const insert = db.stmt<Params>(
    `INSERT INTO access_policies (id, position, effect, subject_type, subject_id, resource_type, resource_id, reason)
     VALUES (@id, @position, @effect, @subjectType, @subjectId, @resourceType, @resourceId, @reason)`,
  )
  const list = (): Policy[] => all.all({}).map((row) => present(row) as Policy)
  const put = (policy: Policy, position: number): void => {
    insert.run({ ...policy, position, subjectId: policy.subjectId ?? null, reason: policy.reason ?? null })
  }

  return {
    list,
    /** @throws Fail 409 `access_policy_lockout` for a list that nobody could work under, or take back. */
    replace(wanted: PolicyInput[]): { before: Policy[]; after: Policy[] } {
      const before = list()
      const policies = policyList(wanted, before, () => ids.make('access_policy'))
      if (locksOut(policies, users.managers()))
        throw conflict('access_policy_lockout', 'These policies would deny everything to everyone who manages access')
      clear.run({})
      policies.forEach(put)
      return { before, after: list() }
    },
  }
}
export type AccessPolicyStore = ReturnType<typeof accessPolicyStore>
