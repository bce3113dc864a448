import { RosterUpdate } from '../../../wire/rooms.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import type { RoomStore } from './rooms.store.ts'
import type { RosterStore } from './roster.store.ts'

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
