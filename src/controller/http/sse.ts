// Server-sent events (HTML living standard, 9.2), one writer per client.
import type { StreamRequest, Streams } from './streams.ts'

/** Events for one client: only the newest of each key waits, so that a slow client skips events instead of buffering. */
export interface EventQueue {
  /** The text is made when it is sent; undefined sends nothing. */
  put(key: string, event: string, data: () => string | undefined): void
}

/** What feeds the events of one client. */
export interface EventSource {
  /** When more wait, all are dropped and `resync` is sent in their place. */
  maxWaiting?: number
  /** Starts feeding; @returns the function that ends it */
  begin(queue: EventQueue): () => void
  /** Sent while there is nothing else, as an event that a browser tells its page of; a comment when absent. */
  idle?: string
  mayGoOn(): boolean
}

const HEADERS = {
  'cache-control': 'no-cache',
  'content-type': 'text/event-stream',
  // A buffering proxy would never pass an endless answer on.
  'x-accel-buffering': 'no',
}
const BATCH_CHARS = 64 * 1024
// Each may ask the database whether its reader may have it.
const BATCH_EVENTS = 100

const utf8 = new TextEncoder()
const COMMENT = ': still here\n\n'
// Also the first bytes: they open the connection before anything has happened.
const GREETING = 'retry: 2000\n\n'

/** An endless answer of events; ends when the client has gone, when `mayGoOn` is false, and at stop. @throws Fail 429 */
export function eventStream(streams: Streams, userId: string, request: StreamRequest, source: EventSource): Response {
  const waiting = new Map<string, () => string>()
  let opening = GREETING
  const take = (): Uint8Array | undefined => {
    let text = opening
    opening = ''
    let sent = 0
    for (const [key, line] of waiting) {
      if (text.length >= BATCH_CHARS || ++sent > BATCH_EVENTS) break
      waiting.delete(key)
      text += line()
    }
    return text ? utf8.encode(text) : undefined
  }
  const begin = (wake: () => void): (() => void) =>
    source.begin({
      put(key, event, data) {
        if (waiting.size >= (source.maxWaiting ?? Number.POSITIVE_INFINITY) && !waiting.has(key)) {
          waiting.clear()
          waiting.set('resync', () => eventText('resync', '{}'))
        }
        waiting.set(key, () => eventText(event, data()))
        wake()
      },
    })
  const idle = utf8.encode(source.idle === undefined ? COMMENT : eventText(source.idle, '{}'))
  const body = streams.stream(userId, request, { begin, idle, mayGoOn: () => source.mayGoOn(), take })
  return new Response(body, { headers: HEADERS })
}

// JSON has no line breaks: one data line is enough.
const eventText = (event: string, data: string | undefined): string =>
  data === undefined ? '' : `event: ${event}\ndata: ${data}\n\n`
