import { hashPassword } from '../../../crypto/password.ts'
import { Fail, invalid } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import {
  AccessList,
  AccessUpdate,
  type CurrentUser,
  PasswordReset,
  UserInput,
  UserStatus,
} from '../../../wire/access.ts'
import { API_PREFIX } from '../../../wire/headers.ts'
import { type ActionState, actionStates } from '../../http/actions.ts'
import { pageMeta } from '../../http/page.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, flow, route, type Target } from '../../http/route.ts'
import { deleteRefusal, disableRefusal, MANAGE, manages, takeoverRefusal, userSnapshot } from './access.rules.ts'
import type { LockoutGuard } from './policies.store.ts'
import type { UserStore } from './users.store.ts'

const manage = { auth: 'user', permission: MANAGE } as const
const all = (): Target => ({ type: 'user_collection' })
const one = (p: { id: string }): Target => ({ type: 'user', id: p.id })
const named = (user: CurrentUser): Target => ({ type: 'user', id: user.id, name: user.email })
const requestedUser = (_: object, body: unknown): Target => {
  const email = (body as { email?: unknown } | undefined)?.email
  return { type: 'user', ...(typeof email === 'string' ? { name: email.slice(0, 320) } : {}) }
}

const refused = (reason: string, path: string[], message: string): Fail => invalid(message, path, message, reason)

/**
 * `localAdmin`: e-mail of the env-configured admin, who cannot be disabled or deleted, and whose password and roles nobody
 * else can change.
 */
export const userRoutes = (users: UserStore, ids: Ids, localAdmin: string, keep: LockoutGuard): AnyRoute[] => {
  const detail = (principal: UserPrincipal, user: CurrentUser) => ({
    data: { actions: actions(principal, user, localAdmin), links: links(user.id), user },
    target: named(user),
  })
  const mustBeOwn = (what: 'access' | 'password', user: CurrentUser, principal: UserPrincipal): void => {
    const reason = takeoverRefusal(what, user, principal.id, localAdmin)
    if (reason) throw refused(reason, [what], OWN_ONLY[what])
  }
  return [
    route({
      method: 'GET',
      path: '/auth/users',
      ...manage,
      action: 'auth.users.read',
      target: all,
      query: AccessList,
      run: ({ query }) => {
        const { users: data, total } = users.page(query)
        return { data, beside: { meta: pageMeta(data.length, total, query.limit, query.offset) } }
      },
    }),
    flow({
      method: 'POST',
      path: '/auth/users',
      ...manage,
      action: 'auth.users.create',
      target: requestedUser,
      body: UserInput,
      status: 201,
      run: async ({ body: { password, ...user } }, commit) => {
        const passwordHash = await hashPassword(password)
        return commit((now) => {
          const made = users.create(ids.uuid(), { ...user, passwordHash }, now)
          return { data: made, after: userSnapshot(made), target: named(made) }
        })
      },
    }),
    route({
      method: 'GET',
      path: '/auth/users/:id',
      ...manage,
      action: 'auth.users.detail.read',
      target: one,
      run: ({ params, principal }) => detail(principal, users.get(params.id)),
    }),
    route({
      method: 'GET',
      path: '/auth/users/:id/actions',
      ...manage,
      action: 'auth.users.actions.read',
      target: one,
      run: ({ params, principal }) => detail(principal, users.get(params.id)),
    }),
    route({
      method: 'PATCH',
      path: '/auth/users/:id/access',
      ...manage,
      action: 'auth.users.access.update',
      target: one,
      body: AccessUpdate,
      run: ({ params, body, principal, now }) => {
        const before = users.get(params.id)
        mustBeOwn('access', before, principal)
        if (before.id === principal.id && !manages(body.roles))
          throw refused('self_auth_manage_required', ['roles'], 'Local access manager must keep auth:manage')
        const after = keep(() => users.replaceAccess(params.id, body, now))
        return { data: after, before: userSnapshot(before), after: userSnapshot(after), target: named(after) }
      },
    }),
    flow({
      method: 'PATCH',
      path: '/auth/users/:id/password',
      ...manage,
      action: 'auth.users.password.reset',
      target: one,
      body: PasswordReset,
      run: async ({ params, body, principal }, commit) => {
        // 404 before the hash is computed; the row may still be deleted meanwhile.
        mustBeOwn('password', users.get(params.id), principal)
        const hash = await hashPassword(body.password)
        return commit((now) => {
          const before = users.get(params.id)
          const user = users.setPassword(params.id, hash, now)
          return {
            data: user,
            before: userSnapshot(before),
            after: userSnapshot(user),
            details: { sessionsRevoked: true },
            target: named(user),
          }
        })
      },
    }),
    route({
      method: 'PATCH',
      path: '/auth/users/:id/status',
      ...manage,
      action: 'auth.users.status.update',
      target: one,
      body: UserStatus,
      run: ({ params, body: { disabled }, principal, now }) => {
        const before = users.get(params.id)
        const reason = disabled && disableRefusal(before, principal.id, localAdmin)
        if (reason) throw refused(reason, ['disabled'], `Cannot disable ${protectedAccount(reason)}`)
        const after = keep(() => users.setDisabled(params.id, disabled, now))
        return {
          data: after,
          before: userSnapshot(before),
          after: userSnapshot(after),
          details: disabled ? { sessionsRevoked: true } : {},
          target: named(after),
        }
      },
    }),
    route({
      method: 'DELETE',
      path: '/auth/users/:id',
      ...manage,
      action: 'auth.users.delete',
      target: one,
      status: 204,
      run: ({ params, principal }) => {
        const before = users.get(params.id)
        const reason = deleteRefusal(before, principal.id, localAdmin)
        if (reason) throw new Fail(400, reason, `Cannot delete ${protectedAccount(reason)}`)
        const endedPolicies = keep(() => users.remove(before))
        const details = endedPolicies.length > 0 ? { endedPolicies } : {}
        return { data: null, before: userSnapshot(before), details, target: named(before) }
      },
    }),
  ]
}

