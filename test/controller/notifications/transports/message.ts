// A message of the kind people get, for the tests of every channel.
import type { SecureContext } from 'node:tls'
import {
  type Message,
  type Receipt,
  type Transport,
  type TransportBase,
  TransportError,
} from '../../../../src/controller/notifications/transports/transport.ts'

export const AT = '2026-11-26T06:30:00.000Z'

export const message = (different: Partial<Message> = {}): Message => ({
  id: '0196a3c4-5d6e-7f80-91a2-b3c4d5e6f708',
  kind: 'event',
  severity: 'critical',
  title: 'Aula 3: the microphone is silent',
  paragraphs: [
    'For 2 minutes no sound has come from channel 1 (lectern) while a recording runs.',
    'Check that the microphone is switched on and that its cable is in the recorder.',
  ],
  facts: [
    ['Room', 'Aula 3, North campus'],
    ['Recorder', 'rt-aula-3'],
    ['Recording', 'Introduction to Acoustics, 26 November'],
    ['Since', '26 November 2026, 07:28'],
  ],
  url: 'https://roomtone.example.org/alerts/0196a3c4?from=mail&at=1',
  acknowledgeUrl: 'https://roomtone.example.org/a/4f9d2c8b7a6e5d4c3b2a190817263544',
  conversation: 'health-0196a3c4',
  opens: true,
  at: AT,
  body: {
    type: 'health.opened',
    timestamp: AT,
    data: { event: { type: 'watchdog.silence' }, url: 'https://x.example' },
  },
  ...different,
})

/** A controller at another address that may call anybody. */
export const base = (different: Partial<TransportBase> = {}, secureContext?: SecureContext): TransportBase => ({
  allowPrivate: true,
  now: () => Date.parse(AT),
  own: { origins: ['https://roomtone.example.org'], port: 1 },
  ...(secureContext ? { tls: { secureContext } } : {}),
  ...different,
})

export const sent = (transport: Transport, different: Partial<Message> = {}): Promise<Receipt> =>
  transport.send(message(different), new AbortController().signal)

/** Why it was not sent. @throws when it was, or for an error of another kind */
export async function refusal(transport: Transport, different: Partial<Message> = {}, signal?: AbortSignal) {
  try {
    await transport.send(message(different), signal ?? new AbortController().signal)
  } catch (e) {
    if (e instanceof TransportError) return e
    throw e
  }
  throw new Error('the message was sent')
}

/** Names nobody should be able to do harm with. */
export const HOSTILE = [
  'Aula\r\nBcc: everybody@example.org',
  'Aula\n\nDear reader',
  '<script>alert(1)</script><img src=https://evil.example/t.gif>',
  '"><a href="https://evil.example">Open</a>',
  'Aula \u202egnp.exe\u202c 3\u2066x\u2069',
  `A${'ä'.repeat(9_999)}`,
  '\u0000\u0007\u001b[31mred\u2028next\u2029last\ud800',
  '=?utf-8?Q?=0D=0ABcc:_x=40example.org?=',
] as const
