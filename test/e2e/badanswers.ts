// What may come in place of a controller's answer, byte for byte on the connection; each ends it.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Dice, mutated, value } from '../sweeps/fuzz.ts'

export interface Said {
  body: Buffer
  headers: Record<string, string>
  status: number
}

type Twist = (d: Dice, said: Said, socket: Socket) => Promise<void> | void

/** More than any agent may take for an answer. */
const ENDLESS_BYTES = 16 * 2 ** 20
const POUR_MS = 5000
const JSON_TYPE = { 'content-type': 'application/json' }

const head = (status: number | string, headers: Record<string, string>): string =>
  `HTTP/1.1 ${status} Answer\r\n${Object.entries(headers)
    .map(([name, text]) => `${name}: ${text}\r\n`)
    .join('')}\r\n`

function answer(socket: Socket, status: number, headers: Record<string, string>, body: string | Buffer): void {
  const length = { connection: 'close', 'content-length': String(Buffer.byteLength(body)) }
  socket.write(head(status, { ...headers, ...length }))
  socket.end(body)
}

const json = (socket: Socket, what: unknown, status = 200): void =>
  answer(socket, status, JSON_TYPE, JSON.stringify(what) ?? '')

const parsed = ({ body }: Said): unknown => {
  try {
    return JSON.parse(body.toString())
  } catch {
    return {}
  }
}

const noise = (d: Dice, most: number): Buffer => Buffer.from(Array.from({ length: d.below(most) }, () => d.below(256)))

/** Writes as long as the other side reads, up to a bound. */
async function pour(socket: Socket, piece: string): Promise<void> {
  const signal = AbortSignal.timeout(POUR_MS)
  for (let sent = 0; sent < ENDLESS_BYTES && socket.writable; sent += piece.length)
    // Nobody reads any more.
    if (!socket.write(piece)) await once(socket, 'drain', { signal }).catch(() => socket.destroy())
  socket.destroy()
}

const HEADERS: readonly (readonly [string, string])[] = [
  ['content-length', '-1'],
  ['content-length', '99999999999'],
  ['content-length', '5, 7'],
  ['transfer-encoding', 'chunked'],
  ['transfer-encoding', 'gzip'],
  ['content-encoding', 'gzip'],
  ['content-type', 'text/plain; charset=utf-99'],
  ['date', 'never'],
  ['date', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  ['etag', 'x'.repeat(8000)],
  ['retry-after', '1e99'],
  ['retry-after', '-5'],
  ['set-cookie', 'a=b'],
  ['x-svc-term', '99999999999999999999'],
  ['x-svc-term', 'x'],
  ['upload-offset', '-1'],
  ['upload-offset', '1e300'],
  ['bad header', 'x'],
]

/** None of them can be taken for a controller's word: whatever is under way goes on. */
export const NOISE: Record<string, Twist> = {
  /** Less than the head tells. */
  cutOff: (d, { body, headers, status }, socket) => {
    socket.write(head(status, { ...headers, 'content-length': String(body.length + 1 + d.below(100)) }))
    socket.end(body.subarray(0, d.below(body.length + 1)))
  },
  deep: (d, _, socket) => answer(socket, 200, JSON_TYPE, '{"data":'.concat('['.repeat(1000 + d.below(200_000)))),
  endless: (_, __, socket) => {
    socket.write(head(200, { ...JSON_TYPE, connection: 'close' }))
    return pour(socket, `{"data":"${'x'.repeat(65_536)}`)
  },
  endlessHead: (_, __, socket) => {
    socket.write('HTTP/1.1 200 Answer\r\n')
    return pour(socket, `x-more: ${'y'.repeat(4000)}\r\n`)
  },
  garbage: (d, _, socket) => void socket.end(noise(d, 3000)),
  notJson: (d, _, socket) => answer(socket, 200, JSON_TYPE, noise(d, 3000)),
  nothing: (_, __, socket) => void socket.destroy(),
  portal: (_, __, socket) =>
    answer(socket, 200, { 'content-type': 'text/html' }, '<title>Welcome to the guest network</title>'),
  redirect: (d, _, socket) => answer(socket, d.of([301, 302, 307, 308]), { location: 'http://127.0.0.1:1/' }, ''),
  reset: (_, __, socket) => void socket.resetAndDestroy(),
  silent: async (d, _, socket) => {
    await sleep(d.below(4000))
    socket.destroy()
  },
  slow: async (d, { body, headers, status }, socket) => {
    const bytes = Buffer.concat([
      Buffer.from(head(status, { ...headers, 'content-length': String(body.length) })),
      body,
    ])
    for (let at = 0, piece = 1 + d.below(40); at < bytes.length && socket.writable; at += piece) {
      socket.write(bytes.subarray(at, at + piece))
      await sleep(50)
    }
    socket.end()
  },
  trouble: (d, _, socket) => json(socket, { error: 'Trouble', reason: 'x' }, d.of([500, 502, 503, 504, 429, 408])),
  troubleInWords: (d, _, socket) => answer(socket, d.of([500, 502, 503, 520, 599]), {}, noise(d, 300)),
}

/** What a controller might say that has lost its mind: an agent may believe some of it, and survives it all. */
export const NONSENSE: Record<string, Twist> = {
  anything: (d, _, socket) => json(socket, value(d)),
  anyData: (d, _, socket) => json(socket, { data: value(d) }),
  anyStatus: (d, { body, headers }, socket) =>
    answer(
      socket,
      d.of([200, 201, 202, 204, 206, 304, 400, 403, 404, 405, 409, 410, 412, 413, 416, 418]),
      headers,
      body,
    ),
  huge: (d, said, socket) =>
    json(socket, { data: { ...(parsed(said) as object), [`x${d.below(9)}`]: 'y'.repeat(3e6) } }),
  oddHead: (d, { body, headers, status }, socket) => {
    const [name, text] = d.of(HEADERS)
    socket.write(head(status, { ...headers, 'content-length': String(body.length), [name]: text }))
    socket.end(body)
  },
  twice: (_, { body, headers, status }, socket) => {
    const one = Buffer.concat([Buffer.from(head(status, { ...headers, 'content-length': String(body.length) })), body])
    socket.end(Buffer.concat([one, one]))
  },
  wrongShape: (d, said, socket) => {
    let made = parsed(said)
    for (let n = 1 + d.below(4); n > 0; n--) made = mutated(d, made)
    json(socket, made, said.status)
  },
}
