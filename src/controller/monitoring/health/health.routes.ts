import { Fail, notFound } from '../../../kernel/fail.ts'
import { API_PREFIX } from '../../../wire/headers.ts'
import {
  HEALTH_MOVES,
  HealthBulk,
  type HealthEvent,
  HealthFilters,
  HealthLifecycle,
  type HealthMove,
  HealthReport,
  HealthSelection,
} from '../../../wire/health.ts'
import { actionStates } from '../../http/actions.ts'
import { type Column, csvExport } from '../../http/csv.ts'
import { cursors } from '../../http/cursor.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route, stream } from '../../http/route.ts'
import type { Scope } from '../../http/scope.ts'
import type { visibilities } from '../../http/visibility.ts'
import { HEALTH_KEYS, type HealthEvents } from './events.store.ts'
import type { HealthStore } from './health.store.ts'
import { blocked, correlationOf } from './lifecycle.rules.ts'

interface HealthParts {
  events: HealthEvents
  health: HealthStore
  visibility: ReturnType<typeof visibilities>
  scope: Scope
}

const PAGE = 100
const paging = cursors('health', () => HEALTH_KEYS)
// Events per turn of an export: each may carry 60 KiB of details.
const EXPORT_SLICE = 20
const all = () => ({ type: 'health' })
const one = (p: { id: string }) => ({ type: 'health_event', id: p.id })
const read = { auth: 'user', permission: 'health:read' } as const
const acknowledge = { auth: 'user', permission: 'health:acknowledge' } as const

export const healthRoutes = ({ events, health, visibility, scope }: HealthParts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/health-events',
    ...read,
    action: 'health.events.read',
    target: all,
    query: HealthFilters,
    run: ({ query, principal }) => {
      const { cursor: _, limit = PAGE, offset: __, ...filters } = query
      const asked = paging.asked(query)
      const { rows, summary, ...page } = events.page(visibility(principal, 'health:read'), filters, limit, asked)
      const { total, totalIsLowerBound: bounded = false } = summary
      const meta = paging.meta(query, asked, { ...page, bounded, limit, returned: rows.length, total })
      return { data: rows, beside: { meta, summary } }
    },
  }),
  stream({
    method: 'GET',
    path: '/health-events/export',
    ...read,
    action: 'health.events.export',
    target: all,
    query: HealthFilters,
    run: async ({ now, query: { cursor: _, limit: __, offset: ___, ...filters }, principal }) => ({
      response: csv(now, events.walk(visibility(principal, 'health:read'), filters, EXPORT_SLICE)),
    }),
  }),
  stream({
    method: 'POST',
    path: '/health-events/export',
    ...read,
    action: 'health.events.export_selected',
    target: all,
    body: HealthSelection,
    run: async ({ body, now, principal }) => {
      const picked = events.picked(visibility(principal, 'health:read'), body.eventIds)
      return { details: { eventCount: picked.length }, response: csv(now, [picked]) }
    },
  }),
  route({
    method: 'GET',
    path: '/health-events/:id',
    ...read,
    action: 'health.events.detail.read',
    target: one,
    run: ({ params }) => ({ data: health.get(params.id) }),
  }),
  route({
    method: 'GET',
    path: '/health-events/:id/actions',
    ...read,
    action: 'health.events.actions.read',
    target: one,
    run: ({ params, principal }) => {
      const event = health.get(params.id)
      return {
        data: { actions: actions(principal, event), event, links: links(event.id), targets: referencesOf(event) },
      }
    },
  }),
  route({
    method: 'POST',
    path: '/health-events',
    ...acknowledge,
    action: 'health.events.create',
    target: all,
    body: HealthReport,
    status: 201,
    run: ({ body, now, principal }) => {
      const { openedAt = now, ...rest } = body
      mayReport(scope, health, principal, body)
      const { event } = health.open({ ...rest, openedAt }, now)
      return { data: event, after: event, correlation: correlationOf(event), target: one(event) }
    },
  }),
  ...HEALTH_MOVES.map((action) =>
    route({
      method: 'POST',
      path: `/health-events/:id/${action}`,
      ...acknowledge,
      action: `health.events.${action}`,
      target: one,
      body: HealthLifecycle,
      run: ({ body, now, params, principal }) => {
        const { before, after } = health.move(params.id, action, {
          ...body,
          by: principal.id,
          byName: principal.name,
          now,
        })
        return { data: after, before, after, correlation: correlationOf(after) }
      },
    }),
  ),
  route({
    method: 'POST',
    path: '/health-events/bulk-lifecycle',
    ...acknowledge,
    action: 'health.events.bulk_lifecycle',
    target: all,
    body: HealthBulk,
    run: ({ body: { action, eventIds, ...said }, now, principal }) => {
      // All ids are checked first: with one invisible id nothing is written. A refused move rolls the others back.
      const picked = events.picked(visibility(principal, 'health:acknowledge'), eventIds)
      const moves = picked.map(({ id }) =>
        health.move(id, action, { ...said, by: principal.id, byName: principal.name, now }),
      )
      const each = moves.map(({ after, before }) => ({
        action: `health.events.${action}`,
        after,
        before,
        correlation: correlationOf(after),
        target: one(after),
      }))
      return { data: moves.map(({ after }) => after), beside: { meta: { updatedCount: moves.length } }, each }
    },
  }),
]

