import type { ChangeKind, ChangeState } from '../../../wire/changes.ts'
import type { JobProgress } from '../../../wire/recordings.ts'
import { STATUS } from '../../fleet/nodes/status.rules.ts'
import type { Db } from '../../store/db.ts'

interface JobRow {
  progress: string | null
  status: string
}

/** The small state of a resource as it is now; undefined for kinds without one, and for what is gone. */
export function stateStore(
  db: Db,
  percentOf: (recordingId: string) => number | undefined,
  /** Nodes that are silent since before are offline, ISO. */
  offlineBefore: () => string,
): (kind: ChangeKind, id: string) => ChangeState | undefined {
  const health = db.stmt<{ id: string }, ChangeState>('SELECT status, severity FROM health_events WHERE id = @id')
  const job = db.stmt<{ id: string }, JobRow>('SELECT status, progress FROM recording_jobs WHERE id = @id')
  const node = db.stmt<{ id: string; offlineBefore: string }, { recording: number; status: string }>(
    `SELECT ${STATUS} AS status, EXISTS (SELECT 1 FROM recording_jobs j WHERE j.node_id = n.id AND j.status IN ('running', 'stop_requested'))
       AS recording FROM nodes n WHERE id = @id`,
  )
  // Of several uploads of one recording the one that moved last.
  const upload = db.stmt<{ id: string }, { status: string }>(
    `SELECT status FROM upload_queue WHERE recording_id = @id ORDER BY updated_at DESC, id DESC LIMIT 1`,
  )
  const recording = db.stmt<{ id: string }, ChangeState>('SELECT status FROM recordings WHERE id = @id')
  const states: Partial<Record<ChangeKind, (id: string) => ChangeState | undefined>> = {
    health: (id) => health.get({ id }),
    job(id) {
      const row = job.get({ id })
      if (!row?.progress) return row && { status: row.status }
      const { percent, stage } = JSON.parse(row.progress) as JobProgress
      return { percent, stage, status: row.status }
    },
    node(id) {
      const row = node.get({ id, offlineBefore: offlineBefore() })
      return row && { recording: row.recording === 1, status: row.status }
    },
    recording: (id) => recording.get({ id }),
    upload(id) {
      const row = upload.get({ id })
      const percent = row?.status === 'succeeded' ? 100 : percentOf(id)
      return row && { ...(percent === undefined ? {} : { percent }), status: row.status }
    },
  }
  return (kind, id) => states[kind]?.(id)
}
