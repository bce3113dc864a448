import { isoPlus } from '../../kernel/clock.ts'
import { conflict } from '../../kernel/fail.ts'
import type { Command, Job } from '../../wire/recordings.ts'
import type { Db, SqlValue } from '../store/db.ts'
import type { JobStore } from './jobs.store.ts'

/** How jobs are made and handed out: every claim is one guarded UPDATE (contract A, 4.3). */
export function claimStore(db: Db, jobs: JobStore, leaseSeconds: number) {
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

  const take = (id: string, nodeId: string, lost: number, now: string): Job[] =>
    claim.run({ id, nodeId, lost, now, lease: isoPlus(now, leaseSeconds) }) === 1 ? [jobs.get(id)] : []
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
  }
}
export type ClaimStore = ReturnType<typeof claimStore>
