import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'hono'
import { isLoopback } from '../../kernel/loopback.ts'
import type { Source } from './bodies.ts'
import type { Incoming } from './route.ts'

/** What @hono/node-server puts into the context; absent when a test calls the app in memory. */
interface Bindings {
  incoming?: IncomingMessage
  outgoing?: ServerResponse
}

const bindings = (c: Context): Bindings => (c.env ?? {}) as Bindings

/** A request header as Node has parsed it; asking the web Request would copy them all into a `Headers` first. */
export function headerOf(c: Context, name: string): string | undefined {
  const { incoming: message } = bindings(c)
  const value = message ? message.headers[name.toLowerCase()] : c.req.header(name)
  return Array.isArray(value) ? value.join(', ') : value
}

interface Carrier {
  overHttps: boolean
  /** Reads a whole body within the caller's bounds. */
  read: (source: Source, maxBytes: number) => Promise<Uint8Array[]>
  sameOrigin: () => boolean
  trustedProxies: ReadonlySet<string>
  /** Whether the handler may read the body as a stream. */
  upload: boolean
}

/** The request behind a context. Bodies are read from the socket itself: nothing buffers them on the way. */
export function incoming(c: Context, { overHttps, read, sameOrigin, trustedProxies, upload }: Carrier): Incoming {
  const { incoming: message } = bindings(c)
  const client = address(message?.socket.remoteAddress ?? '', c, trustedProxies)
  const chunks = () => message ?? inMemoryBody(c)
  return {
    address: client,
    body() {
      if (!upload) throw new Error('only an upload takes its body as it comes')
      return chunks()
    },
    gone: () => goneSignal(c),
    header: (name) => headerOf(c, name),
    method: c.req.method,
    network: networkOf(client),
    overHttps,
    sameOrigin,
    whole: (maxBytes) => read({ chunks: chunks(), declared: declaredLength(c) }, maxBytes),
  }
}

function declaredLength(c: Context): number | undefined {
  const length = headerOf(c, 'content-length')
  return length === undefined ? undefined : Number(length)
}

async function* inMemoryBody(c: Context): AsyncIterable<Uint8Array> {
  if (c.req.raw.body) yield* c.req.raw.body as unknown as AsyncIterable<Uint8Array>
}

const plain = (ip: string): string => ip.replace(/^::ffff:/, '')

/** What the nearest proxy says in this header, if it is one we trust. */
export function forwarded(c: Context, name: string, trusted: ReadonlySet<string>): string | undefined {
  const peer = plain(bindings(c).incoming?.socket.remoteAddress ?? '')
  return trusted.has(peer) ? headerOf(c, name)?.split(',').at(-1)?.trim() : undefined
}

// The first hop that is not ours: proxies append, so we read from the right.
function address(peer: string, c: Context, trusted: ReadonlySet<string>): string {
  let client = plain(peer)
  const hops = (headerOf(c, 'x-forwarded-for') ?? '').split(',').map((hop) => hop.trim())
  while (trusted.has(client) && hops.length > 0) client = plain(hops.pop() || client)
  return client.slice(0, 120)
}

/** Aborts when the connection closes before the answer is complete. */
function goneSignal(c: Context): AbortSignal {
  const { outgoing } = bindings(c)
  if (!outgoing) return c.req.raw.signal
  const gone = new AbortController()
  if (outgoing.destroyed) gone.abort()
  outgoing.once('close', () => outgoing.writableFinished || gone.abort())
  return gone.signal
}

/** Calls `tell` when the answer could not be delivered to the client. */
export function whenUndelivered(c: Context, tell: () => void): void {
  const { outgoing } = bindings(c)
  if (!outgoing) return
  if (outgoing.destroyed && !outgoing.writableFinished) tell()
  else outgoing.once('close', () => outgoing.writableFinished || tell())
}

/**
 * The network an address is counted under: an IPv4 address itself, or the first 64 bits of an IPv6 address, whose
 * owner may choose the rest anew for every request.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [plain = ''] = address.toLowerCase().split('%')
  const [head = '', tail] = plain.split('::')
  const groups = head === '' ? [] : head.split(':')
  // `::` replaces as many zero groups as are missing; the groups after it are appended.
  const behind = tail ? tail.split(':') : []
  const missing = tail === undefined ? 0 : 8 - groups.length - behind.length
  const all = [...groups, ...Array.from({ length: Math.max(0, missing) }, () => '0'), ...behind]
  return `${all
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}

// What proxies add: behind one on this machine everybody has a loopback address.
const FORWARDED = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

/** Whether a request was made on this machine, to an address of this machine: not through a proxy, nor by a rebound name. */
export function isLocal({ address, header }: Pick<Incoming, 'address' | 'header'>): boolean {
  const asked = `http://${header('host') ?? ''}`
  if (!isLoopback(address) || !URL.canParse(asked) || !isLoopback(new URL(asked).hostname)) return false
  return FORWARDED.every((name) => header(name) === undefined)
}
