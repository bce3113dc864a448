// Whether a box reaches its controller: name, address, certificate, token, clock.
import * as dns from 'node:dns/promises'
import * as net from 'node:net'
import type { TLSSocket } from 'node:tls'
import { systemClock } from '../../kernel/clock.ts'
import * as http from '../../kernel/http.ts'
import { isLoopback } from '../../kernel/loopback.ts'
import { faultWords } from '../../kernel/words.ts'
import { advice, type Finding, type Fix } from '../../wire/doctor.ts'
import { shellWord } from '../../wire/install.ts'
import { livenessOf } from '../../wire/status.ts'
import { isUnknownIssuer, type Trust, tlsOptions } from '../host/trust.ts'
import { fail, ok, skipped, warn } from './examine.ts'

/** A controller as the settings name it. */
export interface Reached {
  allowInsecure: boolean
  names: Names
  trust: Trust
  url: string
}

/** Names of settings, for the words. */
interface Names {
  ca: string
  /** The file of the settings. */
  file: string
  insecure: string
  /** Restarted when one of them was changed. */
  unit: string
  url: string
}

const PATIENCE_MS = 6000
const MAX_BYTES = 256 * 1024
const MOST_QUOTED = 120

/** An answer, and what can be told of the other side by it. */
interface Answered extends http.Answer {
  /** How far this clock is ahead of the other side's, seconds. */
  ahead: number | undefined
  /** When the certificate ends, as it says itself. */
  until: string | undefined
}

/** One request that changes nothing. @throws NoAnswer */
export async function askController(
  { allowInsecure, trust, url }: Reached,
  path: string,
  given: Partial<Pick<http.Question, 'body' | 'method'>> & { signal: AbortSignal; token?: string },
): Promise<Answered> {
  const { signal, token, ...more } = given
  const address = new URL(`${url.replace(/\/+$/, '')}${path}`)
  const asked = systemClock.now()
  const question = {
    headers: { accept: 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    method: 'GET' as const,
    ...more,
    connectMs: PATIENCE_MS,
    signal,
    timeoutMs: PATIENCE_MS,
    tls: address.protocol === 'https:' ? tlsOptions(trust, allowInsecure) : {},
    url: address,
  }
  return await http.send(question, async (response) => {
    const until = certificateEnd(response.socket)
    const answer = await http.whole(response, MAX_BYTES)
    return { ...answer, ahead: aheadOf(asked, systemClock.now(), answer.headers.date), until }
  })
}

const certificateEnd = (socket: net.Socket): string | undefined =>
  'getPeerCertificate' in socket ? (socket as TLSSocket).getPeerCertificate().valid_to : undefined

/** `Date` has whole seconds and was written at some point between question and answer: only the rest counts. */
function aheadOf(asked: number, answered: number, date: string | undefined): number | undefined {
  const theirs = Date.parse(date ?? '')
  if (Number.isNaN(theirs)) return undefined
  return (Math.max(0, asked - (theirs + 1000)) - Math.max(0, theirs - answered)) / 1000
}

interface Reaching {
  /** How far this clock is ahead of the controller's, seconds; undefined when none answers. */
  ahead(): Promise<number | undefined>
  /** Whether what answers is a controller. */
  answers(): Promise<boolean>
  resolve(): Promise<Finding>
  tls(): Promise<Finding>
}

/** The checks of the way to the controller; they share one request. */
export function reaching(reached: Reached): Reaching {
  let first: Promise<Answered> | undefined
  const once = (): Promise<Answered> => {
    first ??= askController(reached, '/healthz', { signal: AbortSignal.timeout(PATIENCE_MS + 1000) })
    return first
  }
  // Whatever else answers there has no say: a captive portal has a clock, and takes any token.
  const controller = (): Promise<Answered | undefined> =>
    once().then(
      (answer) => (versionOf(answer) === undefined ? undefined : answer),
      () => undefined,
    )
  return {
    ahead: async () => (await controller())?.ahead,
    answers: async () => (await controller()) !== undefined,
    resolve: () => resolved(reached),
    tls: () =>
      once().then(
        (answer) => secured(reached, answer),
        (e) => unreached(reached, e),
      ),
  }
}

async function resolved({ names, url }: Reached): Promise<Finding> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  if (net.isIP(host)) return ok(`${host} is an address: no name has to be resolved`)
  try {
    const found = await dns.lookup(host, { all: true })
    return ok(`${host} is ${[...new Set(found.map(({ address }) => address))].slice(0, 4).join(', ')}`)
  } catch (e) {
    return fail(
      `The name in ${url} leads nowhere: ${faultWords(e, host)}`,
      advice(
        `Check ${names.url} in ${names.file}. Where no name server knows the name, write its address into /etc/hosts. Which name servers are asked:`,
        `resolvectl query ${shellWord(host)} || cat /etc/resolv.conf`,
      ),
    )
  }
}

/** The version of the controller that answers; undefined when it is none. */
const versionOf = ({ status, text }: http.Answer): string | undefined =>
  status === 200 ? livenessOf(http.jsonOf(text))?.version.slice(0, MOST_QUOTED) : undefined

