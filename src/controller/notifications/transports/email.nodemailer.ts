// Mail by SMTP, through nodemailer: one connection for each message.

import type { NodemailerError, SendMailOptions } from 'nodemailer'
import { systemWords } from '../../../kernel/words.ts'
import type { EmailOptions } from '../../../wire/notifications.ts'
import { emailFault } from './channel.rules.ts'
import { verdictOf, warningOf } from './email.rules.ts'
import { tlsFault } from './faults.ts'
import { htmlOf, textOf, titleOf } from './render.rules.ts'
import {
  bounded,
  type Message,
  MOST_ERROR_CHARACTERS,
  type Transport,
  type TransportBase,
  TransportError,
} from './transport.ts'

/** Longest times of an attempt, in ms: until the session is set up, without a byte from the server, and altogether. */
const PATIENCE = { setUpMs: 25_000, silenceMs: 20_000, wholeMs: 60_000 }
const MAX_RESPONSE_BYTES = 64 * 1024

/** `secret`: the password of `username`. */
export function emailTransport(
  options: EmailOptions,
  secret: string | undefined,
  base: TransportBase,
  patience = PATIENCE,
): Transport {
  const at = `${options.host}:${options.port}`
  return {
    async send(message, signal) {
      const fault = emailFault(options, secret)
      if (fault !== undefined) throw new TransportError(fault)
      const whole = AbortSignal.any([signal, AbortSignal.timeout(patience.wholeMs)])
      try {
        const mailer = await mailerOf(options, secret, base, patience)
        const { rejectedErrors = [] } = await mailer.sendMail({ ...mailOf(message, options), signal: whole })
        const warning = warningOf(rejectedErrors, at, secretsOf(options, secret))
        return warning === undefined ? {} : { warning: bounded(warning, MOST_ERROR_CHARACTERS) }
      } catch (e) {
        if (whole.aborted) throw new TransportError(endedEarly(at, signal, patience.wholeMs))
        throw mailFault(e as NodemailerError, at, secretsOf(options, secret))
      }
    },
  }
}

/** The library is loaded with the first mail. */
async function mailerOf(
  { host, port, security, username }: EmailOptions,
  secret: string | undefined,
  base: TransportBase,
  { setUpMs, silenceMs }: typeof PATIENCE,
) {
  const { createTransport } = await import('nodemailer')
  return createTransport({
    host,
    port,
    secure: security === 'tls',
    // Without it a server that offers no STARTTLS, or somebody between who takes the offer away, would get everything readable.
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    tls: { rejectUnauthorized: true, ...base.tls },
    // A server that offers no login is not sent a message as if none was needed.
    ...(username === undefined ? {} : { auth: { pass: secret, user: username }, forceAuth: true }),
    connectionTimeout: setUpMs,
    dnsTimeout: setUpMs,
    greetingTimeout: setUpMs,
    socketTimeout: silenceMs,
    maxResponseSize: MAX_RESPONSE_BYTES,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

/** More is not read in a list of mails. */
const MOST_NAME_CHARACTERS = 80

function mailOf(message: Message, { from, to }: EmailOptions): SendMailOptions {
  return {
    from: message.from === undefined ? from : { address: from, name: bounded(message.from, MOST_NAME_CHARACTERS) },
    to,
    subject: titleOf(message),
    text: textOf(message),
    html: htmlOf(message),
    date: new Date(message.at),
    ...threadOf(message, from),
    // Absence notes and mailing lists are not to answer (RFC 3834), Exchange included.
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    ...(message.severity === 'critical' && message.kind !== 'resolved' ? { priority: 'high' as const } : {}),
  }
}

/** The first message of a conversation is known by the conversation; the others answer it. */
function threadOf({ conversation, id, opens }: Message, from: string) {
  const idOf = (left: string) => `<${left.replace(/[^\w.-]/g, '-').slice(-100)}@${domainOf(from)}>`
  if (conversation === undefined) return { messageId: idOf(id) }
  const first = idOf(conversation)
  return opens ? { messageId: first } : { inReplyTo: first, messageId: idOf(id), references: first }
}

/** Of the sender: a Message-ID below a domain that does not exist looks like spam. */
const domainOf = (from: string): string => /@([a-z0-9.-]+)/i.exec(from)?.[1]?.toLowerCase() ?? 'roomtone.invalid'

/** Everything a server might quote of a login. */
function secretsOf({ username = '' }: EmailOptions, secret: string | undefined): string[] {
  if (!secret) return []
  const encoded = [secret, `\0${username}\0${secret}`].map((text) => Buffer.from(text).toString('base64'))
  return [secret, ...encoded]
}

const endedEarly = (at: string, signal: AbortSignal, wholeMs: number): string =>
  signal.aborted
    ? `the attempt was ended before the mail server ${at} had taken the message`
    : `the mail server ${at} did not take the message within ${wholeMs / 1000} s: check its log`

function mailFault(e: NodemailerError, at: string, secrets: readonly string[]): TransportError {
  // The library puts its own code in the place of the system's.
  const original = Object.assign(new Error(e.message), e, { code: e.originalCode ?? e.code })
  const words = e.timeoutType || e.responseCode ? undefined : (tlsFault(original, at) ?? systemWords(original, at))
  if (words !== undefined) return new TransportError(words)
  const verdict = verdictOf({ ...e, message: e.message }, at, secrets)
  return new TransportError(verdict.words, { final: verdict.final })
}
