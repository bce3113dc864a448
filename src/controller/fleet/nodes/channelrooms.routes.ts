import { ChannelRooms, type Node } from '../../../wire/nodes.ts'
import type { Events } from '../../events.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import type { visibilities } from '../../http/visibility.ts'
import type { RoomStore } from '../rooms/rooms.store.ts'
import type { ChannelRoomStore } from './channelrooms.store.ts'
import type { NodeStore } from './nodes.store.ts'

interface Parts {
  channelRooms: ChannelRoomStore
  events: Events
  nodes: NodeStore
  visibility: ReturnType<typeof visibilities>
  rooms: RoomStore
}

export const channelRoomRoutes = ({ channelRooms, events, nodes, visibility, rooms }: Parts): AnyRoute[] => [
  // One transaction: channels, schedules and rosters move together or not at all.
  route({
    method: 'PUT',
    path: '/nodes/:id/channel-rooms',
    auth: 'user',
    permission: 'node:manage',
    action: 'nodes.channel-rooms.assign',
    target: (p) => ({ type: 'node', id: p.id }),
    body: ChannelRooms,
    run: ({ params, body: { assignments }, principal, now }) => {
      const before = nodes.get(params.id, now)
      const within = visibility(principal, 'node:manage')
      for (const [at, { roomId }] of assignments.entries())
        if (roomId !== null) rooms.mustExist(roomId, within, ['assignments', at, 'roomId'])
      channelRooms.assign(before.id, assignments)
      const after = nodes.get(params.id, now)
      const details = {
        assignedRoomIds: [...new Set(assignments.flatMap(({ roomId }) => roomId ?? []))],
        channelCount: assignments.reduce((sum, { channelIndexes }) => sum + new Set(channelIndexes).size, 0),
        reassignedScheduleIds: movedWith(events, before.id, now),
      }
      return { data: after, before: roomsOf(before), after: roomsOf(after), details }
    },
  }),
]

/** Announces that a node or its channels changed rooms; returns the ids of the schedules that moved with them. */
export function movedWith(events: Events, nodeId: string, now: string): string[] {
  const moved: string[] = []
  events.emit('node.moved', { moved, nodeId, now })
  return moved
}

/** The rooms of the channels by interface, for the audit. */
const roomsOf = ({ interfaces, roomId }: Node): object => ({
  ...(roomId ? { roomId } : {}),
  interfaces: interfaces.map(({ channels, id }) => ({
    channels: channels.filter((channel) => channel.roomId).map(({ index, roomId: room }) => ({ index, roomId: room })),
    id,
  })),
})
