// Which channels of a node a caller may see or hear (docs/contract/access.md: Visible sets).
import type { AudioLevel, MeterFrame } from '../../../wire/meters.ts'
import type { Permission } from '../../../wire/permissions.ts'
import type { Pair, UserPrincipal } from '../../http/principal.ts'
import { verdict } from '../../http/scope.ts'

/** A node's location and its channels; a channel's `roomId` already falls back to the node's. */
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

/** `all`: the whole node, also devices that are not in its inventory. Otherwise the channels as `<interfaceId>:<index>`. */
export type ChannelVisibility = 'all' | ReadonlySet<string>

function room(id: string | null, { sites }: Layout): Pair[] {
  const site = id === null ? undefined : sites.get(id)
  return id === null ? [] : [{ type: 'room', id }, ...(site === undefined ? [] : [{ type: 'site', id: site }])]
}

/** What is in the caller's scope of a node; undefined when not even the node is. */
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

/** A node's audio is one mix of all channels, so every one must be in scope. */
export const canHear = (seen: ChannelVisibility | undefined, layout: Layout): boolean =>
  seen === 'all' || (seen !== undefined && layout.channels.every((c) => seen.has(`${c.interfaceId}:${c.index}`)))

/** The frame without the levels of hidden channels. */
export function visibleFrame(frame: MeterFrame, seen: ChannelVisibility): MeterFrame {
  if (seen === 'all') return frame
  const visible = (channelIndex: number) => seen.has(`${frame.interfaceId}:${channelIndex}`)
  return {
    ...frame,
    levels: frame.levels.filter((l) => visible(l.channelIndex)).map((l) => withoutHiddenPeer(l, visible)),
  }
}

/** Drops the correlation with a hidden channel: it would reveal something about that one. */
function withoutHiddenPeer(level: AudioLevel, visible: (channelIndex: number) => boolean): AudioLevel {
  const peer = level.quality?.channelCorrelation?.peerChannelIndex
  if (!level.quality || peer === undefined || visible(peer)) return level
  const { channelCorrelation: _, ...quality } = level.quality
  return { ...level, quality }
}
