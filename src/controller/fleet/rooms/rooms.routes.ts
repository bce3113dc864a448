import type { Ids } from '../../../kernel/ids.ts'
import { RoomInput, RoomPatch, RosterUpdate } from '../../../wire/rooms.ts'
import { type AnyRoute, flow, route } from '../../http/route.ts'
import type { UsedIds } from '../../http/usedids.store.ts'
import type { visibilities } from '../../http/visibility.ts'
import type { DetachStore } from './detach.store.ts'
import type { Placing } from './placing.ts'
import type { RoomStore } from './rooms.store.ts'
import type { RosterStore } from './roster.store.ts'

const all = () => ({ type: 'room_collection' })
const one = (p: { roomId: string }) => ({ type: 'room', id: p.roomId })
const read = { auth: 'user', permission: 'node:read' } as const
const manage = { auth: 'user', permission: 'node:manage' } as const

interface Parts {
  ids: Ids
  detach: DetachStore
  places: Placing
  visibility: ReturnType<typeof visibilities>
  rooms: RoomStore
  usedIds: UsedIds
}

export const roomRoutes = ({ ids, detach, places, visibility, rooms, usedIds }: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/rooms',
    ...read,
    action: 'rooms.read',
    target: all,
    run: ({ principal }) => ({ data: rooms.list(visibility(principal, 'node:read')) }),
  }),
  route({
    method: 'POST',
    path: '/rooms',
    ...manage,
    action: 'rooms.create',
    target: all,
    body: RoomInput,
    status: 201,
    run: ({ body, principal, now }) => {
      places.into(principal, 'room', body.site)
      usedIds.mustBeNew(visibility(principal, 'node:manage'), body.id)
      const after = rooms.create(body.id ?? ids.make('room'), body, now)
      return { data: after, after, target: { type: 'room', id: after.id, name: after.name } }
    },
  }),
  route({
    method: 'GET',
    path: '/rooms/:roomId',
    ...read,
    action: 'rooms.detail.read',
    target: one,
    run: ({ params }) => ({ data: rooms.get(params.roomId) }),
  }),
  route({
    method: 'PATCH',
    path: '/rooms/:roomId',
    ...manage,
    action: 'rooms.update',
    target: one,
    body: RoomPatch,
    run: ({ params, body, principal, now }) => {
      const { site } = rooms.get(params.roomId)
      // Whoever has the room alone would take it from those who have its site.
      if (body.site && body.site !== site) for (const place of [site, body.site]) places.into(principal, 'room', place)
      const { before, after } = rooms.patch(params.roomId, body, now)
      return { data: after, before, after }
    },
  }),
  flow({
    method: 'DELETE',
    path: '/rooms/:roomId',
    ...manage,
    action: 'rooms.delete',
    target: one,
    status: 204,
    run: async ({ params: { roomId } }, commit) => {
      rooms.mustBeFree(roomId)
      return detach.fromRoom(roomId, () => commit(() => ({ data: null, before: rooms.remove(roomId) })))
    },
  }),
]

const shared = {
  path: '/rooms/:roomId/roster',
  auth: 'user',
  permission: 'auth:manage',
  target: (p: { roomId: string }) => ({ type: 'room', id: p.roomId }),
} as const

export const rosterRoutes = (rooms: RoomStore, roster: RosterStore): AnyRoute[] => [
  route({
    method: 'GET',
    ...shared,
    action: 'rooms.roster.read',
    run: ({ params }) => ({ data: roster.list(rooms.get(params.roomId).id) }),
  }),
  route({
    method: 'PUT',
    ...shared,
    action: 'rooms.roster.update',
    body: RosterUpdate,
    run: ({ params, body }) => {
      const room = rooms.get(params.roomId)
      const { before, after } = roster.replace(room.id, body.entries)
      const target = { type: 'room', id: room.id, name: room.name }
      return { data: after, before: { roster: before }, after: { roster: after }, target }
    },
  }),
]
