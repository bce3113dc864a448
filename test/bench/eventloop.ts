import * as fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { beats } from './heartbeat.ts'
import { load } from './load.ts'
import { quantile, type Row } from './measure.ts'
import { send, take } from './upload.ts'
import { type Enrolled, enroll, type Fleet, fleet, type Place } from './world.ts'

const BEATING = 32
const WINDOW_MS = 250
/** The controller's own watch looks every 10 ms; a delay within that is no delay. */
const RESOLUTION_MS = 10

/** Delays of the controller's loop, as /metrics tells them, while a take of 1 GB and heartbeats without a pause come in. */
export async function eventLoop(place: Place): Promise<Row[]> {
  const one = await take(place)
  const world = await fleet(place)
  try {
    const nodes = await enroll(world, BEATING)
    await lag(world) // the watch begins with the first look
    const busy = new AbortController()
    const watching = watch(world, busy.signal)
    const beating = beat(world, nodes, busy.signal)
    for (const node of nodes.slice(0, 3)) await send(world, node, one)
    busy.abort()
    return rows(await watching, await beating)
  } finally {
    await world.controller.stop()
    fs.rmSync(one.file)
  }
}

interface Lag {
  max: number
  p99: number
}

function rows(windows: Lag[], perSecond: number): Row[] {
  const worst = windows.map(({ max }) => max)
  return [
    {
      name: 'event-loop',
      measured: quantile(worst, 1),
      limit: 50,
      unit: 'ms',
      bound: 'most',
      how: `longest delay of all (no p99.9 can be above it), ${windows.length} windows of ${WINDOW_MS} ms, median of their longest ${quantile(worst, 0.5).toFixed(0)} ms; three uploads, ${perSecond.toFixed(0)} heartbeats/s`,
    },
  ]
}

async function watch(world: Fleet, signal: AbortSignal): Promise<Lag[]> {
  const windows: Lag[] = []
  while (!signal.aborted) {
    await sleep(WINDOW_MS)
    windows.push(await lag(world))
  }
  return windows
}

/** Heartbeats per second, as many as the controller takes beside the uploads. */
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
