import { openText, SealError, seal } from '../../crypto/seal.ts'
import { conflict, Fail, found, invalid } from '../../kernel/fail.ts'
import type {
  ChannelInput,
  ChannelKind,
  ChannelPatch,
  EmailOptions,
  NotificationChannel,
  NtfyOptions,
  WebhookOptions,
} from '../../wire/notifications.ts'
import type { Visibility } from '../http/visibility.ts'
import type { Db, Params } from '../store/db.ts'
import { json, Lister, present } from '../store/filter.ts'
import { checked, redirections } from './channels.rules.ts'

interface Row {
  enabled: number
  forPeople: number
  id: string
  kind: ChannelKind
  lastError: string | null
  lastSentAt: string | null
  name: string
  options: string | null
  secret: string | null
}

/** All a transport needs. The secret is in plain text: pass it to a transport only. */
export type OpenedChannel = { id: string; secret: string | undefined } & (
  | { kind: 'email'; options: EmailOptions }
  | { kind: 'webhook'; options: WebhookOptions }
  | { kind: 'ntfy'; options: NtfyOptions }
)

const COLUMNS = `x.id, x.name, x.kind, x.enabled, x.options, x.secret, x.for_people AS forPeople, x.last_error AS lastError,
  x.last_sent_at AS lastSentAt`

const parsed = (options: string | null) => (options === null ? undefined : JSON.parse(options))

const place = (id: string): string => `notification_channels/${id}/secret`

/** Ways to tell people and programs. Secrets are sealed on arrival, bound to their row, and leave only through `open`. */
export function channelStore(db: Db, key: () => Uint8Array) {
  const list = new Lister<Row>(db, { columns: COLUMNS, from: 'notification_channels x' })
  const byId = db.stmt<{ id: string }, Row>(`SELECT ${COLUMNS} FROM notification_channels x WHERE x.id = @id`)
  const insert = db.stmt<Params>(
    `INSERT INTO notification_channels (id, name, kind, enabled, options, secret, for_people, created_at, updated_at)
     VALUES (@id, @name, @kind, @enabled, @options, @secret, @forPeople, @now, @now)`,
  )
  const update = db.stmt<Params>(
    `UPDATE notification_channels SET name = @name, enabled = @enabled, options = @options, secret = @secret,
       for_people = @forPeople, updated_at = @now,
       last_error = CASE WHEN @anew = 1 THEN NULL ELSE last_error END WHERE id = @id`,
  )
  const unmark = db.stmt<{ id: string; now: string }, { id: string; name: string }>(
    `UPDATE notification_channels SET for_people = 0, updated_at = @now WHERE for_people = 1 AND id <> @id RETURNING id, name`,
  )
  const drop = db.stmt<{ id: string }>(`DELETE FROM notification_channels WHERE id = @id`)
  const users = db.stmt<{ id: string }, { id: string; name: string }>(
    `SELECT id, name FROM notification_rules WHERE channel_id = @id
     UNION SELECT id, name FROM notification_rules WHERE escalate_channel_id = @id ORDER BY name, id`,
  )
  const people = db.stmt<object, { id: string }>(
    `SELECT id FROM notification_channels WHERE for_people = 1 AND enabled = 1 AND kind = 'email'`,
  )
  const any = db.stmt<object>(`SELECT 1 FROM notification_channels LIMIT 1`)
  const get = (id: string): NotificationChannel => shownChannel(found(byId.get({ id }), 'Notification channel'))
  const sealed = (id: string, given: string | undefined, kept: string | null): string | null =>
    given === undefined ? kept : given === '' ? null : seal(key(), place(id), given)
  const columns = (row: Row, fields: ChannelPatch, now: string): Params => ({
    id: row.id,
    name: fields.name ?? row.name,
    enabled: Number(fields.enabled ?? row.enabled),
    options: json(fields[row.kind]) ?? row.options,
    secret: sealed(row.id, fields.secret, row.secret),
    forPeople: Number(fields.forPeople ?? row.forPeople),
    now,
  })

  return {
    /** @throws Fail 404 `notification_channel_not_found`. */
    get,
    /** By name. */
    list: (visibility: Visibility): NotificationChannel[] =>
      list.all(visibility.own('notification_channel'), 'x.name COLLATE NOCASE, x.id').map(shownChannel),
    isAny: (): boolean => any.get({}) !== undefined,
    /** The channel of people's own mail, if there is one in use. */
    forPeople: (): string | undefined => people.get({})?.id,
    /** @throws Fail 400 for options that do not fit. */
    create(id: string, input: ChannelInput, now: string): NotificationChannel {
      checked(input.kind, input, { forPeople: false, options: undefined, secret: false })
      const { kind, name } = input
      const blank = { enabled: 1, forPeople: 0, id, kind, lastError: null, lastSentAt: null, name, options: null }
      if (input.forPeople) unmark.run({ id, now })
      insert.run({ ...columns({ ...blank, secret: null }, input, now), kind })
      return get(id)
    },
    /** @throws Fail 404, 400 for options that do not fit, or for another server without its secret. */
    patch(id: string, patch: ChannelPatch, now: string): { before: NotificationChannel; after: NotificationChannel } {
      const before = found(byId.get({ id }), 'Notification channel')
      const has = { options: parsed(before.options), secret: before.secret !== null }
      checked(before.kind, patch, { ...has, forPeople: before.forPeople === 1 })
      requireSecretAgain(before, patch)
      if (patch.forPeople) unmark.run({ id, now })
      // What was wrong is tried anew, so it is not said any more.
      const anew = Number(patch[before.kind] !== undefined || patch.secret !== undefined || patch.enabled === true)
      update.run({ ...columns(before, patch, now), anew })
      return { before: shownChannel(before), after: get(id) }
    },
    /** @throws Fail 404, or 409 `notification_channel_in_use` with the rules that use it. */
    remove(id: string): NotificationChannel {
      const before = get(id)
      const rules = users.all({ id })
      if (rules.length > 0)
        throw conflict(
          'notification_channel_in_use',
          'Notification rules use this channel: give them another one, or delete them, first',
          { rules },
        )
      drop.run({ id })
      return before
    },
    /** @throws Fail 409 `notification_secret_unreadable` when the secret key changed since. */
    open(id: string): OpenedChannel {
      const row = found(byId.get({ id }), 'Notification channel')
      try {
        const secret = row.secret === null ? undefined : openText(key(), place(id), row.secret)
        return { id, kind: row.kind, options: JSON.parse(row.options ?? '{}'), secret } as OpenedChannel
      } catch (e) {
        if (!(e instanceof SealError)) throw e
        throw new Fail(
          409,
          'notification_secret_unreadable',
          'The secret of this channel cannot be decrypted and has to be entered again',
        )
      }
    },
  }
}
export type ChannelStore = ReturnType<typeof channelStore>

