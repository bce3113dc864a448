import { isoPlus } from '../../kernel/clock.ts'
import { conflict } from '../../kernel/fail.ts'
import type { Command, Job } from '../../wire/recordings.ts'
import type { Db, SqlValue } from '../store/db.ts'
import { JOB_COLUMNS, type JobRow, type JobStore, jobOf } from './jobs.store.ts'

export const LEASE_EXPIRED = 'lease_expired'
export const STOP_EXPIRED = 'stop_request_lease_expired'

/** The writing side of jobs: every change of state is one guarded UPDATE (contract A, 4.3). */
export function leaseStore(db: Db, jobs: JobStore, leaseSeconds: number) {
  const insert = db.stmt<Record<string, SqlValue>>(
    `INSERT INTO recording_jobs (id, recording_id, node_id, status, command, created_at) VALUES (@id, @recordingId, @nodeId, 'queued', @command, @now)`,
  )
  // The oldest of what waits; or was handed to this node, never confirmed and is not held: lost on the way.
  const waiting = db.stmt<
    { nodeId: string; holding: string | null },
    { id: string; group: string | null; lost: number }
  >(
    `SELECT id, capture_group AS "group", status = 'running' AS lost FROM recording_jobs
      WHERE node_id = @nodeId AND (status = 'queued' OR (status = 'running' AND confirmed_at IS NULL AND @holding IS NOT NULL
        AND id NOT IN (SELECT value FROM json_each(@holding))))
      ORDER BY created_at, id LIMIT 1`,
  )
  const siblings = db.stmt<{ nodeId: string; group: string; id: string }, { id: string }>(
    `SELECT id FROM recording_jobs WHERE node_id = @nodeId AND capture_group = @group AND status = 'queued' AND id <> @id
      ORDER BY created_at, id`,
  )
  const claim = db.stmt<{ id: string; nodeId: string; lost: number; now: string; lease: string }>(
    `UPDATE recording_jobs SET status = 'running', claimed_by = @nodeId, started_at = @now, last_heartbeat_at = @now,
       lease_expires_at = @lease WHERE id = @id AND node_id = @nodeId
       AND (status = 'queued' OR (@lost = 1 AND status = 'running' AND confirmed_at IS NULL))`,
  )
  const release = db.stmt<{ id: string; startedAt: string }>(
    `UPDATE recording_jobs SET status = 'queued', claimed_by = NULL, started_at = NULL, last_heartbeat_at = NULL, lease_expires_at = NULL
      WHERE id = @id AND status = 'running' AND confirmed_at IS NULL AND started_at = @startedAt`,
  )
  const renew = db.stmt<{ id: string; nodeId: string; now: string; lease: string }>(
    `UPDATE recording_jobs SET last_heartbeat_at = @now, lease_expires_at = @lease, confirmed_at = coalesce(confirmed_at, @now)
      WHERE id = @id AND claimed_by = @nodeId AND status IN ('running', 'stop_requested')`,
  )
  const askStop = db.stmt<{ id: string; now: string; lease: string }>(
    `UPDATE recording_jobs SET status = 'stop_requested', stop_requested_at = @now, lease_expires_at = max(coalesce(lease_expires_at, ''), @lease)
      WHERE id = @id AND status = 'running'`,
  )
  const dropQueued = db.stmt<{ id: string; now: string }>(
    `UPDATE recording_jobs SET status = 'cancelled', stop_requested_at = @now, completed_at = @now, failure_reason = 'controller_stop_requested'
      WHERE id = @id AND status = 'queued'`,
  )
  const end = db.stmt<{ id: string; to: string; reason: string | null; now: string }>(
    `UPDATE recording_jobs SET status = @to, completed_at = @now, failure_reason = @reason
      WHERE id = @id AND status IN ('queued', 'running', 'stop_requested')`,
  )
  const revive = db.stmt<{ id: string; now: string }>(
    `UPDATE recording_jobs SET status = 'completed', completed_at = @now, failure_reason = NULL
      WHERE id = @id AND failure_reason IN ('${LEASE_EXPIRED}', '${STOP_EXPIRED}')`,
  )
  const expired = db.stmt<{ now: string; most: number }, JobRow>(
    `SELECT ${JOB_COLUMNS} FROM recording_jobs j WHERE j.status IN ('running', 'stop_requested') AND j.lease_expires_at <= @now
      ORDER BY j.lease_expires_at LIMIT @most`,
  )
  const extend = db.stmt<{ lease: string }>(
    `UPDATE recording_jobs SET lease_expires_at = @lease WHERE status IN ('running', 'stop_requested') AND lease_expires_at < @lease`,
  )

  const lease = (now: string): string => isoPlus(now, leaseSeconds)
  const take = (id: string, nodeId: string, lost: number, now: string): Job[] =>
    claim.run({ id, nodeId, lost, now, lease: lease(now) }) === 1 ? [jobs.get(id)] : []
  const asked = (holding: readonly string[] | undefined) => (holding ? JSON.stringify(holding) : null)

  return {
    create(id: string, recordingId: string, nodeId: string, command: Command, now: string): Job {
      insert.run({ id, recordingId, nodeId, command: JSON.stringify(command), now })
      return jobs.get(id)
    },
    /** The job a claim would get; nothing changes. */
    peek(nodeId: string, holding?: readonly string[]): Job | undefined {
      const next = waiting.get({ nodeId, holding: asked(holding) })
      return next && jobs.get(next.id)
    },
    /** The oldest waiting job, with the members of its capture group when `group`; [] when nothing waits. */
    claimNext(nodeId: string, holding: readonly string[] | undefined, group: boolean, now: string): Job[] {
      const next = waiting.get({ nodeId, holding: asked(holding) })
      if (!next) return []
      const first = take(next.id, nodeId, next.lost, now)
      if (!group || !next.group || first.length === 0) return first
      const rest = siblings.all({ nodeId, group: next.group, id: next.id })
      return [...first, ...rest.flatMap(({ id }) => take(id, nodeId, 0, now))]
    },
    /** @throws Fail 409 `job_not_claimable`. */
    claim(id: string, nodeId: string, now: string): Job {
      const [job] = take(id, nodeId, 0, now)
      if (!job) throw conflict('job_not_claimable', 'Recording job is not claimable')
      return job
    },
    /** Puts a claim back whose answer never arrived; a confirmed or renewed one is left alone. */
    release: (job: Job): boolean => release.run({ id: job.id, startedAt: job.startedAt ?? '' }) === 1,
    /** @throws Fail 409 `job_not_heartbeatable` for a job that ended or that another claimer holds. */
    heartbeat(id: string, nodeId: string, now: string): Job {
      if (renew.run({ id, nodeId, now, lease: lease(now) }) !== 1)
        throw conflict('job_not_heartbeatable', 'Recording job is not heartbeatable')
      return jobs.get(id)
    },
    /** A claimed job is asked to stop, an unclaimed one ends at once (decision 14); false when neither. */
    stop: (id: string, now: string): boolean =>
      askStop.run({ id, now, lease: lease(now) }) === 1 || dropQueued.run({ id, now }) === 1,
    /** Ends an active job; false when it had ended before. */
    end: (id: string, to: 'completed' | 'failed' | 'cancelled', reason: string | null, now: string): boolean =>
      end.run({ id, to, reason, now }) === 1,
    /** A take that came after its lease: the job is completed after all (decision 15). */
    revive: (id: string, now: string): boolean => revive.run({ id, now }) === 1,
    expired: (now: string, most: number): Job[] => expired.all({ now, most }).map(jobOf),
    /** After a restart every running lease gets one full lease to be renewed in. */
    grace: (now: string): number => extend.run({ lease: lease(now) }),
  }
}
export type LeaseStore = ReturnType<typeof leaseStore>
