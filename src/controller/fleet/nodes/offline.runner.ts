import type { Events } from '../../events.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { NodeStore } from './nodes.store.ts'

const EVERY_SECONDS = 10

interface Parts {
  enabled: boolean
  events: Events
  nodes: Pick<NodeStore, 'offline'>
}

/** Offline is derived from the time of the last heartbeat (status.rules.ts): nothing but this tells that it has begun. */
export function offlineRunner({ enabled, events, nodes }: Parts): Runner {
  let known: ReadonlySet<string> | undefined
  return {
    name: 'node-offline',
    enabled,
    intervalSeconds: EVERY_SECONDS,
    tick(now) {
      const offline = new Set(nodes.offline(now))
      // Those of the first pass were offline before anybody could listen.
      const fresh = known ? [...offline.difference(known)] : []
      known = offline
      for (const nodeId of fresh) events.emit('node.status', { nodeId, status: 'offline' })
      return { fresh: fresh.length, offline: offline.size }
    },
  }
}
