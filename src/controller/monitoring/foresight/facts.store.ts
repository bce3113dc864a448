import type { Severity } from '../../../wire/health.ts'
import type { Command } from '../../../wire/recordings.ts'
import type { Db } from '../../store/db.ts'
import { present } from '../../store/filter.ts'
import type { End, Occurrence } from './ends.rules.ts'

/** Takes of a day that one pass looks at, the earliest first. */
const MAX_DUE = 20_000
/** Standing events of a recorder that are read. */
const MAX_TOLD = 20

interface DueRow {
  id: string
  nodeId: string | null
}

/** An event of what was foreseen; its details are read when they are asked for. */
export interface StandingRow {
  /** JSON. */
  details: string
  id: string
  nodeId?: string
  scheduleId?: string
  severity: Severity
  type: string
}

/** An event of a recorder. */
interface Told {
  details: Record<string, unknown>
  openedAt: string
}

/** The device a schedule recorded from, as it was then. */
export interface KnownDevice {
  asked: string
  device: Identity
}

export interface Identity {
  id: string
  name: string
  serial: string | null
}

/** What foresight reads of others, and the devices it remembers. */
export function factStore(db: Db) {
  const due = db.stmt<{ now: string; until: string }, DueRow>(
    `SELECT s.id, s.node_id AS nodeId FROM schedules s
      WHERE s.enabled = 1 AND s.next_run_at IS NOT NULL AND s.next_run_at > @now AND s.next_run_at <= @until
      ORDER BY s.next_run_at LIMIT ${MAX_DUE}`,
  )
  const told = db.stmt<{ nodeId: string; type: string }, { details: string; openedAt: string }>(
    `SELECT h.details, h.opened_at AS openedAt FROM health_events h INDEXED BY health_standing
      WHERE h.node_id = @nodeId AND h.type = @type AND h.status <> 'resolved' ORDER BY h.seq DESC LIMIT ${MAX_TOLD}`,
  )
  const underWay = db.stmt<object, { command: string }>(
    `SELECT command FROM recording_jobs j WHERE j.status IN ('queued', 'running', 'stop_requested')`,
  )
  const nodeOf = db.stmt<{ ids: string }, { nodeId: string }>(
    `SELECT DISTINCT s.node_id AS nodeId FROM json_each(@ids) wanted CROSS JOIN schedules s ON s.id = wanted.value
      WHERE s.node_id IS NOT NULL`,
  )
  const silent = db.stmt<{ before: string; ids: string }, { id: string }>(
    `SELECT n.id FROM json_each(@ids) wanted CROSS JOIN nodes n ON n.id = wanted.value WHERE n.last_seen_at < @before`,
  )
  return {
    /** Enabled schedules that record between the two, by their next start. */
    due: (now: string, until: string): DueRow[] => due.all({ now, until }),
    /** What a recorder has reported and not taken back, newest first. */
    told: (nodeId: string, type: string): Told[] =>
      told.all({ nodeId, type }).map(({ details, openedAt }) => ({ details: JSON.parse(details), openedAt })),
    /** Of all jobs whose takes have yet to arrive. */
    underWay: (): Command[] => underWay.all({}).map(({ command }) => JSON.parse(command)),
    /** Those of these recorders that have not reported since `before`. */
    silentOf: (nodeIds: Iterable<string>, before: string): string[] =>
      silent.all({ before, ids: JSON.stringify([...nodeIds]) }).map(({ id }) => id),
    nodesOf: (scheduleIds: Iterable<string>): string[] =>
      nodeOf.all({ ids: JSON.stringify([...scheduleIds]) }).map(({ nodeId }) => nodeId),
    ...deviceMemory(db),
    ...standingEvents(db),
  }
}
export type FactStore = ReturnType<typeof factStore>

