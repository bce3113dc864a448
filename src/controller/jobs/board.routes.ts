import { JobFilters } from '../../wire/recordings.ts'
import { pageMeta } from '../edge/page.ts'
import type { reaches } from '../edge/reach.ts'
import { type AnyRoute, route } from '../edge/route.ts'
import { type JobStore, pageSize } from './jobs.store.ts'

const read = { auth: 'user', permission: 'recording:read' } as const

/** The reading side of the job board. */
export const boardRoutes = (jobs: JobStore, reach: ReturnType<typeof reaches>): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/recording-jobs',
    ...read,
    action: 'recording_jobs.read',
    target: () => ({ type: 'recording_job_collection' }),
    query: JobFilters,
    run: ({ who, query }) => {
      const within = reach(who, 'recording:read')
      const { rows, total } = jobs.list(within, query)
      const meta = pageMeta(rows.length, total, pageSize(query.limit), query.offset ?? 0)
      return { data: rows, beside: { meta, summary: jobs.summary(within, query) } }
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
]
