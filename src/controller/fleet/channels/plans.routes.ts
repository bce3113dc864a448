import type { Ids } from '../../../kernel/ids.ts'
import { type AssignmentPlan, PlanInput } from '../../../wire/channels.ts'
import { API_PREFIX } from '../../../wire/headers.ts'
import { actionStates } from '../../http/actions.ts'
import { slicedList } from '../../http/page.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route, stream } from '../../http/route.ts'
import type { Scope } from '../../http/scope.ts'
import type { visibilities } from '../../http/visibility.ts'
import { distinct, manage, read, shortly, withinScope } from './assignments.routes.ts'
import type { AssignmentStore } from './assignments.store.ts'
import type { PlanStore } from './plans.store.ts'
import type { TemplateStore } from './templates.store.ts'

const PATH = '/settings/channel-map-assignment-plans'
const TYPE = 'channel_map_assignment_plan'
const all = () => ({ type: `${TYPE}_collection` })
const one = (p: { id: string }) => ({ type: TYPE, id: p.id })

interface Parts {
  assignments: AssignmentStore
  ids: Ids
  plans: PlanStore
  visibility: ReturnType<typeof visibilities>
  scope: Scope
  templates: TemplateStore
}

export const planRoutes = (parts: Parts): AnyRoute[] => [...reads(parts), stage(parts), apply(parts)]

/** Only refusals apply to the targets: who may see plans sees those of every node. */
const refusing = (principal: UserPrincipal): UserPrincipal => ({ ...principal, roles: ['owner'] })

const reads = ({ plans, scope, visibility }: Parts): AnyRoute[] => {
  const readable = (id: string, principal: UserPrincipal): AssignmentPlan => {
    const plan = plans.get(id)
    withinScope(scope, refusing(principal), 'settings:read', plan.targets)
    return plan
  }
  return [
    stream({
      method: 'GET',
      path: PATH,
      ...read,
      action: 'settings.channel_map_assignment_plans.read',
      target: all,
      run: async ({ principal }) => {
        const seen = visibility(principal, 'settings:read')
        const refusals = visibility(refusing(principal), 'settings:read')
        return { response: slicedList(plans.slices(seen, refusals)) }
      },
    }),
    route({
      method: 'GET',
      path: `${PATH}/:id`,
      ...read,
      action: 'settings.channel_map_assignment_plans.detail.read',
      target: one,
      run: ({ params, principal }) => ({ data: readable(params.id, principal) }),
    }),
    route({
      method: 'GET',
      path: `${PATH}/:id/actions`,
      ...read,
      action: 'settings.channel_map_assignment_plans.actions.read',
      target: one,
      run: ({ params, principal }) => {
        const plan = readable(params.id, principal)
        return { data: { actions: actions(principal, plan), links: links(plan.id), plan } }
      },
    }),
  ]
}

const stage = ({ assignments, ids, plans, scope, templates }: Parts): AnyRoute =>
  route({
    method: 'POST',
    path: PATH,
    ...manage,
    action: 'settings.channel_map_assignment_plans.create',
    target: all,
    body: PlanInput,
    status: 201,
    run: ({ body: { note, targets: asked, templateId }, principal, now }) => {
      const targets = distinct(asked)
      withinScope(scope, principal, 'settings:manage', targets, templateId)
      const template = templates.named(templateId)
      for (const target of targets) assignments.check(target, template)
      const id = ids.make('channel_map_plan')
      const after = plans.stage({ createdBy: principal.id, id, note, targets, templateId }, now)
      return { data: after, after, target: { type: TYPE, id } }
    },
  })

/** All targets or none: one transaction. */
const apply = ({ assignments, plans, scope }: Parts): AnyRoute =>
  route({
    method: 'POST',
    path: `${PATH}/:id/apply`,
    ...manage,
    action: 'settings.channel_map_assignment_plans.apply',
    target: one,
    run: ({ params, principal, now }) => {
      const { before, after } = plans.apply(params.id, principal.id, now)
      withinScope(scope, principal, 'settings:manage', after.targets, after.templateId)
      const assigned = after.targets.map((target) =>
        assignments.assign(target, after.templateId, { actor: principal.id, now }),
      )
      return {
        data: { assignments: assigned, plan: after },
        before: { plan: before },
        after: { assignments: assigned.map(shortly), plan: after },
      }
    },
  })

const links = (id: string) => {
  const detail = `${API_PREFIX}${PATH}/${encodeURIComponent(id)}`
  return { apply: `${detail}/apply`, detail }
}

const actions = (principal: UserPrincipal, { id, status }: AssignmentPlan) => {
  const { apply, detail } = links(id)
  const blocked = status !== 'pending' && 'plan_not_pending'
  return actionStates(principal, {
    apply: { method: 'POST', href: apply, permission: 'settings:manage', blocked },
    detail: { method: 'GET', href: detail, permission: 'settings:read' },
  })
}
