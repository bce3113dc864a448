import type { Ids } from '../../kernel/ids.ts'
import { type NotificationRule, RuleInput, RulePatch, RulePreviewRequest } from '../../wire/notifications.ts'
import { type AnyRoute, route } from '../http/route.ts'
import type { visibilities } from '../http/visibility.ts'
import { requireUnrefused } from './channels.routes.ts'
import type { PreviewStore } from './preview.store.ts'
import type { RuleStore } from './rules.store.ts'

interface Parts {
  ids: Ids
  preview: PreviewStore
  /** The runner is to look again when there will be something to do. */
  reschedule: () => void
  rules: RuleStore
  visibility: ReturnType<typeof visibilities>
}

const PATH = '/settings/notification-rules'
const all = () => ({ type: 'notification_rule_collection' })
const one = (p: { id: string }) => ({ type: 'notification_rule', id: p.id })
const named = ({ id, name }: NotificationRule) => ({ ...one({ id }), name })
const read = { auth: 'user', permission: 'settings:read' } as const
const manage = { auth: 'user', permission: 'settings:manage' } as const

export const ruleRoutes = ({ ids, preview, reschedule, rules, visibility }: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: PATH,
    ...read,
    action: 'settings.notification_rules.read',
    target: all,
    run: ({ principal }) => ({ data: rules.list(visibility(principal, 'settings:read')) }),
  }),
  route({
    method: 'POST',
    path: PATH,
    ...manage,
    action: 'settings.notification_rules.create',
    target: all,
    body: RuleInput,
    status: 201,
    run: ({ body, now, principal }) => {
      requireUnrefused(principal)
      const after = rules.create(ids.make('notification_rule'), body, now)
      reschedule()
      return { data: after, after, target: named(after) }
    },
  }),
  route({
    method: 'POST',
    path: `${PATH}/preview`,
    ...manage,
    action: 'settings.notification_rules.preview',
    target: all,
    body: RulePreviewRequest,
    run: ({ body, now, principal }) => ({
      data: preview.of(body, visibility(principal, 'health:read'), now),
    }),
  }),
  route({
    method: 'GET',
    path: `${PATH}/:id`,
    ...read,
    action: 'settings.notification_rules.detail.read',
    target: one,
    run: ({ params }) => ({ data: rules.get(params.id) }),
  }),
  route({
    method: 'PATCH',
    path: `${PATH}/:id`,
    ...manage,
    action: 'settings.notification_rules.update',
    target: one,
    body: RulePatch,
    run: ({ params, body, now, principal }) => {
      requireUnrefused(principal)
      const { before, after } = rules.patch(params.id, body, now)
      reschedule()
      return { data: after, before, after, target: named(after) }
    },
  }),
  route({
    method: 'DELETE',
    path: `${PATH}/:id`,
    ...manage,
    action: 'settings.notification_rules.delete',
    target: one,
    status: 204,
    run: ({ params, principal }) => {
      requireUnrefused(principal)
      const before = rules.remove(params.id)
      return { data: null, before, target: named(before) }
    },
  }),
]
