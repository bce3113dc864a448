import { isoPlus } from '../../../kernel/clock.ts'
import { conflict } from '../../../kernel/fail.ts'
import type { Command, Job } from '../../../wire/recordings.ts'
import type { Db, SqlValue } from '../../store/db.ts'
import type { ActiveCapture } from '../library/conflicts.rules.ts'
import type { JobStore } from './jobs.store.ts'

/** What an agent states when it claims a job. */
interface ClaimRequest {
  /** The jobs it has, if stated. */
  holding?: readonly string[] | undefined
  /** It cannot open another device: only a job that joins a running capture may be claimed. */
  joinOnly?: boolean | undefined
  /** It shares an open device among all jobs that use it. */
  shares?: boolean | undefined
}

interface Asked {
  holding: string | null
  joinOnly: number
  nodeId: string
  now: string
  shares: number
}

/** Whether a scheduled job was not claimed by the end of its slot: nobody wants it then. One that people try again is wanted. */
export const slotEnded = (job: string): string => `EXISTS (SELECT 1 FROM schedule_runs u
  WHERE u.recording_id = ${job}.recording_id AND u.ends_at <= @now AND u.ends_at > ${job}.created_at)`

// A capture begins shortly after its claim, and a device is free shortly after its last sample.
const SLACK_SECONDS = 3

// Handed to this node, never confirmed, and unknown to the node: the answer to the claim was lost.
const lost = (job: string): string => `${job}.status = 'running' AND ${job}.confirmed_at IS NULL
  AND @holding IS NOT NULL AND ${job}.id NOT IN (SELECT value FROM json_each(@holding))`
const member = (job: string, name: string): string => `json_extract(${job}.command, '$.${name}')`
// Channels a job needs from its device, counted from the first: as the agent counts them.
const span = (job: string): string => `coalesce(${member(job, 'channelMap.sourceChannels')},
  (SELECT max(value) FROM json_each(${job}.command, '$.captureChannelSelection')), ${member(job, 'captureChannels')})`
const endOf = (job: string): string =>
  `unixepoch(${job}.started_at) + ${member(job, 'durationSeconds')} + ${SLACK_SECONDS}`
// Captures that have the device of a waiting job open.
const CAPTURING = `r.node_id = q.node_id AND r.status = 'running' AND r.id <> q.id
  AND r.capture_interface IS q.capture_interface AND ${endOf('r')} > unixepoch(@now) AND NOT (${lost('r')})`
// A capture can be shared by a job of the same group if it is wide enough: the agent takes the channels from it.
const ALIKE = `${member('r', 'captureDevice')} = ${member('q', 'captureDevice')}
  AND ${member('r', 'captureSampleRate')} = ${member('q', 'captureSampleRate')}`
const JOINS = `EXISTS (SELECT 1 FROM recording_jobs r WHERE ${CAPTURING}
  AND r.capture_group = q.capture_group AND ${ALIKE} AND ${span('r')} >= ${span('q')})`
// A sharing agent opens the device with all its channels: only a job that opens it differently has to wait.
const WAITS = `EXISTS (SELECT 1 FROM recording_jobs r WHERE ${CAPTURING} AND NOT (@shares = 1 AND ${ALIKE}))`
// A device is never opened twice: a job that cannot join waits (docs/contract/recordings.md: Devices and groups).
const CLAIMABLE = `q.node_id = @nodeId AND ((q.status = 'queued' AND NOT (${slotEnded('q')})) OR (${lost('q')}))
  AND (${JOINS} OR (@joinOnly = 0 AND NOT ${WAITS}))`

// A scheduled take that its recorder begins late ends with its slot: the next one has the device then. A moment is not late.
const LATE_SECONDS = 20
const LEFT = `(SELECT unixepoch(u.ends_at) - unixepoch(@now) FROM schedule_runs u WHERE u.recording_id = recording_jobs.recording_id)`
const SHORTENED = `CASE WHEN ${LEFT} BETWEEN 1 AND json_extract(command, '$.durationSeconds') - ${LATE_SECONDS}
  THEN json_set(command, '$.durationSeconds', ${LEFT}) ELSE command END`

