import { ChannelRooms, type Node } from '../../../wire/nodes.ts'
import type { Events } from '../../events.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import type { Placing } from '../rooms/placing.ts'
import type { ChannelRoomStore } from './channelrooms.store.ts'
import type { NodeStore } from './nodes.store.ts'

interface Parts {
  channelRooms: ChannelRoomStore
  events: Events
  nodes: NodeStore
  places: Placing
}

export const channelRoomRoutes = ({ channelRooms, events, nodes, places }: Parts): AnyRoute[] => [
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
      const moved = assignments.map((assignment) => moves(before, assignment))
      if (moved.includes(true)) places.away(principal, before)
      for (const [at, { roomId }] of assignments.entries())
        if (moved[at] && roomId !== null) places.room(principal, roomId, ['assignments', at, 'roomId'])
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

/** Whether a channel gets another room than it has; one that is not there counts. */
function moves({ interfaces }: Node, { channelIndexes, interfaceId, roomId }: ChannelRooms['assignments'][number]) {
  const channels = interfaces.find(({ id }) => id === interfaceId)?.channels ?? []
  const room = new Map(channels.map((channel) => [channel.index, channel.roomId ?? null]))
  return channelIndexes.some((index) => room.get(index) !== roomId)
}

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
