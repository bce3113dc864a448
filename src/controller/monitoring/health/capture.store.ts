import type { HealthEvent } from '../../../wire/health.ts'
import { systemActor } from '../../http/principal.ts'
import type { Db } from '../../store/db.ts'
import { endedBy, ends } from './ends.rules.ts'
import { eventOf, HEALTH_COLUMNS, type HealthRow, type HealthStore, type Opening } from './health.store.ts'

/** Reported by the agent, and opened for a node whose inventory has no device. */
export const UNAVAILABLE = 'agent.audio_backend.unavailable'
/** Types that a node has at most once at a time. */
const LASTING = new Set([UNAVAILABLE, 'agent.encoder.missing'])
/** Events that one report ends. */
const MAX_ENDED = 200
const RESOLVED_BY = systemActor('inventory').id

/** Health events of a recorder that end by themselves when it tells so, or has a device again. Call in a transaction. */
export function captureEvents(db: Db, health: HealthStore) {
  const standing = db.stmt<{ nodeId: string; type: string }, HealthRow>(
    `SELECT ${HEALTH_COLUMNS} FROM health_events h INDEXED BY health_standing
      WHERE h.node_id = @nodeId AND h.type = @type AND h.status <> 'resolved' LIMIT ${MAX_ENDED}`,
  )
  const repeat = db.stmt<{ at: string; id: string }>(
    `UPDATE health_events SET details = json_set(details, '$.repeatedAt', @at) WHERE id = @id AND status <> 'resolved'`,
  )
  const open = (nodeId: string, type = UNAVAILABLE): HealthEvent[] => standing.all({ nodeId, type }).map(eventOf)
  const resolve = (nodeId: string, now: string, type = UNAVAILABLE, recovery?: Opening): string[] => {
    const over = open(nodeId, type).filter((event) => !recovery || ends(recovery, event))
    const ids = over.map(({ id }) => id)
    health.autoResolve(
      ids,
      { by: RESOLVED_BY, reason: type === UNAVAILABLE ? 'capture_device_found' : 'told_by_agent' },
      now,
    )
    return ids
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
    /** An agent's report: what lasts is not opened twice; a recovery ends what it speaks of; what only informs is resolved. */
    report(event: Opening & { nodeId: string }, now: string): { event: HealthEvent; fresh: boolean } {
      const [known] = LASTING.has(event.type) ? open(event.nodeId, event.type) : []
      if (known) {
        repeat.run({ at: now, id: known.id })
        return { event: health.get(known.id), fresh: false }
      }
      const ended = endedBy(event.type)
      for (const type of ended) resolve(event.nodeId, now, type, event)
      const opened = health.open(event, now)
      if (ended.length === 0 && event.severity !== 'info') return opened
      const reason = ended.length > 0 ? 'told_by_agent' : 'nothing_to_do'
      if (opened.fresh) health.autoResolve([opened.event.id], { by: RESOLVED_BY, reason }, now)
      return { ...opened, event: health.get(opened.event.id) }
    },
  }
}

export type CaptureEvents = ReturnType<typeof captureEvents>
