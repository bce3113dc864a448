import type { UndeliveredTotal } from '../../../wire/captures.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db } from '../../store/db.ts'
import { Lister } from '../../store/filter.ts'
import { type OfJob, undeliveredOf, undeliveredTotal } from './capture.rules.ts'

/** What a recording tells of its job, of `recording_jobs j`. */
const OF_JOB = `json_object('command', json(j.command), 'startedAt', j.started_at, 'stopRequestedAt', j.stop_requested_at,
    'completedAt', j.completed_at, 'progress', json(j.progress),
    'interfaceName', (SELECT alias FROM interfaces WHERE id = j.capture_interface),
    'names', json((SELECT json_group_object(idx, alias) FROM channels WHERE interface_id = j.capture_interface)),
    'storedSeconds', (SELECT coalesce(sum(k.duration_seconds), 0) FROM recording_chunks k WHERE k.recording_id = j.recording_id),
    'whole', EXISTS (SELECT 1 FROM recording_files f WHERE f.recording_id = j.recording_id AND f.joined = 0))`

const UNDER_WAY = `j.status IN ('queued', 'running', 'stop_requested')`
// Its recorder was cut off, and may still bring the take (ADR-0009); one that was retired brings nothing.
const CUT_OFF = `j.failure_reason IN ('lease_expired', 'stop_request_lease_expired')
  AND NOT EXISTS (SELECT 1 FROM recording_jobs o WHERE o.recording_id = j.recording_id AND o.seq > j.seq)
  AND EXISTS (SELECT 1 FROM nodes n WHERE n.id = j.node_id AND n.status <> 'retired')`

/** The job that makes the recording `r`, or was making it when its recorder was cut off. */
export const JOB_OF_RECORDING = `coalesce(
  (SELECT ${OF_JOB} FROM recording_jobs j WHERE j.recording_id = r.id AND ${UNDER_WAY}),
  (SELECT ${OF_JOB} FROM recording_jobs j WHERE j.recording_id = r.id AND ${CUT_OFF}))`

/** What exists on recorders only. */
export function captureStore(db: Db) {
  const pending = new Lister<{ job: string }>(db, {
    columns: `${OF_JOB} AS job`,
    from: `(SELECT seq FROM recording_jobs j WHERE j.status IN ('running', 'stop_requested')
        UNION ALL SELECT seq FROM recording_jobs j INDEXED BY jobs_cut_off WHERE ${CUT_OFF}) s
      CROSS JOIN recording_jobs j ON j.seq = s.seq CROSS JOIN recordings r ON r.id = j.recording_id`,
  })
  const newest = db.stmt<{ id: string }, { job: string }>(
    `SELECT ${OF_JOB} AS job FROM recording_jobs j WHERE j.recording_id = @id ORDER BY j.created_at DESC, j.id DESC LIMIT 1`,
  )
  return {
    /** The newest job of a recording. */
    newest(id: string): OfJob | undefined {
      const row = newest.get({ id })
      return row && (JSON.parse(row.job) as OfJob)
    },
    /** Of all that the caller may see. */
    undelivered(visibility: Visibility, now: string): UndeliveredTotal {
      const jobs = pending.all(visibility.recordings(), 'j.seq').map(({ job }) => JSON.parse(job) as OfJob)
      const parts = jobs.map(undeliveredOf).filter((part) => part !== undefined)
      return undeliveredTotal(parts, now)
    },
  }
}
