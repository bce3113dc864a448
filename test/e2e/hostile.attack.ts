// Hostile callers, run as a program by hostile.ts: strangers, one viewer and one node, each as fast as it is answered.
import * as http from 'node:http'
import * as os from 'node:os'
import { slowly } from '../kit/slow.ts'

export interface AttackOrder {
  evil: { id: string; token: string }
  /** A node that is not the attacker's. */
  other: string
  url: string
  /** A viewer's session. */
  viewer: string
}

/** How many requests each kind of attacker had answered, by kind and status; 0 where there was no answer. */
export type Struck = Record<string, number>

interface Shot {
  body?: string
  /** Where the attacker's connection comes from: of 127.0.0.0/8. */
  from?: string
  method?: string
  path: string
  token?: string
}

const AT_ONCE = { guess: 16, node: 4, stranger: 16, viewer: 16 }
const STREAMS = 200
const SLOW = 150
const struck: Struck = {}
let over = false
const held: { destroy(): void }[] = []
const agent = new http.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

const count = (kind: string, status: number): void => {
  struck[`${kind} ${status}`] = (struck[`${kind} ${status}`] ?? 0) + 1
}

const headersOf = ({ body, token }: Shot): http.OutgoingHttpHeaders => ({
  ...(token ? { authorization: `Bearer ${token}` } : {}),
  ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body), 'content-type': 'application/json' }),
})

/** One request, its answer read to the end. Gives the status, 0 for none. */
function shoot(url: string, shot: Shot): Promise<number> {
  const { body, from = '127.0.0.1', method = 'GET', path } = shot
  return new Promise((resolve) => {
    const options = { agent, headers: headersOf(shot), localAddress: from, method }
    const request = http.request(`${url}/api/v1${path}`, options, (response) => {
      response.resume().once('close', () => resolve(response.statusCode ?? 0))
    })
    request.once('error', () => resolve(0))
    request.end(body)
  })
}

async function again(url: string, kind: string, shot: (n: number) => Shot): Promise<void> {
  for (let n = 0; !over; n++) count(kind, await shoot(url, shot(n)))
}

const many = (n: number, begin: (n: number) => Promise<void>): Promise<void>[] =>
  Array.from({ length: n }, (_, i) => begin(i))

/** Other devices each time: nearly the most channels that a node may have. */
const inventory = (n: number): string => {
  const channels = Array.from({ length: 200 }, (_, i) => ({ alias: `channel ${n} ${i}`.padEnd(50, '.'), index: i + 1 }))
  const interfaces = Array.from({ length: 50 }, (_, i) => ({
    alias: `a${i}`,
    channelCount: 200,
    channels,
    systemName: `made up ${n} ${i}`,
  }))
  return JSON.stringify({ interfaces })
}
const inventories = [inventory(0), inventory(1)] as const

const strangers = (url: string): Promise<void>[] => [
  ...many(AT_ONCE.stranger, (i) => again(url, 'stranger', (n) => ({ from: `127.0.1.${i + 1}`, path: `/nodes/x${n}` }))),
  ...many(AT_ONCE.guess, (i) => {
    const guess = (n: number) => JSON.stringify({ email: `a${n}@example.org`, password: 'guessed-password' })
    const shot = { from: `127.0.2.${i + 1}`, method: 'POST', path: '/auth/login' }
    return again(url, 'guess', (n) => ({ ...shot, body: guess(n) }))
  }),
]

const person = ({ url, viewer: token }: AttackOrder): Promise<void>[] => {
  const asks = ['/nodes?limit=200', '/nodes?limit=50', '/recordings?limit=200', '/rooms']
  return many(AT_ONCE.viewer, (i) => again(url, 'viewer', () => ({ path: asks[i % asks.length] as string, token })))
}

const node = ({ evil: { id, token }, other, url }: AttackOrder): Promise<void>[] => {
  const event = JSON.stringify({ details: { x: 'y'.repeat(15_000) }, severity: 'info', type: 'agent.made_up' })
  const post = { method: 'POST', token }
  return [
    ...many(AT_ONCE.node, () =>
      again(url, 'node event', () => ({ ...post, body: event, path: `/nodes/${id}/health-events` })),
    ),
    ...many(AT_ONCE.node, () =>
      again(url, 'node inventory', (n) => {
        const body = inventories[n % 2 === 0 ? 0 : 1]
        return { ...post, body, path: `/nodes/${id}/inventory` }
      }),
    ),
    ...many(AT_ONCE.node, () => again(url, 'node foreign', () => ({ path: `/nodes/${other}/config`, token }))),
  ]
}

/** Streams that nobody reads and bodies that do not end. */
async function holding({ url, viewer }: AttackOrder): Promise<void> {
  const streams = many(STREAMS, async () => {
    const request = http.get(`${url}/api/v1/meter-events`, {
      agent: false,
      headers: headersOf({ path: '', token: viewer }),
    })
    held.push(request)
    request.once('error', () => {})
    request.once('response', (response) => {
      count('stream', response.statusCode ?? 0)
      if (response.statusCode !== 200) response.resume()
    })
  })
  const bodies = many(SLOW, async () => {
    held.push((await slowly(url, 'POST /api/v1/auth/login', { 'content-length': '16000' })).socket)
  })
  await Promise.all([...streams, ...bodies])
}

process.once('message', (order: AttackOrder) => {
  os.setPriority(10)
  const loops = [...strangers(order.url), ...person(order), ...node(order), holding(order)]
  process.once('message', async () => {
    over = true
    for (const one of held) one.destroy()
    await Promise.all(loops)
    process.send?.(struck, () => process.exit(0))
  })
  process.send?.('begun')
})
process.once('disconnect', () => process.exit(0))
