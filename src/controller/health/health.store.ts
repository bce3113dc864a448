import type { Ids } from '../../kernel/ids.ts'
import type { HealthEvent, Severity } from '../../wire/health.ts'
import type { Db, SqlValue } from '../store/db.ts'

type Row = { [K in keyof Required<HealthEvent>]: K extends 'details' ? string : HealthEvent[K] | null }

export interface Opening {
  details: Record<string, unknown>
  /** The agent's own id; a repeat answers the event that is already there (decision 9). */
  localEventId?: string
  nodeId?: string
  openedAt: string
  recordingId?: string
  scheduleId?: string
  severity: Severity
  type: string
}

const COLUMNS = `id, type, severity, status, node_id AS nodeId, recording_id AS recordingId, schedule_id AS scheduleId,
  opened_at AS openedAt, acknowledged_at AS acknowledgedAt, acknowledged_by AS acknowledgedBy, suppressed_at AS suppressedAt,
  suppressed_by AS suppressedBy, suppressed_until AS suppressedUntil, resolved_at AS resolvedAt, resolved_by AS resolvedBy, details`

export function healthStore(db: Db, ids: Ids) {
  const insert = db.stmt<Record<string, SqlValue>>(
    `INSERT INTO health_events (id, type, severity, node_id, recording_id, schedule_id, local_event_id, opened_at, details)
     VALUES (@id, @type, @severity, @nodeId, @recordingId, @scheduleId, @localEventId, @openedAt, @details)
     ON CONFLICT (node_id, local_event_id) WHERE local_event_id IS NOT NULL DO NOTHING`,
  )
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM health_events WHERE id = @id`)
  const byLocal = db.stmt<{ nodeId: string; localEventId: string }, Row>(
    `SELECT ${COLUMNS} FROM health_events WHERE node_id = @nodeId AND local_event_id = @localEventId`,
  )
  // critical > warning > healthy over what is not resolved (contract A, 4.4)
  const judge = db.stmt<{ id: string; now: string }>(
    `UPDATE recordings SET updated_at = @now, health_status = coalesce(
       (SELECT CASE max(CASE severity WHEN 'critical' THEN 2 WHEN 'warning' THEN 1 ELSE 0 END)
               WHEN 2 THEN 'critical' WHEN 1 THEN 'warning' ELSE 'healthy' END
          FROM health_events WHERE recording_id = @id AND status <> 'resolved'), 'healthy')
     WHERE id = @id`,
  )
  const delivered = db.stmt<{ recordingId: string; jobId: string; now: string }>(
    `UPDATE health_events SET status = 'resolved', resolved_at = @now, resolved_by = 'system:job-lease',
       details = json_set(details, '$.autoResolvedAt', @now, '$.autoResolvedReason', 'take_delivered')
      WHERE recording_id = @recordingId AND status <> 'resolved' AND type IN ('controller.recording.job_failed', 'controller.recording.job_cancelled')
        AND json_extract(details, '$.jobId') = @jobId`,
  )

  return {
    /** The take arrived after all: what its job's end had opened is resolved. */
    delivered: (recordingId: string, jobId: string, now: string): void =>
      void delivered.run({ recordingId, jobId, now }),
    /** Opens an event and judges its recording anew; `fresh` is false for a repeat of the agent's own id. */
    open(event: Opening, now: string): { event: HealthEvent; fresh: boolean } {
      const id = ids.uuid()
      const { details, localEventId } = event
      const fresh = insert.run({
        id,
        type: event.type,
        severity: event.severity,
        nodeId: event.nodeId ?? null,
        recordingId: event.recordingId ?? null,
        scheduleId: event.scheduleId ?? null,
        localEventId: localEventId ?? null,
        openedAt: event.openedAt,
        details: JSON.stringify(localEventId ? { ...details, localEventId } : details),
      })
      if (fresh && event.recordingId) judge.run({ id: event.recordingId, now })
      const row = fresh
        ? byId.get({ id })
        : byLocal.get({ nodeId: event.nodeId ?? '', localEventId: localEventId ?? '' })
      return { event: shown(row as Row), fresh: fresh === 1 }
    },
    /** Health of a recording from its unresolved events. */
    judge: (recordingId: string, now: string): void => void judge.run({ id: recordingId, now }),
  }
}
export type HealthStore = ReturnType<typeof healthStore>

const KEPT_NULL = new Set(['acknowledgedAt', 'suppressedAt', 'suppressedUntil', 'resolvedAt'])

function shown(row: Row): HealthEvent {
  const kept = Object.entries(row).filter(([key, value]) => value !== null || KEPT_NULL.has(key))
  return { ...(Object.fromEntries(kept) as unknown as HealthEvent), details: JSON.parse(row.details) }
}
