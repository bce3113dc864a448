// A whole fleet at its everyday pace: what the controller costs while nothing happens.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as net from 'node:net'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerReader, bytesOf } from './load.ts'
import { quantile, type Row } from './measure.ts'
import { stayOn } from './programs.ts'
import { beatOf, type Enrolled, enroll, type Fleet, fleet, type Place } from './world.ts'

const AGENTS = 500
const EVERY_MS = 5000
const WARM_MS = 10_000
const MEASURED_MS = 40_000
/** Hours of an audit window in normal operation; the bench makes windows short to see what a window costs. */
const WINDOW_SECONDS = 5
const WINDOWS_PER_DAY = 24
const CLOCK_TICKS = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** 500 agents at the contract's cadence: heartbeat, meter frame, config and a long-polled claim every five seconds. */
export async function agents(place: Place): Promise<Row[]> {
  stayOn(1)
  const world = await fleet(place, 0, undefined, { SVC_AUDIT_MACHINE_WINDOW_SECONDS: String(WINDOW_SECONDS) })
  const stop = new AbortController()
  try {
    const nodes = await enroll(world, AGENTS)
    const beats: number[] = []
    const running = nodes.map((node, n) => agent(world, node, n, beats, stop.signal))
    await sleep(WARM_MS)
    beats.length = 0
    const [cpu, stored] = [cpuMs(world.controller.pid), await storedBytes(world)]
    const from = performance.now()
    await sleep(MEASURED_MS)
    const elapsed = performance.now() - from
    const used = cpuMs(world.controller.pid) - cpu
    const grown = (await storedBytes(world)) - stored
    const latencies = [...beats]
    stop.abort()
    await Promise.all(running)
    return rows(used / elapsed, latencies, grown / AGENTS / (elapsed / 1000 / WINDOW_SECONDS))
  } finally {
    stop.abort()
    await world.controller.stop()
    stayOn('any')
  }
}

function rows(share: number, latencies: number[], bytesPerWindow: number): Row[] {
  const kib = (bytesPerWindow * WINDOWS_PER_DAY) / 1024
  const perSecond = latencies.length / (MEASURED_MS / 1000)
  return [
    {
      name: 'fleet-cpu',
      measured: share,
      limit: 0.6,
      unit: 'of a core',
      bound: 'most',
      how: `${AGENTS} agents: heartbeat, meter frame, config, claim with long poll every ${EVERY_MS / 1000} s; ${perSecond.toFixed(0)} ticks/s`,
    },
    {
      name: 'fleet-heartbeat',
      measured: quantile(latencies, 0.99),
      limit: 50,
      unit: 'ms p99',
      bound: 'most',
      how: `median ${quantile(latencies, 0.5).toFixed(1)} ms, longest ${quantile(latencies, 1).toFixed(1)} ms of ${latencies.length}`,
    },
    {
      name: 'fleet-growth',
      measured: kib,
      unit: 'KiB per node and day',
      bound: 'most',
      how: `database of an idle fleet: ${bytesPerWindow.toFixed(0)} bytes per node and audit window of one hour`,
    },
  ]
}

/** Two connections as an agent has them: one for what it tells, one that waits for work. */
async function agent(world: Fleet, node: Enrolled, n: number, beats: number[], signal: AbortSignal): Promise<void> {
  const [teller, claimer] = await Promise.all([connect(world), connect(world)])
  const of = (method: string, route: string, body?: string) =>
    bytesOf({ method, path: `/api/v1/nodes/${node.id}${route}`, token: node.token, ...(body ? { body } : {}) })
  const tells = [
    of('POST', '/heartbeat', beatOf(n)),
    of('POST', '/meter-frame', frameOf(node.id)),
    of('GET', '/config'),
  ]
  const claim = of('POST', '/recording-jobs/claim-next-group?waitSeconds=5', '{}')
  try {
    await sleep((EVERY_MS * n) / AGENTS, undefined, { signal })
    await Promise.all([telling(teller, tells, beats, signal), claiming(claimer, claim, signal)])
  } catch (e) {
    if (!signal.aborted) throw e
  } finally {
    teller.close()
    claimer.close()
  }
}

async function telling(to: Connection, tells: Buffer[], beats: number[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const from = performance.now()
    await to.ask(tells[0] as Buffer)
    beats.push(performance.now() - from)
    for (const tell of tells.slice(1)) await to.ask(tell)
    await sleep(EVERY_MS - (performance.now() - from), undefined, { signal })
  }
}

async function claiming(to: Connection, claim: Buffer, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await to.ask(claim)
}

interface Connection {
  ask(request: Buffer): Promise<void>
  close(): void
}

/** One keep-alive connection, one request at a time. @throws Error for any answer but 2xx. */
async function connect({ controller }: Fleet): Promise<Connection> {
  const { hostname, port } = new URL(controller.url)
  const socket = net.connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  let waiting: PromiseWithResolvers<void> | undefined
  const read = answerReader((status, head) => {
    if (status < 200 || status > 299) waiting?.reject(new Error(`answered ${head}`))
    else waiting?.resolve()
  })
  socket.on('data', read)
  const gone = () => waiting?.reject(new Error('the connection has gone'))
  socket.on('error', gone)
  socket.on('close', gone)
  return {
    ask(request) {
      waiting = Promise.withResolvers()
      socket.write(request)
      return waiting.promise
    },
    close: () => socket.destroy(),
  }
}

const frameOf = (nodeId: string): string => {
  const quality = { crestFactorDb: 13.4, noiseScore: 0.21, speechLike: true, speechScore: 0.74, zeroCrossingRate: 0.06 }
  const level = (channelIndex: number) => ({
    ...{ channelIndex, clipping: false, label: `Input ${channelIndex}`, peakDbfs: -18.3, rmsDbfs: -31.7 },
    quality,
  })
  const levels = [level(1), level(2)]
  return JSON.stringify({ capturedAt: new Date().toISOString(), interfaceId: 'hw:CARD=USB,DEV=0', levels, nodeId })
}

/** User and system time of a process, ms. */
function cpuMs(pid: number): number {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / CLOCK_TICKS
}

/** Bytes of the database with everything brought into it. */
async function storedBytes({ data }: Fleet): Promise<number> {
  const file = path.join(data, 'roomtone.db')
  const { Db } = await import('../../src/controller/store/db.ts')
  const db = new Db(file, undefined, { plain: true })
  try {
    return (db.raw.pragma('page_count', { simple: true }) as number) * 4096
  } finally {
    db.close()
  }
}
