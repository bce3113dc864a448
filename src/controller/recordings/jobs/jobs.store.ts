import { found } from '../../../kernel/fail.ts'
import type { Job, JobFilters } from '../../../wire/recordings.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db } from '../../store/db.ts'
import { Lister, present } from '../../store/filter.ts'
import { type Counts, jobListing } from './listing.store.ts'

export type JobRow = { [K in Exclude<keyof Required<Job>, 'command' | 'progress'>]: Required<Job>[K] | null } & {
  command: string
  progress: string | null
}

/** The columns of a job, of `recording_jobs j`, as `jobOf` reads them. */
export const JOB_COLUMNS = `j.id, j.recording_id AS recordingId, j.node_id AS nodeId, j.status, j.command,
  j.created_at AS createdAt, j.claimed_by AS claimedBy, j.started_at AS startedAt,
  j.last_heartbeat_at AS lastHeartbeatAt, j.lease_expires_at AS leaseExpiresAt,
  j.stop_requested_at AS stopRequestedAt, j.completed_at AS completedAt, j.failure_reason AS failureReason, j.progress`

/** A row of `JOB_COLUMNS` in its wire format. */
export const jobOf = ({ command, progress, ...row }: JobRow): Job =>
  present({ ...row, command: JSON.parse(command), progress: progress && JSON.parse(progress) }) as Job

/** Counts by status over the filtered set; `active` = queued + running + stop_requested. */
interface JobSummary {
  active: number
  cancelled: number
  completed: number
  failed: number
  queued: number
  running: number
  stopRequested: number
  total: number
}

const ZERO: JobSummary = {
  ...{ active: 0, cancelled: 0, completed: 0, failed: 0, queued: 0, running: 0, stopRequested: 0, total: 0 },
}

function summaryOf({ stop_requested: stopRequested = 0, ...counts }: Counts): JobSummary {
  const summary = { ...ZERO, ...counts, stopRequested }
  const active = summary.queued + summary.running + stopRequested
  return { ...summary, active, total: active + summary.cancelled + summary.completed + summary.failed }
}

/** The effective page of a job list (docs/contract/api.md: Paging). */
export const pageSize = (limit: number | undefined): number => Math.min(limit ?? 50, 200)

/** A total that is not exact is a lower bound. */
interface JobBoard {
  exact: boolean
  rows: Job[]
  summary: JobSummary
  total: number
}

