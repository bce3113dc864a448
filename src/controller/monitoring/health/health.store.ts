import { conflict, found } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import type { HealthEvent, HealthMove, Severity } from '../../../wire/health.ts'
import type { Events } from '../../events.ts'
import type { Db, Params, SqlValue } from '../../store/db.ts'
import { type Move, seqOf, transition } from './lifecycle.rules.ts'

export type HealthRow = { [K in keyof Required<HealthEvent>]: K extends 'details' ? string : HealthEvent[K] | null }

export interface Opening {
  details: Record<string, unknown>
  /** The agent's own id; a repeat returns the existing event (docs/contract/agent.md: Health events). */
  localEventId?: string
  nodeId?: string | undefined
  openedAt: string
  recordingId?: string | undefined
  scheduleId?: string | undefined
  severity: Severity
  type: string
}

const PLAIN_COLUMNS = `h.id, h.type, h.severity, h.status, h.node_id AS nodeId, h.recording_id AS recordingId,
  h.schedule_id AS scheduleId, h.opened_at AS openedAt, h.acknowledged_at AS acknowledgedAt,
  h.acknowledged_by AS acknowledgedBy, h.acknowledged_by_name AS acknowledgedByName, h.suppressed_at AS suppressedAt, h.suppressed_by AS suppressedBy,
  h.suppressed_until AS suppressedUntil, h.resolved_at AS resolvedAt, h.resolved_by AS resolvedBy,
  h.resolved_by_name AS resolvedByName`

/** The columns of an event, of `health_events h`, as `eventOf` reads them. */
export const HEALTH_COLUMNS = `${PLAIN_COLUMNS}, h.details`

/** Bytes of details that a list shows in full: five hundred rows of the largest would block the event loop. */
const LISTED_DETAILS = 2048

/** The same for lists: larger details are replaced by a mark; the event itself shows them. */
export const LISTED_COLUMNS = `${PLAIN_COLUMNS},
  CASE WHEN octet_length(h.details) > ${LISTED_DETAILS} THEN '{"truncated":true}' ELSE h.details END AS details`

// Unresolved alarms of the watchdog, except those of ended takes. The planner does not know how small this index is: queries
// name it.
const WATCHED = `h.status <> 'resolved' AND substr(h.type, 1, 9) = 'watchdog.'
  AND json_extract(h.details, '$.recordingEndedAt') IS NULL`

const DELIVERED = { by: 'system:job-lease', reason: 'take_delivered' }

export function healthStore(db: Db, ids: Ids, events: Events) {
  const byId = db.stmt<{ id: string }, HealthRow>(`SELECT ${HEALTH_COLUMNS} FROM health_events h WHERE h.id = @id`)
  const ofJob = db.stmt<{ recordingId: string; jobId: string }, { id: string }>(
    `SELECT id FROM health_events
      WHERE recording_id = @recordingId AND status <> 'resolved' AND (type IN ('controller.recording.job_failed', 'controller.recording.job_cancelled')
          OR type GLOB 'agent.recording_job.*_upload_failed')
        AND json_extract(details, '$.jobId') = @jobId`,
  )
  const find = (id: string): HealthEvent | undefined => {
    const row = byId.get({ id })
    return row && eventOf(row)
  }
  const get = (id: string): HealthEvent => found(find(id), 'Health event')
  const updateRecordingHealth = recordingHealth(db)
  const write = writer(db, updateRecordingHealth, events)
  const autoResolve = resolver(find, write)
  const known = {
    node: db.stmt<{ id: string }>(`SELECT 1 FROM nodes WHERE id = @id`),
    recording: db.stmt<{ id: string }>(`SELECT 1 FROM recordings WHERE id = @id`),
    schedule: db.stmt<{ id: string }>(`SELECT 1 FROM schedules WHERE id = @id`),
  }
  return {
    find,
    /** @throws Fail 404 `health_event_not_found`. */
    get,
    /** The take arrived after all, or was begun again: resolves what told that it had not. */
    resolveDelivered(recordingId: string, jobId: string, now: string, why = DELIVERED): void {
      const ids = ofJob.all({ recordingId, jobId }).map(({ id }) => id)
      autoResolve(ids, why, now)
    },
    autoResolve,
    open: opener({ db, events, find, ids, judge: updateRecordingHealth }),
    /** Whether the thing an event would name exists. */
    knows: (type: keyof typeof known, id: string): boolean => known[type].get({ id }) !== undefined,
    /** Health of a recording from its unresolved events (docs/contract/recordings.md: States of a recording). */
    judge: updateRecordingHealth,
    /**
     * Moves an event through its states.
     * @throws Fail 404, or 409 `health_event_resolved`; both name the event.
     */
    move(id: string, action: HealthMove, move: Move): { before: HealthEvent; after: HealthEvent } {
      const before = get(id)
      const after = transition(before, action, move)
      if (!after || write(before, after, move.now) !== 1)
        throw conflict('health_event_resolved', 'Health event is already resolved', { eventId: id })
      return { before, after }
    },
    ...watchdogAlarms(db, updateRecordingHealth, events),
  }
}
export type HealthStore = ReturnType<typeof healthStore>

