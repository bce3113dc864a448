import type { NotificationRule } from '../../wire/notifications.ts'
import type { Db } from '../store/db.ts'
import { type Condition, Lister } from '../store/filter.ts'
import type { Figures } from './phrases.ts'

/** A day of a rule's part of the fleet, as it was when the report was queued. */
export interface Report {
  /** Of the takes on the controller. */
  disk?: { freeGb: number; freePercent: number } | undefined
  figures: Figures
  from: string
  /** Recorders whose disks are filling up, by name. */
  fullDisks: string[]
  /** What was begun late, and by how much. */
  late: { at: string; lateSeconds: number; name: string; room: string | null }[]
  /** What was not recorded whole, oldest first. */
  lost: { at: string; name: string; room: string | null }[]
  until: string
}

type Places = Pick<NotificationRule, 'nodeIds' | 'roomIds' | 'siteNames'>

/** Things named one by one; the rest is in the figures. */
const MOST_NAMED = 20
const MOST_COUNTED = 100_000
/** Speech is comfortable between these, LUFS; EBU R 128 asks for -23. */
const [TOO_QUIET, TOO_LOUD] = [-35, -12]

const SLOTS = `schedule_runs u JOIN schedules s ON s.id = u.schedule_id LEFT JOIN recordings r ON r.id = u.recording_id
  LEFT JOIN nodes n ON n.id = s.node_id LEFT JOIN rooms m ON m.id = s.room_id`
const TAKES = `recordings r LEFT JOIN nodes n ON n.id = r.node_id LEFT JOIN rooms m ON m.id = r.room_id`
const RUNNING = `r.status IN ('queued', 'recording')`
const WHOLE = `r.status IN ('cached', 'uploaded', 'completed')`
/** Over: what still runs is neither made nor lost, and what somebody deleted is not spoken of. */
const DUE: Condition = {
  params: {},
  sql: `u.outcome = 'missed' OR (u.outcome = 'started' AND r.id IS NOT NULL AND NOT ${RUNNING})`,
}
const LOUDNESS = `json_extract(f.details, '$.loudness.integratedLufs')`

