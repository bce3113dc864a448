import { API_PREFIX } from '../../../wire/headers.ts'
import { type Job, JobFilters, type Recording } from '../../../wire/recordings.ts'
import { actionStates } from '../../http/actions.ts'
import { pageMeta } from '../../http/page.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import type { Scope } from '../../http/scope.ts'
import type { visibilities } from '../../http/visibility.ts'
import type { ChunkStore } from '../chunks/chunks.store.ts'
import { isRetryable, isStoppable } from './jobs.rules.ts'
import { type JobStore, pageSize } from './jobs.store.ts'

const read = { auth: 'user', permission: 'recording:read' } as const

interface Parts {
  chunks: ChunkStore
  /** What became of the uploads of each chunk, by its index. */
  chunkUploads: (recordingId: string) => ReadonlyMap<number, readonly object[]>
  jobs: JobStore
  visibility: ReturnType<typeof visibilities>
  recordings: { find(id: string): Recording | undefined }
  scope: Scope
}

/** The reading side of the job board. */
export const boardRoutes = ({ chunks, chunkUploads, jobs, visibility, recordings, scope }: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/recording-jobs',
    ...read,
    action: 'recording_jobs.read',
    target: () => ({ type: 'recording_job_collection' }),
    query: JobFilters,
    run: ({ principal, query }) => {
      const within = visibility(principal, 'recording:read')
      const { exact, rows, summary, total } = jobs.board(within, query)
      const offset = query.offset ?? 0
      const { totalIsLowerBound: _, ...meta } = pageMeta(rows.length, total, pageSize(query.limit), offset)
      return { data: rows, beside: { meta: exact ? meta : { ...meta, totalIsLowerBound: true }, summary } }
    },
  }),
  route({
    method: 'GET',
    path: '/recording-jobs/:id',
    ...read,
    action: 'recording_jobs.detail.read',
    target: (p) => ({ type: 'recording_job', id: p.id }),
    run: ({ params }) => ({ data: jobs.get(params.id) }),
  }),
  // The chunks of a job's take (docs/contract/recordings.md: Chunks).
  route({
    method: 'GET',
    path: '/recording-jobs/:id/chunks',
    ...read,
    action: 'recording_jobs.chunks.read',
    target: (p) => ({ type: 'recording_job', id: p.id }),
    run: ({ params }) => {
      const { id, recordingId } = jobs.get(params.id)
      const uploads = chunkUploads(recordingId)
      const own = chunks.list(recordingId).filter((chunk) => chunk.jobId === id)
      return { data: own.map((chunk) => ({ ...chunk, uploads: uploads.get(chunk.index) ?? [] })) }
    },
  }),
  route({
    method: 'GET',
    path: '/recording-jobs/:id/actions',
    ...read,
    action: 'recording_jobs.actions.read',
    target: (p) => ({ type: 'recording_job', id: p.id }),
    run: ({ params, principal }) => {
      const job = jobs.get(params.id)
      const active = jobs.activeOf(job.recordingId)
      const rival = active?.id === job.id ? undefined : active
      // A job may be reached by its node alone: its recording is shown to those who may see it.
      const seen = scope.decide(principal, 'recording:read', { type: 'recording', id: job.recordingId }).allowed
      const recording = seen ? recordings.find(job.recordingId) : undefined
      return {
        data: {
          actions: jobActions(principal, job, rival, jobs.isSuperseded(job)),
          job,
          links: jobLinks(job.id),
          ...(recording ? { recording } : {}),
          ...(rival ? { retryConflict: { jobId: rival.id, reason: 'active_job_exists', status: rival.status } } : {}),
        },
      }
    },
  }),
]

/** Paths of the actions on a job (docs/contract/api.md: Action states). */
function jobLinks(id: string) {
  const jobs = `${API_PREFIX}/recording-jobs`
  const self = `${jobs}/${encodeURIComponent(id)}`
  return {
    bulkRetry: `${jobs}/bulk-retry`,
    bulkStop: `${jobs}/bulk-stop`,
    detail: self,
    exportSelected: `${jobs}/export`,
    retry: `${self}/retry`,
  }
}

/** Action states of a job. `rival`: the job that is making its recording now. `superseded`: another job has made it. */
function jobActions(principal: UserPrincipal, job: Job, rival: Job | undefined, superseded: boolean) {
  const links = jobLinks(job.id)
  const payload = { jobIds: [job.id] }
  const taken = rival !== undefined ? 'active_job_exists' : superseded && 'superseded_by_retry'
  const stuck = isRetryable(job) ? taken : 'recording_job_not_retryable'
  return actionStates(principal, {
    detail: { method: 'GET', href: links.detail, permission: 'recording:read' },
    exportSelected: { method: 'POST', href: links.exportSelected, payload, permission: 'recording:read' },
    retry: { method: 'POST', href: links.retry, permission: 'recording:control', blocked: stuck },
    // There is no path that stops a single job.
    stop: {
      method: 'POST',
      href: links.bulkStop,
      payload,
      permission: 'recording:control',
      blocked: !isStoppable(job) && 'recording_job_not_stoppable',
    },
  })
}
