import { notFound } from '../../kernel/fail.ts'
import { DeliveryFilters } from '../../wire/notifications.ts'
import { pageMeta } from '../http/page.ts'
import type { UserPrincipal } from '../http/principal.ts'
import { type AnyRoute, route } from '../http/route.ts'
import type { Scope } from '../http/scope.ts'
import type { Visibility, visibilities } from '../http/visibility.ts'
import type { QueueStore } from './queue.store.ts'

interface Parts {
  queue: QueueStore
  reschedule: () => void
  scope: Scope
  visibility: ReturnType<typeof visibilities>
}

const DEFAULT_LIMIT = 50

const readerOf = ({ id, permissions }: UserPrincipal, visible: Visibility) => ({
  manages: permissions.has('settings:manage'),
  userId: id,
  visible,
})

/** What was sent, what waits, and what could not be sent. */
export const deliveryRoutes = ({ queue, reschedule, scope, visibility }: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/notifications',
    auth: 'user',
    permission: 'settings:read',
    action: 'notifications.read',
    target: () => ({ type: 'notification_collection' }),
    query: DeliveryFilters,
    run: ({ principal, query }) => {
      const { limit = DEFAULT_LIMIT, offset = 0 } = query
      const { rows, total } = queue.page(
        query,
        readerOf(principal, visibility(principal, 'health:read')),
        limit,
        offset,
      )
      return { data: rows, beside: { meta: pageMeta(rows.length, total, limit, offset) } }
    },
  }),
  route({
    method: 'POST',
    path: '/notifications/:id/retry',
    auth: 'user',
    permission: 'settings:manage',
    action: 'notifications.retry',
    target: ({ id }) => ({ type: 'notification', id }),
    run: ({ now, params, principal }) => {
      const { healthEventId: id } = queue.get(params.id)
      if (id && !scope.decide(principal, 'health:read', { type: 'health_event', id }).allowed)
        throw notFound('Notification')
      const { before, after } = queue.retry(params.id, now)
      reschedule()
      return { data: after, before, after }
    },
  }),
]
