import type { LevelFrame, MeterFrame, MeterStream } from '../../../wire/meters.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import type { Principals } from '../../http/principals.ts'
import type { EventQueue, EventSource } from '../../http/sse.ts'
import { type ChannelVisibility, channelVisibility, visibleFrame } from './channelvisibility.rules.ts'
import type { LayoutStore } from './layout.store.ts'
import type { MeterSample, Meters } from './meters.store.ts'
import type { MeterWatchers } from './watchers.ts'

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
  watchers: MeterWatchers
}

/**
 * Frames of the chosen nodes in the caller's scope; only the newest per interface waits. Rights are read every few seconds: a
 * changed grant takes effect, and an ended session ends the stream. Recorders of nodes that were chosen for their levels send
 * quick frames as long as the client reads.
 */
export function meterEvents({
  detail,
  layouts,
  meters,
  nodes,
  now,
  principals,
  principal,
  watchers,
}: Parts): EventSource {
  const chosen = nodes && new Set(nodes)
  const watched = detail === 'levels' ? (nodes ?? []) : []
  const watcher = {}
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
    const whole = meters.latest(nodeId, frame.interfaceId)?.frame
    return JSON.stringify(detail === 'levels' ? levelFrame(shown, whole) : shown)
  }
  return {
    begin(queue: EventQueue) {
      const pass = (sample: MeterSample): void => {
        const { frame, nodeId, overtaken } = sample
        const wanted = detail === 'levels' ? !overtaken : !frame.quick
        if (wanted && (!chosen || chosen.has(nodeId)))
          queue.put(`${nodeId} ${frame.interfaceId}`, detail ?? 'meter', () => textOf(sample))
      }
      const since = Date.parse(now) - RECENT_MS
      for (const sample of meters.snapshot()) if (Date.parse(sample.receivedAt) >= since) pass(sample)
      const unsubscribe = meters.subscribe(pass)
      return () => {
        unsubscribe()
        watchers.end(watcher)
      }
    },
    mayGoOn() {
      person = principals.reload(principal)
      known.clear()
      if (watched.length > 0) watchers.renew(watcher, watched.filter(visibilityOf))
      return person?.permissions.has('node:read') === true
    },
  }
}

/** Silence, dBFS. */
const SILENCE = -120
const tenths = (db: number): number => Math.max(SILENCE, Math.round(db * 10) / 10)

/**
 * A frame as meters on a screen need it: a tenth of the bytes, levels to 0.1 dB. `whole`: the newest one with quality, which
 * quick ones do not have.
 */
function levelFrame(
  { capturedAt, interfaceId, levels, nodeId, synthetic }: MeterFrame,
  whole: MeterFrame | undefined,
): LevelFrame {
  const speaking = new Set(
    whole?.levels.filter(({ quality }) => quality?.speechLike).map((level) => level.channelIndex),
  )
  const where = (which: (level: MeterFrame['levels'][number]) => boolean | undefined): number[] =>
    levels.filter(which).map(({ channelIndex }) => channelIndex)
  return {
    at: capturedAt,
    channels: where(() => true),
    clip: where(({ clipping }) => clipping),
    interfaceId,
    nodeId,
    peak: levels.map(({ peakDbfs }) => tenths(peakDbfs)),
    rms: levels.map(({ rmsDbfs }) => tenths(rmsDbfs)),
    speech: where(({ channelIndex }) => speaking.has(channelIndex)),
    ...(synthetic ? { synthetic } : {}),
  }
}
