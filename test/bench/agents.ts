// A whole fleet at its everyday pace: what the controller costs while nothing happens.
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Connection, connect, paced } from './connection.ts'
import { bytesOf } from './load.ts'
import { quantile, type Row } from './measure.ts'
import { cpuMs, stayOn } from './programs.ts'
import { beatOf, type Enrolled, enroll, type Fleet, fleet, type Place } from './world.ts'

const AGENTS = 500
const EVERY_MS = 5000
const METER_MS = 1000
const CHANNELS = 8
/** As agents have it; a job's heartbeat is open all the time. */
const JOB_POLL_SECONDS = 2
const WAIT_SECONDS = 25
const WARM_MS = 10_000
const MEASURED_MS = 40_000
/** Hours of an audit window in normal operation; the bench makes windows short to see what a window costs. */
const WINDOW_SECONDS = 5
const WINDOWS_PER_DAY = 24

/**
 * 500 agents that all record: a heartbeat every five seconds, a meter frame of eight channels every second, the config and
 * the claim as long polls, and the heartbeat of a take, which is open until its next one.
 */
export async function agents(place: Place): Promise<Row[]> {
  stayOn(1)
  const world = await fleet(place, 0, undefined, { SVC_AUDIT_MACHINE_WINDOW_SECONDS: String(WINDOW_SECONDS) })
  const stop = new AbortController()
  try {
    const nodes = await enroll(world, AGENTS)
    const beats: number[] = []
    const jobs: string[] = []
    for (const node of nodes) jobs.push(await record(world, node))
    const running = nodes.map((node, n) => agent(world, { ...node, jobId: jobs[n] as string, n }, beats, stop.signal))
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
      how: `${AGENTS} agents that record: heartbeat every ${EVERY_MS / 1000} s, ${CHANNELS} channels metered every second, open polls for config, claim and job; ${perSecond.toFixed(0)} ticks/s`,
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

/** A take that lasts longer than the bench, claimed by its agent: the id of its job. */
async function record({ call }: Fleet, { id, token }: Enrolled): Promise<string> {
  const { job } = await call('POST', '/recordings', { durationSeconds: 3600, nodeId: id })
  await call('POST', `/nodes/${id}/recording-jobs/claim-next`, {}, token)
  return job.id
}

/** Five connections as an agent has them: two for what it tells, three that wait for news. */
async function agent(
  world: Fleet,
  { id, jobId, n, token }: Enrolled & { jobId: string; n: number },
  beats: number[],
  signal: AbortSignal,
): Promise<void> {
  const own = await Promise.all(Array.from({ length: 5 }, () => connect(world.controller.url)))
  const [teller, meter, configs, claimer, holder] = own as [Connection, Connection, Connection, Connection, Connection]
  const api = (method: string, route: string, more: { body?: string; headers?: Record<string, string> } = {}) =>
    bytesOf({ method, path: `/api/v1${route}`, token, ...more })
  const at = `/nodes/${id}`
  const beat = api('POST', `${at}/heartbeat`, { body: beatOf(n) })
  const frame = api('POST', `${at}/meter-frame`, { body: frameOf(id) })
  const claim = api('POST', `${at}/recording-jobs/claim-next-group?waitSeconds=${WAIT_SECONDS}`, { body: CLAIM })
  const hold = api('POST', `/recording-jobs/${jobId}/heartbeat?waitSeconds=${JOB_POLL_SECONDS}`, { body: PROGRESS })
  try {
    await sleep((EVERY_MS * n) / AGENTS, undefined, { signal })
    const etag = /\r\netag: (\S+)/i.exec(await configs.ask(api('GET', `${at}/config`)))?.[1] ?? ''
    const config = api('GET', `${at}/config?waitSeconds=${WAIT_SECONDS}`, { headers: { 'if-none-match': etag } })
    await Promise.all([
      paced(EVERY_MS, signal, async () => void beats.push(await timed(() => teller.ask(beat)))),
      paced(METER_MS, signal, () => meter.ask(frame)),
      ...[configs.asking(config, signal), claimer.asking(claim, signal), holder.asking(hold, signal)],
    ])
  } catch (e) {
    if (!signal.aborted) throw e
  } finally {
    for (const connection of own) connection.close()
  }
}

const CLAIM = JSON.stringify({ holding: [], shares: true })
const PROGRESS = JSON.stringify({ progress: { percent: 12, stage: 'capturing' } })

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}

const frameOf = (nodeId: string): string => {
  const quality = { crestFactorDb: 13.4, noiseScore: 0.21, speechLike: true, speechScore: 0.74, zeroCrossingRate: 0.06 }
  const level = (channelIndex: number) => ({
    ...{ channelIndex, clipping: false, label: `Input ${channelIndex}`, peakDbfs: -18.3, rmsDbfs: -31.7 },
    quality,
  })
  const levels = Array.from({ length: CHANNELS }, (_, i) => level(i + 1))
  return JSON.stringify({ capturedAt: new Date().toISOString(), interfaceId: 'hw:CARD=USB,DEV=0', levels, nodeId })
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