/** How jobs are made and handed out: every claim is one guarded UPDATE (docs/contract/recordings.md: States of a job). */
export function claimStore(db: Db, jobs: JobStore, leaseSeconds: number) {
  const insert = db.stmt<Record<string, SqlValue>>(
    `INSERT INTO recording_jobs (id, recording_id, node_id, status, command, created_at) VALUES (@id, @recordingId, @nodeId, 'queued', @command, @now)`,
  )
  const waiting = db.stmt<Asked, { id: string; group: string | null }>(
    `SELECT q.id, q.capture_group AS "group" FROM recording_jobs q
      WHERE q.status IN ('queued', 'running') AND ${CLAIMABLE} ORDER BY q.created_at, q.id LIMIT 1`,
  )
  const siblings = db.stmt<Asked & { group: string; id: string }, { id: string }>(
    `SELECT q.id FROM recording_jobs q WHERE q.status IN ('queued', 'running') AND ${CLAIMABLE}
        AND q.capture_group = @group AND q.id <> @id ORDER BY q.created_at, q.id`,
  )
  const one = db.stmt<Asked & { id: string }, { id: string }>(
    `SELECT q.id FROM recording_jobs q WHERE q.id = @id AND ${CLAIMABLE}`,
  )
  const free = db.stmt<Asked, { at: number | null }>(
    `SELECT min(${endOf('r')}) AS at FROM recording_jobs q JOIN recording_jobs r ON ${CAPTURING}
      WHERE q.node_id = @nodeId AND q.status = 'queued'`,
  )
  const claim = db.stmt<{ id: string; nodeId: string; now: string; lease: string }>(
    `UPDATE recording_jobs SET status = 'running', claimed_by = @nodeId, started_at = @now, last_heartbeat_at = @now,
       lease_expires_at = @lease, command = ${SHORTENED} WHERE id = @id AND node_id = @nodeId
       AND (status = 'queued' OR (status = 'running' AND confirmed_at IS NULL))`,
  )
  const release = db.stmt<{ id: string; startedAt: string }>(
    `UPDATE recording_jobs SET status = 'queued', claimed_by = NULL, started_at = NULL, last_heartbeat_at = NULL, lease_expires_at = NULL
      WHERE id = @id AND status = 'running' AND confirmed_at IS NULL AND started_at = @startedAt`,
  )

  const take = (id: string, nodeId: string, now: string): Job[] =>
    claim.run({ id, nodeId, now, lease: isoPlus(now, leaseSeconds) }) === 1 ? [jobs.get(id)] : []
  const asked = (nodeId: string, { holding, joinOnly, shares }: ClaimRequest, now: string): Asked => ({
    holding: holding ? JSON.stringify(holding) : null,
    joinOnly: joinOnly ? 1 : 0,
    nodeId,
    now,
    shares: shares ? 1 : 0,
  })

  return {
    /** The captures that hold or await a device of the node. */
    activeCaptures: activeCaptures(db),
    create(id: string, recordingId: string, nodeId: string, command: Command, now: string): Job {
      insert.run({ id, recordingId, nodeId, command: JSON.stringify(command), now })
      return jobs.get(id)
    },
    /** The job a claim would get; nothing changes. */
    peek(nodeId: string, asking: ClaimRequest, now: string): Job | undefined {
      const next = waiting.get(asked(nodeId, asking, now))
      return next && jobs.get(next.id)
    },
    /** Seconds until a device is free that a waiting job needs; undefined when none waits for one. */
    freeIn(nodeId: string, now: string): number | undefined {
      const at = free.get(asked(nodeId, {}, now))?.at
      return at == null ? undefined : Math.max(1, Math.ceil(at - Date.parse(now) / 1000))
    },
    /** Claims the oldest job that need not wait and, with `group`, the others of its capture group; [] when there is none. */
    claimNext(nodeId: string, asking: ClaimRequest, group: boolean, now: string): Job[] {
      const all = asked(nodeId, asking, now)
      const next = waiting.get(all)
      if (!next) return []
      // Selected before the first one is claimed: those that begin together are one capture, as wide as the widest.
      const rest = group && next.group ? siblings.all({ ...all, group: next.group, id: next.id }) : []
      return [next, ...rest].flatMap(({ id }) => take(id, nodeId, now))
    },
    /** @throws Fail 409 `job_not_claimable`. */
    claim(id: string, nodeId: string, now: string): Job {
      const [job] = one.get({ ...asked(nodeId, {}, now), id }) ? take(id, nodeId, now) : []
      if (!job) throw conflict('job_not_claimable', 'Recording job is not claimable')
      return job
    },
    /** Undoes a claim whose response never arrived; false when it was confirmed or renewed. */
    release: (job: Job): boolean => release.run({ id: job.id, startedAt: job.startedAt ?? '' }) === 1,
  }
}
export type ClaimStore = ReturnType<typeof claimStore>

interface CaptureRow extends Omit<ActiveCapture, 'from' | 'until' | 'selection'> {
  seconds: number
  selection: string | null
  since: string
}

function activeCaptures(db: Db): (nodeId: string) => ActiveCapture[] {
  const active = db.stmt<{ nodeId: string }, CaptureRow>(
    `SELECT j.id AS jobId, j.recording_id AS recordingId, r.room_id AS roomId, j.capture_interface AS interfaceId,
       j.capture_group AS captureGroupId, json_extract(j.command, '$.captureChannelSelection') AS selection,
       json_extract(j.command, '$.durationSeconds') AS seconds, coalesce(j.started_at, r.recorded_at, j.created_at) AS since
       FROM recording_jobs j JOIN recordings r ON r.id = j.recording_id
      WHERE j.node_id = @nodeId AND j.status IN ('queued', 'running', 'stop_requested')`,
  )
  return (nodeId) =>
    active.all({ nodeId }).map(({ seconds, selection, since, ...row }) => {
      const from = Date.parse(since)
      return { ...row, from, until: from + seconds * 1000, selection: selection ? JSON.parse(selection) : null }
    })
}
