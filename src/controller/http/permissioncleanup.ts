import type { Db } from '../store/db.ts'
import type { AnyRoute, Target } from './route.ts'

/** Permissions that named a deleted resource: whose grants ended, and which allow policies. */
export interface EndedPermissions {
  grantsOf: string[]
  policies: string[]
}

/** A DELETE of `/.../:id` deletes its target; one with more parameters deletes something that belongs to the target. */
export const removesTarget = (r: AnyRoute): boolean => r.method === 'DELETE' && r.path.split(':').length === 2

/**
 * Ends the permissions that name a deleted resource: ids can be chosen, so a new resource may get the same one. Deny
 * policies stay: they grant nothing.
 */
export function permissionCleanup(db: Db): (thing: Target) => EndedPermissions | undefined {
  const named = `resource_id = @id AND resource_type IN (@type, '*')`
  const grants = db.stmt<{ id: string; type: string }, { userId: string }>(
    `DELETE FROM user_grants WHERE ${named} RETURNING user_id AS userId`,
  )
  const policies = db.stmt<{ id: string; type: string }, { id: string }>(
    `DELETE FROM access_policies WHERE effect = 'allow' AND ${named} RETURNING id`,
  )
  return ({ id, type }) => {
    if (id === undefined) return undefined
    const grantsOf = grants.all({ id, type }).map((row) => row.userId)
    const ended = { grantsOf, policies: policies.all({ id, type }).map((row) => row.id) }
    return ended.grantsOf.length + ended.policies.length > 0 ? ended : undefined
  }
}
