import type { Ids } from '../../kernel/ids.ts'
import { UploadPolicyInput, UploadPolicyPatch } from '../../wire/uploads.ts'
import { actionStates } from '../http/actions.ts'
import { type AnyRoute, route } from '../http/route.ts'
import type { visibilities } from '../http/visibility.ts'
import type { UploadPolicyStore } from './policies.store.ts'

const BASE = '/api/v1/settings/upload-policies'
const all = () => ({ type: 'upload_policy_collection' })
const one = (p: { id: string }) => ({ type: 'upload_policy', id: p.id })
const read = { auth: 'user', permission: 'settings:read' } as const
const manage = { auth: 'user', permission: 'settings:manage' } as const

export const uploadPolicyRoutes = (
  policies: UploadPolicyStore,
  ids: Ids,
  visibility: ReturnType<typeof visibilities>,
): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/settings/upload-policies',
    ...read,
    action: 'settings.upload_policies.read',
    target: all,
    run: ({ principal }) => ({ data: policies.list(visibility(principal, 'settings:read')) }),
  }),
  route({
    method: 'POST',
    path: '/settings/upload-policies',
    ...manage,
    action: 'settings.upload_policies.create',
    target: all,
    body: UploadPolicyInput,
    status: 201,
    run: ({ body, principal, now }) => {
      const id = body.id ?? ids.make('upload_policy')
      const after = policies.create(id, body, visibility(principal, 'settings:manage'), now)
      return { data: after, after, target: { type: 'upload_policy', id: after.id, name: after.name } }
    },
  }),
  route({
    method: 'GET',
    path: '/settings/upload-policies/:id',
    ...read,
    action: 'settings.upload_policies.detail.read',
    target: one,
    run: ({ params }) => ({ data: policies.get(params.id) }),
  }),
  route({
    method: 'GET',
    path: '/settings/upload-policies/:id/actions',
    ...read,
    action: 'settings.upload_policies.actions.read',
    target: one,
    run: ({ params, principal }) => {
      const policy = policies.get(params.id)
      const href = `${BASE}/${policy.id}`
      const actions = actionStates(principal, {
        detail: { href, method: 'GET', permission: 'settings:read' },
        update: { href, method: 'PATCH', permission: 'settings:manage' },
      })
      return { data: { actions, links: { detail: href, update: href }, policy } }
    },
  }),
  route({
    method: 'PATCH',
    path: '/settings/upload-policies/:id',
    ...manage,
    action: 'settings.upload_policies.update',
    target: one,
    body: UploadPolicyPatch,
    run: ({ params, body, principal, now }) => {
      const { before, after } = policies.patch(params.id, body, visibility(principal, 'settings:manage'), now)
      return { data: after, before, after, target: { type: 'upload_policy', id: after.id, name: after.name } }
    },
  }),
]
