import { backoff } from '../../kernel/backoff.ts'
import { isoPlus } from '../../kernel/clock.ts'
import type { Db } from '../store/db.ts'

/** A slot that is not over, and whose take failed without a sample. */
export interface Unbegun {
  /** Jobs it has had. */
  attempts: number
  endsAt: string
  failedAt: string
  /** The last of its jobs. */
  jobId: string
  name: string
  occurrenceAt: string
  scheduleId: string
}

const FIRST_PAUSE_SECONDS = 15
/** Less is not worth a recording. */
export const LEAST_LEFT_SECONDS = 15

/** When its recorder is asked again: soon, then at longer and longer pauses of at most `most` seconds. */
export const againAt = ({ attempts, failedAt }: Pick<Unbegun, 'attempts' | 'failedAt'>, most: number): string =>
  isoPlus(failedAt, backoff(attempts - 1, FIRST_PAUSE_SECONDS, most))

/**
 * What a recorder said it could not begin, and nobody has called off (a schedule for once is switched off by its start). The
 * take of a job whose lease ran out may still run there, and arrive late.
 */
export function againStore(db: Db) {
  const unbegun = db.stmt<{ until: string }, Unbegun>(
    `SELECT u.schedule_id AS scheduleId, s.name, u.occurrence_at AS occurrenceAt, u.ends_at AS endsAt, j.id AS jobId,
       j.completed_at AS failedAt, (SELECT count(*) FROM recording_jobs o WHERE o.recording_id = j.recording_id) AS attempts
       FROM schedule_runs u JOIN schedules s ON s.id = u.schedule_id
       JOIN recordings r ON r.id = u.recording_id JOIN recording_jobs j ON j.recording_id = r.id
      WHERE u.outcome = 'started' AND u.ends_at > @until AND r.status = 'failed' AND j.status = 'failed'
        AND j.failure_reason NOT IN ('channels_moved', 'lease_expired') AND j.stop_requested_at IS NULL
        AND (s.enabled = 1 OR json_extract(s.recurrence, '$.mode') = 'once')
        AND NOT EXISTS (SELECT 1 FROM recording_jobs o WHERE o.recording_id = j.recording_id AND o.seq > j.seq)
        AND NOT EXISTS (SELECT 1 FROM recording_files f WHERE f.recording_id = r.id)
        AND NOT EXISTS (SELECT 1 FROM chunked_recordings c WHERE c.recording_id = r.id)`,
  )
  return {
    /** At most one for each slot that is live. */
    unbegun: (now: string): Unbegun[] => unbegun.all({ until: isoPlus(now, LEAST_LEFT_SECONDS) }),
  }
}
export type AgainStore = ReturnType<typeof againStore>
