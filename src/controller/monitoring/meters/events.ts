import type { MeterFrame, MeterStream } from '../../../wire/meters.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import type { Principals } from '../../http/principals.ts'
import type { EventQueue, EventSource } from '../../http/sse.ts'
import { type ChannelVisibility, channelVisibility, visibleFrame } from './channelvisibility.rules.ts'
import type { LayoutStore } from './layout.store.ts'
import { levelFrame } from './levels.rules.ts'
import type { MeterSample, Meters } from './meters.store.ts'

// Frames up to this age are sent first, so that the console need not wait for the next ones.
const RECENT_MS = 15_000

interface Parts {
  detail?: MeterStream['detail']
  layouts: LayoutStore
  meters: Meters
  /** Only these; all when absent. */
  nodes?: readonly string[] | undefined
  now: string
  principals: Pick<Principals, 'reload'>
  principal: UserPrincipal
}

/**
 * Frames of every node in the caller's scope, each as `event: meter`; only the newest per interface waits. Rights are read
 * every few seconds: a changed grant takes effect, and an ended session ends the stream.
 */
export function meterEvents({ detail, layouts, meters, nodes, now, principals, principal }: Parts): EventSource {
  const watched = nodes && new Set(nodes)
  const shape = (frame: MeterFrame): object => (detail === 'levels' ? levelFrame(frame) : frame)
  let person: UserPrincipal | undefined
  const known = new Map<string, ChannelVisibility | undefined>()
  const visibilityOf = (nodeId: string): ChannelVisibility | undefined => {
    if (known.has(nodeId)) return known.get(nodeId)
    const layout = layouts.of(nodeId)
    const seen = person && layout && channelVisibility(person, 'node:read', layout)
    known.set(nodeId, seen)
    return seen
  }
  const textOf = ({ frame, nodeId }: MeterSample): string | undefined => {
    const seen = visibilityOf(nodeId)
    if (!seen) return undefined
    const shown = visibleFrame(frame, seen)
    // An interface of the node without any visible channel.
    if (frame.levels.length > 0 && shown.levels.length === 0) return undefined
    return JSON.stringify(shape(shown))
  }
  return {
    begin(queue: EventQueue) {
      const pass = (sample: MeterSample): void => {
        if (!watched || watched.has(sample.nodeId))
          queue.put(`${sample.nodeId} ${sample.frame.interfaceId}`, detail ?? 'meter', () => textOf(sample))
      }
      const since = Date.parse(now) - RECENT_MS
      for (const sample of meters.snapshot()) if (Date.parse(sample.receivedAt) >= since) pass(sample)
      return meters.subscribe(pass)
    },
    mayGoOn() {
      person = principals.reload(principal)
      known.clear()
      return person?.permissions.has('node:read') === true
    },
  }
}
