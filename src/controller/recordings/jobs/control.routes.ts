import { conflict, Fail } from '../../../kernel/fail.ts'
import { JobIds } from '../../../wire/jobs.ts'
import type { Job } from '../../../wire/recordings.ts'
import type { PathClaims } from '../../http/claims.ts'
import { type AnyRoute, flow, route } from '../../http/route.ts'
import type { Visibility, visibilities } from '../../http/visibility.ts'
import { isStoppable, retryFault, singleRetryFault } from './jobs.rules.ts'
import type { JobService } from './jobs.service.ts'
import type { JobStore } from './jobs.store.ts'
import type { JobRetrying } from './retrying.ts'

interface Parts {
  jobs: JobStore
  paths: PathClaims
  retry: JobRetrying
  service: JobService
  visibility: ReturnType<typeof visibilities>
}

const control = { auth: 'user', permission: 'recording:control' } as const
const all = () => ({ type: 'recording_job_collection' })

/** Retrying and stopping jobs (docs/contract/recordings.md: Retry); in bulk all or none. */
export const jobControlRoutes = (parts: Parts): AnyRoute[] => [
  retryRoute(parts),
  bulkRetryRoute(parts),
  bulkStopRoute(parts),
]

const retryRoute = (parts: Parts): AnyRoute =>
  flow({
    method: 'POST',
    path: '/recording-jobs/:id/retry',
    ...control,
    action: 'recording_jobs.retry',
    target: (p) => ({ type: 'recording_job', id: p.id }),
    status: 201,
    run: async ({ params }, commit) => {
      const { done } = await parts.paths.removing((discard) =>
        commit((now) => {
          const source = parts.jobs.get(params.id)
          const fault = singleRetryFault(source, parts.jobs)
          if (fault) throw conflict(fault.reason, fault.words)
          const { files, job } = parts.retry(source, now)
          discard(files)
          return {
            data: job,
            before: source,
            after: job,
            correlation: { recordingId: source.recordingId, sourceJobId: source.id, retryJobId: job.id },
          }
        }),
      )
      return done
    },
  })

const bulkRetryRoute = (parts: Parts): AnyRoute =>
  flow({
    method: 'POST',
    path: '/recording-jobs/bulk-retry',
    ...control,
    action: 'recording_jobs.bulk_retry',
    target: all,
    body: JobIds,
    status: 201,
    run: async ({ body, principal }, commit) => {
      const { done } = await parts.paths.removing((discard) =>
        commit((now) => {
          const before = visible(parts.jobs, parts.visibility(principal, 'recording:control'), body)
          const fault = retryFault(before, parts.jobs)
          if (fault) throw conflict(fault.reason, fault.words)
          const made = before.map((job) => parts.retry(job, now))
          discard(made.flatMap(({ files }) => files))
          const after = made.map(({ job }) => job)
          return {
            data: after,
            beside: { meta: { retriedCount: after.length } },
            before: { jobs: before },
            after: { jobs: after },
            correlation: jobCorrelation(after),
          }
        }),
      )
      return done
    },
  })

const bulkStopRoute = ({ jobs, visibility, service }: Parts): AnyRoute =>
  route({
    method: 'POST',
    path: '/recording-jobs/bulk-stop',
    ...control,
    action: 'recording_jobs.bulk_stop',
    target: all,
    body: JobIds,
    run: ({ body, principal, now }) => {
      const before = visible(jobs, visibility(principal, 'recording:control'), body)
      if (!before.every(isStoppable))
        throw conflict('recording_job_not_stoppable', 'One or more recording jobs cannot be stopped')
      for (const job of before) service.stop(job, job.recordingId, now)
      const after = before.map(({ id }) => jobs.get(id))
      return {
        data: after,
        beside: { meta: { stoppedCount: after.length } },
        before: { jobs: before },
        after: { jobs: after },
        correlation: jobCorrelation(after),
      }
    },
  })

const jobCorrelation = (jobs: readonly Job[]): Record<string, string> =>
  Object.fromEntries(jobs.map(({ id }, i) => [`jobId${i + 1}`, id]))

/** The named jobs in the order they were named. @throws Fail 404 when one of them cannot be seen. */
export function visible(jobs: JobStore, visibility: Visibility, { jobIds }: JobIds): Job[] {
  const wanted = [...new Set(jobIds)]
  const found = jobs.chosen(visibility, wanted)
  if (found.length === wanted.length) return found
  throw new Fail(404, 'recording_job_not_visible', 'One or more recording jobs are not visible', { outcome: 'denied' })
}
