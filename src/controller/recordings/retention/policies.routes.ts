import { Fail } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import { API_PREFIX } from '../../../wire/headers.ts'
import { RetentionInput, RetentionPatch, type RetentionPolicy } from '../../../wire/retention.ts'
import type { Events } from '../../events.ts'
import { actionStates } from '../../http/actions.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import type { visibilities } from '../../http/visibility.ts'
import type { RetentionPolicyStore } from './policies.store.ts'

const all = () => ({ type: 'retention_policy_collection' })
const one = (p: { id: string }) => ({ type: 'retention_policy', id: p.id })
const read = { auth: 'user', permission: 'settings:read' } as const
const manage = { auth: 'user', permission: 'settings:manage' } as const

export function retentionRoutes(
  policies: RetentionPolicyStore,
  ids: Ids,
  visibility: ReturnType<typeof visibilities>,
  events: Events,
): AnyRoute[] {
  const get = (id: string): RetentionPolicy => {
    const policy = policies.find(id)
    if (!policy) throw new Fail(404, 'not_found', 'Retention policy not found')
    return policy
  }
  return [
    route({
      method: 'GET',
      path: '/settings/retention-policies',
      ...read,
      action: 'settings.retention_policies.read',
      target: all,
      run: ({ principal }) => ({ data: policies.list(visibility(principal, 'settings:read')) }),
    }),
    route({
      method: 'POST',
      path: '/settings/retention-policies',
      ...manage,
      action: 'settings.retention_policies.create',
      target: all,
      body: RetentionInput,
      status: 201,
      run: ({ body, now }) => {
        const after = policies.create(body.id ?? ids.make('retention_policy'), body, now)
        events.emit('config.changed', {})
        return { data: after, after, target: { type: 'retention_policy', id: after.id, name: after.name } }
      },
    }),
    route({
      method: 'GET',
      path: '/settings/retention-policies/:id',
      ...read,
      action: 'settings.retention_policies.detail.read',
      target: one,
      run: ({ params }) => ({ data: get(params.id) }),
    }),
    route({
      method: 'GET',
      path: '/settings/retention-policies/:id/actions',
      ...read,
      action: 'settings.retention_policies.actions.read',
      target: one,
      run: ({ params, principal }) => {
        const policy = get(params.id)
        return { data: { actions: actions(principal, policy.id), links: links(policy.id), policy } }
      },
    }),
    route({
      method: 'PATCH',
      path: '/settings/retention-policies/:id',
      ...manage,
      action: 'settings.retention_policies.update',
      target: one,
      body: RetentionPatch,
      run: ({ params, body, now }) => {
        const before = get(params.id)
        const after = policies.change(before, body, now)
        events.emit('config.changed', {})
        return { data: after, before, after }
      },
    }),
  ]
}

const links = (id: string) => {
  const self = `${API_PREFIX}/settings/retention-policies/${encodeURIComponent(id)}`
  return { detail: self, update: self }
}

const actions = (principal: UserPrincipal, id: string) =>
  actionStates(principal, {
    detail: { method: 'GET', href: links(id).detail, permission: 'settings:read' },
    update: { method: 'PATCH', href: links(id).update, permission: 'settings:manage' },
  })
