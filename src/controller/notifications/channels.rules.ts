import { invalid } from '../../kernel/fail.ts'
import {
  CHANNEL_KINDS,
  type ChannelKind,
  type ChannelPatch,
  type NotificationChannel,
} from '../../wire/notifications.ts'

const WHSEC = /^whsec_[A-Za-z0-9+/]+={0,2}$/
const [SHORTEST_KEY, LONGEST_KEY] = [24, 64]

const wrong = (field: string, why: string) => invalid('Invalid notification channel', [field], why)

/** What is stored of a channel already. */
interface Stored {
  forPeople: boolean
  options: boolean
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
  if (kind === 'email') checkedMail({ forPeople: has.forPeople, ...given })
  if (kind === 'webhook') checkedKey(given.secret, has.secret)
}

function checkedMail({ email, forPeople }: ChannelPatch): void {
  if (email?.to.length === 0 && !forPeople)
    throw wrong(
      'email.to',
      "expected at least one recipient, or forPeople for a channel that carries people's own mail",
    )
}

/** The signing key of a webhook: without one the receiver could not tell our messages from a stranger's. */
function checkedKey(secret: string | undefined, known: boolean): void {
  if (secret === undefined && known) return
  const bytes = WHSEC.test(secret ?? '') ? Buffer.from((secret as string).slice(6), 'base64').length : 0
  if (bytes < SHORTEST_KEY || bytes > LONGEST_KEY)
    throw wrong('secret', `expected a signing key: whsec_ and ${SHORTEST_KEY} to ${LONGEST_KEY} random bytes in base64`)
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
