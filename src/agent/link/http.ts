// One request, one answer, on node's own client: deadlines, bounded answers, no redirects, abortable bodies.

import * as http from 'node:http'
import * as https from 'node:https'
import { Readable } from 'node:stream'
import type * as tls from 'node:tls'
import { UserError } from '../../kernel/fail.ts'
import type { Answer } from '../../kernel/http.ts'
import * as client from '../../kernel/http.ts'
import { isLoopback } from '../../kernel/loopback.ts'
import { isWrongTime, secureContext, stampOf, type Trust, tlsAdvice } from '../../system/host/trust.ts'
import { LinkError, WRONG_TIME } from './link.ts'

export interface HttpOptions extends Trust {
  allowInsecure: boolean
  connectTimeoutMs: number
  /** Longest silence of the controller. */
  readTimeoutMs: number
  /** Longest duration of an upload. */
  requestTimeoutMs: number
  /** Base address without a trailing slash. */
  url: string
}

interface Ask {
  body?: string | Uint8Array | Readable
  headers: http.OutgoingHttpHeaders
  method: 'GET' | 'HEAD' | 'POST' | 'PUT'
  /** From the root, with query. */
  path: string
  signal?: AbortSignal | undefined
  /** Longest silence, where it is to be shorter than usual. */
  silenceMs?: number
  /** Time the controller may keep the request open on purpose (long poll). */
  waitMs?: number
}

export interface Http {
  /** Any answer the controller gives. Throws LinkError without status when there is none. */
  ask(ask: Ask): Promise<Answer>
  close(): void
}

const MAX_ANSWER_BYTES = 4 * 1024 * 1024

interface Connections {
  /** The one for the next request. */
  agent(): http.Agent
}

function plainConnections(): Connections {
  const agent = new http.Agent({ keepAlive: true })
  return { agent: () => agent }
}

/** Rereads authorities and certificate when their files change: they are renewed while recordings run. */
function secureConnections(options: HttpOptions): Connections {
  const make = () =>
    new https.Agent({
      keepAlive: true,
      rejectUnauthorized: !options.allowInsecure,
      secureContext: trusting(options),
    })
  let stamp = stampOf(options)
  let agent = make()
  return {
    agent() {
      const now = stampOf(options)
      if (now === stamp) return agent
      stamp = now
      try {
        // Requests under way keep their connections.
        agent = make()
      } catch (e) {
        // Only some of the files are in place: keep the old ones until the rest arrives.
        if (!(e instanceof LinkError)) throw e
      }
      return agent
    },
  }
}

/** Opens nothing yet. Throws LinkError for an address, a CA file or a client certificate that may not be used. */
export function createHttp(options: HttpOptions): Http {
  const base = new URL(options.url)
  guardUrl(base, options.allowInsecure)
  const secure = base.protocol === 'https:'
  const connections = secure ? secureConnections(options) : plainConnections()
  const prefix = base.pathname.replace(/\/+$/, '')

  const ask = async ({ body, headers, method, path, signal, silenceMs: shorter, waitMs = 0 }: Ask): Promise<Answer> => {
    guardUrl(base, options.allowInsecure)
    const { connectTimeoutMs: connectMs, readTimeoutMs, requestTimeoutMs } = options
    const silenceMs = Math.min(readTimeoutMs, shorter ?? readTimeoutMs) + waitMs
    const timeoutMs = body instanceof Readable ? requestTimeoutMs : connectMs + silenceMs
    const limits = { connectMs, maxBytes: MAX_ANSWER_BYTES, silenceMs, timeoutMs }
    const url = new URL(prefix + path, base)
    try {
      return await client.ask({ ...limits, agent: connections.agent(), body, headers, method, signal, url })
    } catch (e) {
      if (e instanceof LinkError || !(e instanceof client.NoAnswer)) throw e
      if (signal?.aborted) throw new LinkError('stopped')
      throw new LinkError(
        `no answer from ${base.host}: ${tlsAdvice(e.cause, 'SVC_CONTROLLER_CA_CERT_PATH, or --controller-ca') ?? e.message}`,
        undefined,
        isWrongTime(e.cause) ? WRONG_TIME : undefined,
      )
    }
  }
  return { ask, close: () => connections.agent().destroy() }
}

/**
 * Decides before any byte is sent whether a token may travel to this address (ADR-0031).
 * Throws LinkError with the way out.
 */
export function guardUrl(url: URL, allowInsecure: boolean): void {
  if (url.protocol === 'https:') return
  if (url.protocol !== 'http:') throw new LinkError(`the controller address must be https or http, not ${url.protocol}`)
  if (allowInsecure || isLoopback(url.hostname)) return
  throw new LinkError(
    `refusing plain http to ${url.host}: the token and the audio would be readable on the way. ` +
      'Use an https address, or --allow-insecure-controller on a network for development.',
  )
}

/** One context for the life of the link. @throws LinkError naming the file that cannot be used. */
function trusting(trust: Trust): tls.SecureContext {
  try {
    return secureContext(trust)
  } catch (e) {
    if (e instanceof UserError) throw new LinkError(e.message)
    throw e
  }
}
