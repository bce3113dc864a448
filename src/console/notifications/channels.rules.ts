import type { ChannelKind, EmailOptions, NotificationChannel, NotificationRule } from '../../wire/notifications.ts'
import type { Family, FieldSpec, Thing, Values } from '../settings/families.rules.ts'

/** One as the API lists it, which forms and lists of settings take for theirs. */
export type Channel = NotificationChannel & Thing

const KINDS: readonly ChannelKind[] = ['email', 'webhook', 'ntfy']
const SECURITY: readonly EmailOptions['security'][] = ['starttls', 'tls', 'none']

/** Bytes of a key that signs: as many as its hash has. */
const KEY_BYTES = 32

/** A key as receivers of Standard Webhooks take it. */
export const signingKey = (random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array): string =>
  `whsec_${btoa(String.fromCharCode(...random(new Uint8Array(KEY_BYTES))))}`

const only = (kind: ChannelKind, name: string, more: Partial<FieldSpec> = {}): FieldSpec => ({
  kind: 'text',
  name: `${kind}.${name}`,
  when: ['kind', kind],
  ...more,
})
/** Of each kind the secret is something else. */
const secretOf = (kind: ChannelKind, more: Partial<FieldSpec> = {}): FieldSpec => ({
  has: 'hasSecret',
  kind: 'secret',
  name: 'secret',
  when: ['kind', kind],
  word: `${kind}.secret`,
  ...more,
})

export const CHANNELS: Family = {
  deletes: true,
  fields: [
    { kind: 'text', max: 160, name: 'name', required: true },
    { kind: 'choice', name: 'kind', of: KINDS },
    { initially: true, kind: 'tick', name: 'enabled' },
    only('email', 'host', { max: 255, required: true }),
    only('email', 'port', { kind: 'number', max: 65_535, min: 1, required: true }),
    only('email', 'security', { kind: 'choice', of: SECURITY }),
    only('email', 'username', { max: 255 }),
    secretOf('email'),
    only('email', 'from', { max: 254, required: true }),
    only('email', 'to', { kind: 'list' }),
    { kind: 'tick', name: 'forPeople', when: ['kind', 'email'] },
    only('webhook', 'url', { max: 1024, required: true }),
    secretOf('webhook', { made: signingKey, required: true }),
    only('ntfy', 'url', { max: 1024, required: true }),
    only('ntfy', 'topic', { max: 64, required: true }),
    secretOf('ntfy'),
  ],
  named: 'name',
  path: '/settings/notification-channels',
  read: 'settings:read',
  write: 'settings:manage',
}

/** What is usual, for a new one. */
export const USUAL: Thing & Values = {
  email: { port: 587, security: 'starttls' },
  id: '',
  ntfy: { url: 'https://ntfy.sh' },
}

/** Names of the rules that tell by this channel, at first or when nobody reacts. */
export const rulesOf = (id: string, rules: readonly NotificationRule[]): string[] =>
  rules
    .filter(({ channelId, escalateChannelId }) => channelId === id || escalateChannelId === id)
    .map(({ name }) => name)

/** Whether a rule can tell by it: a mail channel without recipients carries people's own mail only. */
export const reaches = ({ email, kind }: NotificationChannel): boolean =>
  kind !== 'email' || (email?.to ?? []).length > 0
