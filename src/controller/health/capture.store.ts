import type { HealthEvent } from '../../wire/health.ts'
import { systemActor } from '../edge/who.ts'
import type { Db } from '../store/db.ts'
import { eventOf, HEALTH_COLUMNS, type HealthRow, type HealthStore, type Opening } from './health.store.ts'

/** Told by the agent, and opened for a node whose inventory has no device. */
const UNAVAILABLE = 'agent.audio_backend.unavailable'
const RECOVERED = 'agent.audio_backend.recovered'
const BY = systemActor('inventory').id

/** The one health event of a node without a capture device. Call it in a transaction. */
export function captureEvents(db: Db, health: HealthStore) {
  // The type leads: few events have it, while a node may have many.
  const standing = db.stmt<{ nodeId: string; type: string }, HealthRow>(
    `SELECT ${HEALTH_COLUMNS} FROM health_events h WHERE h.type = @type AND +h.node_id = @nodeId AND +h.status <> 'resolved'`,
  )
  const open = (nodeId: string): HealthEvent[] => standing.all({ nodeId, type: UNAVAILABLE }).map(eventOf)
  const resolve = (nodeId: string, now: string): string[] => {
    const events = open(nodeId)
    for (const event of events) {
      const details = { ...event.details, autoResolvedAt: now, autoResolvedReason: 'capture_device_found' }
      health.write(event, { ...event, details, resolvedAt: now, resolvedBy: BY, status: 'resolved' }, now)
    }
    return events.map((event) => event.id)
  }
  return {
    /** Opens or ends the event after an inventory; gives the ids of the events that changed. */
    judge(nodeId: string, lacking: boolean, now: string): string[] {
      if (!lacking) return resolve(nodeId, now)
      if (open(nodeId).length > 0) return []
      const details = { message: 'no capture device' }
      const opening = { details, nodeId, openedAt: now, severity: 'warning', type: UNAVAILABLE } as const
      return [health.open(opening, now).event.id]
    },
    /** What an agent tells: the event that stands is not opened twice, and its end ends it. */
    told(told: Opening & { nodeId: string }, now: string): { event: HealthEvent; fresh: boolean } {
      const [event] = told.type === UNAVAILABLE ? open(told.nodeId) : []
      if (event) return { event, fresh: false }
      if (told.type === RECOVERED) resolve(told.nodeId, now)
      return health.open(told, now)
    },
  }
}
export type CaptureEvents = ReturnType<typeof captureEvents>
