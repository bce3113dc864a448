import type { Permission } from '../../wire/permissions.ts'
import type { UserPrincipal } from './principal.ts'

/**
 * What a caller could do next with a resource, as detail and `/actions` answers show it (docs/contract/api.md: Action
 * states).
 */
export interface ActionState {
  enabled: boolean
  /** Absolute path below `/api/v1`; only when enabled. */
  href?: string
  method: string
  payload?: unknown
  permission: Permission
  reason?: string
}

export interface Action {
  /** Why the state of the resource forbids it, as a reason; falsy when nothing does. */
  blocked?: string | false
  href: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  payload?: unknown
  permission: Permission
}

/**
 * Role permissions only: room capabilities are not considered (docs/contract/api.md: Action states). A missing one wins over
 * `blocked`.
 */
function actionState(principal: UserPrincipal, { blocked, href, method, payload, permission }: Action): ActionState {
  if (!principal.permissions.has(permission))
    return { enabled: false, method, permission, reason: 'missing_permission' }
  const asked = payload === undefined ? {} : { payload }
  if (blocked) return { enabled: false, method, permission, reason: blocked, ...asked }
  return { enabled: true, href, method, permission, ...asked }
}

/** `actionState` over a named set. */
export const actionStates = <K extends string>(
  principal: UserPrincipal,
  actions: Record<K, Action>,
): Record<K, ActionState> =>
  Object.fromEntries(
    Object.entries<Action>(actions).map(([name, action]) => [name, actionState(principal, action)]),
  ) as Record<K, ActionState>