function secured(reached: Reached, answer: Answered): Finding {
  const { allowInsecure, names, url } = reached
  const version = versionOf(answer)
  if (version === undefined) return foreign(reached, answer)
  const { host, hostname, protocol } = new URL(url)
  const who = `The controller at ${host} answers (version ${version})`
  if (protocol === 'http:' && isLoopback(hostname)) return ok(`${who}; within this machine, without TLS`)
  if (protocol === 'http:' || allowInsecure)
    return warn(
      `${who}, but who it is is not verified: the token and the audio could be read on the way`,
      advice(
        `Set ${names.url} to an https address and ${names.ca} to the site's ca.pem in ${names.file}, and remove ${names.insecure}. Then:`,
        `sudo systemctl restart ${names.unit}`,
      ),
    )
  return ok(`${who} with a certificate this machine trusts, valid until ${answer.until ?? 'an unknown day'}`)
}

/** Something answers that is no controller. */
function foreign({ names, url }: Reached, { headers, status }: Answered): Finding {
  const { host } = new URL(url)
  const check = `Check address and port of ${names.url} in ${names.file}`
  if (status >= 300 && status < 400)
    return fail(
      `${host} is no controller: it sends visitors to ${(headers.location ?? 'nowhere').slice(0, MOST_QUOTED)} (status ${status})`,
      asked(
        `If that is the sign-in page of the network, have this machine let through without one. ${check}. What it answers:`,
        url,
      ),
    )
  if (status >= 502 && status <= 504)
    return fail(
      `A proxy answers at ${host}, and has no controller behind it (status ${status})`,
      asked('Look on its machine whether the controller runs, and at where the proxy sends to. What it answers:', url),
    )
  const kind = (headers['content-type'] ?? 'no type').split(';')[0]?.slice(0, MOST_QUOTED)
  return fail(
    `What answers at ${host} is no controller of Roomtone (status ${status}, ${kind})`,
    asked(`${check}: what answers may be another product or the sign-in page of the network. This shows which:`, url),
  )
}

const asked = (words: string, url: string): Fix => advice(words, `curl -sSi ${healthOf(url)}`)

const healthOf = (url: string): string => shellWord(`${url.replace(/\/+$/, '')}/healthz`)

const BY_CODE: Record<string, (names: Names, host: string) => [what: string, fix: Fix]> = {
  CERT_HAS_EXPIRED: () => [
    'its certificate has expired',
    advice(
      'Is the clock of this machine right (clock.synced)? If so, put the new certificate of its authority in place on the controller; where that is the one of Roomtone, on the controller:',
      'sudo roomtone tls renew',
    ),
  ],
  CERT_NOT_YET_VALID: () => [
    'its certificate is not valid yet',
    advice(
      'Set the clock of this machine first (clock.synced). If it is right, the one of the controller was wrong; there:',
      'sudo roomtone tls renew',
    ),
  ],
  ERR_TLS_CERT_ALTNAME_INVALID: ({ file, url }, host) => [
    `its certificate is not for ${host}`,
    advice(
      `Name it in ${url} (${file}) as the certificate does. Or have it made for this name, on the controller:`,
      `sudo roomtone tls renew --host ${shellWord(host)}`,
    ),
  ],
}

const unknownIssuer = ({ ca, file, unit }: Names): [what: string, fix: Fix] => [
  'no authority this machine trusts has signed its certificate',
  advice(
    `Bring /etc/roomtone/tls/ca.pem of the controller here as /etc/roomtone/controller-ca.pem, and set ${ca}=/etc/roomtone/controller-ca.pem in ${file}. Then:`,
    `sudo systemctl restart ${unit}`,
  ),
]

function unreached({ names, url }: Reached, e: unknown): Finding {
  const { host, hostname } = new URL(url)
  const cause = e instanceof http.NoAnswer ? (e.cause ?? e) : e
  const { code = '' } = cause as NodeJS.ErrnoException
  const known = isUnknownIssuer(cause)
    ? unknownIssuer(names)
    : Object.hasOwn(BY_CODE, code)
      ? BY_CODE[code]?.(names, hostname)
      : undefined
  if (known) return fail(`${host} is not trusted: ${known[0]}`, known[1])
  return fail(
    `The controller is not reached: ${faultWords(e, host)}`,
    advice(
      `Check ${names.url} in ${names.file}, the cable, firewalls in between, and on its machine whether the controller runs. How far it gets from here:`,
      `curl -vsS ${healthOf(url)}`,
    ),
  )
}

/** What an answer says of a token. `fix`: how a good one comes here. */
export function judgeToken({ status }: Pick<http.Answer, 'status'>, fix: Fix): Finding {
  if (status === 401 || status === 403) return fail(`The controller refuses the token (status ${status})`, fix)
  if (status === 429 || status >= 500) return skipped(`The controller is busy (status ${status}): nothing was learnt`)
  return ok('The controller accepts the token')
}
