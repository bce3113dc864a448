import { offlineBefore, STATUS } from '../../fleet/nodes/status.rules.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, Params } from '../../store/db.ts'
import { Lister } from '../../store/filter.ts'

export interface NodeGauge {
  alias: string
  id: string
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

const ACTIVE = `(SELECT id FROM recordings WHERE status = 'recording'
  UNION SELECT recording_id FROM recording_jobs WHERE status IN ('running', 'stop_requested')) l JOIN recordings r ON r.id = l.id`
const RUNNING = `r.id, coalesce(r.node_id, '') AS nodeId, r.source, r.status, r.duration_seconds AS durationSeconds,
  coalesce((SELECT max(j.started_at) FROM recording_jobs j WHERE j.recording_id = r.id AND j.status IN ('running', 'stop_requested')),
    r.recorded_at) AS startedAt,
  (SELECT coalesce(sum(f.size_bytes), 0) FROM recording_files f WHERE f.recording_id = r.id)
    + (SELECT coalesce(sum(f.size_bytes), 0) FROM recording_chunk_files f WHERE f.recording_id = r.id) AS bytes`

/** Nodes, and recordings in progress: few however large the library is. */
export function metricsStore(db: Db, offlineAfterSeconds: number) {
  const nodes = new Lister<NodeGauge>(db, {
    columns: `n.id, n.alias, n.site, n.room, ${STATUS} AS status`,
    from: 'nodes n',
  })
  const running = new Lister<Running>(db, { columns: RUNNING, from: ACTIVE })
  return {
    nodes(visibility: Visibility, now: string): NodeGauge[] {
      const params: Params = { offlineBefore: offlineBefore(now, offlineAfterSeconds) }
      return nodes.all([{ sql: `n.status <> 'retired'`, params }, ...visibility.nodes()], 'n.id')
    },
    /** With status `recording` or a running job, the newest first. */
    running: (visibility: Visibility): Running[] => running.all(visibility.recordings(), 'r.recorded_at DESC'),
  }
}
export type MetricsStore = ReturnType<typeof metricsStore>
