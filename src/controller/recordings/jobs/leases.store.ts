import { isoPlus } from '../../../kernel/clock.ts'
import { conflict } from '../../../kernel/fail.ts'
import type { Job, JobProgress } from '../../../wire/recordings.ts'
import type { Db } from '../../store/db.ts'
import { slotEnded } from './claims.store.ts'
import { LEASE_EXPIRED, STOP_EXPIRED } from './jobs.rules.ts'
import { JOB_COLUMNS, type JobRow, type JobStore, jobOf } from './jobs.store.ts'

/** Leases and ends of jobs: every change of state is one guarded UPDATE (docs/contract/recordings.md: States of a job). */
export function leaseStore(db: Db, jobs: JobStore, leaseSeconds: number) {
  const renew = db.stmt<{ id: string; nodeId: string; now: string; lease: string; progress: string | null }>(
    `UPDATE recording_jobs SET last_heartbeat_at = @now, lease_expires_at = @lease, confirmed_at = coalesce(confirmed_at, @now),
       progress = coalesce(@progress, progress)
      WHERE id = @id AND claimed_by = @nodeId AND status IN ('running', 'stop_requested')`,
  )
  const end = db.stmt<{ id: string; to: string; reason: string | null; now: string }>(
    `UPDATE recording_jobs SET status = @to, completed_at = @now, failure_reason = @reason, progress = NULL
      WHERE id = @id AND status IN ('queued', 'running', 'stop_requested')`,
  )
  const revive = db.stmt<{ id: string; now: string }>(
    `UPDATE recording_jobs SET status = 'completed', completed_at = @now, failure_reason = NULL
      WHERE id = @id AND failure_reason IN ('${LEASE_EXPIRED}', '${STOP_EXPIRED}')`,
  )
  const expired = db.stmt<{ now: string; limit: number }, JobRow>(
    `SELECT ${JOB_COLUMNS} FROM recording_jobs j WHERE j.status IN ('running', 'stop_requested') AND j.lease_expires_at <= @now
      ORDER BY j.lease_expires_at LIMIT @limit`,
  )
  const unclaimed = db.stmt<{ now: string; limit: number }, JobRow>(
    `SELECT ${JOB_COLUMNS} FROM recording_jobs j WHERE j.status = 'queued' AND ${slotEnded('j')} LIMIT @limit`,
  )
  const extend = db.stmt<{ lease: string }>(
    `UPDATE recording_jobs SET lease_expires_at = @lease WHERE status IN ('running', 'stop_requested')`,
  )

  const lease = (now: string): string => isoPlus(now, leaseSeconds)

  return {
    /** Seconds a heartbeat may wait for a stop request, so that the next one arrives well before the lease ends. */
    longestWait: Math.floor(leaseSeconds / 3),
    /**
     * Renews the lease; without a new progress the last one stays.
     * @throws Fail 409 `job_not_heartbeatable` for a job that ended or that another claimer holds.
     */
    heartbeat(id: string, nodeId: string, reported: JobProgress | undefined, now: string): Job {
      const progress = reported ? JSON.stringify({ ...reported, at: now }) : null
      if (renew.run({ id, nodeId, now, lease: lease(now), progress }) !== 1)
        throw conflict('job_not_heartbeatable', 'Recording job is not heartbeatable')
      return jobs.get(id)
    },
    ...stops(db, lease),
    /** Ends an active job; false when it had ended before. */
    end: (id: string, to: 'completed' | 'failed' | 'cancelled', reason: string | null, now: string): boolean =>
      end.run({ id, to, reason, now }) === 1,
    /** Completes a job whose take arrived after its lease had run out (ADR-0009). */
    revive: (id: string, now: string): boolean => revive.run({ id, now }) === 1,
    expired: (now: string, limit: number): Job[] => expired.all({ now, limit }).map(jobOf),
    /** Scheduled ones that no recorder has claimed by the end of their slot. */
    unclaimed: (now: string, limit: number): Job[] => unclaimed.all({ now, limit }).map(jobOf),
    /** After a restart: extends every running lease by a full one, so that its agent has time to renew it. */
    grace: (now: string): number => extend.run({ lease: lease(now) }),
  }
}
export type LeaseStore = ReturnType<typeof leaseStore>

function stops(db: Db, lease: (now: string) => string) {
  const askStop = db.stmt<{ id: string; now: string; lease: string }>(
    `UPDATE recording_jobs SET status = 'stop_requested', stop_requested_at = @now, lease_expires_at = max(coalesce(lease_expires_at, ''), @lease)
      WHERE id = @id AND status = 'running'`,
  )
  const dropQueued = db.stmt<{ id: string; now: string }>(
    `UPDATE recording_jobs SET status = 'cancelled', stop_requested_at = @now, completed_at = @now, failure_reason = 'controller_stop_requested'
      WHERE id = @id AND status = 'queued'`,
  )
  const stopLost = db.stmt<{ id: string; now: string }>(
    `UPDATE recording_jobs SET status = 'cancelled', stop_requested_at = @now, failure_reason = '${STOP_EXPIRED}'
      WHERE id = @id AND status = 'failed' AND failure_reason = '${LEASE_EXPIRED}'`,
  )
  const callOff = db.stmt<{ recordingId: string; now: string }>(
    `UPDATE recording_jobs SET stop_requested_at = @now
      WHERE recording_id = @recordingId AND status = 'failed' AND stop_requested_at IS NULL`,
  )
  return {
    /**
     * A claimed job is asked to stop, an unclaimed one ends at once, one whose lease ran out tells its recorder to stop when
     * that reads it (docs/contract/recordings.md: States of a job); false when nothing of this.
     */
    stop: (id: string, now: string): boolean =>
      askStop.run({ id, now, lease: lease(now) }) === 1 ||
      dropQueued.run({ id, now }) === 1 ||
      stopLost.run({ id, now }) === 1,
    /** A take that failed is not begun again (docs/contract/scheduling.md: Runner). */
    callOff: (recordingId: string, now: string): void => void callOff.run({ recordingId, now }),
  }
}