/** critical > warning > healthy over the unresolved events; only a change is written. */
function recordingHealth(db: Db) {
  const statement = db.stmt<{ id: string; now: string }>(
    `WITH judged (health) AS (SELECT CASE max(CASE severity WHEN 'critical' THEN 2 WHEN 'warning' THEN 1 ELSE 0 END)
        WHEN 2 THEN 'critical' WHEN 1 THEN 'warning' ELSE 'healthy' END
        FROM health_events WHERE recording_id = @id AND status <> 'resolved')
     UPDATE recordings SET updated_at = @now, health_status = (SELECT health FROM judged)
      WHERE id = @id AND health_status <> (SELECT health FROM judged)`,
  )
  return (recordingId: string, now: string): void => void statement.run({ id: recordingId, now })
}

interface OpenerParts {
  db: Db
  events: Events
  find: (id: string) => HealthEvent | undefined
  ids: Ids
  judge: (id: string, now: string) => void
}

interface Resolved {
  after: HealthEvent
  before: HealthEvent
}

function opener({ db, events, find, ids, judge }: OpenerParts) {
  const insert = db.stmt<Record<string, SqlValue>>(
    `INSERT INTO health_events (seq, id, type, severity, node_id, recording_id, schedule_id, local_event_id, opened_at, details)
     VALUES (@seq, @id, @type, @severity, @nodeId, @recordingId, @scheduleId, @localEventId, @openedAt, @details)
     ON CONFLICT (node_id, local_event_id) WHERE local_event_id IS NOT NULL DO NOTHING`,
  )
  const byLocal = db.stmt<{ nodeId: string; localEventId: string }, { id: string }>(
    `SELECT id FROM health_events WHERE node_id = @nodeId AND local_event_id = @localEventId`,
  )
  const taken = db.stmt<{ seq: number }, { seq: number }>(`SELECT seq FROM health_events WHERE seq = @seq`)
  const freeSeq = (openedAt: string, id: string): number => {
    let seq = seqOf(openedAt, id)
    while (taken.get({ seq })) seq++
    return seq
  }
  /** Opens an event and updates its recording's health; `fresh` is false for a repeat of the agent's own id. */
  return (event: Opening, now: string): { event: HealthEvent; fresh: boolean } => {
    const id = ids.uuid()
    const { details, localEventId, nodeId = null, recordingId = null, scheduleId = null } = event
    const fresh = insert.run({
      seq: freeSeq(event.openedAt, id),
      id,
      type: event.type,
      severity: event.severity,
      nodeId,
      recordingId,
      scheduleId,
      localEventId: localEventId ?? null,
      openedAt: event.openedAt,
      details: JSON.stringify(localEventId ? { ...details, localEventId } : details),
    })
    if (fresh && recordingId) judge(recordingId, now)
    const known = fresh ? id : byLocal.get({ nodeId: nodeId ?? '', localEventId: localEventId ?? '' })?.id
    const opened = find(known as string) as HealthEvent
    if (fresh) events.emit('health.opened', summaryOf(opened))
    return { event: opened, fresh: fresh === 1 }
  }
}

const summaryOf = ({ id, recordingId, severity, status, type }: HealthEvent) => ({
  id,
  recordingId,
  severity,
  status,
  type,
})

