// The steps of a running take at which a disk is most easily caught halfway.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { MARKED_HEADER, SLOTS } from '../../src/agent/audio/marks.rules.ts'
import { markIn } from '../../src/agent/audio/marks.ts'
import { until } from '../kit/whole.ts'
import { RATE } from './signal.ts'

/**
 * `create`: the file of the take is there. `record`: a sync has ended, its header knows. `border`: frames go over the end
 * of a chunk of a second. `state`: the state of the job was renamed. `output`: a finished file was.
 */
export type Step = 'border' | 'create' | 'output' | 'record' | 'state'

/** Of 16 bit stereo. */
const FRAME = 4
const HANGS_MS = 40_000

/** Resolves at once when a take has come to the n-th of its steps, or is over. `file`: the take's. */
export async function reached(step: Step, file: string, { nth }: { nth: number }): Promise<void> {
  const dir = path.dirname(file)
  await until('the job', () => fs.existsSync(dir))
  if (step === 'state') return renamed(dir, /^state\.json$/, nth)
  if (step === 'output') return renamed(dir, /^([0-9]+\.)?(rendered|cut|enhanced)\.\w+$/, Math.ceil(nth / 2))
  const there = { border: () => sizeOf(file) > MARKED_HEADER + nth * RATE * FRAME, create: () => sizeOf(file) >= 0 }
  const seen = new Set<number>()
  const counted = () => {
    seen.add(baseOf(file))
    return seen.size > nth + 1
  }
  const here = step === 'record' ? counted : there[step]
  for (const end = performance.now() + HANGS_MS; !here(); await turn()) {
    if (performance.now() > end) throw new Error(`waited for ${step}`)
    if (seen.size > 1 && sizeOf(file) < 0) return
  }
}

const sizeOf = (file: string): number => fs.statSync(file, { throwIfNoEntry: false })?.size ?? -1

/** Frames that the newest record says are on the disk. */
function baseOf(file: string): number {
  if (sizeOf(file) < MARKED_HEADER) return 0
  const head = Buffer.alloc(MARKED_HEADER)
  const fd = fs.openSync(file, 'r')
  try {
    fs.readSync(fd, head, 0, head.length, 0)
  } finally {
    fs.closeSync(fd)
  }
  return Math.max(0, ...SLOTS.map((slot) => markIn(head, slot)?.base ?? 0))
}

/** Resolves when a name that matches has come into the directory so many times, or the directory has gone. */
async function renamed(dir: string, name: RegExp, nth: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let count = 0
  const watcher = fs.watch(dir, (_, changed) => {
    if (changed !== null && name.test(changed) && fs.existsSync(path.join(dir, changed))) count++
    if (count >= nth || !fs.existsSync(dir)) resolve()
  })
  try {
    await promise
  } finally {
    watcher.close()
  }
}
