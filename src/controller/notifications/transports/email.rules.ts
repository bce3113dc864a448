// What an answer of a mail server means: whether to try again, and what to do.
import { redacted } from '../../../kernel/redact.ts'

/** What the mail library tells of a failure. */
interface MailFault {
  code?: string | undefined
  /** The command that failed: MAIL FROM, RCPT TO, DATA, AUTH ... */
  command?: string | undefined
  message: string
  /** Refusals of recipients. */
  rejectedErrors?: readonly Refusal[] | undefined
  /** The server's answer and its code. */
  response?: string | undefined
  responseCode?: number | undefined
  /** Which wait was too long. */
  timeoutType?: string | undefined
}

interface Refusal {
  recipient?: string | undefined
  response?: string | undefined
  responseCode?: number | undefined
}

interface Verdict {
  final: boolean
  words: string
}

/** Refusals of whoever is not signed in or not encrypted (RFC 3207, RFC 4954): settings are wrong, not the message. */
const UNTRUSTED = [530, 534, 535, 538]

const isFinal = (code: number | undefined): boolean => code !== undefined && code >= 500 && !UNTRUSTED.includes(code)

/**
 * Judges a failed attempt at the mail server `at`. Final is what the server refuses for good about recipients or the message;
 * a refused login, sender or connection is a fault of the channel, which may be mended before the message is too old.
 */
export function verdictOf(fault: MailFault, at: string, secrets: readonly string[]): Verdict {
  const said = saidBy(fault.response, secrets)
  const retry = (words: string): Verdict => ({ final: false, words })
  if (fault.code === 'EAUTH')
    return retry(`the mail server ${at} refused the login${said}: check user name and password of the channel`)
  if (fault.code === 'ETLS')
    return retry(
      `the mail server ${at} offers no TLS that works, and nothing is sent without it${said}: check port and security of the channel`,
    )
  if (fault.code === 'ETIMEDOUT') return retry(waitedFor(fault.timeoutType, at))
  if (fault.command === 'RCPT TO') return recipientsOf(fault, at, secrets)
  if (fault.command === 'MAIL FROM' && fault.code === 'EENVELOPE')
    return retry(`the mail server ${at} refused the sender${said}: check the sender's address and the user name`)
  if (fault.code === 'EMESSAGE' || fault.command === 'DATA')
    return {
      final: isFinal(fault.responseCode) || (fault.code === 'EMESSAGE' && fault.responseCode === undefined),
      words: `the mail server ${at} did not take the message${said || `: ${fault.message}`}`,
    }
  return retry(`the mail server ${at} broke off${said}: check host, port and security of the channel, and its log`)
}

/** Nobody was accepted: final when nobody will ever be. */
function recipientsOf(fault: MailFault, at: string, secrets: readonly string[]): Verdict {
  const refusals = fault.rejectedErrors ?? [fault]
  return {
    final: refusals.every(({ responseCode }) => isFinal(responseCode)),
    words: `the mail server ${at} refused all recipients: ${listOf(refusals, secrets)}`,
  }
}

/** Who got nothing although others did; undefined when there is nobody. */
export function warningOf(refusals: readonly Refusal[], at: string, secrets: readonly string[]): string | undefined {
  if (refusals.length === 0) return undefined
  return `sent, but the mail server ${at} refused ${listOf(refusals, secrets)}: check these addresses`
}

const NAMED = 3

function listOf(refusals: readonly Refusal[], secrets: readonly string[]): string {
  const named = refusals
    .slice(0, NAMED)
    .map(({ recipient, response }) => `${recipient ?? 'a recipient'}${saidBy(response, secrets)}`)
  const rest = refusals.length - named.length
  return `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** Short, so that what to do still fits behind it. */
const SAID = 120

/**
 * The code and the first line of an answer. What has no code comes from no mail server: what a service of another kind says
 * to whoever knocks is nothing for those who manage channels.
 */
function saidBy(response: string | undefined, secrets: readonly string[]): string {
  if (!response) return ''
  const answer = /^\s*([2-5]\d\d)(?:[ -](.*))?/.exec(redacted(response, secrets))
  if (!answer) return ' (it does not answer as a mail server does)'
  const [, code = '', text = ''] = answer
  const line = `${code} ${text.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim()}`.trim()
  return ` (${line.length > SAID ? `${line.slice(0, SAID).trimEnd()}…` : line})`
}

function waitedFor(what: string | undefined, at: string): string {
  const waits: Record<string, string> = {
    CONNECT_TIMEOUT: `${at} did not answer in time: check host and port, and that no firewall is in the way`,
    GREETING_TIMEOUT: `the mail server ${at} did not greet in time: check port and security of the channel`,
    UPGRADE_TIMEOUT: `the mail server ${at} did not agree on TLS in time: check its certificate and its log`,
  }
  return waits[what ?? ''] ?? `the mail server ${at} fell silent: check its log`
}
