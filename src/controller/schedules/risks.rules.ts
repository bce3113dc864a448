import { DAY_MS } from '../../kernel/zones.ts'
import type { Risk } from '../../wire/schedules.ts'

/** What stands between a schedule and its next recording (docs/contract/scheduling.md: Risks). */
export interface Readiness {
  /** Channels the schedule takes; null = all. */
  channels: number[] | null
  /** Interface it names; null = the recorder's default. */
  deviceId: string | null
  deviceMissing: boolean
  missingChannels: boolean
  nodeId: string | null
  nodeStatus: string | null
}

/** One occurrence; Unix ms, no end for an open one. */
export interface Due {
  endAt: number
  readiness: Readiness
  startAt: number
}

/** How far ahead the present state of a recorder says anything about a recording, ms. */
export const FORESEEN_MS = DAY_MS

/** What is wrong now with the recorder of a schedule. */
export function faultsOf({ deviceMissing, missingChannels, nodeStatus }: Readiness): Risk[] {
  if (nodeStatus === null || nodeStatus === 'retired') return ['recorder_missing']
  if (nodeStatus === 'offline' || nodeStatus === 'provisioning') return ['recorder_offline']
  if (deviceMissing) return ['device_missing']
  return missingChannels ? ['channels_missing'] : []
}

const sharesChannels = (a: Readiness, b: Readiness): boolean =>
  a.channels === null || b.channels === null || a.channels.some((channel) => b.channels?.includes(channel))

const clashes = (a: Due, b: Due): boolean =>
  a.startAt < b.endAt && b.startAt < a.endAt && sharesChannels(a.readiness, b.readiness)

/** Those whose device records the same channels for another one at that time. `dues`: in order of their starts. */
export function clashing<T extends Due>(dues: readonly T[]): Set<T> {
  const found = new Set<T>()
  const running = new Map<string, T[]>()
  for (const due of dues) {
    if (due.readiness.nodeId === null) continue
    const device = JSON.stringify([due.readiness.nodeId, due.readiness.deviceId])
    const rivals = (running.get(device) ?? []).filter((other) => other.endAt > due.startAt)
    for (const other of rivals) if (clashes(other, due)) found.add(other).add(due)
    running.set(device, [...rivals, due])
  }
  return found
}
