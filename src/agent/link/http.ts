// One request, one answer, on node's own client: deadlines, bounded answers, no redirects, abortable bodies.
import * as http from 'node:http'
import * as https from 'node:https'
import { Readable } from 'node:stream'
import { faultWords } from '../../kernel/words.ts'
import { isWrongTime, stampOf, type Trust, tlsAdvice } from '../../system/host/trust.ts'
import { guardUrl } from './guard.ts'
import { LinkError, WRONG_TIME } from './link.ts'
import { trusting } from './trust.ts'

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
  /** Time the controller may keep the request open on purpose (long poll). */
  waitMs?: number
}

export interface Answer {
  headers: http.IncomingHttpHeaders
  status: number
  text: string
}

export interface Http {
  /** Any answer the controller gives. Throws LinkError without status when there is none. */
  ask(ask: Ask): Promise<Answer>
  close(): void
}

const MAX_ANSWER_BYTES = 4 * 1024 * 1024

/** A kept-alive connection that the peer closed just as we used it: the request was not processed (RFC 9112, 9.3.1). */
const closedWhileIdle = (request: http.ClientRequest, e: NodeJS.ErrnoException): boolean =>
  request.reusedSocket && (e.code === 'ECONNRESET' || e.code === 'EPIPE')

function readAnswer(response: http.IncomingMessage): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    response.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > MAX_ANSWER_BYTES) response.destroy(new Error('the answer is longer than 4 MiB'))
      else chunks.push(chunk)
    })
    response.once('error', reject)
    response.once('end', () => {
      const status = response.statusCode ?? 0
      resolve({ headers: response.headers, status, text: Buffer.concat(chunks).toString('utf8') })
    })
  })
}

/** Destroys the request when connecting, the answer or the whole takes too long. Returns the clean-up. */
function watch(request: http.ClientRequest, options: HttpOptions, ask: Ask): () => void {
  const silence = options.readTimeoutMs + (ask.waitMs ?? 0)
  const streaming = ask.body instanceof Readable
  const whole = streaming ? options.requestTimeoutMs : options.connectTimeoutMs + silence
  const give = (ms: number, what: string) =>
    setTimeout(() => request.destroy(new Error(`${what} within ${ms / 1000} s`)), ms)
  const connecting = give(options.connectTimeoutMs, 'no connection')
  const deadline = give(whole, 'no complete answer')
  request.once('socket', (socket) => {
    const connected = () => clearTimeout(connecting)
    if (socket.connecting) socket.once('encrypted' in socket ? 'secureConnect' : 'connect', connected)
    else connected()
  })
  request.setTimeout(silence, () => request.destroy(new Error(`the controller was silent for ${silence / 1000} s`)))
  return () => {
    clearTimeout(connecting)
    clearTimeout(deadline)
  }
}

/** Sends the body; stops as soon as an answer has come, for it will not be read any further. */
function sendBody(
  request: http.ClientRequest,
  body: string | Uint8Array | Readable | undefined,
  fail: (e: Error) => void,
): void {
  if (!(body instanceof Readable)) {
    request.end(body)
    return
  }
  body.once('error', fail)
  request.once('response', () => {
    body.unpipe(request)
    body.destroy()
  })
  request.once('close', () => body.destroy())
  body.pipe(request)
}

interface Connections {
  /** The one for the next request. */
  agent(): http.Agent
}

function plainConnections(): Connections {
  const agent = new http.Agent({ keepAlive: true })
  return { agent: () => agent }
}

/** Authorities and certificate are read again when their files change: they are renewed while recordings run. */
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
        // Requests under way keep the connections of before.
        agent = make()
      } catch (e) {
        // Half of the files are in place: what was read goes on, until the other half comes.
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

  const once = (ask: Ask): Promise<Answer> =>
    new Promise((resolve, reject) => {
      guardUrl(base, options.allowInsecure)
      const url = new URL(prefix + ask.path, base)
      const init = { agent: connections.agent(), headers: ask.headers, method: ask.method, signal: ask.signal }
      const request = secure ? https.request(url, init) : http.request(url, init)
      const unwatch = watch(request, options, ask)
      request.once('close', unwatch)
      let answered = false
      request.on('error', (e) => {
        // After an early answer the rest of the body fails to send: the answer counts.
        if (!answered) reject(Object.assign(e, { retry: closedWhileIdle(request, e) }))
      })
      request.once('response', (response) => {
        answered = true
        readAnswer(response)
          .then(resolve, reject)
          // An unfinished request body would keep the connection busy for ever.
          .finally(() => request.writableFinished || request.destroy())
      })
      sendBody(request, ask.body, (e) => request.destroy(e))
    })

  const ask = async (question: Ask): Promise<Answer> => {
    try {
      const repeatable = !(question.body instanceof Readable)
      return await once(question).catch((e: Error & { retry?: boolean }) => {
        if (e.retry && repeatable) return once(question)
        throw e
      })
    } catch (e) {
      if (e instanceof LinkError) throw e
      if (question.signal?.aborted) throw new LinkError('stopped')
      throw new LinkError(
        `no answer from ${base.host}: ${tlsAdvice(e, 'SVC_CONTROLLER_CA_CERT_PATH, or --controller-ca') ?? faultWords(e, base.host)}`,
        undefined,
        isWrongTime(e) ? WRONG_TIME : undefined,
      )
    }
  }
  return { ask, close: () => connections.agent().destroy() }
}