function deviceMemory(db: Db) {
  const known = db.stmt<{ ids: string }, { asked: string; device: string; id: string }>(
    `SELECT f.schedule_id AS id, f.asked, f.device
       FROM json_each(@ids) wanted CROSS JOIN foresight_devices f ON f.schedule_id = wanted.value`,
  )
  const remember = db.stmt<{ asked: string; device: string; id: string }>(
    `INSERT INTO foresight_devices (schedule_id, asked, device) SELECT id, @asked, @device FROM schedules WHERE id = @id
     ON CONFLICT (schedule_id) DO UPDATE SET asked = excluded.asked, device = excluded.device`,
  )
  const forget = db.stmt<{ id: string }>(`DELETE FROM foresight_devices WHERE schedule_id = @id`)
  return {
    /** By schedule. */
    devices: (ids: readonly string[]): Map<string, KnownDevice> =>
      new Map(
        known
          .all({ ids: JSON.stringify(ids) })
          .map(({ asked, device, id }) => [id, { asked, device: JSON.parse(device) as Identity }]),
      ),
    remember: (id: string, { asked, device }: KnownDevice): void =>
      void remember.run({ asked, device: JSON.stringify(device), id }),
    /** It records: what it records from is what is expected from now on. */
    forget: (id: string): void => void forget.run({ id }),
  }
}

function standingEvents(db: Db) {
  const standing = db.stmt<object, { [K in keyof StandingRow]-?: StandingRow[K] | null }>(
    `SELECT h.id, h.type, h.severity, h.node_id AS nodeId, h.schedule_id AS scheduleId, h.details FROM health_events h INDEXED BY health_foreseen
      WHERE h.status <> 'resolved' AND substr(h.type, 1, 10) = 'foresight.' AND h.type > 'foresight.' AND h.type < 'foresight/'`,
  )
  const end = db.stmt<{ date: string; nodeId: string | null; occurrenceAt: string; scheduleId: string }, End>(
    `SELECT s.id, s.enabled, s.node_id AS nodeId, s.slot_at AS slotAt,
       (SELECT outcome FROM schedule_runs WHERE schedule_id = @scheduleId AND occurrence_at = @occurrenceAt) AS outcome,
       EXISTS (SELECT 1 FROM schedule_runs u JOIN recording_jobs j ON j.recording_id = u.recording_id
         WHERE u.schedule_id = @scheduleId AND u.occurrence_at = @occurrenceAt AND j.status = 'queued') AS waiting,
       EXISTS (SELECT 1 FROM schedule_runs u JOIN recording_jobs j ON j.recording_id = u.recording_id
         WHERE u.schedule_id = @scheduleId AND u.occurrence_at = @occurrenceAt AND j.started_at IS NOT NULL) AS began,
       (SELECT status FROM nodes WHERE id = @nodeId) AS nodeStatus,
       EXISTS (SELECT 1 FROM json_each(s.recurrence, '$.exceptions') e WHERE @date BETWEEN
          coalesce(e.value ->> '$.date', e.value ->> '$.startDate') AND coalesce(e.value ->> '$.date', e.value ->> '$.endDate')) AS excepted,
       EXISTS (SELECT 1 FROM health_events a INDEXED BY health_schedule WHERE a.schedule_id = @scheduleId AND a.status <> 'resolved'
          AND substr(a.type, 1, 9) = 'schedule.') AS refused
       FROM (SELECT 1) LEFT JOIN schedules s ON s.id = @scheduleId`,
  )
  const byPerson = db.stmt<{ scheduleId: string; type: string }, { details: string }>(
    `SELECT h.details FROM health_events h INDEXED BY health_schedule
      WHERE h.schedule_id = @scheduleId AND h.type = @type AND h.status = 'resolved' ORDER BY h.seq DESC LIMIT 1`,
  )
  return {
    /** Everything foreseen that is not over. */
    standing: (): StandingRow[] => standing.all({}).map((row) => present(row) as StandingRow),
    /** What has become of the occurrence an event speaks of. */
    endOf: (scheduleId: string, { date, nodeId, occurrenceAt }: Occurrence): End =>
      end.get({ date, nodeId: nodeId ?? null, occurrenceAt, scheduleId }) as End,
    /** Whether a person ended the event of this occurrence: it is not told again. */
    dismissed(type: string, scheduleId: string, occurrenceAt: string): boolean {
      const row = byPerson.get({ scheduleId, type })
      const details = row && (JSON.parse(row.details) as Record<string, unknown>)
      return details?.occurrenceAt === occurrenceAt && details.autoResolvedAt === undefined
    },
  }
}
