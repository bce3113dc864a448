import { PolicyUpdate } from '../../../wire/access.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import { MANAGE } from './access.rules.ts'
import type { AccessPolicyStore } from './policies.store.ts'

// Without an id: no deny policy can keep a holder of the permission from undoing it.
const auth = () => ({ type: 'auth' })
const manage = { auth: 'user', permission: MANAGE, path: '/auth/access-policies', target: auth } as const

export const accessPolicyRoutes = (policies: AccessPolicyStore): AnyRoute[] => [
  route({
    method: 'GET',
    ...manage,
    action: 'auth.access_policies.read',
    run: () => ({ data: policies.list() }),
  }),
  route({
    method: 'PATCH',
    ...manage,
    action: 'auth.access_policies.update',
    body: PolicyUpdate,
    run: ({ body }) => {
      const { before, after } = policies.replace(body.policies)
      return { data: after, before: { policies: before }, after: { policies: after } }
    },
  }),
]