type References = Partial<Record<'nodeId' | 'recordingId' | 'scheduleId', string | undefined>>

const KINDS = [
  ['recordingId', 'recording'],
  ['scheduleId', 'schedule'],
  ['nodeId', 'node'],
] as const

const referencesOf = (event: References): { id: string; type: 'node' | 'recording' | 'schedule' }[] =>
  KINDS.flatMap(([field, type]) => {
    const id = event[field]
    return id === undefined ? [] : [{ id, type }]
  })

/** Everything an event names must be in the reporter's scope (403), and exist (404). */
function mayReport(scope: Scope, health: HealthStore, principal: UserPrincipal, body: References): void {
  for (const target of referencesOf(body)) {
    const verdict = scope.decide(principal, 'health:acknowledge', target)
    if (!verdict.allowed)
      throw new Fail(403, verdict.reason, 'Forbidden', {
        body: { permission: 'health:acknowledge' },
        outcome: 'denied',
      })
    if (!health.knows(target.type, target.id)) throw notFound(target.type.replace(/^./, (c) => c.toUpperCase()))
  }
}

const hrefOf = (id: string, action?: string): string =>
  `${API_PREFIX}/health-events/${encodeURIComponent(id)}${action ? `/${action}` : ''}`

const links = (id: string) => ({
  ...(Object.fromEntries(HEALTH_MOVES.map((action) => [action, hrefOf(id, action)])) as Record<HealthMove, string>),
  bulkLifecycle: `${API_PREFIX}/health-events/bulk-lifecycle`,
  detail: hrefOf(id),
})

function actions(principal: UserPrincipal, event: HealthEvent) {
  const move = (action: HealthMove) =>
    ({
      blocked: blocked(event, action),
      href: hrefOf(event.id, action),
      method: 'POST',
      permission: 'health:acknowledge',
    }) as const
  return actionStates(principal, {
    acknowledge: move('acknowledge'),
    detail: { href: hrefOf(event.id), method: 'GET', permission: 'health:read' },
    reopen: move('reopen'),
    resolve: move('resolve'),
    suppress: move('suppress'),
  })
}

const COLUMNS: Column<HealthEvent>[] = (
  [
    ...(['id', 'type', 'severity', 'status', 'nodeId', 'scheduleId', 'recordingId', 'openedAt'] as const),
    ...(['acknowledgedAt', 'suppressedUntil', 'resolvedAt', 'details'] as const),
  ] as const
).map((name) => [name, (event) => event[name]])

const csv = (now: string, slices: Iterable<HealthEvent[]>): Response =>
  csvExport({ columns: COLUMNS, kind: 'health-events', now, quoting: 'always', slices })
