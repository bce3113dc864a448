// A whole fleet at its everyday pace: what the controller costs while nothing happens, and when all of it comes back at once.
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { allocatorOf } from '../kit/unit.ts'
import { type Connection, connect, paced } from './connection.ts'
import { bytesOf } from './load.ts'
import { elapsed, quantile, type Row } from './measure.ts'
import { cpuMs, memory, stayOn } from './programs.ts'
import { beatOf, type Enrolled, enroll, type Fleet, fleet, inLanes, type Place } from './world.ts'

const EVERY_MS = 5000
const METER_MS = 1000
/** Whole frames come together while nobody watches. */
const TOGETHER_MS = 5000
const CHANNELS = 8
/** As agents have it while sound is captured; a job's heartbeat is open all the time. */
const JOB_POLL_SECONDS = 10
const WAIT_SECONDS = 25
const WARM_MS = 10_000
const MEASURED_MS = 40_000
/** Within this time the allocator has given back what a burst took. */
const CALM_MS = 60_000
/** A machine that is busy with other things starves a fleet for a while: its takes must not end of that. */
export const PATIENT = { SVC_RECORDING_JOB_LEASE_SECONDS: '600' }

/**
 * Agents that all record: a heartbeat every five seconds, a meter frame of eight channels every second, the config and
 * the claim as long polls, and the heartbeat of a take, which is open until its next one. Then all of them go, and come back
 * in the same moment, as they do when the controller was restarted. `most`: the limit, of a core.
 */
export const agents =
  (count: number, most: number) =>
  async (place: Place): Promise<Row[]> => {
    stayOn(1)
    const world = await fleet(place, 0, undefined, { ...allocatorOf('controller'), ...PATIENT })
    const stop = new AbortController()
    const course: Course = { answers: 0, beats: [], running: [], stop }
    try {
      const nodes = await enroll(world, count)
      await recording(world, nodes, course)
      await sleep(WARM_MS, undefined, stop)
      const pace = await measured(world, course)
      const busy = memory.resident(world.controller.pid)
      stop.abort()
      await Promise.all(course.running)
      const back = await returned(world, nodes)
      await sleep(CALM_MS)
      const calm = memory.resident(world.controller.pid)
      return [...paceRows(count, most, pace), ...afterwardsRows(count, back, busy, calm)]
    } finally {
      stop.abort()
      await Promise.all(course.running)
      await world.controller.stop()
      stayOn('any')
    }
  }

interface Pace {
  /** Milliseconds of the controller for each answer. */
  cpuMs: number
  latencies: number[]
  /** Answers. */
  perSecond: number
}

async function measured({ controller }: Fleet, course: Course): Promise<Pace> {
  course.beats.length = course.answers = 0
  const cpu = cpuMs(controller.pid)
  const seconds = (await elapsed(() => sleep(MEASURED_MS, undefined, course.stop))) / 1000
  const { answers, beats } = course
  return { cpuMs: (cpuMs(controller.pid) - cpu) / answers, latencies: [...beats], perSecond: answers / seconds }
}

/** Requests of an agent in a second, where nothing keeps it waiting. */
const REQUESTS = 1000 / EVERY_MS + 1000 / TOGETHER_MS + 1 / JOB_POLL_SECONDS + 2 / WAIT_SECONDS

/** What a request costs is measured, and taken so often as the fleet asks: a machine busy with other things answers fewer. */
const paceRows = (count: number, most: number, { cpuMs, latencies, perSecond }: Pace): Row[] => [
  {
    name: `fleet-cpu ${count}`,
    measured: (count * REQUESTS * cpuMs) / 1000,
    limit: most,
    unit: 'of a core',
    bound: 'most',
    how: `${count} agents that record: heartbeat every ${EVERY_MS / 1000} s, ${CHANNELS} channels metered every second and sent every ${TOGETHER_MS / 1000}, open polls for config, claim and job; ${cpuMs.toFixed(3)} ms for each of ${(count * REQUESTS).toFixed(0)} requests/s, of which ${perSecond.toFixed(0)} were answered`,
  },
  {
    name: `fleet-heartbeat ${count}`,
    measured: quantile(latencies, 0.99),
    limit: 50,
    unit: 'ms p99',
    bound: 'most',
    how: `median ${quantile(latencies, 0.5).toFixed(1)} ms, longest ${quantile(latencies, 1).toFixed(1)} ms of ${latencies.length}`,
  },
]

const afterwardsRows = (count: number, backMs: number, busy: number, calm: number): Row[] => [
  {
    name: `fleet-back ${count}`,
    measured: backMs / 1000,
    limit: EVERY_MS / 1000,
    unit: 's',
    bound: 'most',
    how: `${CONNECTIONS} connections of each agent opened in the same moment, a heartbeat on each: until all were answered, none refused`,
  },
  {
    name: `fleet-calm ${count}`,
    measured: calm,
    limit: 120,
    unit: 'MiB',
    bound: 'most',
    how: `VmRSS ${CALM_MS / 1000} s after the last request; ${busy.toFixed(0)} MiB while they recorded`,
  },
]

/** Of an agent that records. */
const CONNECTIONS = 5

