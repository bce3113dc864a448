import { found } from '../../kernel/fail.ts'
import type { Job, JobFilters } from '../../wire/recordings.ts'
import type { Reach } from '../edge/reach.ts'
import type { Db } from '../store/db.ts'
import { type Condition, contains, Lister, present, when } from '../store/filter.ts'

export type JobRow = { [K in keyof Required<Job>]: K extends 'command' ? string : Required<Job>[K] | null }

/** The columns of a job, of `recording_jobs j`, as `jobOf` reads them. */
export const JOB_COLUMNS = `j.id, j.recording_id AS recordingId, j.node_id AS nodeId, j.status, j.command,
  j.created_at AS createdAt, j.claimed_by AS claimedBy, j.started_at AS startedAt,
  j.last_heartbeat_at AS lastHeartbeatAt, j.lease_expires_at AS leaseExpiresAt,
  j.stop_requested_at AS stopRequestedAt, j.completed_at AS completedAt, j.failure_reason AS failureReason`

/** A row of `JOB_COLUMNS` as the wire has it. */
export const jobOf = (row: JobRow): Job => present({ ...row, command: JSON.parse(row.command) }) as Job

/** Counts by status over the filtered set; `active` = queued + running + stop_requested. */
export interface JobSummary {
  active: number
  cancelled: number
  completed: number
  failed: number
  queued: number
  running: number
  stopRequested: number
  total: number
}

const counted = (status: string, name: string = status): string =>
  `count(*) FILTER (WHERE j.status = '${status}') AS ${name}`
const SUMMARY = `count(*) FILTER (WHERE j.status IN ('queued', 'running', 'stop_requested')) AS active,
  ${['cancelled', 'completed', 'failed', 'queued', 'running'].map((status) => counted(status)).join(', ')},
  ${counted('stop_requested', 'stopRequested')}, count(*) AS total`

/** The effective page of a job list (contract A, 0.3). */
export const pageSize = (limit: number | undefined): number => Math.min(limit ?? 50, 200)

/** The reading side of recording jobs; what a list shows is what the gate lets the caller open. */
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

  const find = (id: string): Job | undefined => {
    const row = byId.get({ id })
    return row && jobOf(row)
  }

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
    /** One page of what the caller may see, newest first. */
    list(reach: Reach, filters: JobFilters): { rows: Job[]; total: number } {
      const conditions = [...reach.jobs(), ...matching(filters)]
      const newest = 'j.created_at DESC, j.id DESC'
      const page = lister.page(conditions, newest, pageSize(filters.limit), filters.offset ?? 0)
      const ids = JSON.stringify(page.rows.map((row) => row.id))
      return { rows: rowsOf.all({ ids }).map(jobOf), total: page.total }
    },
    /** Counts over everything `list` pages through. */
    summary(reach: Reach, filters: JobFilters): JobSummary {
      return lister.aggregate<JobSummary>(SUMMARY, [...reach.jobs(), ...matching(filters)])
    },
  }
}
export type JobStore = ReturnType<typeof jobStore>

const SEARCHED = [
  ...[
    'claimed_by',
    'capture_backend',
    'capture_interface',
    'failure_reason',
    'id',
    'node_id',
    'recording_id',
    'status',
  ].map((column) => `j.${column}`),
  ...['captureDevice', 'captureFormat', 'channelMap.templateName', 'outputFileName'].map(
    (member) => `json_extract(j.command, '$.${member}')`,
  ),
]
  .map((column) => `${column} LIKE @search ESCAPE '\\'`)
  .join(' OR ')

const matching = (f: JobFilters): Condition[] => [
  ...when(f.search, SEARCHED, (text) => ({ search: contains(text) })),
  ...when(f.status, 'j.status = @status', (status) => ({ status })),
  ...when(f.nodeId, 'j.node_id = @nodeId', (nodeId) => ({ nodeId })),
  ...when(f.captureBackend, 'j.capture_backend = @captureBackend', (captureBackend) => ({ captureBackend })),
  ...when(f.captureInterfaceId, 'j.capture_interface = @interfaceId', (interfaceId) => ({ interfaceId })),
  ...when(f.createdFrom, 'j.created_at >= @createdFrom', (createdFrom) => ({ createdFrom })),
  ...when(f.createdTo, 'j.created_at <= @createdTo', (createdTo) => ({ createdTo })),
]
