import { once } from 'node:events'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beats } from './heartbeat.ts'
import { load } from './load.ts'
import { quantile, type Row } from './measure.ts'
import { begin } from './programs.ts'
import { COUNTS, seed } from './seed.ts'
import { send, type Take, take } from './upload.ts'
import { type Enrolled, enroll, type Fleet, fleet, type Place } from './world.ts'

const BEATING = 32
const WINDOW_MS = 250
/** The controller's own watch looks every 10 ms; a delay within that is no delay. */
const RESOLUTION_MS = 10
const SENDING = 3
const RECORDINGS = 200_000

/** Delays of the controller's loop, as /metrics tells them, while takes of 1 GB and heartbeats without a pause come in. */
export async function eventLoop(place: Place): Promise<Row[]> {
  const one = await take(place)
  try {
    return [await underUploads(place, one), await underEverything(place, one)]
  } finally {
    fs.rmSync(one.file)
  }
}

async function underUploads(place: Place, one: Take): Promise<Row> {
  const world = await fleet(place)
  try {
    const { perSecond, windows } = await watched(world, (nodes) => sent(world, nodes, one))
    return row('event-loop', windows, `three uploads, ${perSecond.toFixed(0)} heartbeats/s`)
  } finally {
    await world.controller.stop()
  }
}

/** The same over a library of years, with exports, backups and retention at work all the while. */
async function underEverything(place: Place, one: Take): Promise<Row> {
  const data = fs.mkdtempSync(path.join(place.dir, 'data-'))
  seed(path.join(data, 'roomtone.db'), { ...COUNTS, health: RECORDINGS, jobs: RECORDINGS, recordings: RECORDINGS })
  const world = await fleet(place, undefined, data, { SVC_RETENTION_RUNNER_INTERVAL_SECONDS: '1' })
  try {
    const before = await stored(world)
    await world.call('PATCH', '/settings/retention-policies/retention-keep-controller-cache', SHORT)
    const { beside, perSecond, windows } = await watched(world, (nodes) => crowded(place, world, nodes, one))
    const deleted = before + SENDING - (await stored(world))
    const how = `three uploads, ${perSecond.toFixed(0)} heartbeats/s, ${beside}, ${deleted} takes deleted by retention`
    return row('event-loop, all at once', windows, how)
  } finally {
    await world.controller.stop()
    fs.rmSync(data, { recursive: true })
  }
}

const SHORT = {
  action: 'delete_cache',
  deleteOnlyAfterUploaded: false,
  enabled: true,
  maxAgeDays: 365,
  preserveTagged: false,
}
const stored = async (world: Fleet): Promise<number> => (await world.call('GET', '/status')).data.cachedRecordings

/** Uploads, and whole exports and backups one after the other until they are done; what was done beside them. */
async function crowded(place: Place, world: Fleet, nodes: Enrolled[], one: Take): Promise<string> {
  const over = new AbortController()
  const lists = ['/recordings/export', '/recording-jobs/export'].map((list) => again(over, () => exported(world, list)))
  const copies = again(over, () => backedUp(place, world))
  try {
    await sent(world, nodes, one)
  } finally {
    over.abort()
  }
  const exports = (await Promise.all(lists)).reduce((sum, n) => sum + n, 0)
  const megabytes = fs.statSync(path.join(world.data, 'roomtone.db')).size / 1e6
  return `${exports} exports of ${RECORDINGS} rows, ${await copies} backups of ${megabytes.toFixed(0)} MB`
}

async function again(over: AbortController, work: () => Promise<void>): Promise<number> {
  let times = 0
  for (; !over.signal.aborted; times++) await work()
  return times
}

async function exported({ controller, token }: Fleet, list: string): Promise<void> {
  const answer = await fetch(`${controller.url}/api/v1${list}`, { headers: { authorization: `Bearer ${token}` } })
  if (!answer.ok || !answer.body) throw new Error(`${list} answered ${answer.status}`)
  for await (const _ of answer.body);
}

async function backedUp({ dir, roomtone }: Place, { data }: Fleet): Promise<void> {
  // A name of its own each time: to take a file of gigabytes away is the disk's work, and not the copy's.
  const copy = path.join(fs.mkdtempSync(path.join(dir, 'copy-')), 'roomtone.db')
  const child = begin(
    { args: ['backup', copy], env: { SVC_DATA_DIR: data }, program: roomtone },
    path.join(data, 'backup.log'),
  )
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`the backup ended with ${code}`)
}

async function sent(world: Fleet, nodes: Enrolled[], one: Take): Promise<string> {
  for (const node of nodes.slice(0, SENDING)) await send(world, node, one)
  return ''
}

interface Watched {
  /** What `work` says it did. */
  beside: string
  /** Heartbeats. */
  perSecond: number
  windows: Lag[]
}

/** Watches the loop while `work` is done and heartbeats come in without a pause. */
export async function watched(world: Fleet, work: (nodes: Enrolled[]) => Promise<string>): Promise<Watched> {
  const nodes = await enroll(world, BEATING)
  await lag(world) // the watch begins with the first look
  const busy = new AbortController()
  const watching = watch(world, busy.signal)
  const beating = beat(world, nodes, busy.signal)
  try {
    const beside = await work(nodes)
    busy.abort()
    return { beside, perSecond: await beating, windows: await watching }
  } finally {
    busy.abort()
  }
}

interface Lag {
  max: number
  p99: number
}

// The watch looks every 10 ms: of a thousand looks p99.9 spares the latest.
export function row(name: string, windows: Lag[], how: string): Row {
  const worst = windows.map(({ max }) => max).sort((a, b) => b - a)
  const spared = Math.floor((windows.length * WINDOW_MS) / RESOLUTION_MS / 1000)
  const told = `${windows.length} windows of ${WINDOW_MS} ms, median of their longest ${quantile(worst, 0.5).toFixed(0)} ms`
  const longest = `the longest ${worst
    .slice(0, 3)
    .map((ms) => ms.toFixed(0))
    .join(', ')} ms, of which p99.9 spares ${spared}`
  return {
    name,
    measured: worst[spared] ?? 0,
    limit: 50,
    unit: 'ms',
    bound: 'most',
    how: `${told}; ${longest}; ${how}`,
  }
}

async function watch(world: Fleet, signal: AbortSignal): Promise<Lag[]> {
  const windows: Lag[] = []
  while (!signal.aborted) {
    await sleep(WINDOW_MS)
    windows.push(await lag(world))
  }
  return windows
}

/** Heartbeats per second, as many as the controller takes beside the rest. */
async function beat(world: Fleet, nodes: Enrolled[], signal: AbortSignal): Promise<number> {
  const rates: number[] = []
  while (!signal.aborted) rates.push((await load(world.controller.url, beats(nodes), 0.5)).perSecond)
  return quantile(rates, 0.5)
}

/** Delays since the last look. */
async function lag({ controller, token }: Fleet): Promise<Lag> {
  const response = await fetch(`${controller.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
  const text = await response.text()
  const of = (name: string) => {
    const found = new RegExp(`^nodejs_eventloop_lag_${name}_seconds (\\S+)$`, 'm').exec(text)?.[1]
    return Math.max(0, Number(found) * 1000 - RESOLUTION_MS)
  }
  return { max: of('max'), p99: of('p99') }
}
