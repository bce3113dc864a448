import { Fail, notFound } from '../../kernel/fail.ts'
import type { Recording } from '../../wire/recordings.ts'
import { BulkEnqueue, Enqueue, UploadFilters, type UploadItem } from '../../wire/uploads.ts'
import { actionStates } from '../http/actions.ts'
import { pageMeta } from '../http/page.ts'
import type { UserPrincipal } from '../http/principal.ts'
import { type AnyRoute, route } from '../http/route.ts'
import { inScope } from '../http/scope.ts'
import type { Visibility, visibilities } from '../http/visibility.ts'
import type { RecordingsApi } from '../recordings/api.ts'
import type { EnqueueStore } from './enqueue.store.ts'
import { isRetryable } from './queue.rules.ts'
import type { UploadQueueStore } from './queue.store.ts'

interface Parts {
  enqueues: EnqueueStore
  /** Policy of a recording that has none. */
  fallback: string
  queue: UploadQueueStore
  visibility: ReturnType<typeof visibilities>
  recordings: RecordingsApi['recordings']
}

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 200
const read = { auth: 'user', permission: 'recording:read' } as const
const control = { auth: 'user', permission: 'recording:control' } as const

const linksOf = ({ id }: UploadItem) => ({
  detail: `/api/v1/upload-queue/${id}`,
  retry: `/api/v1/upload-queue/${id}/retry`,
})

const correlationOf = (item: UploadItem) => ({ recordingId: item.recordingId, uploadQueueItemId: item.id })

const actionsOf = (principal: UserPrincipal, item: UploadItem) => {
  const links = linksOf(item)
  const blocked = !isRetryable(item.status) && 'upload_queue_item_not_retryable'
  return actionStates(principal, {
    detail: { href: links.detail, method: 'GET', permission: 'recording:read' },
    retry: { blocked, href: links.retry, method: 'POST', permission: 'recording:control' },
  })
}

export function uploadQueueRoutes({ enqueues, fallback, queue, visibility, recordings }: Parts): AnyRoute[] {
  // Whoever may see the recording may see its items (docs/contract/access.md: Visible sets); nobody may see an unknown one.
  const ofItem = ({ id }: { id: string }) => ({ type: 'recording', id: queue.find(id)?.recordingId ?? id })

  // A policy outside the caller's scope is reported as not found.
  const mayName = (principal: UserPrincipal, id: string | undefined): void => {
    if (id !== undefined && id !== fallback && !inScope(principal, [{ type: 'upload_policy', id }]))
      throw notFound('Upload policy')
  }
  const enqueue = (recording: Recording, body: Enqueue, now: string): UploadItem =>
    enqueues.enqueue(recording, body.uploadPolicyId, body.reason, fallback, now)

  return [
    route({
      method: 'GET',
      path: '/upload-queue',
      ...read,
      action: 'recordings.upload_queue.read',
      target: () => ({ type: 'upload_queue' }),
      query: UploadFilters,
      run: ({ principal, query }) => {
        const limit = Math.min(query.limit ?? DEFAULT_LIMIT, MAX_LIMIT)
        const { exact, rows, total } = queue.list(visibility(principal, 'recording:read'), query, limit)
        const meta = pageMeta(rows.length, total, limit, query.offset ?? 0)
        return { data: rows, beside: { meta: exact ? meta : { ...meta, totalIsLowerBound: true } } }
      },
    }),
    route({
      method: 'GET',
      path: '/upload-queue/:id',
      ...read,
      action: 'recordings.upload_queue.detail.read',
      target: ofItem,
      run: ({ params }) => {
        const item = queue.get(params.id)
        return { data: { item, links: linksOf(item), recording: recordings.get(item.recordingId) } }
      },
    }),
    route({
      method: 'GET',
      path: '/upload-queue/:id/actions',
      ...read,
      action: 'recordings.upload_queue.actions.read',
      target: ofItem,
      run: ({ params, principal }) => {
        const item = queue.get(params.id)
        const recording = recordings.get(item.recordingId)
        return { data: { actions: actionsOf(principal, item), item, links: linksOf(item), recording } }
      },
    }),
    route({
      method: 'POST',
      path: '/upload-queue/:id/retry',
      ...control,
      action: 'recordings.upload_queue.retry',
      target: ofItem,
      run: ({ params, now }) => {
        const item = queue.get(params.id)
        const { before, after } = queue.retry(params.id, enqueues.sourceOf(item), now)
        return { data: after, before, after, correlation: correlationOf(after) }
      },
    }),
    route({
      method: 'POST',
      path: '/recordings/:id/upload-queue',
      ...control,
      action: 'recordings.upload_queue.enqueue',
      target: (p) => ({ type: 'recording', id: p.id }),
      body: Enqueue,
      status: 201,
      run: ({ params, body, principal, now }) => {
        mayName(principal, body.uploadPolicyId)
        const after = enqueue(recordings.get(params.id), body, now)
        return { data: after, after, correlation: correlationOf(after) }
      },
    }),
    route({
      method: 'POST',
      path: '/recordings/bulk-upload-queue',
      ...control,
      action: 'recordings.upload_queue.bulk_enqueue',
      target: () => ({ type: 'recording_collection' }),
      body: BulkEnqueue,
      status: 201,
      run: ({ body, principal, now }) => {
        const ids = [...new Set(body.recordingIds)]
        mayName(principal, body.uploadPolicyId)
        checkVisible(queue, visibility(principal, 'recording:control'), ids)
        const items = ids.map((id) => bulk(() => enqueue(recordings.get(id), body, now)))
        const details = { recordingIds: ids, uploadQueueItemIds: items.map((item) => item.id) }
        return { data: items, beside: { meta: { queuedCount: items.length } }, after: { items }, details }
      },
    }),
  ]
}

function checkVisible(queue: UploadQueueStore, visibility: Visibility, ids: string[]): void {
  if (queue.visibleRecordings(visibility, ids).size < ids.length)
    throw new Fail(404, 'recording_not_visible', 'One or more recordings are not visible', { outcome: 'denied' })
}

// All or nothing, so the message covers all of them.
function bulk<T>(step: () => T): T {
  try {
    return step()
  } catch (e) {
    if (!(e instanceof Fail) || e.reason !== 'recording_not_cached') throw e
    throw new Fail(
      e.status,
      e.reason,
      'One or more recordings have no stored audio yet: leave them out, or wait until they are delivered',
    )
  }
}
