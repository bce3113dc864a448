// What a notification is to a channel, and what a channel's transport promises. Transports know no database.
import type { SecureContext } from 'node:tls'
import type { Clock } from '../../../kernel/clock.ts'
import { secureContext } from '../../../system/host/trust.ts'
import type { Config } from '../../config.ts'

/** One message, as every channel gets it. Texts may be of any length and hold line breaks or markup: transports see to that. */
export interface Message {
  /** The same on every attempt: webhook-id, and the left half of the Message-ID. */
  id: string
  kind: 'event' | 'resolved' | 'escalation' | 'report' | 'digest' | 'test'
  severity: 'info' | 'warning' | 'critical'
  /** Of what the transports add themselves. Default: English. */
  language?: 'en' | 'de'
  /** One line for people: subject, title. */
  title: string
  /** Paragraphs for people, plain text. */
  paragraphs: string[]
  /** Rows of a small table: label, value. */
  facts: [label: string, value: string][]
  /** Where it is mended: a page of the console; absent without a public address. */
  url?: string
  /** Page with one button that acknowledges. */
  acknowledgeUrl?: string
  /** Messages of one conversation share it: an event, its escalation and its resolution. */
  conversation?: string
  /** Whether it opens the conversation; otherwise it answers (In-Reply-To, References). */
  opens: boolean
  /** ISO time. */
  at: string
  /** Whom it comes from, as people call it. */
  from?: string
  /** Body of the webhook. */
  body: { type: string; timestamp: string; data: Record<string, unknown> }
}

/** What all transports of a controller are given. */
export interface TransportBase {
  /** Trust for servers; made once (`secureContext` of src/system/host/trust.ts). Default: Node's. */
  tls?: { secureContext: SecureContext }
  /** Unix ms. */
  now(): number
  /** Whether webhooks and ntfy may go to addresses of private networks and of this machine. */
  allowPrivate: boolean
  /** The controller itself, which is never called: its origins (`SVC_PUBLIC_URL`), and the port it listens on. */
  own: { origins: readonly string[]; port: number }
}

type Reached = Pick<Config, 'SVC_PORT' | 'SVC_PUBLIC_URL' | 'SVC_TRUSTED_CA_FILE' | 'SVC_WEBHOOK_ALLOW_PRIVATE'>

/** What all transports of a controller share. The authorities are read at the first use: that parses hundreds of certificates. */
export function transportBase(config: Reached, clock: Clock): TransportBase {
  let context: SecureContext | undefined
  const { SVC_PORT: port, SVC_PUBLIC_URL: url, SVC_TRUSTED_CA_FILE: alsoFile } = config
  return {
    allowPrivate: config.SVC_WEBHOOK_ALLOW_PRIVATE,
    now: () => clock.now(),
    own: { origins: url === undefined ? [] : [new URL(url).origin], port },
    get tls() {
      context ??= secureContext({ alsoFile })
      return { secureContext: context }
    },
  }
}

/** How a message arrived. `warning`: who did not get it although others did, in a sentence (mail to several people). */
export interface Receipt {
  warning?: string
}

/** A channel, ready to be used any number of times; one message at a time. */
export interface Transport {
  /** Resolves once the receiver has accepted the message. @throws TransportError */
  send(message: Message, signal: AbortSignal): Promise<Receipt>
}

/** Why a message was not delivered: what happened and what to do, without secrets, in at most 300 characters. */
export class TransportError extends Error {
  /** It is not tried again. */
  readonly final: boolean
  /** The receiver wants nothing any more (webhook 410): the channel is to be disabled. */
  readonly gone: boolean

  constructor(message: string, { final = false, gone = false, cause }: TransportFault = {}) {
    super(bounded(message, MOST_ERROR_CHARACTERS), { cause })
    this.final = final || gone
    this.gone = gone
  }
}

interface TransportFault {
  cause?: unknown
  final?: boolean
  gone?: boolean
}

export const MOST_ERROR_CHARACTERS = 300

/** The first half of a character outside the basic plane, at the end. */
const HALF = /[\ud800-\udbff]$/

/** On one line, well formed, and cut with an ellipsis where it is longer. */
export const bounded = (text: string, most: number): string => {
  const line = text
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  return line.length <= most
    ? line
    : `${line
        .slice(0, most - 1)
        .replace(HALF, '')
        .trimEnd()}…`
}
