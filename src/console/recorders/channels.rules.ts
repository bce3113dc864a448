import type { Interface } from '../../wire/nodes.ts'

interface Assignment {
  channelIndexes: number[]
  interfaceId: string
  roomId: string | null
}

/** What `PUT /nodes/:id/channel-rooms` is to be told: only channels whose room changes; an empty wish takes a channel out. */
export function roomChanges({ channels, id }: Interface, wanted: Record<string, string>): Assignment[] {
  const changed = channels.filter(
    ({ index, roomId }) => wanted[index] !== undefined && wanted[index] !== (roomId ?? ''),
  )
  const byRoom = Map.groupBy(changed, ({ index }) => wanted[index] as string)
  return [...byRoom].map(([roomId, own]) => ({
    channelIndexes: own.map(({ index }) => index),
    interfaceId: id,
    roomId: roomId === '' ? null : roomId,
  }))
}
