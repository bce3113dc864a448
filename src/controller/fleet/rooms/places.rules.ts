import type { Node } from '../../../wire/nodes.ts'
import type { Capability } from '../../../wire/permissions.ts'
import type { Room } from '../../../wire/rooms.ts'
import type { Pair } from '../../http/principal.ts'

/** The capabilities that an assignment to a schedule grants in its room. */
export const ASSIGNED: readonly Capability[] = ['view', 'operate']

/**
 * The targets whose grants open something of `node` in `room`: the room and its site, the node and its site. The other rooms
 * of the node do not count.
 */
export const placesOf = (
  node: Pick<Node, 'id' | 'location'> | undefined,
  room: Pick<Room, 'id' | 'site'> | undefined,
): Pair[] => [
  ...(node
    ? [
        { type: 'node', id: node.id },
        { type: 'site', id: node.location.site },
      ]
    : []),
  ...(room
    ? [
        { type: 'room', id: room.id },
        { type: 'site', id: room.site },
      ]
    : []),
]
