import { AuditFilters } from '../../wire/audit.ts'
import { API_PREFIX } from '../../wire/headers.ts'
import { actionStates } from '../edge/actions.ts'
import { pageMeta } from '../edge/page.ts'
import type { reaches } from '../edge/reach.ts'
import { type AnyRoute, route } from '../edge/route.ts'
import type { UserWho } from '../edge/who.ts'
import { readable, sidesOf } from './audit.rules.ts'
import type { AuditStore } from './audit.store.ts'

const PAGE = 100
const read = { auth: 'user', permission: 'audit:read' } as const
// No id, for one event too: which events a reader sees is decided event by event, not by a grant on its id.
const events = () => ({ type: 'audit_event' })

export const auditRoutes = (audit: AuditStore, reach: ReturnType<typeof reaches>): AnyRoute[] => {
  const visible = (who: UserWho) => readable(sidesOf(reach, who, 'audit:read'), who.id)
  const detail = (who: UserWho, id: string) => {
    const event = audit.get(id, visible(who))
    return {
      data: { actions: actions(who, id), event, links: links(id) },
      target: { ...events(), id },
    }
  }
  return [
    route({
      method: 'GET',
      path: '/audit-events',
      ...read,
      action: 'audit.events.read',
      target: events,
      query: AuditFilters,
      run: ({ query: { limit = PAGE, offset = 0, ...filters }, who }) => {
        const { events: data, total } = audit.page(filters, visible(who), limit, offset)
        return { data, beside: { meta: pageMeta(data.length, total, limit, offset) } }
      },
    }),
    route({
      method: 'GET',
      path: '/audit-events/:id',
      ...read,
      action: 'audit.events.detail.read',
      target: events,
      run: ({ params, who }) => detail(who, params.id),
    }),
    route({
      method: 'GET',
      path: '/audit-events/:id/actions',
      ...read,
      action: 'audit.events.actions.read',
      target: events,
      run: ({ params, who }) => detail(who, params.id),
    }),
  ]
}

const hrefOf = (id: string): string => `${API_PREFIX}/audit-events/${encodeURIComponent(id)}`
const exportOf = (id: string): string => `${API_PREFIX}/audit-events/export?id=${encodeURIComponent(id)}`

const links = (id: string) => ({ actions: `${hrefOf(id)}/actions`, detail: hrefOf(id), export: exportOf(id) })

const actions = (who: UserWho, id: string) =>
  actionStates(who, {
    detail: { method: 'GET', href: hrefOf(id), permission: 'audit:read' },
    export: { method: 'GET', href: exportOf(id), permission: 'audit:read' },
  })
