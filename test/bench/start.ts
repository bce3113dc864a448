import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { allocatorOf } from '../kit/unit.ts'
import { elapsed, median, quantile, type Row } from './measure.ts'
import { listening, memory } from './programs.ts'
import { COUNTS, seed } from './seed.ts'
import type { Place } from './world.ts'

const STARTS = 15
const IDLE_MS = 5000

/** From the start of the process to the first 200 of /readyz, and what it holds when it has nothing to do. */
export async function start(place: Place): Promise<Row[]> {
  const existing = fs.mkdtempSync(path.join(place.dir, 'start-'))
  await readyAfter(place, existing)
  const [again, fresh]: [number[], number[]] = [[], []]
  for (let i = 0; i < STARTS; i++) {
    again.push(await readyAfter(place, existing))
    fresh.push(await readyAfter(place, fs.mkdtempSync(path.join(place.dir, 'start-'))))
  }
  return [row('start', again, 400), row('start fresh', fresh, 400), await idle(place, existing), size(place)]
}

/** Two gigabytes of database. */
const LARGE = 500_000

/**
 * The same with a large database, which is seeded for minutes (`ROOMTONE_LARGE_DIR` names a data directory that is kept).
 * Beside it the bare runtime, for the time of which nobody can do anything.
 */
export async function startLarge(place: Place): Promise<Row[]> {
  const data = process.env.ROOMTONE_LARGE_DIR ?? fs.mkdtempSync(path.join(place.dir, 'large-'))
  const file = path.join(data, 'roomtone.db')
  if (!fs.existsSync(file)) seed(file, { ...COUNTS, audit: 5 * LARGE, jobs: LARGE, recordings: LARGE })
  await readyAfter(place, data)
  const [times, bare]: [number[], number[]] = [[], []]
  for (let i = 0; i < STARTS; i++) {
    times.push(await readyAfter(place, data))
    bare.push(await elapsed(async () => void execFileSync(process.execPath, ['-e', '0'])))
  }
  const { how, ...rest } = row('start large', times, 200)
  const gigabytes = (fs.statSync(file).size / 1e9).toFixed(1)
  return [{ ...rest, how: `${how}; database of ${gigabytes} GB; Node alone ${median(bare).toFixed(0)} ms` }]
}

const row = (name: string, times: number[], limit: number): Row => ({
  name,
  measured: median(times),
  limit,
  unit: 'ms',
  bound: 'most',
  how: `process start to the first 200 of /readyz, median of ${STARTS}, worst ${quantile(times, 1).toFixed(0)} ms`,
})

const size = ({ roomtone }: Place): Row => ({
  name: 'executable',
  measured: fs.statSync(roomtone).size / 1e6,
  limit: 140,
  unit: 'MB',
  bound: 'most',
  how: 'everything in one file',
})

const begin = ({ roomtone }: Place, data: string) =>
  listening(
    {
      args: ['controller'],
      env: { ...allocatorOf('controller'), SVC_DATA_DIR: data, SVC_PORT: '0' },
      program: roomtone,
    },
    data,
  )

async function readyAfter(place: Place, data: string): Promise<number> {
  const controller = await begin(place, data)
  const asked = performance.now()
  const { status } = await fetch(`${controller.url}/readyz`)
  const ms = controller.listenedAfterMs + performance.now() - asked
  await controller.stop()
  if (status !== 200) throw new Error(`/readyz answered ${status}`)
  return ms
}

async function idle(place: Place, data: string): Promise<Row> {
  const controller = await begin(place, data)
  await sleep(IDLE_MS)
  const [resident, own] = [memory.resident(controller.pid), memory.private(controller.pid)]
  await controller.stop()
  return {
    name: 'idle memory',
    measured: resident,
    limit: 90,
    unit: 'MiB',
    bound: 'most',
    how: `VmRSS after ${IDLE_MS / 1000} s idle; ${own.toFixed(0)} MiB of it private`,
  }
}
