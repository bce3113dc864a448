import { JobFilters, type Recording } from '../../../wire/recordings.ts'
import { pageMeta } from '../../http/page.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import type { Scope } from '../../http/scope.ts'
import type { visibilities } from '../../http/visibility.ts'
import { jobActions, jobLinks } from './actions.ts'
import { type JobStore, pageSize } from './jobs.store.ts'

const read = { auth: 'user', permission: 'recording:read' } as const

interface Parts {
  jobs: JobStore
  visibility: ReturnType<typeof visibilities>
  recordings: { find(id: string): Recording | undefined }
  scope: Scope
}

/** The reading side of the job board. */
export const boardRoutes = ({ jobs, visibility, recordings, scope }: Parts): AnyRoute[] => [
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
