import { isoPlus } from '../../../kernel/clock.ts'
import { offlineBefore, STATUS } from '../../fleet/nodes/status.rules.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, Params } from '../../store/db.ts'
import { Lister } from '../../store/filter.ts'

export interface NodeGauge {
  agentVersion: string
  alias: string
  id: string
  lastSeenAt: string
  room: string
  site: string
  status: string
}
/** A recording in progress. */
export interface Running {
  bytes: number
  durationSeconds: number
  id: string
  nodeId: string
  source: string
  startedAt: string
  status: string
}
/** An upload destination, and what waits for it. */
export interface Backlog {
  id: string
  kind: string
  n: number
  name: string
  /** When the first of them is due. */
  oldestAt: string | null
}

const ACTIVE = `(SELECT id FROM recordings WHERE status = 'recording'
  UNION SELECT recording_id FROM recording_jobs WHERE status IN ('running', 'stop_requested')) l JOIN recordings r ON r.id = l.id`
const RUNNING = `r.id, coalesce(r.node_id, '') AS nodeId, r.source, r.status, r.duration_seconds AS durationSeconds,
  coalesce((SELECT max(j.started_at) FROM recording_jobs j WHERE j.recording_id = r.id AND j.status IN ('running', 'stop_requested')),
    r.recorded_at) AS startedAt,
  (SELECT coalesce(sum(f.size_bytes), 0) FROM recording_files f WHERE f.recording_id = r.id)
    + (SELECT coalesce(sum(f.size_bytes), 0) FROM recording_chunk_files f WHERE f.recording_id = r.id) AS bytes`

// A start is late when it was not made within this time; a runner looks every 30 s, and at once when a start is due.
const LATE_SECONDS = 120

/** Nodes, recordings in progress, and what waits: few however large the library is. */
export function metricsStore(db: Db, offlineAfterSeconds: number) {
  const nodes = new Lister<NodeGauge>(db, {
    columns: `n.id, n.alias, n.site, n.room, n.agent_version AS agentVersion, n.last_seen_at AS lastSeenAt, ${STATUS} AS status`,
    from: 'nodes n',
  })
  const running = new Lister<Running>(db, { columns: RUNNING, from: ACTIVE })
  const schedules = new Lister<object>(db, { columns: 's.id', from: 'schedules s' })
  const backlogs = db.stmt<object, Backlog>(
    `SELECT d.id, d.kind, d.display_name AS name, coalesce(q.n, 0) AS n, q.oldestAt FROM upload_destinations d
      LEFT JOIN (SELECT destination_id, count(*) AS n, min(next_attempt_at) AS oldestAt FROM upload_queue
        WHERE status IN ('queued', 'retrying') GROUP BY destination_id) q ON q.destination_id = d.id ORDER BY d.id`,
  )
  return {
    /** Every destination, for who sees all recordings. */
    backlogs: (): Backlog[] => backlogs.all({}),
    /** Enabled schedules whose start is due and has not been made. */
    late(visibility: Visibility, now: string): number {
      const params: Params = { lateBefore: isoPlus(now, -LATE_SECONDS) }
      const late = { sql: 's.enabled = 1 AND coalesce(s.slot_at, s.next_run_at) < @lateBefore', params }
      return schedules.aggregate<{ n: number }>('count(*) AS n', [late, ...visibility.schedules()]).n
    },
    nodes(visibility: Visibility, now: string): NodeGauge[] {
      const params: Params = { offlineBefore: offlineBefore(now, offlineAfterSeconds) }
      return nodes.all([{ sql: `n.status <> 'retired'`, params }, ...visibility.nodes()], 'n.id')
    },
    /** With status `recording` or a running job, the newest first. */
    running: (visibility: Visibility): Running[] => running.all(visibility.recordings(), 'r.recorded_at DESC'),
  }
}
export type MetricsStore = ReturnType<typeof metricsStore>
