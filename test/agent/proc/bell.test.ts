import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backoffMs, createBell } from '../../../src/agent/proc/bell.ts'

/** Whether a wait is over, once everything that was due has happened. */
const isOver = (waiting: Promise<void>): Promise<boolean> =>
  Promise.race([waiting.then(() => true), new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))])

test('a bell ends the wait, also when it rang before, and one wait only', async () => {
  const bell = createBell()
  bell.ring()
  assert.equal(await isOver(bell.wait()), true, 'it rang before')
  const waiting = bell.wait(60_000)
  assert.equal(await isOver(waiting), false, 'nobody has rung since')
  bell.ring()
  assert.equal(await isOver(waiting), true)
  assert.equal(await isOver(bell.wait()), false)
})

test('a wait nobody rings for ends by itself', () => createBell().wait(1))

test('pauses double to their most; chance spreads those of a fleet, and makes none longer', () => {
  const pauses = (random?: number) => [1, 2, 3, 4, 100].map((attempt) => backoffMs(attempt, 10_000, random))
  assert.deepEqual(pauses(), [1000, 2000, 4000, 8000, 10_000])
  assert.deepEqual(pauses(0.5), [750, 1500, 3000, 6000, 7500])
  assert.deepEqual(pauses(1), [500, 1000, 2000, 4000, 5000])
})
