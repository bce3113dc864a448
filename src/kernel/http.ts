// The one HTTP client, on node's own: deadlines, bounded answers, bodies that stream, no redirects.
import * as http from 'node:http'
import * as https from 'node:https'
import type { LookupFunction } from 'node:net'
import { Readable } from 'node:stream'
import type { SecureContext } from 'node:tls'
import { UserError } from './fail.ts'
import { faultWords } from './words.ts'

export interface Question {
  /** Keeps connections open for further requests. Default: a connection of its own. */
  agent?: http.Agent
  body?: string | Uint8Array | Readable | undefined
  connectMs?: number
  headers: http.OutgoingHttpHeaders
  /** Finds the addresses of a name, and may refuse them: connections go to no others. Not asked about an address. */
  lookup?: LookupFunction
  method: 'GET' | 'HEAD' | 'POST' | 'PUT'
  signal?: AbortSignal | undefined
  /** Longest time in which nothing is sent or received. */
  silenceMs?: number
  /** Longest time from sending to the end of the answer. */
  timeoutMs?: number
  /** Trust and client certificate. Default: Node's. */
  tls?: Pick<https.RequestOptions, 'rejectUnauthorized'> & { secureContext?: SecureContext }
  url: URL
}

export interface Answer {
  headers: http.IncomingHttpHeaders
  status: number
  text: string
}

type Reason = 'aborted' | 'broken' | 'timeout' | 'too_large' | 'unreachable'

/** No complete answer arrived (any status counts as an answer). `cause`: the error of the system or TLS. */
export class NoAnswer extends UserError {
  readonly reason: Reason

  constructor(message: string, reason: Reason = 'unreachable', cause?: unknown) {
    super(message)
    this.reason = reason
    this.cause = cause
  }
}

type Take<T> = (response: http.IncomingMessage, alive: () => void) => Promise<T>

/** Sends a request and reads the whole answer. @throws NoAnswer */
export const ask = (question: Question & { maxBytes: number }): Promise<Answer> =>
  send(question, (response) => whole(response, question.maxBytes))

/**
 * Sends a request and passes the answer to `take` as a stream; the overall timeout restarts whenever `take` calls `alive`.
 * @throws NoAnswer; a UserError of `take` as it is, anything else of it counts as a broken answer
 */
export async function send<T>(question: Question, take: Take<T>): Promise<T> {
  try {
    return await once(question, take)
  } catch (e) {
    if (!(e instanceof ClosedWhileIdle) || question.body instanceof Readable) throw e
    return await once(question, take)
  }
}

/** A kept connection that the other side closed just as it was used: the request was not processed (RFC 9112, 9.3.1). */
class ClosedWhileIdle extends NoAnswer {}

function once<T>(question: Question, take: Take<T>): Promise<T> {
  const { agent = false, body, headers, lookup, method, signal, tls, url } = question
  const { promise, reject, resolve } = Promise.withResolvers<T>()
  const request =
    url.protocol === 'https:'
      ? https.request(url, { agent, headers, lookup, method, ...tls })
      : http.request(url, { agent, headers, lookup, method })
  const limits = limit(request, question)
  const abort = () => request.destroy(new NoAnswer('request aborted', 'aborted'))
  const settle = () => {
    limits.clear()
    signal?.removeEventListener('abort', abort)
  }
  const fail = (e: unknown, reason: Reason) => {
    settle()
    reject(e instanceof UserError ? e : new NoAnswer(faultWords(e, url.host), reason, e))
  }
  let answered = false
  request.on('error', (e: NodeJS.ErrnoException) => {
    const idle = request.reusedSocket && (e.code === 'ECONNRESET' || e.code === 'EPIPE')
    // After an early answer, failing to send the rest of the body does not matter.
    if (!answered) fail(idle ? new ClosedWhileIdle(faultWords(e, url.host), 'unreachable', e) : e, 'unreachable')
    else if (e instanceof NoAnswer) fail(e, e.reason)
  })
  request.once('response', (response) => {
    answered = true
    take(response, limits.alive)
      .then(
        (taken) => {
          settle()
          resolve(taken)
        },
        (e) => fail(e, 'broken'),
      )
      // Unread rest of either body would keep the connection busy for ever.
      .finally(() => (request.writableFinished && response.complete) || request.destroy())
  })
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  sendBody(request, body)
  return promise
}

/** Destroys the request when connecting, a silence, or the whole takes too long. */
function limit(request: http.ClientRequest, { connectMs, silenceMs, timeoutMs }: Question) {
  const destroyAfter = (ms: number | undefined, what: string) => {
    const late = () => request.destroy(new NoAnswer(`${what} within ${Number(ms) / 1000} s`, 'timeout'))
    return ms === undefined ? undefined : setTimeout(late, ms)
  }
  const connecting = destroyAfter(connectMs, 'no connection')
  const deadline = destroyAfter(timeoutMs, 'no whole answer')
  request.once('socket', (socket) => {
    const connected = () => clearTimeout(connecting)
    if (socket.connecting) socket.once('encrypted' in socket ? 'secureConnect' : 'connect', connected)
    else connected()
  })
  if (silenceMs !== undefined)
    request.setTimeout(silenceMs, () =>
      request.destroy(new NoAnswer(`the other side was silent for ${silenceMs / 1000} s`, 'timeout')),
    )
  return {
    alive: () => void deadline?.refresh(),
    clear: () => {
      clearTimeout(connecting)
      clearTimeout(deadline)
    },
  }
}

/** A stream stops as soon as an answer has come, for it will not be read any further. */
function sendBody(request: http.ClientRequest, body: Question['body']): void {
  if (!(body instanceof Readable)) {
    request.end(body)
    return
  }
  body.once('error', (e) => request.destroy(e))
  request.once('response', () => {
    body.unpipe(request)
    body.destroy()
  })
  request.once('close', () => body.destroy())
  body.pipe(request)
}

/** All of an answer. @throws NoAnswer when it breaks off, or is longer than `maxBytes` */
export async function whole(
  response: http.IncomingMessage,
  maxBytes: number,
  onPiece: (piece: Buffer) => void = () => {},
): Promise<Answer> {
  const pieces: Buffer[] = []
  for await (const piece of counted(response, maxBytes)) {
    pieces.push(piece)
    onPiece(piece)
  }
  return { headers: response.headers, status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString('utf8') }
}

/** The pieces of an answer. @throws NoAnswer as `whole` does, also for fewer bytes than announced */
export async function* counted(response: http.IncomingMessage, maxBytes: number): AsyncGenerator<Buffer> {
  let size = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > maxBytes) throw new NoAnswer(`the answer is longer than ${maxBytes} bytes`, 'too_large')
    yield piece
  }
  if (!response.complete) throw new NoAnswer('the response was cut off', 'broken')
}

/** Parses JSON; undefined when it is not valid. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