/** Milliseconds until every agent has had an answer on every connection it opens. @throws Error for a reset or refused one */
async function returned(world: Fleet, nodes: readonly Enrolled[]): Promise<number> {
  const open: Connection[] = []
  const one = async (request: Buffer): Promise<void> => {
    const connection = await connect(world.controller.url)
    open.push(connection)
    await connection.ask(request)
  }
  try {
    return await elapsed(() =>
      Promise.all(
        nodes.flatMap(({ id, token }, n) => {
          const beat = bytesOf({ method: 'POST', path: `/api/v1/nodes/${id}/heartbeat`, token, body: beatOf(n) })
          return Array.from({ length: CONNECTIONS }, () => one(beat))
        }),
      ),
    )
  } finally {
    for (const connection of open) connection.close()
  }
}

/** Hours of an audit window in normal operation; this bench makes windows short to see what a window costs. */
const WINDOW_SECONDS = 25
const WINDOWS = 3
const WINDOWS_PER_DAY = 6
const WRITERS = 100

/** What the database grows by: every call of a machine leaves a row per audit window. */
export async function growth(place: Place): Promise<Row[]> {
  const world = await fleet(place, 0, undefined, {
    ...PATIENT,
    SVC_AUDIT_MACHINE_WINDOW_SECONDS: String(WINDOW_SECONDS),
  })
  const stop = new AbortController()
  const course: Course = { answers: 0, beats: [], running: [], stop }
  try {
    await recording(world, await enroll(world, WRITERS), course)
    await sleep(WARM_MS, undefined, stop)
    const before = await storedBytes(world)
    const took = await elapsed(() => sleep(WINDOWS * WINDOW_SECONDS * 1000, undefined, stop))
    const perWindow = ((await storedBytes(world)) - before) / WRITERS / (took / 1000 / WINDOW_SECONDS)
    return [
      {
        name: 'fleet-growth',
        measured: (perWindow * WINDOWS_PER_DAY) / 1024,
        limit: 12,
        unit: 'KiB per node and day',
        bound: 'most',
        how: `database of ${WRITERS} agents that record: ${perWindow.toFixed(0)} bytes per node and audit window, ${WINDOWS_PER_DAY} windows a day`,
      },
    ]
  } finally {
    stop.abort()
    await Promise.all(course.running)
    await world.controller.stop()
  }
}

export interface Course {
  answers: number
  /** Ms of each heartbeat. */
  beats: number[]
  running: Promise<void>[]
  /** Ends all of them: at the end, or because one of them failed. */
  stop: AbortController
}

/** Each begins as soon as it has its job: the lease of one that waited for all the others would end. */
export async function recording(world: Fleet, nodes: readonly Enrolled[], course: Course): Promise<void> {
  const { running, stop } = course
  await inLanes(nodes.entries(), async ([n, node]) => {
    stop.signal.throwIfAborted()
    const one = agent(world, { ...node, jobId: await record(world, node), n }, course)
    running.push(one.catch((e) => stop.abort(e)))
  })
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
  course: Course,
): Promise<void> {
  const { beats, stop } = course
  const { signal } = stop
  const own = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => connect(world.controller.url, () => void course.answers++)),
  )
  const [teller, meter, configs, claimer, holder] = own as [Connection, Connection, Connection, Connection, Connection]
  const api = (method: string, route: string, more: { body?: string; headers?: Record<string, string> } = {}) =>
    bytesOf({ method, path: `/api/v1${route}`, token, ...more })
  const at = `/nodes/${id}`
  const beat = api('POST', `${at}/heartbeat`, { body: beatOf(n) })
  const frames = Array.from({ length: TOGETHER_MS / METER_MS }, () => frameOf(id))
  const meters = api('POST', `${at}/meter-frames`, { body: JSON.stringify({ frames }) })
  const claim = api('POST', `${at}/recording-jobs/claim-next-group?waitSeconds=${WAIT_SECONDS}`, { body: CLAIM })
  const hold = api('POST', `/recording-jobs/${jobId}/heartbeat?waitSeconds=${JOB_POLL_SECONDS}`, { body: PROGRESS })
  try {
    const etag = /\r\netag: (\S+)/i.exec(await configs.ask(api('GET', `${at}/config`)))?.[1] ?? ''
    const config = api('GET', `${at}/config?waitSeconds=${WAIT_SECONDS}`, { headers: { 'if-none-match': etag } })
    await Promise.all([
      paced(EVERY_MS, signal, async () => void beats.push(await timed(() => teller.ask(beat)))),
      paced(TOGETHER_MS, signal, () => meter.ask(meters)),
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

const frameOf = (nodeId: string): object => {
  const quality = { crestFactorDb: 13.4, noiseScore: 0.21, speechLike: true, speechScore: 0.74, zeroCrossingRate: 0.06 }
  const level = (channelIndex: number) => ({
    ...{ channelIndex, clipping: false, label: `Input ${channelIndex}`, peakDbfs: -18.3, rmsDbfs: -31.7 },
    quality,
  })
  const levels = Array.from({ length: CHANNELS }, (_, i) => level(i + 1))
  return { capturedAt: new Date().toISOString(), interfaceId: 'hw:CARD=USB,DEV=0', levels, nodeId }
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
