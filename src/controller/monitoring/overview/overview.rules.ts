import type { Node } from '../../../wire/nodes.ts'
import type { Upcoming } from '../../../wire/rooms.ts'

/** The part of a node that belongs to one room: its channels there and their interfaces. */
export function withinRoom(node: Node, roomId: string): Node {
  const interfaces = node.interfaces.flatMap((i) => {
    const channels = i.channels.filter((c) => (c.roomId ?? node.roomId) === roomId)
    return channels.length > 0 ? [{ ...i, channels }] : []
  })
  return { ...node, interfaces }
}

/** Both lists merged by start, at most `limit` of them. */
export const merged = (known: readonly Upcoming[], more: readonly Upcoming[], limit: number): Upcoming[] =>
  [...known, ...more]
    .sort((a, b) => (a.recordingStartAt < b.recordingStartAt ? -1 : a.recordingStartAt > b.recordingStartAt ? 1 : 0))
    .slice(0, limit)
