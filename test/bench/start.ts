import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { allocatorOf } from '../kit/unit.ts'
import { median, quantile, type Row } from './measure.ts'
import { listening, memory } from './programs.ts'
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
  const row = (name: string, times: number[]): Row => ({
    name,
    measured: median(times),
    limit: 400,
    unit: 'ms',
    bound: 'most',
    how: `process start to the first 200 of /readyz, median of ${STARTS}, worst ${quantile(times, 1).toFixed(0)} ms`,
  })
  return [row('start', again), row('start fresh', fresh), await idle(place, existing)]
}

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
    limit: 110,
    unit: 'MiB',
    bound: 'most',
    how: `VmRSS after ${IDLE_MS / 1000} s idle; ${own.toFixed(0)} MiB of it private`,
  }
}
