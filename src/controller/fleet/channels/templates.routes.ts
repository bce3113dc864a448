import type { Ids } from '../../../kernel/ids.ts'
import { TemplateInput, TemplatePatch } from '../../../wire/channels.ts'
import { API_PREFIX } from '../../../wire/headers.ts'
import { actionStates } from '../../http/actions.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import type { visibilities } from '../../http/visibility.ts'
import { manage, read } from './assignments.routes.ts'
import type { TemplateStore } from './templates.store.ts'

const PATH = '/settings/channel-map-templates'
const all = () => ({ type: 'channel_map_template_collection' })
const one = (p: { id: string }) => ({ type: 'channel_map_template', id: p.id })

export const templateRoutes = (
  templates: TemplateStore,
  ids: Ids,
  visibility: ReturnType<typeof visibilities>,
): AnyRoute[] => [
  route({
    method: 'GET',
    path: PATH,
    ...read,
    action: 'settings.channel_map_templates.read',
    target: all,
    run: ({ principal }) => ({ data: templates.list(visibility(principal, 'settings:read')) }),
  }),
  route({
    method: 'POST',
    path: PATH,
    ...manage,
    action: 'settings.channel_map_templates.create',
    target: all,
    body: TemplateInput,
    status: 201,
    run: ({ body, now }) => {
      const after = templates.create(body.id ?? ids.make('channel_map'), body, now)
      return { data: after, after, target: { type: 'channel_map_template', id: after.id, name: after.name } }
    },
  }),
  route({
    method: 'GET',
    path: `${PATH}/:id`,
    ...read,
    action: 'settings.channel_map_templates.detail.read',
    target: one,
    run: ({ params }) => ({ data: templates.get(params.id) }),
  }),
  route({
    method: 'GET',
    path: `${PATH}/:id/actions`,
    ...read,
    action: 'settings.channel_map_templates.actions.read',
    target: one,
    run: ({ params, principal }) => {
      const template = templates.get(params.id)
      return { data: { actions: actions(principal, template.id), links: links(template.id), template } }
    },
  }),
  route({
    method: 'PATCH',
    path: `${PATH}/:id`,
    ...manage,
    action: 'settings.channel_map_templates.update',
    target: one,
    body: TemplatePatch,
    run: ({ params, body, now }) => {
      const { before, after } = templates.patch(params.id, body, now)
      return { data: after, before, after }
    },
  }),
]

const ASSIGNMENTS = `${API_PREFIX}/settings/channel-map-assignments`

const links = (id: string) => {
  const self = `${API_PREFIX}${PATH}/${encodeURIComponent(id)}`
  return {
    assign: ASSIGNMENTS,
    bulkAssign: `${ASSIGNMENTS}/bulk`,
    createRolloutPlan: `${API_PREFIX}/settings/channel-map-assignment-plans`,
    detail: self,
    update: self,
  }
}

const actions = (principal: UserPrincipal, templateId: string) => {
  const { assign, bulkAssign, createRolloutPlan, detail, update } = links(templateId)
  const changes = { permission: 'settings:manage', payload: { templateId } } as const
  return actionStates(principal, {
    assign: { method: 'PUT', href: assign, ...changes },
    bulkAssign: { method: 'PUT', href: bulkAssign, ...changes },
    createRolloutPlan: { method: 'POST', href: createRolloutPlan, ...changes },
    detail: { method: 'GET', href: detail, permission: 'settings:read' },
    update: { method: 'PATCH', href: update, permission: 'settings:manage' },
  })
}
