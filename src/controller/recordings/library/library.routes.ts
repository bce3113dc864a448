import type { HealthEvent } from '../../../wire/health.ts'
import { type Job, RecordingFilters, RecordingIds } from '../../../wire/recordings.ts'
import type { UploadItem } from '../../../wire/uploads.ts'
import { csvExport, EXPORT_SLICE } from '../../http/csv.ts'
import { cursors } from '../../http/cursor.ts'
import { held, pageMeta, slicedList } from '../../http/page.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route, stream } from '../../http/route.ts'
import type { Visibility, visibilities } from '../../http/visibility.ts'
import { jobsOf, recordingActions, recordingLinks } from './actions.ts'
import { MAX_VALUES } from './facets.store.ts'
import { keyTypes } from './listing.rules.ts'
import { EXPORT_COLUMNS } from './recordings.rules.ts'
import type { RecordingStore } from './recordings.store.ts'

/** Dependencies of the reading routes. */
interface Library {
  /** Of one recording, newest first. */
  healthOf(visibility: Visibility, recordingId: string, limit: number): HealthEvent[]
  /** Of one recording, newest first. */
  jobs: { chosen(visibility: Visibility, ids: readonly string[]): Job[]; ofRecording(id: string): Job[] }
  visibility: ReturnType<typeof visibilities>
  recordings: RecordingStore
  /** Upload queue items of one recording. */
  uploadsOf(recordingId: string): UploadItem[]
}

// Rows per turn of the event loop: a few milliseconds.
const SLICE = 250
const CONTEXT_EVENTS = 100

const paging = cursors('recordings', keyTypes)
const one = (p: { id: string }) => ({ type: 'recording', id: p.id })
const all = () => ({ type: 'recording_collection' })
const read = { auth: 'user', permission: 'recording:read' } as const

export const libraryRoutes = (library: Library): AnyRoute[] => [
  ...listRoutes(library),
  undeliveredRoute(library),
  ...exportRoutes(library),
  ...detailRoutes(library),
]

const listRoutes = ({ visibility, recordings }: Library): AnyRoute[] => [
  // The only list without a default page size (docs/contract/api.md: Paging): without a limit it is sent slice by slice.
  stream({
    method: 'GET',
    path: '/recordings',
    ...read,
    action: 'recordings.read',
    target: all,
    query: RecordingFilters,
    run: async ({ principal, query }) => {
      const { limit } = query
      const asked = paging.asked(query)
      const { offset } = asked
      const seen = visibility(principal, 'recording:read')
      if (limit === undefined) {
        const slices = recordings.walk(seen, query, SLICE, asked)
        // An offset beyond the end returns no rows, from which the total would follow.
        const total = (n: number) => (n > 0 ? offset + n : recordings.list(seen, query, 1, asked).total)
        return { response: slicedList(slices, (n) => pageMeta(n, total(n), undefined, offset)) }
      }
      const { exact, rows, ...page } = recordings.list(seen, query, limit, asked)
      const meta = paging.meta(query, asked, { ...page, bounded: !exact, limit, returned: rows.length })
      return { response: held({ data: rows, meta }) }
    },
  }),
  route({
    method: 'GET',
    path: '/recordings/facets',
    ...read,
    action: 'recordings.facets.read',
    target: all,
    run: ({ principal }) => {
      const data = recordings.facets(visibility(principal, 'recording:read'))
      const cut = Object.entries(data).filter(([, values]) => values.length === MAX_VALUES)
      return { data, ...(cut.length > 0 ? { beside: { meta: { truncated: cut.map(([name]) => name) } } } : {}) }
    },
  }),
]

const undeliveredRoute = ({ visibility, recordings }: Library): AnyRoute =>
  route({
    method: 'GET',
    path: '/recordings/undelivered',
    ...read,
    action: 'recordings.undelivered.read',
    target: all,
    run: ({ now, principal }) => ({ data: recordings.undelivered(visibility(principal, 'recording:read'), now) }),
  })

const exportRoutes = ({ visibility, recordings }: Library): AnyRoute[] => [
  stream({
    method: 'GET',
    path: '/recordings/export',
    ...read,
    action: 'recordings.export',
    target: all,
    query: RecordingFilters.omit({ cursor: true, limit: true, offset: true }),
    run: async ({ principal, query, now }) => {
      const slices = recordings.walk(visibility(principal, 'recording:read'), query, EXPORT_SLICE)
      return { response: csvExport({ columns: EXPORT_COLUMNS, kind: 'recordings', now, quoting: 'needed', slices }) }
    },
  }),
  stream({
    method: 'POST',
    path: '/recordings/export',
    ...read,
    action: 'recordings.export_selected',
    target: all,
    body: RecordingIds,
    run: async ({ principal, body, now }) => {
      const rows = recordings.selected(visibility(principal, 'recording:read'), body.recordingIds)
      const response = csvExport({
        columns: EXPORT_COLUMNS,
        kind: 'recordings',
        now,
        quoting: 'needed',
        slices: [rows],
      })
      return { details: { recordingCount: rows.length }, response }
    },
  }),
]

/** The visible jobs of a visible recording: a single job may be denied. */
const visibleJobs = ({ jobs, visibility }: Library, principal: UserPrincipal, recordingId: string): Job[] => {
  const all = jobs.ofRecording(recordingId)
  return jobs.chosen(
    visibility(principal, 'recording:read'),
    all.map(({ id }) => id),
  )
}

const detailRoutes = (library: Library): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/recordings/:id',
    ...read,
    action: 'recordings.detail.read',
    target: one,
    run: ({ params }) => ({ data: library.recordings.detailed(params.id) }),
  }),
  route({
    method: 'GET',
    path: '/recordings/:id/context',
    ...read,
    action: 'recordings.context.read',
    target: one,
    run: ({ params: { id }, principal }) => {
      const recording = library.recordings.detailed(id)
      const healthEvents = library.healthOf(library.visibility(principal, 'recording:read'), id, CONTEXT_EVENTS)
      const uploadQueueItems = library.uploadsOf(id)
      return { data: { healthEvents, jobs: visibleJobs(library, principal, id), recording, uploadQueueItems } }
    },
  }),
  route({
    method: 'GET',
    path: '/recordings/:id/actions',
    ...read,
    action: 'recordings.actions.read',
    target: one,
    run: ({ params: { id }, principal }) => {
      const recording = library.recordings.get(id)
      const own = jobsOf(visibleJobs(library, principal, id))
      const actions = recordingActions(principal, recording, own)
      const links = recordingLinks(id, own)
      return { data: { actions, jobs: own, links, recording, uploadQueueItems: library.uploadsOf(id) } }
    },
  }),
]
