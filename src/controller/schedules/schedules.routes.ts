import { API_PREFIX } from '../../wire/headers.ts'
import {
  CalendarQuery,
  OccurrencesQuery,
  type Schedule,
  ScheduleExport,
  ScheduleFilters,
  ScheduleList,
} from '../../wire/schedules.ts'
import type { FleetApi } from '../fleet/api.ts'
import { type Action, actionStates } from '../http/actions.ts'
import { type Column, csvExport, EXPORT_SLICE } from '../http/csv.ts'
import { pageMeta } from '../http/page.ts'
import { type AnyRoute, flow, route, stream, type Target } from '../http/route.ts'
import type { visibilities } from '../http/visibility.ts'
import type { CalendarStore } from './calendar.store.ts'
import { calendarOf, windowOf } from './calendar.ts'
import { type Stored, shownSlot, upcoming } from './planning.rules.ts'
import type { ReferenceStore } from './references.store.ts'
import type { RiskStore } from './risks.store.ts'
import { type ScheduleStore, shown } from './schedules.store.ts'

interface Parts {
  calendar: CalendarStore
  nodes: FleetApi['nodes']
  visibility: ReturnType<typeof visibilities>
  references: ReferenceStore
  risks: RiskStore
  schedules: ScheduleStore
}

const read = { auth: 'user', permission: 'schedule:read' } as const
const all = (): Target => ({ type: 'schedule_collection' })
const one = (p: { id: string }): Target => ({ type: 'schedule', id: p.id })

const COLUMNS: readonly Column<Schedule>[] = [
  ...(['id', 'name', 'enabled', 'nodeId', 'room', 'timezone', 'nextRunAt', 'captureBackend'] as const).map(column),
  ...(['captureInterfaceId', 'recordingProfileId', 'watchdogPolicyId', 'retentionPolicyId'] as const).map(column),
  ['uploadPolicyIds', (s) => s.uploadPolicyIds.join(';')],
  ['tags', (s) => s.tags.join(';')],
]
function column(name: keyof Schedule): Column<Schedule> {
  return [name, (s) => s[name]]
}

const csv = (now: string, slices: Iterable<readonly Schedule[]>): Response =>
  csvExport({ columns: COLUMNS, kind: 'schedules', now, quoting: 'always', slices })

export const scheduleRoutes = (parts: Parts): AnyRoute[] => [...lists(parts), ...details(parts)]

const lists = ({ calendar, risks, schedules, visibility }: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/schedules',
    ...read,
    action: 'schedules.read',
    target: all,
    query: ScheduleList,
    run: ({ query: { limit, offset, ...filters }, principal }) => {
      const { rows, total } = schedules.list(visibility(principal, 'schedule:read'), filters, limit, offset)
      return { data: rows.map(shown), beside: { meta: pageMeta(rows.length, total, limit, offset) } }
    },
  }),
  stream({
    method: 'GET',
    path: '/schedules/export',
    ...read,
    action: 'schedules.export',
    target: all,
    query: ScheduleFilters,
    run: async ({ now, query, principal }) => ({
      response: csv(now, schedules.walk(visibility(principal, 'schedule:read'), query, EXPORT_SLICE)),
    }),
  }),
  stream({
    method: 'POST',
    path: '/schedules/export',
    ...read,
    action: 'schedules.export_selected',
    target: all,
    body: ScheduleExport,
    run: async ({ body, now, principal }) => ({
      response: csv(now, [schedules.chosen(visibility(principal, 'schedule:read'), body.scheduleIds)]),
    }),
  }),
  flow({
    method: 'GET',
    path: '/schedules/calendar',
    ...read,
    action: 'schedules.calendar.read',
    target: all,
    query: CalendarQuery,
    run: async ({ now, query: { end, start, ...filters }, principal }) => {
      const window = windowOf({ end, start }, now)
      const foreseen = risks.foreseen(visibility(principal, 'health:read'))
      const stamped = schedules.calendarStamps(visibility(principal, 'schedule:read'), filters, principal.id)
      const { items, meta } = await calendarOf({ foreseen, now, risks }, calendar.planned(stamped), window)
      return { data: items, beside: { meta } }
    },
  }),
]

const details = ({ nodes, visibility, references, schedules }: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/schedules/:id',
    ...read,
    action: 'schedules.detail.read',
    target: one,
    run: ({ params }) => ({ data: shown(schedules.get(params.id)) }),
  }),
  route({
    method: 'GET',
    path: '/schedules/:id/actions',
    ...read,
    action: 'schedules.actions.read',
    target: one,
    run: ({ now, params, principal }) => {
      const schedule = schedules.get(params.id)
      const node = schedule.nodeId === undefined ? undefined : nodes.find(schedule.nodeId, now)
      // A grant on the schedule does not open its node.
      const seen = node !== undefined && references.seesNode(visibility(principal, 'node:read'), node.id)
      const named = seen && { alias: node.alias, id: node.id, location: node.location, status: node.status }
      const actions = actionStates(principal, actionsOf(schedule, node !== undefined))
      return {
        data: { actions, links: linksOf(schedule.id), ...(named ? { node: named } : {}), schedule: shown(schedule) },
      }
    },
  }),
  route({
    method: 'GET',
    path: '/schedules/:id/occurrences',
    ...read,
    action: 'schedules.occurrences.read',
    target: one,
    query: OccurrencesQuery,
    run: ({ now, params, query: { limit } }) => {
      const schedule = schedules.get(params.id)
      const slots = upcoming(schedules.planOf(schedule), schedule, Date.parse(now))
      return {
        data: slots
          .take(limit)
          .map((slot) => shownSlot(slot))
          .toArray(),
      }
    },
  }),
]

function linksOf(id: string) {
  const detail = `${API_PREFIX}/schedules/${encodeURIComponent(id)}`
  return {
    delete: detail,
    detail,
    occurrences: `${detail}/occurrences`,
    runNow: `${detail}/run-now`,
    skipNext: `${detail}/skip-next`,
    update: detail,
  }
}

function actionsOf(schedule: Stored, hasNode: boolean) {
  const links = linksOf(schedule.id)
  const manage = { permission: 'schedule:manage' } as const
  const disabled = !schedule.enabled && 'schedule_disabled'
  return {
    delete: { ...manage, method: 'DELETE', href: links.delete },
    edit: { ...manage, method: 'PATCH', href: links.update },
    occurrences: { method: 'GET', href: links.occurrences, permission: 'schedule:read' },
    runNow: {
      ...manage,
      method: 'POST',
      href: links.runNow,
      blocked: disabled || (!hasNode && 'schedule_node_not_found'),
    },
    skipNext: {
      ...{ ...manage, method: 'POST', href: links.skipNext },
      blocked: disabled || (!schedule.nextRunAt && 'no_next_occurrence'),
    },
  } satisfies Record<string, Action>
}
