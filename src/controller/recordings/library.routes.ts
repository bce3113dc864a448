import type { Log } from '../../kernel/log.ts'
import { RecordingFilters } from '../../wire/recordings.ts'
import { removeFiles } from '../edge/files.ts'
import { pageMeta, slicedList } from '../edge/page.ts'
import type { reaches } from '../edge/reach.ts'
import { type AnyRoute, flow, route, stream } from '../edge/route.ts'
import type { RecordingStore } from './recordings.store.ts'

/** What the routes of the library stand on; `takes` is the directory of the stored files. */
export interface Library {
  log: Log
  reach: ReturnType<typeof reaches>
  recordings: RecordingStore
  takes: string
}

// Rows per turn of the event loop: a few milliseconds of it.
const SLICE = 250

const one = (p: { id: string }) => ({ type: 'recording', id: p.id })
const read = { auth: 'user', permission: 'recording:read' } as const

export const libraryRoutes = ({ log, reach, recordings, takes }: Library): AnyRoute[] => [
  // The one list without a default page (contract A, 0.3): whole, it is sent slice by slice.
  stream({
    method: 'GET',
    path: '/recordings',
    ...read,
    action: 'recordings.read',
    target: () => ({ type: 'recording_collection' }),
    query: RecordingFilters,
    run: async ({ who, query, now }) => {
      const { limit, offset = 0 } = query
      const seen = reach(who, 'recording:read')
      if (limit === undefined) {
        const slice = (at: number) => recordings.slice(seen, query, now, SLICE, offset + at)
        // Behind the end nothing was seen that could tell the total.
        const total = (n: number) => (n > 0 ? offset + n : recordings.list(seen, query, 1).total)
        return { response: slicedList(slice, (n) => pageMeta(n, total(n), undefined, offset)) }
      }
      const { rows, total } = recordings.list(seen, query, limit)
      return { response: Response.json({ data: rows, meta: pageMeta(rows.length, total, limit, offset) }) }
    },
  }),
  route({
    method: 'GET',
    path: '/recordings/:id',
    ...read,
    action: 'recordings.detail.read',
    target: one,
    run: ({ params }) => ({ data: recordings.get(params.id) }),
  }),
  flow({
    method: 'DELETE',
    path: '/recordings/:id',
    auth: 'user',
    permission: 'recording:delete',
    action: 'recordings.delete',
    target: one,
    status: 204,
    run: async ({ params }, commit) => {
      let files: string[] = []
      const done = await commit(() => {
        const { before, paths } = recordings.remove(params.id)
        files = paths
        const details = { fileCount: paths.length }
        const target = { type: 'recording', id: before.id, name: before.name }
        return { data: null, before, correlation: { recordingId: before.id }, details, target }
      })
      // Rows first: a file without a row is swept later, a row without its file would be a broken promise.
      for (const { path, error } of await removeFiles(takes, files))
        log.warn('a deleted recording left a file behind', { recordingId: params.id, path, error })
      return done
    },
  }),
]
