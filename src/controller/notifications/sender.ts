import { iso } from '../../kernel/clock.ts'
import { Fail } from '../../kernel/fail.ts'
import type { Ids } from '../../kernel/ids.ts'
import type { ChannelTest, NotificationChannel } from '../../wire/notifications.ts'
import type { AcknowledgeLinks } from './acknowledge.store.ts'
import type { Waiting } from './attempts.store.ts'
import type { ChannelStore, OpenedChannel } from './channels.store.ts'
import { digestMessage, eventMessage, reportMessage, type Sender, testMessage } from './compose.rules.ts'
import type { Report } from './report.store.ts'
import type { Subject } from './subjects.store.ts'
import { emailTransport } from './transports/email.nodemailer.ts'
import { ntfyTransport } from './transports/ntfy.ts'
import {
  type Message,
  type Receipt,
  type Transport,
  type TransportBase,
  TransportError,
} from './transports/transport.ts'
import { webhookTransport } from './transports/webhook.ts'

interface SenderParts {
  base: TransportBase
  channels: ChannelStore
  links: AcknowledgeLinks
  /** What messages say of the controller, read anew for each. */
  sender: () => Sender
}

/** Composes what is queued, and sends it through its channel. */
export function sending(parts: SenderParts) {
  const transportOf = (channel: OpenedChannel, to?: string): Transport => {
    const { base } = parts
    if (channel.kind === 'webhook') return webhookTransport(channel.options, channel.secret, base)
    if (channel.kind === 'ntfy') return ntfyTransport(channel.options, channel.secret, base)
    return emailTransport(to === undefined ? channel.options : { ...channel.options, to: [to] }, channel.secret, base)
  }
  return {
    /** @throws TransportError; Fail for a secret that cannot be read */
    send: (channelId: string, message: Message, to: string | undefined, signal: AbortSignal): Promise<Receipt> =>
      transportOf(parts.channels.open(channelId), to).send(message, signal),
    /** The message of one queued row, or the digest of several. */
    compose: (rows: readonly Waiting[]): Message => composed(parts, rows),
    /** A message that only says that it arrived. */
    test: (id: string, createdAt: string): Message => testMessage(parts.sender(), { createdAt, id, kind: 'test' }),
  }
}
export type Sending = ReturnType<typeof sending>

function composed({ links, sender }: SenderParts, rows: readonly Waiting[]): Message {
  const [first] = rows as [Waiting]
  const { conversation, createdAt, id, kind } = first
  const from = sender()
  if (first.batch !== null) {
    const subjects = rows.map(({ content, kind }) => ({ ...(JSON.parse(content) as Subject), kind }))
    return digestMessage(from, { createdAt, id: first.batch, kind: 'event' }, subjects)
  }
  const part = {
    acknowledgeToken: first.acknowledgeHash === null ? undefined : links.tokenOf(id),
    conversation: conversation ?? undefined,
    createdAt,
    id,
  }
  const content = JSON.parse(first.content)
  if (kind === 'report') return reportMessage(from, { ...part, kind }, content as Report)
  if (kind === 'test') return testMessage(from, { ...part, kind })
  return eventMessage(from, { ...part, kind }, content as Subject)
}

interface TestParts {
  clock: { now(): number }
  ids: Ids
  sending: Sending
}

/** A test is answered within this time. */
const PATIENCE_MS = 15_000

/** Sends a test through a channel, at once and beside its queue. */
export const tester =
  ({ clock, ids, sending }: TestParts) =>
  async (channel: NotificationChannel, gone: AbortSignal): Promise<{ id: string; result: ChannelTest }> => {
    const id = ids.make('notification')
    const signal = AbortSignal.any([gone, AbortSignal.timeout(PATIENCE_MS)])
    try {
      const { warning } = await sending.send(channel.id, sending.test(id, iso(clock.now())), undefined, signal)
      return { id, result: warning === undefined ? { ok: true } : { error: warning, ok: true } }
    } catch (e) {
      if (signal.aborted)
        return { id, result: { error: `the receiver did not answer within ${PATIENCE_MS / 1000} s`, ok: false } }
      if (e instanceof TransportError || e instanceof Fail) return { id, result: { error: e.message, ok: false } }
      throw e
    }
  }
export type Tester = ReturnType<typeof tester>
