import { invalid } from '../../kernel/fail.ts'
import {
  CHANNEL_KINDS,
  type ChannelKind,
  type ChannelPatch,
  type NotificationChannel,
} from '../../wire/notifications.ts'
import { emailFault, ntfyFault, webhookFault } from './transports/channel.rules.ts'

const wrong = (field: string, why: string) => invalid('Invalid notification channel', [field], why)

/** What is stored of a channel already. */
interface Stored {
  forPeople: boolean
  /** Those of its kind. */
  options: ChannelPatch[ChannelKind]
  secret: boolean
}

/**
 * Holds what a caller gave for a channel against its kind.
 * @throws Fail 400
 */
export function checked(kind: ChannelKind, given: ChannelPatch, has: Stored): void {
  const foreign = CHANNEL_KINDS.find((other) => other !== kind && given[other] !== undefined)
  if (foreign) throw wrong(foreign, `this channel is of kind ${kind}: its options are given as '${kind}'`)
  if (!given[kind] && !has.options) throw wrong(kind, `expected the options of the kind ${kind}`)
  if (given.forPeople && kind !== 'email') throw wrong('forPeople', "only a mail channel carries people's own mail")
  if (kind === 'webhook' && !(given.secret ?? has.secret))
    throw wrong(
      'secret',
      'a webhook needs a signing key: without one a receiver could not tell our messages from others',
    )
  const fault = faultOf({ ...given, [kind]: given[kind] ?? has.options }, has)
  if (fault) throw wrong(given[kind] ? kind : 'secret', fault)
}

const KEPT = 'a secret that is kept'

function faultOf({ email, forPeople, ntfy, secret, webhook }: ChannelPatch, has: Stored): string | undefined {
  const known = secret === '' ? undefined : (secret ?? (has.secret ? KEPT : undefined))
  if (email) {
    // A channel that carries people's own mail needs no recipients besides.
    const to = email.to.length === 0 && (forPeople ?? has.forPeople) ? [email.from] : email.to
    return emailFault({ ...email, to }, known)
  }
  if (webhook) return webhookFault(webhook, secret)
  return ntfy ? ntfyFault(ntfy, secret || undefined) : undefined
}

/** What decides to whom a stored secret is sent; a signing key is sent to nobody. */
const SECRET_GOES_TO: Record<ChannelKind, readonly string[]> = {
  email: ['host', 'port', 'security', 'username'],
  ntfy: ['url'],
  webhook: [],
}

/** The changed options that would send the stored secret elsewhere, or less protected. */
export const redirections = (kind: ChannelKind, before: object, after: object | undefined): string[] =>
  SECRET_GOES_TO[kind].filter((name) => optionOf(before, name) !== optionOf(after ?? {}, name))

const optionOf = (options: object, name: string): unknown => (options as Record<string, unknown>)[name]

const origin = (url: string): string => `${new URL(url).origin}/...`

/** A channel for those who may not manage it, and for the audit log: an address or a topic is often a secret itself. */
export function masked(channel: NotificationChannel): NotificationChannel {
  const { ntfy, webhook } = channel
  return {
    ...channel,
    ...(ntfy ? { ntfy: { topic: '...', url: origin(ntfy.url) } } : {}),
    ...(webhook ? { webhook: { url: origin(webhook.url) } } : {}),
  }
}
