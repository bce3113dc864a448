import type { ChangeKind, ChangeState } from '../../../wire/changes.ts'
import type { JobProgress } from '../../../wire/recordings.ts'
import type { Db } from '../../store/db.ts'

interface JobRow {
  progress: string | null
  status: string
}

/** The small state of a resource as it is now; undefined for kinds without one, and for what is gone. */
export function stateStore(db: Db): (kind: ChangeKind, id: string) => ChangeState | undefined {
  const alert = db.stmt<{ id: string }, ChangeState>('SELECT status, severity FROM health_events WHERE id = @id')
  const job = db.stmt<{ id: string }, JobRow>('SELECT status, progress FROM recording_jobs WHERE id = @id')
  const node = db.stmt<{ id: string }, ChangeState>('SELECT status FROM nodes WHERE id = @id')
  const states: Partial<Record<ChangeKind, (id: string) => ChangeState | undefined>> = {
    alert: (id) => alert.get({ id }),
    job(id) {
      const row = job.get({ id })
      if (!row?.progress) return row && { status: row.status }
      const { percent, stage } = JSON.parse(row.progress) as JobProgress
      return { percent, stage, status: row.status }
    },
    node: (id) => node.get({ id }),
  }
  return (kind, id) => states[kind]?.(id)
}