const OWN_ONLY = {
  access: 'The roles of the bootstrap local admin are their own to change',
  password:
    'The password of the bootstrap local admin is their own to change: sign in as them, or use roomtone user password',
}

const protectedAccount = (reason: string): string =>
  reason.startsWith('self') ? 'the current user' : 'the bootstrap local admin'

const hrefOf = (id: string): string => `${API_PREFIX}/auth/users/${encodeURIComponent(id)}`

const links = (id: string): Record<string, string> => {
  const href = hrefOf(id)
  return {
    access: `${href}/access`,
    actions: `${href}/actions`,
    delete: href,
    detail: href,
    password: `${href}/password`,
    status: `${href}/status`,
  }
}

function actions(principal: UserPrincipal, user: CurrentUser, localAdmin: string): Record<string, ActionState> {
  const href = hrefOf(user.id)
  const act = (method: 'GET' | 'PATCH' | 'DELETE', path = '', blocked?: string | false) => ({
    method,
    href: href + path,
    permission: MANAGE,
    blocked,
  })
  const disabling = disableRefusal(user, principal.id, localAdmin) ?? (user.disabledAt && 'user_already_disabled')
  return actionStates(principal, {
    delete: act('DELETE', '', deleteRefusal(user, principal.id, localAdmin)),
    detail: act('GET'),
    disable: { ...act('PATCH', '/status', disabling), payload: { disabled: true } },
    enable: { ...act('PATCH', '/status', !user.disabledAt && 'user_already_enabled'), payload: { disabled: false } },
    resetPassword: act(
      'PATCH',
      '/password',
      takeoverRefusal('password', user, principal.id, localAdmin) ??
        (user.provider !== 'local' && 'non_local_user_password_unavailable'),
    ),
    updateAccess: act('PATCH', '/access', takeoverRefusal('access', user, principal.id, localAdmin)),
  })
}
