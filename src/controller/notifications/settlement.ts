// How an attempt ends: the messages, their channel, the health event and the audit rows, in one transaction.
import { type Clock, iso } from '../../kernel/clock.ts'
import type { Audit } from '../http/audit.ts'
import { systemActor } from '../http/principal.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import type { Db } from '../store/db.ts'
import { present } from '../store/filter.ts'
import type { AttemptStore, Waiting } from './attempts.store.ts'
import { type ChannelOutcomes, channelOutcomes } from './channels.store.ts'
import { retryAt } from './rules.rules.ts'
import { DELIVERY_FAILED } from './telling.ts'

interface Parts {
  audit: Audit
  clock: Clock
  db: Db
  health: HealthApi['health']
  attempts: AttemptStore
}

const actor = systemActor('notifier')

export function settlement(parts: Parts) {
  const { attempts, audit, clock, db } = parts
  const channels = channelOutcomes(db)
  const alarm = alarms(parts, channels)
  const write = (row: Waiting, name: 'delivered' | 'failed', details: Record<string, unknown>, now: string): void => {
    const { channelId, id, kind, ruleId, userId } = row
    const told = { attempt: row.attempts + 1, channelId, kind, ...present({ ruleId, userId }), ...details }
    const target = { type: 'notification', id }
    const outcome = name === 'delivered' ? 'succeeded' : 'failed'
    audit.write(
      { action: `notifications.${name}`, actor, details: told, outcome, permission: 'settings:manage', target },
      now,
    )
  }
  const disabled = (channelId: string, error: string, now: string): void => {
    const target = { type: 'notification_channel', id: channelId }
    const [before, after] = [{ enabled: true }, { enabled: false }]
    const row = { actor, after, before, details: { error }, permission: 'settings:manage', target } as const
    audit.write({ action: 'settings.notification_channels.update.succeeded', outcome: 'succeeded', ...row }, now)
  }
  return {
    /** A test counts as any attempt does. */
    tested(channelId: string, error: string | undefined, now: string): void {
      if (error === undefined) channels.sent(channelId, null, now)
      else channels.failed(channelId, error, false, now)
      if (error === undefined) alarm.resolve(channelId, 'delivered_again', now)
    },
    /** The channel is deleted or rests: its alarm says nothing any more. */
    rested: (channelId: string, now: string): void => alarm.resolve(channelId, 'channel_rests', now),
    /** `warning`: who of several recipients did not get it. */
    sent: (channelId: string, rows: readonly Waiting[], warning?: string): void =>
      db.tx(() => {
        const now = iso(clock.now())
        for (const row of rows)
          if (attempts.end(row.id, 'sent', warning ?? null, now, now))
            write(row, 'delivered', present({ warning }), now)
        channels.sent(channelId, warning ?? null, now)
        alarm.resolve(channelId, 'delivered_again', now)
      }),
    failed: (channelId: string, rows: readonly Waiting[], e: Error & { final?: boolean; gone?: boolean }): void =>
      db.tx(() => {
        const now = iso(clock.now())
        for (const row of rows) {
          const again = e.final ? undefined : retryAt(row.attempts + 1, Date.parse(row.dueAt), clock.now())
          const nextAttemptAt = again === undefined ? undefined : iso(again)
          const status = nextAttemptAt === undefined ? 'failed' : 'queued'
          if (!attempts.end(row.id, status, e.message, nextAttemptAt ?? now, now)) continue
          write(row, 'failed', present({ error: e.message, nextAttemptAt }), now)
          if (status === 'failed' && !ofOnePerson(row, e)) alarm.open(row, e.message, now)
        }
        if (!rows.every((row) => ofOnePerson(row, e))) channels.failed(channelId, e.message, e.gone === true, now)
        if (e.gone) disabled(channelId, e.message, now)
      }),
  }
}
export type Settlement = ReturnType<typeof settlement>

/** Their mailbox refuses: the channel itself works. */
const ofOnePerson = ({ userId }: Waiting, { final, gone }: { final?: boolean; gone?: boolean }): boolean =>
  userId !== null && final === true && gone !== true

/** One health event for each channel whose messages are lost; it ends when a message arrives again. */
function alarms({ health }: Parts, channels: ChannelOutcomes) {
  return {
    open({ channelId, id, kind }: Waiting, error: string, now: string): void {
      const channel = channels.alarmOf(channelId)
      const standing = channel?.eventId ? health.find(channel.eventId) : undefined
      if (!channel || (standing && standing.status !== 'resolved')) return
      const message = `A message could not be delivered through '${channel.name}': ${error}`
      const details = { channelId, channelName: channel.name, error, kind, message, notificationId: id }
      const { event } = health.open({ details, openedAt: now, severity: 'warning', type: DELIVERY_FAILED }, now)
      channels.mark(channelId, event.id)
    },
    resolve(channelId: string, reason: string, now: string): void {
      const eventId = channels.alarmOf(channelId)?.eventId
      if (!eventId) return
      health.autoResolve([eventId], { by: actor.id, reason }, now)
      channels.mark(channelId, null)
    },
  }
}