/** What the daily report tells. */
export function reportStore(db: Db, version: string) {
  const slots = new Lister<{ at: string; name: string; room: string | null }>(db, {
    columns: 'u.occurrence_at AS at, s.name, m.name AS room',
    from: SLOTS,
  })
  const takes = new Lister<{ at: string; name: string; room: string | null }>(db, {
    columns: 'r.recorded_at AS at, r.name, m.name AS room',
    from: TAKES,
  })
  const loud = new Lister<object>(db, {
    columns: '1',
    from: `${TAKES} JOIN recording_files f ON f.recording_id = r.id`,
  })
  const uploads = new Lister<object>(db, {
    columns: '1',
    from: `upload_queue q JOIN ${TAKES.replace('recordings r', 'recordings r ON r.id = q.recording_id')}`,
  })
  const full = new Lister<{ name: string }>(db, {
    columns: 'DISTINCT n.alias AS name',
    from: `health_events h JOIN nodes n ON n.id = h.node_id LEFT JOIN rooms m ON m.id = n.room_id`,
  })
  const alerts = new Lister<object>(db, {
    columns: '1',
    from: `health_events h LEFT JOIN nodes n ON n.id = h.node_id LEFT JOIN rooms m ON m.id = n.room_id`,
  })
  const late = new Lister<Report['late'][number]>(db, {
    columns: `h.details ->> '$.plannedAt' AS at, h.details ->> '$.recoveryEvaluation.lateSeconds' AS lateSeconds, r.name, m.name AS room`,
    from: `health_events h JOIN recordings r ON r.id = h.recording_id LEFT JOIN nodes n ON n.id = r.node_id
      LEFT JOIN rooms m ON m.id = r.room_id`,
  })
  const nodes = new Lister<object>(db, { columns: '1', from: 'nodes n LEFT JOIN rooms m ON m.id = n.room_id' })
  return (rule: Places, from: string, until: string, disk: Report['disk']): Report => {
    const due = [DUE, during('u.occurrence_at', from, until), ...within(rule, 's.room_id')]
    const isLost = { params: {}, sql: `r.id IS NULL OR NOT ${WHOLE}` }
    const failed = [
      during('r.recorded_at', from, until),
      { params: {}, sql: `r.schedule_id IS NULL AND r.status IN ('failed', 'partial')` },
      ...within(rule, 'r.room_id'),
    ]
    const [dueCount, lostCount] = [slots.count(due, MOST_COUNTED), slots.count([...due, isLost], MOST_COUNTED)]
    const lost = [
      ...slots.rows([...due, isLost], 'u.occurrence_at', MOST_NAMED, 0),
      ...takes.rows(failed, 'r.recorded_at', MOST_NAMED, 0),
    ]
    const begunLate = [BEGUN_LATE, during('h.opened_at', from, until), ...within(rule, 'r.room_id')]
    return {
      disk,
      figures: {
        due: dueCount,
        late: late.count(begunLate, MOST_COUNTED),
        failedTakes: takes.count(failed, MOST_COUNTED),
        loudness: loud.count(
          [during('r.recorded_at', from, until), OUTSIDE_THE_NORM, ...within(rule, 'r.room_id')],
          MOST_COUNTED,
        ),
        made: dueCount - lostCount,
        openAlerts: alerts.count([STANDING, ...within(rule, 'n.room_id')], MOST_COUNTED),
        running: slots.count(
          [{ params: {}, sql: RUNNING }, during('u.occurrence_at', from, until), ...within(rule, 's.room_id')],
          MOST_COUNTED,
        ),
        openUploads: uploads.count([OPEN, ...within(rule, 'r.room_id')], MOST_COUNTED),
        updates: nodes.count([outdated(version), ...within(rule, 'n.room_id')], MOST_COUNTED),
      },
      from,
      fullDisks: full.rows([FILLING, ...within(rule, 'n.room_id')], 'n.alias', MOST_NAMED, 0).map(({ name }) => name),
      late: late.rows(begunLate, 'h.opened_at', MOST_NAMED, 0),
      lost: lost.slice(0, MOST_NAMED),
      until,
    }
  }
}
export type ReportStore = ReturnType<typeof reportStore>

const OPEN: Condition = { params: {}, sql: `q.status IN ('queued', 'retrying', 'failed')` }
const BEGUN_LATE: Condition = {
  params: {},
  sql: `h.type = 'watchdog.take_not_begun' AND h.details ->> '$.autoResolvedReason' = 'take_began'`,
}
const STANDING: Condition = { params: {}, sql: `h.status <> 'resolved' AND h.severity <> 'info'` }
const FILLING: Condition = { params: {}, sql: `h.type = 'agent.system.disk_pressure' AND h.status <> 'resolved'` }
const OUTSIDE_THE_NORM: Condition = {
  params: { loud: TOO_LOUD, quiet: TOO_QUIET },
  sql: `f.rendition <> 'raw' AND (${LOUDNESS} < @quiet OR ${LOUDNESS} > @loud)`,
}
const outdated = (version: string): Condition => ({
  params: { version },
  sql: `n.status <> 'retired' AND n.agent_version NOT IN ('unknown', @version)`,
})
const during = (
  column: 'h.opened_at' | 'r.recorded_at' | 'u.occurrence_at',
  from: string,
  until: string,
): Condition => ({
  params: { from, until },
  sql: `${column} >= @from AND ${column} < @until`,
})

/** The part of the fleet a rule speaks of; every list that is given narrows. `n` are nodes, `m` rooms. */
function within({ nodeIds, roomIds, siteNames }: Places, room: 'n.room_id' | 'r.room_id' | 's.room_id'): Condition[] {
  const listed = (column: string, name: string, ids: string[] | undefined): Condition[] =>
    ids === undefined
      ? []
      : [{ params: { [name]: JSON.stringify(ids) }, sql: `${column} IN (SELECT value FROM json_each(@${name}))` }]
  return [
    ...listed('n.id', 'nodeIds', nodeIds),
    ...listed(room, 'roomIds', roomIds),
    ...listed('coalesce(m.site, n.site)', 'siteNames', siteNames),
  ]
}
