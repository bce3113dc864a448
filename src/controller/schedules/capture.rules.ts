import { conflict, type Fail, invalid } from '../../kernel/fail.ts'
import type { Interface, Node } from '../../wire/nodes.ts'
import type { ChannelMode } from '../../wire/profiles.ts'
import type { Target } from '../http/route.ts'
import { refusal, selectionFault } from '../recordings/library/capturevalidation.rules.ts'
import { effectiveInterface, roomsOf } from '../recordings/library/start.rules.ts'

/** The fields of a schedule that select its channels. */
export interface Capture {
  captureChannelSelection?: number[] | undefined
  captureInterfaceId?: string | undefined
  channelMode?: ChannelMode | undefined
}

const noInterface = (): Fail => conflict('schedule_interface_not_found', 'Schedule interface not found')

/** The device, when the schedule names one of the node or the node has a default. @throws Fail 409. */
export function deviceOf(
  node: Node,
  { captureInterfaceId }: Capture,
  configured: string | undefined,
): Interface | undefined {
  if (captureInterfaceId !== undefined && !node.interfaces.some((i) => i.id === captureInterfaceId)) throw noInterface()
  return effectiveInterface(node, captureInterfaceId, configured)
}

/** @throws Fail 400 with a reason of its own per fault, or 409 for channels without an interface. */
export function checkChannels(
  device: Interface | undefined,
  { captureChannelSelection: selection, channelMode }: Capture,
): void {
  if (!selection) return
  if (!device) throw noInterface()
  const fault = selectionFault(device, selection, channelMode)
  if (fault) throw refusal(fault)
}

/**
 * The room of a schedule: the one room of its channels, else the node's default.
 * @throws Fail 400 `schedule_channel_cross_room`.
 */
export function roomOf(
  node: Node,
  device: Interface | undefined,
  { captureChannelSelection: selection }: Capture,
): string | undefined {
  const rooms = roomsOf(node, { device, selection })
  if (rooms.length > 1)
    throw invalid(
      'Channel selection spans multiple rooms',
      ['captureChannelSelection'],
      'choose channels of one room',
      'schedule_channel_cross_room',
    )
  return rooms[0] ?? node.roomId
}

/**
 * The target that authorization checks for a new schedule: the channel (or device, or node) whose room it would be in, so that
 * grants on the room, node or site and room capabilities apply. Without a single room it is the node, and the handler checks
 * further (docs/contract/scheduling.md: Writing a schedule).
 */
export function placeOf(node: Node | undefined, body: unknown, configured: string | undefined): Target {
  const { captureChannelSelection: channels, captureInterfaceId: id } = Object(body) as Record<string, unknown>
  const asked = typeof id === 'string' ? node?.interfaces.find((i) => i.id === id.trim()) : undefined
  if (!node) return { type: 'schedule' }
  if (typeof id === 'string' && !asked) return { type: 'node', id: node.id }
  const device = asked ?? effectiveInterface(node, undefined, configured)
  const selection = Array.isArray(channels) ? (channels.slice(0, 512) as number[]) : undefined
  const rooms = roomsOf(node, { device, selection })
  if (!device || rooms.length !== 1) return { type: 'node', id: node.id }
  const channel = device.channels.find((c) => selection?.includes(c.index) && (c.roomId ?? node.roomId) === rooms[0])
  return channel ? { type: 'channel', id: `${device.id}:${channel.index}` } : { type: 'interface', id: device.id }
}
