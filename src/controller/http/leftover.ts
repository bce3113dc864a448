import type { Db } from '../store/db.ts'
import type { AnyRoute, Target } from './route.ts'

/** What named a thing that is gone: whose grants ended, and the allow policies. */
export interface EndedPermissions {
  grantsOf: string[]
  policies: string[]
}

/** A DELETE of `/.../:id` takes its target away; one with more parameters takes away what belongs to the target. */
export const removesTarget = (r: AnyRoute): boolean => r.method === 'DELETE' && r.path.split(':').length === 2

/**
 * Ends the permissions that name a thing which is gone: ids may be chosen, and the next thing of that id is another one.
 * A refusal stays; it gives nobody anything.
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
