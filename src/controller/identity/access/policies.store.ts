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
    /** @throws Fail 409 `access_policy_lockout` for a list that denies everything to everyone, or to all who could undo it. */
    replace(wanted: PolicyInput[]): { before: Policy[]; after: Policy[] } {
      const before = list()
      const policies = policyList(wanted, before, () => ids.make('access_policy'))
      if (locksOut(policies, users.managers()))
        throw conflict(
          'access_policy_lockout',
          'These policies would leave nobody able to manage access: keep at least one person out of them',
        )
      clear.run({})
      policies.forEach(put)
      return { before, after: list() }
    },
  }
}
export type AccessPolicyStore = ReturnType<typeof accessPolicyStore>

/** Runs a write of accounts or groups; throws 409 `last_manager_required` when nobody could manage access after it. */
export type LockoutGuard = <T>(write: () => T) => T

/**
 * Checks the outcome instead of the request: who manages access follows from roles, disabled accounts, groups and deny
 * policies together, and two managers may act on each other at once. Call it inside the write's transaction. When nobody
 * could manage access before, no write is refused: it might be the remedy.
 */
export function lockoutGuard(policies: { list: () => Policy[] }, users: Pick<UserStore, 'managers'>): LockoutGuard {
  const managed = () => {
    const managers = users.managers()
    return managers.length > 0 && !locksOut(policies.list(), managers)
  }
  return (write) => {
    const before = managed()
    const result = write()
    if (before && !managed())
      throw conflict(
        'last_manager_required',
        'After this nobody could manage access: somebody else must be able to first',
      )
    return result
  }
}
