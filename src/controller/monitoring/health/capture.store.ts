import type { HealthEvent } from '../../../wire/health.ts'
import { systemActor } from '../../http/principal.ts'
import type { Db } from '../../store/db.ts'
import { eventOf, HEALTH_COLUMNS, type HealthRow, type HealthStore, type Opening } from './health.store.ts'

/** Told by the agent, and opened for a node whose inventory has no device. */
const UNAVAILABLE = 'agent.audio_backend.unavailable'
/** What agents tell the end of, and what it ends. */
const ENDS: Record<string, string> = {
  'agent.audio_backend.recovered': UNAVAILABLE,
  'agent.encoder.recovered': 'agent.encoder.missing',
}
const LASTING = new Set(Object.values(ENDS))
const RESOLVED_BY = systemActor('inventory').id

/** Health events of a node that stand once and end by themselves: no capture device, no encoder. Call it in a transaction. */
export function captureEvents(db: Db, health: HealthStore) {
  // The type leads: few events have it, while a node may have many.
  const standing = db.stmt<{ nodeId: string; type: string }, HealthRow>(
    `SELECT ${HEALTH_COLUMNS} FROM health_events h WHERE h.type = @type AND +h.node_id = @nodeId AND +h.status <> 'resolved'`,
  )
  const open = (nodeId: string, type = UNAVAILABLE): HealthEvent[] => standing.all({ nodeId, type }).map(eventOf)
  const resolve = (nodeId: string, now: string, type = UNAVAILABLE): string[] => {
    const events = open(nodeId, type)
    const autoResolvedReason = type === UNAVAILABLE ? 'capture_device_found' : 'told_by_agent'
    for (const event of events) {
      const details = { ...event.details, autoResolvedAt: now, autoResolvedReason }
      health.write(event, { ...event, details, resolvedAt: now, resolvedBy: RESOLVED_BY, status: 'resolved' }, now)
    }
    return events.map((event) => event.id)
  }
  return {
    /** Opens or ends the event after an inventory; gives the ids of the events that changed. */
    update(nodeId: string, lacking: boolean, now: string): string[] {
      if (!lacking) return resolve(nodeId, now)
      if (open(nodeId).length > 0) return []
      const details = { message: 'no capture device' }
      const opening = { details, nodeId, openedAt: now, severity: 'warning', type: UNAVAILABLE } as const
      return [health.open(opening, now).event.id]
    },
    /** What an agent tells: the event that stands is not opened twice, and its end ends it. */
    report(told: Opening & { nodeId: string }, now: string): { event: HealthEvent; fresh: boolean } {
      const [event] = LASTING.has(told.type) ? open(told.nodeId, told.type) : []
      if (event) return { event, fresh: false }
      const ended = ENDS[told.type]
      if (ended !== undefined) resolve(told.nodeId, now, ended)
      return health.open(told, now)
    },
  }
}
export type CaptureEvents = ReturnType<typeof captureEvents>