function writer(db: Db, judge: (id: string, now: string) => void, events: Events) {
  const update = db.stmt<Params>(
    `UPDATE health_events SET status = @status, severity = @severity, acknowledged_at = @acknowledgedAt,
       acknowledged_by = @acknowledgedBy, acknowledged_by_name = @acknowledgedByName, suppressed_at = @suppressedAt, suppressed_by = @suppressedBy,
       suppressed_until = @suppressedUntil, resolved_at = @resolvedAt, resolved_by = @resolvedBy,
       resolved_by_name = @resolvedByName, details = @details
      WHERE id = @id AND status = @from`,
  )
  return (before: HealthEvent, after: HealthEvent, now: string): number => {
    const changed = update.run({
      id: before.id,
      from: before.status,
      status: after.status,
      severity: after.severity,
      acknowledgedAt: after.acknowledgedAt,
      acknowledgedBy: after.acknowledgedBy ?? null,
      acknowledgedByName: after.acknowledgedByName ?? null,
      suppressedAt: after.suppressedAt,
      suppressedBy: after.suppressedBy ?? null,
      suppressedUntil: after.suppressedUntil,
      resolvedAt: after.resolvedAt,
      resolvedBy: after.resolvedBy ?? null,
      resolvedByName: after.resolvedByName ?? null,
      details: JSON.stringify(after.details),
    })
    if (changed && before.recordingId) judge(before.recordingId, now)
    if (changed) events.emit('health.changed', { ...summaryOf(after), was: before })
    return changed
  }
}

/** Why an event is over without a person's doing. */
interface Recovery {
  by: string
  details?: Record<string, unknown> | undefined
  reason: string
}

function resolver(find: (id: string) => HealthEvent | undefined, write: ReturnType<typeof writer>) {
  /** Resolves events by themselves, also acknowledged and suppressed ones. @returns each that was unresolved, before and after */
  return (ids: readonly string[], { by, details, reason }: Recovery, now: string): Resolved[] =>
    ids.flatMap((id) => {
      const before = find(id)
      if (!before || before.status === 'resolved') return []
      const told = { ...before.details, ...details, autoResolvedAt: now, autoResolvedReason: reason }
      const after: HealthEvent = { ...before, details: told, resolvedAt: now, resolvedBy: by, status: 'resolved' }
      write(before, after, now)
      return [{ after, before }]
    })
}

/** The watchdog's own unresolved alarms. */
function watchdogAlarms(db: Db, judge: (id: string, now: string) => void, events: Events) {
  // The status is not written, so that a mere reading does not reindex the event.
  const refresh = db.stmt<{ id: string; severity: Severity; details: string }>(
    `UPDATE health_events SET severity = @severity, details = @details WHERE id = @id AND status <> 'resolved'`,
  )
  const ofRecording = db.stmt<{ id: string }, HealthRow>(
    `SELECT ${HEALTH_COLUMNS} FROM health_events h
      WHERE h.recording_id = @id AND h.status <> 'resolved' AND substr(h.type, 1, 9) = 'watchdog.' ORDER BY h.seq`,
  )
  const ofType = db.stmt<{ type: string }, HealthRow>(
    `SELECT ${HEALTH_COLUMNS} FROM health_events h INDEXED BY health_watched WHERE ${WATCHED} AND h.type = @type`,
  )
  const recordings = db.stmt<object, { id: string; status: string | null }>(
    `SELECT DISTINCT h.recording_id AS id, r.status FROM health_events h INDEXED BY health_watched LEFT JOIN recordings r ON r.id = h.recording_id
      WHERE ${WATCHED} AND h.type > 'watchdog.' AND h.type < 'watchdog/' AND h.recording_id IS NOT NULL`,
  )
  return {
    /** New readings of a continuing alarm; its status does not change. People are told when they are `news`. */
    refresh(
      before: HealthEvent,
      { severity, details }: Pick<HealthEvent, 'details' | 'severity'>,
      news: boolean,
      now: string,
    ): void {
      const { id, recordingId } = before
      refresh.run({ id, severity, details: JSON.stringify(details) })
      const changed = severity !== before.severity
      if (changed && recordingId) judge(recordingId, now)
      if (changed || news) events.emit('health.changed', { ...summaryOf({ ...before, severity }), was: before })
    },
    /** Unresolved alarms of the watchdog about one recording, oldest first. */
    alarmsOf: (recordingId: string): HealthEvent[] => ofRecording.all({ id: recordingId }).map(eventOf),
    /** Unresolved alarms of one type, without those of ended takes. */
    alarms: (type: string): HealthEvent[] => ofType.all({ type }).map(eventOf),
    /** Recordings with such alarms, and their status; null for a deleted recording. */
    alarmed: (): { id: string; status: string | null }[] => recordings.all({}),
  }
}

const NULLABLE = new Set(['acknowledgedAt', 'suppressedAt', 'suppressedUntil', 'resolvedAt'])

/** A row of `HEALTH_COLUMNS` in its wire format. */
export function eventOf(row: HealthRow): HealthEvent {
  const kept = Object.entries(row).filter(([key, value]) => value !== null || NULLABLE.has(key))
  return { ...(Object.fromEntries(kept) as unknown as HealthEvent), details: JSON.parse(row.details) }
}
