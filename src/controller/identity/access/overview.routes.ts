import { API_PREFIX } from '../../../wire/headers.ts'
import { actionStates } from '../../http/actions.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import { MANAGE } from './access.rules.ts'
import type { AccessPolicyStore } from './policies.store.ts'

const manage = { auth: 'user', permission: MANAGE, method: 'GET', target: () => ({ type: 'auth' }) } as const
const AUTH = `${API_PREFIX}/auth`
const POLICIES = `${AUTH}/access-policies`
const act = (method: 'GET' | 'PATCH' | 'POST', href: string) => ({ method, href, permission: MANAGE })

/** Actions on accounts and policies as collections (docs/contract/api.md: Action states). */
export const accessOverviewRoutes = (policies: AccessPolicyStore): AnyRoute[] => [
  route({
    path: '/auth/actions',
    ...manage,
    action: 'auth.actions.read',
    run: ({ principal }) => ({
      data: {
        actions: actionStates(principal, {
          createGroup: act('POST', `${AUTH}/groups`),
          createUser: act('POST', `${AUTH}/users`),
          groups: act('GET', `${AUTH}/groups`),
          listUsers: act('GET', `${AUTH}/users`),
          policies: act('GET', POLICIES),
          updatePolicies: act('PATCH', POLICIES),
        }),
        links: {
          accessPolicies: POLICIES,
          accessPolicyActions: `${POLICIES}/actions`,
          createUser: `${AUTH}/users`,
          groups: `${AUTH}/groups`,
          users: `${AUTH}/users`,
        },
      },
    }),
  }),
  route({
    path: '/auth/access-policies/actions',
    ...manage,
    action: 'auth.access_policies.actions.read',
    run: ({ principal }) => ({
      data: {
        actions: actionStates(principal, { read: act('GET', POLICIES), update: act('PATCH', POLICIES) }),
        links: { actions: `${POLICIES}/actions`, detail: POLICIES, update: POLICIES },
        policies: policies.list(),
      },
    }),
  }),
]
