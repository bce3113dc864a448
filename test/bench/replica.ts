// What a replica costs the controller, and how far it is behind, while a whole fleet records.
import { execFileSync } from 'node:child_process'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Litestream, logOf, makeBucket, NO_LITESTREAM, type Position } from '../kit/litestream.ts'
import { NO_SWIFT, swiftServer } from '../kit/swift.ts'
import { type Course, PATIENT, recording } from './agents.ts'
import { paced } from './connection.ts'
import { median, quantile, type Row } from './measure.ts'
import { cpuMs, stayOn } from './programs.ts'
import { send, type Take, take } from './upload.ts'
import { type Enrolled, enroll, type Fleet, fleet, type Place } from './world.ts'

const AGENTS = 500
const WARM_MS = 10_000
const MEASURED_MS = 60_000
const LOOK_MS = 100
const UPLOAD_MS = 500
const UPLOAD_BYTES = 4_000_000
/** At the end of a measurement what was committed last is still on its way. */
const TAIL_MS = 10_000

interface Look {
  at: number
  log: ReturnType<typeof logOf>
  read: Position
  stored: Position
}

/** One controller, first alone and then with Litestream on its core; the store is on the other one, as another machine. */
export async function replica(place: Place): Promise<Row[]> {
  if (NO_LITESTREAM || NO_SWIFT) throw new Error(NO_LITESTREAM || NO_SWIFT || '')
  stayOn(1)
  const swift = await swiftServer()
  const world = await fleet(place, 0, undefined, { ...PATIENT, SVC_DATABASE_REPLICATED: 'true' })
  const database = path.join(world.data, 'roomtone.db')
  const litestream = new Litestream({
    database,
    dir: path.join(place.dir, 'replica'),
    store: swift,
    url: 's3://replica/r',
  })
  const stop = new AbortController()
  const course: Course = { answers: 0, beats: [], running: [], stop }
  try {
    await makeBucket(swift, 'replica')
    const [uploader, ...nodes] = (await enroll(world, AGENTS + 1)) as [Enrolled, ...Enrolled[]]
    await recording(world, nodes, course)
    const one = await take(place, UPLOAD_BYTES)
    const minute = (beside?: number) => measured(world, uploader, one, course, beside)
    const alone = await minute()
    await litestream.start()
    execFileSync('taskset', ['-a', '-c', '-p', '0', String(litestream.pid)])
    const watching = watched(litestream, database, stop.signal)
    watching.catch(() => {}) // told when it is awaited
    const beside = await minute(litestream.pid)
    stop.abort()
    await Promise.all(course.running)
    const looks = await watching
    return rows(alone, beside, lagsOf(looks, beside.from), looks)
  } finally {
    stop.abort()
    await litestream.close()
    await world.controller.stop()
    await swift.close()
    stayOn('any')
  }
}

/** A minute of the fleet, and of takes that one more recorder sends. */
async function measured(world: Fleet, uploader: Enrolled, one: Take, { beats, stop }: Course, beside?: number) {
  // An agent that is refused something ends it all.
  await sleep(WARM_MS, undefined, stop)
  beats.length = 0
  const cpu = () => [cpuMs(world.controller.pid), beside === undefined ? 0 : cpuMs(beside)] as const
  const [before, from] = [cpu(), performance.now()]
  const uploads: number[] = []
  const until = AbortSignal.any([AbortSignal.timeout(MEASURED_MS), stop.signal])
  await paced(UPLOAD_MS, until, async () => void uploads.push(await send(world, uploader, one))).catch((e) => {
    if (!until.aborted) throw e
  })
  stop.signal.throwIfAborted()
  const elapsed = performance.now() - from
  const [own, others] = cpu().map((ms, i) => (ms - (before[i] as number)) / elapsed) as [number, number]
  return { beats: [...beats], from, others, own, uploads }
}
type Measured = Awaited<ReturnType<typeof measured>>

/** What is committed and what the store has, again and again; goes on for a while after the signal. */
async function watched(litestream: Litestream, database: string, signal: AbortSignal): Promise<Look[]> {
  const looks: Look[] = []
  let end = Number.POSITIVE_INFINITY
  signal.addEventListener('abort', () => {
    end = performance.now() + TAIL_MS
  })
  while (performance.now() < end) {
    const log = logOf(database)
    const positions = await litestream.positions()
    looks.push({ at: performance.now(), log, ...positions })
    await sleep(LOOK_MS)
  }
  return looks
}

/**
 * For each look how long it took until the store had what was committed then, ms. Both count logs one by one: the salt
 * rises by one with each, and Litestream, which may only be behind, has its own number for it.
 */
function lagsOf(looks: Look[], from: number): number[] {
  const ahead = Math.min(...looks.map(({ log, read }) => log.salt - read.index))
  let then = 0
  const lags: number[] = []
  for (const { at, log } of looks.filter((look) => look.at >= from && look.at < from + MEASURED_MS)) {
    const has = ({ index, offset }: Position) =>
      index > log.salt - ahead || (index === log.salt - ahead && offset >= log.end)
    while (then < looks.length && !has((looks[then] as Look).stored)) then++
    lags.push((looks[then]?.at ?? Number.POSITIVE_INFINITY) - at)
  }
  return lags
}

function rows(alone: Measured, beside: Measured, lags: number[], looks: Look[]): Row[] {
  const ms = (values: number[], q: number) => quantile(values, q).toFixed(1)
  const both = (of: (one: Measured) => string) => `${of(alone)} without, ${of(beside)} with a replica`
  const logs = looks.map(({ log }) => log)
  const [first, last] = [logs[0], logs.at(-1)] as [ReturnType<typeof logOf>, ReturnType<typeof logOf>]
  const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(0)
  return [
    {
      name: 'replica-lag',
      measured: quantile(lags, 0.99) / 1000,
      limit: 2,
      unit: 's p99',
      bound: 'most',
      how: `${AGENTS} agents that record: median ${(median(lags) / 1000).toFixed(2)} s, longest ${(quantile(lags, 1) / 1000).toFixed(2)} s of ${lags.length}; the log of ${mib(first.end)} MiB began anew ${last.salt - first.salt} times, and is ${mib(last.end)} MiB at the end`,
    },
    {
      name: 'replica-cpu',
      measured: beside.others * 60,
      limit: 6,
      unit: 'CPU s a minute',
      bound: 'most',
      how: `of Litestream; the controller: ${both(({ own }) => `${own.toFixed(2)} of a core`)}`,
    },
    {
      name: 'replica-heartbeat',
      measured: quantile(beside.beats, 0.99) / quantile(alone.beats, 0.99),
      limit: 1.5,
      unit: 'of its p99',
      bound: 'most',
      how: both(({ beats }) => `median ${ms(beats, 0.5)}, p99 ${ms(beats, 0.99)}, longest ${ms(beats, 1)} ms`),
    },
    {
      name: 'replica-upload',
      measured: median(alone.uploads) / median(beside.uploads),
      limit: 0.6,
      unit: 'of its speed',
      bound: 'least',
      how: `takes of ${UPLOAD_BYTES / 1e6} MB: ${both(({ uploads }) => `median ${ms(uploads, 0.5)} ms`)}`,
    },
  ]
}
