// Which channels of a node a caller may see or hear (docs/contract/access.md: Visible sets).
import type { AudioLevel, MeterFrame } from '../../../wire/meters.ts'
import type { Permission } from '../../../wire/permissions.ts'
import type { Pair, UserPrincipal } from '../../http/principal.ts'
import { verdict } from '../../http/scope.ts'

/** A node's place and its channels; `roomId` is the room a channel is really in. */
export interface Layout {
  channels: { index: number; interfaceId: string; roomId: string | null }[]
  /** The first interface; empty without any. */
  interfaceId: string
  nodeId: string
  /** Default room of the node. */
  roomId: string | null
  /** Of the node. */
  site: string
  /** Sites of the rooms, by their ids. */
  sites: ReadonlyMap<string, string>
}

/** `all`: the whole node, also what it has not told of. Otherwise the channels by `<interfaceId>:<index>`. */
export type ChannelVisibility = 'all' | ReadonlySet<string>

function room(id: string | null, { sites }: Layout): Pair[] {
  const site = id === null ? undefined : sites.get(id)
  return id === null ? [] : [{ type: 'room', id }, ...(site === undefined ? [] : [{ type: 'site', id: site }])]
}

/** What of a node is within the caller's reach; undefined: not even the node. */
export function channelVisibility(
  principal: UserPrincipal,
  permission: Permission,
  layout: Layout,
): ChannelVisibility | undefined {
  const own: Pair[] = [
    { type: 'node', id: layout.nodeId },
    { type: 'site', id: layout.site },
  ]
  const rooms = layout.channels.length > 0 ? layout.channels.map((c) => c.roomId) : [layout.roomId]
  const union = [...new Set(rooms)].flatMap((id) => room(id, layout))
  if (!verdict(principal, permission, [...own, ...union]).allowed) return undefined
  const whole = verdict(principal, permission, own).allowed
  if (whole && principal.deny.length === 0) return 'all'
  const seen = layout.channels.filter(({ index, interfaceId, roomId }) => {
    const pairs = [
      { type: 'channel', id: `${interfaceId}:${index}` },
      { type: 'interface', id: interfaceId },
    ]
    return verdict(principal, permission, [...pairs, ...own, ...room(roomId, layout)]).allowed
  })
  if (whole && seen.length === layout.channels.length) return 'all'
  return new Set(seen.map(({ index, interfaceId }) => `${interfaceId}:${index}`))
}

/** Audio of a node is one mix: whoever hears it hears every channel, so every one must be within reach. */
export const canHear = (seen: ChannelVisibility | undefined, layout: Layout): boolean =>
  seen === 'all' || (seen !== undefined && layout.channels.every((c) => seen.has(`${c.interfaceId}:${c.index}`)))

/** The frame without the levels that are out of sight. */
export function visibleFrame(frame: MeterFrame, seen: ChannelVisibility): MeterFrame {
  if (seen === 'all') return frame
  const visible = (channelIndex: number) => seen.has(`${frame.interfaceId}:${channelIndex}`)
  return {
    ...frame,
    levels: frame.levels.filter((l) => visible(l.channelIndex)).map((l) => withoutHiddenPeer(l, visible)),
  }
}

/** What a level says of its likeness to a channel out of sight would tell of that one. */
function withoutHiddenPeer(level: AudioLevel, visible: (channelIndex: number) => boolean): AudioLevel {
  const peer = level.quality?.channelCorrelation?.peerChannelIndex
  if (!level.quality || peer === undefined || visible(peer)) return level
  const { channelCorrelation: _, ...quality } = level.quality
  return { ...level, quality }
}
