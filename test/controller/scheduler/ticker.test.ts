import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { type Runner, Ticker } from '../../../src/controller/scheduler/ticker.ts'
import { iso, systemClock } from '../../../src/kernel/clock.ts'

const quiet = { debug() {}, error() {}, info() {}, warn() {} }

/** A runner that is due at instants it is told, and says when a pass was made. */
function sleeper(t: TestContext, enabled = true) {
  const passes: (() => void)[] = []
  let made = 0
  let due: number | undefined
  const runner: Runner = {
    name: 'sleeper',
    enabled,
    intervalSeconds: 3600,
    due: () => (due === undefined ? undefined : iso(due)),
    tick: () => {
      made++
      due = undefined
      for (const done of passes.splice(0)) done()
    },
  }
  const ticker = new Ticker(systemClock, quiet).add([runner])
  t.after(() => ticker.stop())
  const next = () => new Promise<void>((done) => passes.push(done))
  return { at: (ms: number) => (due = ms), made: () => made, next, ticker }
}

test('a pass is made when something is due, long before the interval is over', async (t) => {
  const { at, made, next, ticker } = sleeper(t)
  const first = next()
  ticker.start()
  await first
  const second = next()
  const seen = at(systemClock.now() + 100)
  ticker.reschedule('sleeper')
  await second
  assert.ok(systemClock.now() >= seen, 'never before its time')
  assert.equal(made(), 2)
  await ticker.stop()
})

test('a runner that cannot say what is due, because the database is away, ends nothing but is logged', async (t) => {
  const told: string[] = []
  const runner: Runner = {
    name: 'sleeper',
    enabled: true,
    intervalSeconds: 3600,
    due: () => {
      throw new Error('the database is away')
    },
    tick: () => undefined,
  }
  const ticker = new Ticker(systemClock, { ...quiet, error: (line) => void told.push(line) }).add([runner])
  t.after(() => ticker.stop())
  ticker.start()
  ticker.reschedule('sleeper')
  assert.equal(told.length, 1)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(told.length, 2, 'asked again after the pass')
  assert.equal(ticker.status()[0]?.passes, 1)
})

test('after the pass at the start the next comes with the interval, not with the next second', async (t) => {
  const { made, next, ticker } = sleeper(t)
  const first = next()
  ticker.start()
  await first
  await new Promise((resolve) => setTimeout(resolve, 1100))
  assert.equal(made(), 1)
})

test('what was due is overdue: a pass follows at once; after the stop none does', async (t) => {
  const { at, made, next, ticker } = sleeper(t)
  const first = next()
  ticker.start()
  await first
  const second = next()
  at(0)
  ticker.reschedule('sleeper')
  await second
  at(0)
  ticker.reschedule('sleeper')
  await ticker.stop()
  ticker.reschedule('sleeper')
  assert.equal(made(), 2)
})

test('before the start, and for a runner that is switched off, nothing is rescheduled', async (t) => {
  for (const enabled of [true, false]) {
    const { at, made, ticker } = sleeper(t, enabled)
    at(0)
    if (!enabled) ticker.start()
    ticker.reschedule('sleeper')
    ticker.reschedule('nobody')
    await ticker.stop()
    assert.equal(made(), 0)
  }
})

test('at the end passes under way are told, none begins by itself, and the stop waits for them', async (t) => {
  let begun = 0
  let ended = false
  const runner: Runner = {
    name: 'long',
    enabled: true,
    intervalSeconds: 3600,
    due: () => iso(0),
    tick: async (_now, signal) => {
      begun++
      if (!signal.aborted) await once(signal, 'abort')
      await new Promise((resolve) => setImmediate(resolve))
      ended = true
    },
  }
  const ticker = new Ticker(systemClock, quiet).add([runner])
  t.after(() => ticker.stop())
  ticker.start()
  ticker.end()
  assert.deepEqual([begun, ended], [1, false], 'modules stop while it ends')
  await ticker.stop()
  assert.deepEqual([begun, ended], [1, true])
})
