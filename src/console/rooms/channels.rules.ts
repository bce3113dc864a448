import type { Interface, Node } from '../../wire/nodes.ts'
import { present } from '../meters/channels.rules.ts'

/** A device as one room has it: with the channels of this room, which are `all` it has or some. */
interface Share {
  all: boolean
  device: Interface
}

const roomOf = (node: Node, { roomId }: { roomId?: string | undefined }): string | undefined => roomId ?? node.roomId

/** Of the devices that are plugged in, what belongs to a room. One that has told of no channels is where its recorder is. */
export function sharesOf(node: Node, roomId: string): Share[] {
  return present(node).flatMap((device): Share[] => {
    if (device.channels.length === 0) return node.roomId === roomId ? [{ all: true, device }] : []
    const channels = device.channels.filter((channel) => roomOf(node, channel) === roomId)
    const all = channels.length === device.channelCount
    return channels.length === 0 ? [] : [{ all, device: { ...device, channels } }]
  })
}

/** What a take of a share records: the whole device, or this room's channels of it. */
export const captureOf = ({ all, device }: Share) => ({
  captureInterfaceId: device.id,
  ...(all ? {} : { captureChannelSelection: device.channels.map(({ index }) => index) }),
})

/** The names of devices by their ids; those that share one are told apart by where they are plugged in. */
export function titlesOf({ interfaces }: Pick<Node, 'interfaces'>): ReadonlyMap<string, string> {
  const named = Map.groupBy(interfaces, ({ alias }) => alias)
  const isShared = (alias: string): boolean => (named.get(alias)?.length ?? 0) > 1
  return new Map(
    interfaces.map(({ alias, id, systemRef }) => [id, isShared(alias) ? `${alias} (${systemRef})` : alias]),
  )
}