/** Reads recording jobs; lists contain the jobs that the caller may open. */
export function jobStore(db: Db) {
  const lister = new Lister<{ id: string }>(db, { columns: 'j.id', from: 'recording_jobs j' })
  const rowsOf = db.stmt<{ ids: string }, JobRow>(
    `SELECT ${JOB_COLUMNS} FROM json_each(@ids) page CROSS JOIN recording_jobs j ON j.id = page.value ORDER BY page.key`,
  )
  const byId = db.stmt<{ id: string }, JobRow>(`SELECT ${JOB_COLUMNS} FROM recording_jobs j WHERE j.id = @id`)
  const ofRecording = db.stmt<{ id: string }, JobRow>(
    `SELECT ${JOB_COLUMNS} FROM recording_jobs j WHERE j.recording_id = @id ORDER BY j.created_at DESC, j.id DESC`,
  )
  const active = db.stmt<{ id: string }, JobRow>(
    `SELECT ${JOB_COLUMNS} FROM recording_jobs j
      WHERE j.recording_id = @id AND j.status IN ('queued', 'running', 'stop_requested')`,
  )
  // By `seq`, not by time: the clock may be set back.
  const queued = db.stmt<{ nodeId: string }, JobRow>(
    `SELECT ${JOB_COLUMNS} FROM recording_jobs j WHERE j.node_id = @nodeId AND j.status = 'queued'`,
  )
  const superseded = db.stmt<{ id: string }, { yes: number }>(
    `SELECT EXISTS (SELECT 1 FROM recording_jobs o WHERE o.recording_id = j.recording_id AND o.id <> j.id
        AND (o.seq > j.seq OR o.status = 'completed'))
      OR EXISTS (SELECT 1 FROM recording_files f WHERE f.recording_id = j.recording_id AND f.job_id <> j.id)
      OR EXISTS (SELECT 1 FROM chunked_recordings c WHERE c.recording_id = j.recording_id AND c.job_id <> j.id) AS yes
      FROM recording_jobs j WHERE j.id = @id`,
  )

  const find = (id: string): Job | undefined => {
    const row = byId.get({ id })
    return row && jobOf(row)
  }

  const listing = jobListing(db)
  const bySeqs = db.stmt<{ seqs: string }, JobRow>(
    `SELECT ${JOB_COLUMNS} FROM json_each(@seqs) page CROSS JOIN recording_jobs j ON j.seq = page.value ORDER BY page.key`,
  )
  const bySeq = (seqs: readonly number[]): Job[] => bySeqs.all({ seqs: JSON.stringify(seqs) }).map(jobOf)
  const names = new Lister<{ id: string; recordingName: string }>(db, {
    columns: 'r.id, r.name AS recordingName',
    from: 'recordings r',
  })
  /** With the names of the recordings that the caller may see. */
  const withNames = (visibility: Visibility, jobs: Job[]): Job[] => {
    const ids = JSON.stringify(jobs.map(({ recordingId }) => recordingId))
    const named = { sql: 'r.id IN (SELECT value FROM json_each(@ids))', params: { ids } }
    const rows = names.rows([named, ...visibility.recordings()], 'r.id', jobs.length, 0)
    const known = new Map(rows.map(({ id, recordingName }) => [id, { recordingName }]))
    return jobs.map((job) => ({ ...job, ...known.get(job.recordingId) }))
  }
  const whole = (ids: readonly string[]): Job[] => rowsOf.all({ ids: JSON.stringify(ids) }).map(jobOf)

  return {
    find,
    /** @throws Fail 404 `recording_job_not_found`. */
    get: (id: string): Job => found(find(id), 'Recording job'),
    /** Newest first. */
    ofRecording: (recordingId: string): Job[] => ofRecording.all({ id: recordingId }).map(jobOf),
    /** The one job that is making this recording, if any. */
    activeOf(recordingId: string): Job | undefined {
      const row = active.get({ id: recordingId })
      return row && jobOf(row)
    },
    /** What a node has yet to begin. */
    queuedOf: (nodeId: string): Job[] => queued.all({ nodeId }).map(jobOf),
    /** Whether its recording has a newer job, or files of another one. */
    isSuperseded: ({ id }: Job): boolean => superseded.get({ id })?.yes === 1,
    /** One page of what the caller may see, newest first, and counts over all of it. */
    board(visibility: Visibility, filters: JobFilters): JobBoard {
      const { counts, exact, least, seqs } = listing.page(
        visibility,
        filters,
        pageSize(filters.limit),
        filters.offset ?? 0,
      )
      const summary = summaryOf(counts)
      return { exact, rows: withNames(visibility, bySeq(seqs)), summary, total: Math.max(summary.total, least) }
    },
    /** The named jobs that the caller may see, in the order they were named. */
    chosen(visibility: Visibility, ids: readonly string[]): Job[] {
      const named = { sql: 'j.id IN (SELECT value FROM json_each(@ids))', params: { ids: JSON.stringify(ids) } }
      const seen = new Set(lister.rows([named, ...visibility.jobs()], 'j.id', ids.length, 0).map((row) => row.id))
      return whole(ids.filter((id) => seen.has(id)))
    },
    /** Everything the board pages through, in slices. */
    *slices(visibility: Visibility, filters: JobFilters, size: number): Generator<Job[]> {
      for (const seqs of listing.slices(visibility, filters, size)) yield bySeq(seqs)
    },
  }
}
export type JobStore = ReturnType<typeof jobStore>
