import { Fail } from '../../kernel/fail.ts'
import { type AuditEvent, AuditExport, AuditFilters } from '../../wire/audit.ts'
import { API_PREFIX } from '../../wire/headers.ts'
import { actionStates } from '../http/actions.ts'
import { type Column, csvExport, EXPORT_SLICE } from '../http/csv.ts'
import { cursors } from '../http/cursor.ts'
import type { UserPrincipal } from '../http/principal.ts'
import { type AnyRoute, flow, route, stream } from '../http/route.ts'
import type { visibilities } from '../http/visibility.ts'
import { type Readable, readable, redactedFor, sidesOf } from './audit.rules.ts'
import type { AuditStore } from './audit.store.ts'
import { AUDIT_KEYS } from './search.ts'

const PAGE = 100
const FACETED = 500
const paging = cursors('audit', () => AUDIT_KEYS)
const read = { auth: 'user', permission: 'audit:read' } as const
// Without an id even for a single event: what a reader may see follows from the event's target, not from a grant on its id.
const events = () => ({ type: 'audit_event' })

export const auditRoutes = (audit: AuditStore, visibility: ReturnType<typeof visibilities>): AnyRoute[] => {
  const visible = (principal: UserPrincipal): Readable | undefined =>
    readable(sidesOf(visibility, principal, 'audit:read'), principal.id)
  const detail = (principal: UserPrincipal, id: string) => {
    const within = visible(principal)
    const event = redactedFor(within, audit.get(id, within))
    return {
      data: { actions: actions(principal, id), event, links: links(id) },
      target: { ...events(), id },
    }
  }
  return [
    flow({
      method: 'GET',
      path: '/audit-events',
      ...read,
      action: 'audit.events.read',
      target: events,
      query: AuditFilters,
      run: async ({ query, principal }) => {
        const { cursor: _, limit = PAGE, offset: __, ...filters } = query
        const within = visible(principal)
        const asked = paging.asked(query)
        const { events: found, ...page } = await audit.page(filters, within, limit, asked)
        const data = found.map((event) => redactedFor(within, event))
        return { data, beside: { meta: paging.meta(query, asked, { ...page, limit, returned: data.length }) } }
      },
    }),
    flow({
      method: 'GET',
      path: '/audit-events/facets',
      ...read,
      action: 'audit.events.facets.read',
      target: events,
      query: AuditFilters,
      run: async ({ query: { cursor: _, limit = FACETED, offset: __, ...filters }, principal }) => ({
        data: await audit.facets(filters, visible(principal), limit),
      }),
    }),
    ...exportRoutes(audit, visible),
    route({
      method: 'GET',
      path: '/audit-events/:id',
      ...read,
      action: 'audit.events.detail.read',
      target: events,
      run: ({ params, principal }) => detail(principal, params.id),
    }),
    route({
      method: 'GET',
      path: '/audit-events/:id/actions',
      ...read,
      action: 'audit.events.actions.read',
      target: events,
      run: ({ params, principal }) => detail(principal, params.id),
    }),
  ]
}

const exportRoutes = (audit: AuditStore, visible: (principal: UserPrincipal) => Readable | undefined): AnyRoute[] => [
  stream({
    method: 'GET',
    path: '/audit-events/export',
    ...read,
    action: 'audit.events.export',
    target: events,
    query: AuditFilters,
    run: async ({ query: { cursor: _, limit: __, offset: ___, ...filters }, now, principal }) => ({
      details: { filters },
      response: csv(now, visible(principal), audit.walk(filters, visible(principal), EXPORT_SLICE)),
    }),
  }),
  stream({
    method: 'POST',
    path: '/audit-events/export',
    ...read,
    action: 'audit.events.export_selected',
    target: events,
    body: AuditExport,
    run: async ({ body, now, principal }) => {
      const ids = [...new Set(body.eventIds)]
      const within = visible(principal)
      const places = audit.locate(ids, within)
      const missing = ids.find((id) => !places.has(id))
      if (missing !== undefined)
        throw new Fail(404, 'audit_event_not_found', 'Audit event not found', { body: { eventId: missing } })
      const seqs = ids.map((id) => places.get(id) as number)
      return { details: { count: ids.length }, response: csv(now, within, audit.slices(seqs, EXPORT_SLICE)) }
    },
  }),
]

function csv(now: string, within: Readable | undefined, slices: Iterable<readonly AuditEvent[]>): Response {
  function* shown(): Generator<AuditEvent[]> {
    for (const slice of slices) yield slice.map((event) => redactedFor(within, event))
  }
  return csvExport({ columns: COLUMNS, kind: 'audit-events', now, quoting: 'always', slices: shown() })
}

const text = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value))

const COLUMNS: readonly Column<AuditEvent>[] = [
  ['createdAt', (e) => e.createdAt],
  ['actorType', (e) => e.actor.type],
  ['actorId', (e) => e.actor.id],
  ['actorName', (e) => e.actor.name],
  ['actorRoles', (e) => e.actor.roles.join('|')],
  ['action', (e) => e.action],
  ['permission', (e) => e.permission],
  ['targetType', (e) => e.target.type],
  ['targetId', (e) => e.target.id],
  ['targetName', (e) => e.target.name],
  ['outcome', (e) => e.outcome],
  ['reason', (e) => e.reason],
  ['correlationIds', (e) => text(e.correlationIds)],
  ['details', (e) => text(e.details)],
  ['before', (e) => text(e.before)],
  ['after', (e) => text(e.after)],
]

const hrefOf = (id: string): string => `${API_PREFIX}/audit-events/${encodeURIComponent(id)}`
const exportOf = (id: string): string => `${API_PREFIX}/audit-events/export?id=${encodeURIComponent(id)}`

const links = (id: string) => ({ actions: `${hrefOf(id)}/actions`, detail: hrefOf(id), export: exportOf(id) })

const actions = (principal: UserPrincipal, id: string) =>
  actionStates(principal, {
    detail: { method: 'GET', href: hrefOf(id), permission: 'audit:read' },
    export: { method: 'GET', href: exportOf(id), permission: 'audit:read' },
  })
