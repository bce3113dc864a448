import { RecordingStart } from '../../../wire/recordings.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import { mayGoOn } from '../jobs/jobs.rules.ts'
import type { JobService } from '../jobs/jobs.service.ts'
import type { JobStore } from '../jobs/jobs.store.ts'
import type { RecordingService } from './recordings.service.ts'
import type { RecordingStore } from './recordings.store.ts'

interface Parts {
  jobService: JobService
  jobs: JobStore
  recordings: RecordingStore
  service: RecordingService
}

// The node is named in the body; without a node a scoped caller is refused as for a foreign one.
const nodeOfBody = (_: unknown, body: unknown) => {
  const id = (body as { nodeId?: unknown } | undefined)?.nodeId
  return { type: 'node', id: typeof id === 'string' && id ? id : '__invalid_node__' }
}

export const controlRoutes = ({ jobService, jobs, recordings, service }: Parts): AnyRoute[] => [
  route({
    method: 'POST',
    path: '/recordings',
    auth: 'user',
    permission: 'recording:create',
    action: 'recordings.start',
    target: nodeOfBody,
    body: RecordingStart,
    status: 202,
    run: ({ body, principal, now }) => {
      const { job, profile, recording } = service.start(body, principal, now)
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
      const [latest] = jobs.ofRecording(id)
      const job = jobs.activeOf(id) ?? (latest && mayGoOn(latest) ? latest : undefined)
      const stopped = jobService.stop(job, id, now)
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
]