function shownChannel(row: Row): NotificationChannel {
  const { enabled, forPeople, id, kind, lastError, lastSentAt, name, options, secret } = row
  return present({
    enabled: enabled === 1,
    forPeople: forPeople === 1,
    hasSecret: secret !== null,
    id,
    kind,
    lastError,
    lastSentAt,
    name,
    status: enabled === 0 ? ('disabled' as const) : lastError === null ? ('ready' as const) : ('failing' as const),
    [kind]: parsed(options),
  })
}

/** A stored secret is used only for the server it was entered for: another server needs it to be entered again. */
function requireSecretAgain(before: Row, patch: ChannelPatch): void {
  if (before.secret === null || patch.secret !== undefined || !patch[before.kind]) return
  const changed = redirections(before.kind, JSON.parse(before.options ?? '{}'), patch[before.kind])
  if (changed.length === 0) return
  const why = `${changed.join(' and ')} changed: enter the secret again`
  throw invalid('Invalid notification channel', ['secret'], why, 'notification_channel_secret_required')
}

/** How the messages of a channel fare, and the health event that tells when they do not arrive. */
export function channelOutcomes(db: Db) {
  const sent = db.stmt<{ id: string; now: string; warning: string | null }>(
    `UPDATE notification_channels SET last_error = @warning, last_sent_at = @now WHERE id = @id`,
  )
  const failed = db.stmt<{ error: string; gone: number; id: string; now: string }>(
    `UPDATE notification_channels SET last_error = @error, enabled = CASE WHEN @gone = 1 THEN 0 ELSE enabled END,
       updated_at = CASE WHEN @gone = 1 THEN @now ELSE updated_at END WHERE id = @id`,
  )
  const alarmOf = db.stmt<{ id: string }, { eventId: string | null; name: string }>(
    `SELECT failed_event_id AS eventId, name FROM notification_channels WHERE id = @id`,
  )
  const mark = db.stmt<{ eventId: string | null; id: string }>(
    `UPDATE notification_channels SET failed_event_id = @eventId WHERE id = @id`,
  )
  return {
    sent: (id: string, warning: string | null, now: string): void => void sent.run({ id, now, warning }),
    failed: (id: string, error: string, gone: boolean, now: string): void =>
      void failed.run({ error, gone: Number(gone), id, now }),
    alarmOf: (id: string) => alarmOf.get({ id }),
    mark: (id: string, eventId: string | null): void => void mark.run({ eventId, id }),
  }
}
export type ChannelOutcomes = ReturnType<typeof channelOutcomes>
