// One request to another program over HTTP: a deadline, a bounded answer, no redirects, a connection of its own.
import * as http from 'node:http'
import * as https from 'node:https'
import { faultWords } from '../../kernel/words.ts'

/** One request, whoever reads its answer. */
interface Wish {
  body?: string
  headers: Record<string, string>
  method: 'GET' | 'POST'
  /** Ends the request early: the asker is stopping. */
  signal?: AbortSignal
  /** From here to the last byte of the answer. */
  timeoutMs: number
  url: URL
}

interface Ask extends Wish {
  maxBytes: number
}

export interface Answer {
  headers: http.IncomingHttpHeaders
  status: number
  text: string
}

type NoAnswer = 'aborted' | 'broken' | 'timeout' | 'too_large' | 'unreachable'

/** There was no whole answer. */
export class OutgoingError extends Error {
  readonly reason: NoAnswer

  constructor(reason: NoAnswer, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Asks once. @throws OutgoingError when no whole answer came; any status is an answer. */
export const ask = (wish: Ask): Promise<Answer> => asking(wish, (response) => whole(response, wish.maxBytes))

/**
 * Asks once, and hands the answer to `take` as it comes; the time is over when `take` is done, and begins anew whenever
 * that calls `alive`.
 * @throws OutgoingError when no whole answer came, `take`'s own when it is one; anything else of `take` counts as broken.
 */
export function asking<T>(
  wish: Wish,
  take: (response: http.IncomingMessage, alive: () => void) => Promise<T>,
): Promise<T> {
  const { body, headers, method, signal, timeoutMs, url } = wish
  return new Promise((resolve, reject) => {
    const client = url.protocol === 'https:' ? https : http
    const request = client.request(url, { agent: false, headers, method })
    const end = (why: OutgoingError): void => void request.destroy(why)
    const deadline = setTimeout(
      () => end(new OutgoingError('timeout', `no whole answer within ${timeoutMs / 1000} s`)),
      timeoutMs,
    )
    const aborted = () => end(new OutgoingError('aborted', 'the request was given up'))
    if (signal?.aborted) aborted()
    signal?.addEventListener('abort', aborted, { once: true })
    const settle = () => {
      clearTimeout(deadline)
      signal?.removeEventListener('abort', aborted)
    }
    const fail = (e: Error, reason: NoAnswer) => {
      settle()
      reject(e instanceof OutgoingError ? e : new OutgoingError(reason, faultWords(e, url.host)))
    }
    request.once('error', (e) => fail(e, 'unreachable'))
    request.once('response', (response) =>
      take(response, () => deadline.refresh()).then(
        (answer) => {
          settle()
          resolve(answer)
        },
        (e) => {
          request.destroy()
          fail(e, 'broken')
        },
      ),
    )
    request.end(body)
  })
}

/** All of an answer. @throws OutgoingError when it breaks off, or is longer than `maxBytes`. */
export async function whole(
  response: http.IncomingMessage,
  maxBytes: number,
  onPiece: (piece: Buffer) => void = () => {},
): Promise<Answer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw new OutgoingError('too_large', `the answer is longer than ${maxBytes} bytes`)
    chunks.push(chunk)
    onPiece(chunk)
  }
  if (!response.complete) throw new OutgoingError('broken', 'the answer broke off')
  return { headers: response.headers, status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }
}

/** The JSON in a text; undefined when it is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // A page of HTML, half an object: the caller's schema says what is missing.
    return undefined
  }
}
