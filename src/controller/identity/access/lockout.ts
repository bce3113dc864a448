import { conflict } from '../../../kernel/fail.ts'
import type { Policy } from '../../../wire/access.ts'
import { locksOut } from './access.rules.ts'
import type { UserStore } from './users.store.ts'

/** Runs a write of accounts or groups; throws 409 `last_manager_required` when nobody could manage access after it. */
export type KeepManaged = <T>(write: () => T) => T

/**
 * Looks at the outcome and not at the request: who manages access is decided by roles, disabled accounts, groups and
 * deny policies together, and two managers may act on each other at once. Call it inside the write's transaction. What
 * was locked before is no reason to refuse a write that might open it.
 */
export function keepManaged(policies: { list: () => Policy[] }, users: Pick<UserStore, 'managers'>): KeepManaged {
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
