import { Fail } from '../../../kernel/fail.ts'
import { type Assignment, AssignmentInput, BulkAssignment, MapTarget } from '../../../wire/channels.ts'
import { API_PREFIX } from '../../../wire/headers.ts'
import type { Permission } from '../../../wire/permissions.ts'
import { actionStates } from '../../http/actions.ts'
import { slicedList } from '../../http/page.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route, stream, type Target } from '../../http/route.ts'
import type { Scope } from '../../http/scope.ts'
import type { visibilities } from '../../http/visibility.ts'
import type { NodeStore } from '../nodes/nodes.store.ts'
import type { AssignmentStore } from './assignments.store.ts'

const PATH = '/settings/channel-map-assignments'
const TYPE = 'channel_map_assignment'
const all = () => ({ type: `${TYPE}_collection` })
const one = (p: { id: string }) => ({ type: TYPE, id: p.id })
export const read = { auth: 'user', permission: 'settings:read' } as const
export const manage = { auth: 'user', permission: 'settings:manage' } as const

interface Parts {
  assignments: AssignmentStore
  nodes: NodeStore
  visibility: ReturnType<typeof visibilities>
  scope: Scope
}

export const assignmentRoutes = (parts: Parts): AnyRoute[] => [...reads(parts), ...writes(parts), agentRoute(parts)]

const reads = ({ assignments, visibility }: Parts): AnyRoute[] => [
  stream({
    method: 'GET',
    path: PATH,
    ...read,
    action: 'settings.channel_map_assignments.read',
    target: all,
    run: async ({ principal }) => ({
      response: slicedList(assignments.slices(visibility(principal, 'settings:read'))),
    }),
  }),
  route({
    method: 'GET',
    path: `${PATH}/:id`,
    ...read,
    action: 'settings.channel_map_assignments.detail.read',
    target: one,
    run: ({ params }) => ({ data: assignments.get(params.id) }),
  }),
  route({
    method: 'GET',
    path: `${PATH}/:id/actions`,
    ...read,
    action: 'settings.channel_map_assignments.actions.read',
    target: one,
    run: ({ params, principal }) => {
      const assignment = assignments.get(params.id)
      const previous = assignments.previous(assignment.id)
      return { data: { actions: actions(principal, assignment, previous), assignment, links: links(assignment.id) } }
    },
  }),
]

const writes = ({ assignments, scope }: Parts): AnyRoute[] => [
  route({
    method: 'PUT',
    path: PATH,
    ...manage,
    action: 'settings.channel_map_assignments.update',
    target: asked,
    body: AssignmentInput,
    run: ({ body: { templateId, ...target }, principal, now }) => {
      withinScope(scope, principal, 'settings:manage', [target], templateId)
      const before = assignments.find(target)
      const data = assignments.assign(target, templateId, { actor: principal.id, now })
      return { data, before: before ? shortly(before) : undefined, after: shortly(data) }
    },
  }),
  route({
    method: 'PUT',
    path: `${PATH}/bulk`,
    ...manage,
    action: 'settings.channel_map_assignments.bulk_update',
    target: all,
    body: BulkAssignment,
    run: ({ body: { targets, templateId }, principal, now }) => {
      const wanted = distinct(targets)
      withinScope(scope, principal, 'settings:manage', wanted, templateId)
      const before = wanted.flatMap((target) => assignments.find(target) ?? [])
      const data = wanted.map((target) => assignments.assign(target, templateId, { actor: principal.id, now }))
      return {
        data,
        before: { assignments: before.map(shortly) },
        after: { assignments: data.map(shortly) },
        details: { targetCount: wanted.length, templateId },
      }
    },
  }),
  route({
    method: 'POST',
    path: `${PATH}/rollback`,
    ...manage,
    action: 'settings.channel_map_assignments.rollback',
    target: asked,
    body: MapTarget,
    run: ({ body, principal, now }) => {
      withinScope(scope, principal, 'settings:manage', [body])
      const { before, after } = assignments.rollback(body, { actor: principal.id, now })
      return { data: after, before: shortly(before), after: shortly(after) }
    },
  }),
]

/** The channel maps of the agent's own node (docs/contract/agent.md: Channel maps). */
const agentRoute = ({ assignments, nodes }: Parts): AnyRoute =>
  route({
    method: 'GET',
    path: '/nodes/:id/channel-map-assignments',
    auth: 'node',
    permission: 'node:control',
    action: 'nodes.channel_map_assignments.read',
    target: (p) => ({ type: 'node', id: p.id }),
    audit: 'telemetry',
    run: ({ params }) => {
      nodes.mustExist(params.id)
      return { data: assignments.ofNode(params.id) }
    },
  })

// Audit and authorization name the target as `<type>:<id>`, which expands to that thing (docs/contract/access.md: Expansion).
function asked(_: unknown, body: unknown): Target {
  const { targetId, targetType } = (body ?? {}) as Record<string, unknown>
  const named = typeof targetId === 'string' && typeof targetType === 'string'
  return { type: TYPE, ...(named ? { id: `${targetType}:${targetId}` } : {}) }
}

/** @throws Fail 403 when a target or the template is out of the caller's scope. */
export function withinScope(
  scope: Scope,
  principal: UserPrincipal,
  permission: Permission,
  targets: readonly MapTarget[],
  templateId?: string,
): void {
  const things: Target[] = targets.map(({ targetId, targetType }) => ({ type: targetType, id: targetId }))
  if (templateId !== undefined) things.push({ type: 'channel_map_template', id: templateId })
  for (const thing of things) {
    const verdict = scope.decide(principal, permission, thing)
    if (!verdict.allowed)
      throw new Fail(403, verdict.reason, 'Forbidden', { outcome: 'denied', details: { refused: thing } })
  }
}

/** Each target once, in the order asked for. */
export const distinct = (targets: readonly MapTarget[]): MapTarget[] => [
  ...new Map(targets.map((target) => [`${target.targetType}:${target.targetId}`, target])).values(),
]

/** An assignment for audit rows, without its history, which has audit rows of its own. */
export const shortly = ({ history: _, ...assignment }: Assignment): object => assignment

const links = (id: string) => {
  const base = `${API_PREFIX}${PATH}`
  return { detail: `${base}/${encodeURIComponent(id)}`, rollback: `${base}/rollback`, update: base }
}

const actions = (principal: UserPrincipal, { id, targetId, targetType }: Assignment, previous: string | undefined) => {
  const { detail, rollback, update } = links(id)
  const changes = { permission: 'settings:manage', payload: { targetId, targetType } } as const
  return actionStates(principal, {
    detail: { method: 'GET', href: detail, permission: 'settings:read' },
    rollback: { method: 'POST', href: rollback, ...changes, blocked: !previous && 'rollback_target_not_found' },
    update: { method: 'PUT', href: update, ...changes },
  })
}
