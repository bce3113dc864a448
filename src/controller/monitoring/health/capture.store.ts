import type { HealthEvent } from '../../../wire/health.ts'
import { systemActor } from '../../http/principal.ts'
import type { Db } from '../../store/db.ts'
import { eventOf, HEALTH_COLUMNS, type HealthRow, type HealthStore, type Opening } from './health.store.ts'

/** Reported by the agent, and opened for a node whose inventory has no device. */
const UNAVAILABLE = 'agent.audio_backend.unavailable'
/** Event types that report the end of another one, and which. */
const ENDS: Record<string, string> = {
  'agent.audio_backend.recovered': UNAVAILABLE,
  'agent.encoder.recovered': 'agent.encoder.missing',
}
const LASTING = new Set(Object.values(ENDS))
const RESOLVED_BY = systemActor('inventory').id

/** Health events that a node has at most once and that end by themselves: no capture device, no encoder. Call in a transaction. */
export function captureEvents(db: Db, health: HealthStore) {
  // By the index of the type: few events have it, while a node may have many.
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
    /** Opens or ends the event after an inventory. @returns the ids of changed events */
    update(nodeId: string, lacking: boolean, now: string): string[] {
      if (!lacking) return resolve(nodeId, now)
      if (open(nodeId).length > 0) return []
      const details = { message: 'no capture device' }
      const opening = { details, nodeId, openedAt: now, severity: 'warning', type: UNAVAILABLE } as const
      return [health.open(opening, now).event.id]
    },
    /** An agent's report: an unresolved event is not opened twice, and a report of its end resolves it. */
    report(event: Opening & { nodeId: string }, now: string): { event: HealthEvent; fresh: boolean } {
      const [known] = LASTING.has(event.type) ? open(event.nodeId, event.type) : []
      if (known) return { event: known, fresh: false }
      const ended = ENDS[event.type]
      if (ended !== undefined) resolve(event.nodeId, now, ended)
      return health.open(event, now)
    },
  }
}
export type CaptureEvents = ReturnType<typeof captureEvents>
