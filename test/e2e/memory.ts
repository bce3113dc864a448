// Whether the memory of a running program grows with what it is asked.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** A heap breathes: so much, or a tenth, between two medians is no slope. */
const SLACK_MIB = 24

/** What is in memory of a process, MiB. */
export function residentMiB(pid: number): number {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** What this process itself still holds once everything that can go has gone, MiB. */
export function heldMiB(): number {
  collect()
  const { external, heapUsed } = process.memoryUsage()
  return (heapUsed + external) / 2 ** 20
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/**
 * The second quarter of the samples, behind the warm-up, against the last one; gives both in words.
 * @throws AssertionError when it grows; fewer than eight samples tell nothing
 */
export function assertFlat(name: string, samples: number[]): string {
  const quarter = Math.floor(samples.length / 4)
  const words = (mib: number) => `${mib.toFixed(0)} MiB`
  if (quarter < 2) return `${name}: ${samples.map(words).join(', ')}`
  const [early, late] = [median(samples.slice(quarter, 2 * quarter)), median(samples.slice(-quarter))]
  const told = `${name}: ${words(early)} in the second quarter, ${words(late)} in the last, ${words(Math.max(...samples))} at most`
  assert.ok(late <= early + Math.max(early / 10, SLACK_MIB), told)
  return told
}
