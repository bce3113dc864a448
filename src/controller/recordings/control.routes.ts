import { conflict } from '../../kernel/fail.ts'
import type { Ids } from '../../kernel/ids.ts'
import { RecordingStart } from '../../wire/recordings.ts'
import type { Bell } from '../background/bell.ts'
import { removeFiles } from '../edge/files.ts'
import { type AnyRoute, flow, route } from '../edge/route.ts'
import type { ClaimStore } from '../jobs/claims.store.ts'
import type { JobStore } from '../jobs/jobs.store.ts'
import type { LeaseStore } from '../jobs/leases.store.ts'
import type { RecordingStore } from './recordings.store.ts'
import type { starter } from './start.ts'

interface Parts {
  bell: Bell
  claims: ClaimStore
  ids: Ids
  jobs: JobStore
  leases: LeaseStore
  recordings: RecordingStore
  start: ReturnType<typeof starter>
  takes: string
}

// The node is named in the body; without one a scoped caller is refused like for a node that is not theirs.
const nodeOfBody = (_: unknown, body: unknown) => {
  const id = (body as { nodeId?: unknown } | undefined)?.nodeId
  return { type: 'node', id: typeof id === 'string' && id ? id : '__invalid_node__' }
}

export const controlRoutes = ({ bell, claims, ids, jobs, leases, recordings, start, takes }: Parts): AnyRoute[] => [
  route({
    method: 'POST',
    path: '/recordings',
    auth: 'user',
    permission: 'recording:create',
    action: 'recordings.start',
    target: nodeOfBody,
    body: RecordingStart,
    status: 202,
    run: ({ body, who, now }) => {
      const { job, profile, recording } = start(body, who, now)
      return {
        data: recording,
        beside: { job },
        after: recording,
        target: { type: 'recording', id: recording.id, name: recording.name },
        correlation: { recordingId: recording.id, jobId: job.id },
        details: { jobCommand: job.command, jobStatus: job.status, profileId: profile.id, source: recording.source },
      }
    },
  }),
  route({
    method: 'POST',
    path: '/recordings/:id/stop',
    auth: 'user',
    permission: 'recording:control',
    action: 'recordings.stop',
    target: (p) => ({ type: 'recording', id: p.id }),
    run: ({ params: { id }, now }) => {
      const before = recordings.get(id)
      const job = jobs.activeOf(id)
      const stopped = job !== undefined && leases.stop(job.id, now)
      recordings.finish(id, now)
      const after = recordings.get(id)
      const jobStatus = job ? jobs.get(job.id).status : 'no_active_job'
      return {
        data: after,
        before,
        after,
        correlation: { recordingId: id, ...(job ? { jobId: job.id } : {}) },
        details: { jobStatus, stopped },
      }
    },
  }),
  // A new job with the same command; what the old take left is cleared once the new one stands (contract A, 4.4).
  flow({
    method: 'POST',
    path: '/recording-jobs/:id/retry',
    auth: 'user',
    permission: 'recording:control',
    action: 'recording_jobs.retry',
    target: (p) => ({ type: 'recording_job', id: p.id }),
    status: 201,
    run: async ({ params }, commit) => {
      let stale: string[] = []
      const done = await commit((now) => {
        const source = jobs.get(params.id)
        if (source.status !== 'failed' && source.status !== 'cancelled')
          throw conflict('job_not_retryable', 'Recording job cannot be retried')
        if (jobs.activeOf(source.recordingId)) throw conflict('active_job_exists', 'Recording job cannot be retried')
        stale = recordings.restart(source.recordingId, now)
        const job = claims.create(ids.make('job'), source.recordingId, source.nodeId, source.command, now)
        bell.ring(source.nodeId)
        return {
          data: job,
          before: source,
          after: job,
          correlation: { recordingId: source.recordingId, sourceJobId: source.id, retryJobId: job.id },
        }
      })
      await removeFiles(takes, stale)
      return done
    },
  }),
]
