import { type AnyRoute, route } from '../../http/route.ts'
import type { JobStore } from '../jobs/jobs.store.ts'
import type { ChunkStore } from './chunks.store.ts'

/** What became of the uploads of a chunk; the upload queue knows. */
type ChunkUploads = (recordingId: string) => ReadonlyMap<number, readonly object[]>

/** The chunks of a job's take (docs/contract/recordings.md: Chunks). */
export const chunkRoutes = (chunks: ChunkStore, jobs: JobStore, uploads: ChunkUploads): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/recording-jobs/:id/chunks',
    auth: 'user',
    permission: 'recording:read',
    action: 'recording_jobs.chunks.read',
    target: (p) => ({ type: 'recording_job', id: p.id }),
    run: ({ params }) => {
      const { id, recordingId } = jobs.get(params.id)
      const queued = uploads(recordingId)
      const own = chunks.list(recordingId).filter((chunk) => chunk.jobId === id)
      return { data: own.map((chunk) => ({ ...chunk, uploads: queued.get(chunk.index) ?? [] })) }
    },
  }),
]
