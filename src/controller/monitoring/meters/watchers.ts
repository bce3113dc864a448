import type { Clock } from '../../../kernel/clock.ts'

/** Frames per second that a recorder sends while somebody watches. */
const FRAMES_PER_SECOND = 4
/** Seconds of frames that come together while nobody does. */
const TOGETHER_SECONDS = 5
/** Without a sign of life for this long a watcher no longer counts. */
const LEASE_MS = 15_000

/** Who watches the levels of which nodes, in memory. */
export interface MeterWatchers {
  end(watcher: object): void
  /** `watcher` still watches, these nodes and no others. */
  renew(watcher: object, nodeIds: readonly string[]): void
  /** What the node's configuration says of it. */
  wanted(nodeId: string): { framesPerSecond: number; requested: boolean; togetherSeconds: number }
}

interface Lease {
  nodeIds: ReadonlySet<string>
  /** Monotonic ms. */
  until: number
}

const NONE: ReadonlySet<string> = new Set()

/** `changed` is called with a node that may have begun or ceased to be watched. */
export function meterWatchers(clock: Pick<Clock, 'monotonic'>, changed: (nodeId: string) => void): MeterWatchers {
  const leases = new Map<object, Lease>()
  const alive = ({ until }: Lease): boolean => until >= clock.monotonic()
  const nodesOf = (watcher: object): ReadonlySet<string> => leases.get(watcher)?.nodeIds ?? NONE
  return {
    end(watcher) {
      const before = nodesOf(watcher)
      leases.delete(watcher)
      for (const nodeId of before) changed(nodeId)
    },
    renew(watcher, nodeIds) {
      const [lease, before, now] = [leases.get(watcher), nodesOf(watcher), new Set(nodeIds)]
      leases.set(watcher, { nodeIds: now, until: clock.monotonic() + LEASE_MS })
      for (const nodeId of lease && alive(lease) ? before.symmetricDifference(now) : before.union(now)) changed(nodeId)
    },
    wanted: (nodeId) => ({
      framesPerSecond: FRAMES_PER_SECOND,
      requested: leases.values().some((lease) => lease.nodeIds.has(nodeId) && alive(lease)),
      togetherSeconds: TOGETHER_SECONDS,
    }),
  }
}
