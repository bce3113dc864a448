import type { Node } from '../../../wire/nodes.ts'
import type { Upcoming } from '../../../wire/rooms.ts'

/** Of a node what belongs to one room: its channels there and the interfaces that have one. */
export function withinRoom(node: Node, roomId: string): Node {
  const interfaces = node.interfaces.flatMap((i) => {
    const channels = i.channels.filter((c) => (c.roomId ?? node.roomId) === roomId)
    return channels.length > 0 ? [{ ...i, channels }] : []
  })
  return { ...node, interfaces }
}

/** `more` among `known`, by their start, cut to `most`. */
export const merged = (known: readonly Upcoming[], more: readonly Upcoming[], most: number): Upcoming[] =>
  [...known, ...more]
    .sort((a, b) => (a.recordingStartAt < b.recordingStartAt ? -1 : a.recordingStartAt > b.recordingStartAt ? 1 : 0))
    .slice(0, most)
