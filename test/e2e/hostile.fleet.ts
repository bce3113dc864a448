// Honest agents, run as a program by hostile.ts: each sends its heartbeat at its pace, and the same bytes to a bare server.
import { once } from 'node:events'
import * as net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerReader, bytesOf } from '../bench/load.ts'

export interface FleetOrder {
  bare: string
  everyMs: number
  nodes: { id: string; token: string }[]
  url: string
}

/** What the fleet saw since the last look. */
export interface Beats {
  bareMs: number[]
  ms: number[]
  /** How many heartbeats were answered with each status. */
  statuses: Record<string, number>
}

let seen: Beats = { bareMs: [], ms: [], statuses: {} }

const beatOf = (n: number): string =>
  JSON.stringify({ agentVersion: '1.0.0', hostname: `honest-${n}`, ipAddresses: [], status: 'online' })

/** One connection that stays; gives how to send the bytes again: milliseconds to the last byte of the answer, and its status. */
async function line(url: string, bytes: Buffer): Promise<() => Promise<[number, number]>> {
  const { hostname, port } = new URL(url)
  const socket = net.connect({ host: hostname, noDelay: true, port: Number(port) })
  await once(socket, 'connect')
  let told: (status: number) => void = () => {}
  socket.on(
    'data',
    answerReader((status) => told(status)),
  )
  // A connection that breaks is an answer too: none.
  socket.on('error', () => told(0)).on('close', () => told(0))
  return async () => {
    const { promise, resolve } = Promise.withResolvers<number>()
    told = resolve
    const from = performance.now()
    socket.write(bytes)
    const status = await promise
    return [performance.now() - from, status]
  }
}

async function agent({ bare, everyMs, nodes, url }: FleetOrder, n: number): Promise<void> {
  const { id, token } = nodes[n] as { id: string; token: string }
  const request = { body: beatOf(n), method: 'POST', path: `/api/v1/nodes/${id}/heartbeat`, token }
  const bytes = bytesOf({ ...request, headers: { connection: 'keep-alive' } })
  const [beat, yardstick] = [await line(url, bytes), await line(bare, bytes)]
  await sleep((n / nodes.length) * everyMs)
  for (;;) {
    const from = performance.now()
    const [bareMs] = await yardstick()
    seen.bareMs.push(bareMs)
    const [ms, status] = await beat()
    seen.ms.push(ms)
    seen.statuses[status] = (seen.statuses[status] ?? 0) + 1
    await sleep(Math.max(0, everyMs - (performance.now() - from)))
  }
}

process.once('message', (order: FleetOrder) => {
  for (const n of order.nodes.keys()) void agent(order, n)
  process.on('message', () => {
    process.send?.(seen)
    seen = { bareMs: [], ms: [], statuses: {} }
  })
  process.send?.('begun')
})
process.once('disconnect', () => process.exit(0))
