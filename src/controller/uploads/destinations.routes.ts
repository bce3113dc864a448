import type { Ids } from '../../kernel/ids.ts'
import { DestinationInput, DestinationPatch } from '../../wire/uploads.ts'
import { actionStates } from '../http/actions.ts'
import { type AnyRoute, route } from '../http/route.ts'
import type { visibilities } from '../http/visibility.ts'
import type { DestinationStore } from './destinations.store.ts'

const BASE = '/api/v1/settings/upload-destinations'
const all = () => ({ type: 'upload_destination_collection' })
const one = (p: { id: string }) => ({ type: 'upload_destination', id: p.id })
const read = { auth: 'user', permission: 'settings:read' } as const
const manage = { auth: 'user', permission: 'settings:manage' } as const
const named = (d: { id: string; displayName: string }) => ({
  type: 'upload_destination',
  id: d.id,
  name: d.displayName,
})

export const destinationRoutes = (
  destinations: DestinationStore,
  ids: Ids,
  visibility: ReturnType<typeof visibilities>,
  forgetTrouble: (id: string) => void,
): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/settings/upload-destinations',
    ...read,
    action: 'settings.upload_destinations.read',
    target: all,
    run: ({ principal }) => ({ data: destinations.list(visibility(principal, 'settings:read')) }),
  }),
  route({
    method: 'POST',
    path: '/settings/upload-destinations',
    ...manage,
    action: 'settings.upload_destinations.create',
    target: all,
    body: DestinationInput,
    status: 201,
    run: ({ body, now }) => {
      const after = destinations.create(body.id ?? ids.make('upload_dest'), body, now)
      return { data: after, after, target: named(after) }
    },
  }),
  route({
    method: 'GET',
    path: '/settings/upload-destinations/:id',
    ...read,
    action: 'settings.upload_destinations.detail.read',
    target: one,
    run: ({ params }) => ({ data: destinations.get(params.id) }),
  }),
  route({
    method: 'GET',
    path: '/settings/upload-destinations/:id/actions',
    ...read,
    action: 'settings.upload_destinations.actions.read',
    target: one,
    run: ({ params, principal }) => {
      const destination = destinations.get(params.id)
      const href = `${BASE}/${destination.id}`
      const actions = actionStates(principal, {
        delete: { href, method: 'DELETE', permission: 'settings:manage' },
        detail: { href, method: 'GET', permission: 'settings:read' },
        update: { href, method: 'PATCH', permission: 'settings:manage' },
      })
      return { data: { actions, destination, links: { detail: href, update: href } } }
    },
  }),
  route({
    method: 'PATCH',
    path: '/settings/upload-destinations/:id',
    ...manage,
    action: 'settings.upload_destinations.update',
    target: one,
    body: DestinationPatch,
    run: ({ params, body, now }) => {
      const { before, after } = destinations.patch(params.id, body, now)
      forgetTrouble(params.id)
      return { data: after, before, after, target: named(after) }
    },
  }),
  route({
    method: 'DELETE',
    path: '/settings/upload-destinations/:id',
    ...manage,
    action: 'settings.upload_destinations.delete',
    target: one,
    status: 204,
    run: ({ params }) => {
      const before = destinations.remove(params.id)
      return { data: null, before, target: named(before) }
    },
  }),
]
