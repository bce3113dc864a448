import { Fail } from '../../kernel/fail.ts'
import type { Ids } from '../../kernel/ids.ts'
import { ChannelInput, ChannelPatch, type NotificationChannel } from '../../wire/notifications.ts'
import type { UserPrincipal } from '../http/principal.ts'
import { type AnyRoute, flow, route } from '../http/route.ts'
import type { visibilities } from '../http/visibility.ts'
import type { AttemptStore } from './attempts.store.ts'
import { masked } from './channels.rules.ts'
import type { ChannelStore } from './channels.store.ts'
import type { QueueStore } from './queue.store.ts'
import type { Tester } from './sender.ts'
import type { Settlement } from './settlement.ts'

interface Parts {
  channels: ChannelStore
  ids: Ids
  attempts: Pick<AttemptStore, 'orphan'>
  queue: Pick<QueueStore, 'tested'>
  settlement: Pick<Settlement, 'rested' | 'tested'>
  test: Tester
  visibility: ReturnType<typeof visibilities>
}

const PATH = '/settings/notification-channels'
const all = () => ({ type: 'notification_channel_collection' })
const one = (p: { id: string }) => ({ type: 'notification_channel', id: p.id })
const named = ({ id, name }: NotificationChannel) => ({ ...one({ id }), name })
const read = { auth: 'user', permission: 'settings:read' } as const
const manage = { auth: 'user', permission: 'settings:manage' } as const

/** Addresses and topics are often secrets: who may not manage them sees where they lead, not the whole. */
const shownTo = (principal: UserPrincipal, channel: NotificationChannel): NotificationChannel =>
  principal.permissions.has('settings:manage') ? channel : masked(channel)

/**
 * Rules tell what happens anywhere, and channels say to whom: nobody decides that who is refused a part of it.
 * @throws Fail 403
 */
export function requireUnrefused({ deny }: UserPrincipal): void {
  if (deny.length > 0)
    throw new Fail(
      403,
      'access_policy_denied',
      'An access policy refuses you a part of this site, and notifications tell of all of it: ask somebody without such a policy',
      { outcome: 'denied' },
    )
}

export const channelRoutes = ({ attempts, channels, ids, queue, settlement, test, visibility }: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: PATH,
    ...read,
    action: 'settings.notification_channels.read',
    target: all,
    run: ({ principal }) => ({
      data: channels.list(visibility(principal, 'settings:read')).map((channel) => shownTo(principal, channel)),
    }),
  }),
  route({
    method: 'POST',
    path: PATH,
    ...manage,
    action: 'settings.notification_channels.create',
    target: all,
    body: ChannelInput,
    status: 201,
    run: ({ body, now, principal }) => {
      requireUnrefused(principal)
      const after = channels.create(ids.make('notification_channel'), body, now)
      return { data: after, after: masked(after), target: named(after) }
    },
  }),
  route({
    method: 'GET',
    path: `${PATH}/:id`,
    ...read,
    action: 'settings.notification_channels.detail.read',
    target: one,
    run: ({ params, principal }) => ({ data: shownTo(principal, channels.get(params.id)) }),
  }),
  route({
    method: 'PATCH',
    path: `${PATH}/:id`,
    ...manage,
    action: 'settings.notification_channels.update',
    target: one,
    body: ChannelPatch,
    run: ({ params, body, now, principal }) => {
      requireUnrefused(principal)
      const { before, after } = channels.patch(params.id, body, now)
      if (!after.enabled) settlement.rested(after.id, now)
      return { data: after, before: masked(before), after: masked(after), target: named(after) }
    },
  }),
  route({
    method: 'DELETE',
    path: `${PATH}/:id`,
    ...manage,
    action: 'settings.notification_channels.delete',
    target: one,
    status: 204,
    run: ({ params, now, principal }) => {
      requireUnrefused(principal)
      settlement.rested(params.id, now)
      const before = channels.remove(params.id)
      attempts.orphan(before.id)
      return { data: null, before: masked(before), target: named(before) }
    },
  }),
  flow({
    method: 'POST',
    path: `${PATH}/:id/test`,
    ...manage,
    perMinute: 10,
    action: 'settings.notification_channels.test',
    target: one,
    run: async ({ params, principal, request }, commit) => {
      requireUnrefused(principal)
      const channel = channels.get(params.id)
      const { id, result } = await test(channel, request.gone())
      return commit((now) => {
        settlement.tested(channel.id, result.ok ? undefined : result.error, now)
        queue.tested({ channelId: channel.id, error: result.error, id, ok: result.ok }, now)
        return { data: result, details: { ...result, notificationId: id }, target: named(channel) }
      })
    },
  }),
]
