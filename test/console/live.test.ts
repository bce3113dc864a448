import assert from 'node:assert/strict'
import { test } from 'node:test'

// Not by its name: the types of a browser are not those of this project.
const live = '../../src/console/data/live.ts'
const { startLive } = await import(live)

/** A line to the controller that stays open and silent. */
class Line extends EventTarget {
  static readonly opened: Line[] = []
  closed = false
  constructor() {
    super()
    Line.opened.push(this)
  }
  close(): void {
    this.closed = true
  }
  hear(name: string, data: object): void {
    this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }))
  }
}

test('a line that is dead without an error is given up and opened again', (t) => {
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'] })
  const page = Object.assign(new EventTarget(), { hidden: false })
  const browser = Object.assign(new EventTarget(), { setTimeout: (fn: () => void, ms: number) => setTimeout(fn, ms) })
  Object.assign(globalThis, { document: page, EventSource: Line, window: browser })
  const told: { lostSince?: number }[] = []
  let checks = 0
  const end = startLive({
    changed() {},
    check: () => void checks++,
    resync() {},
    tell: (state: { lostSince?: number }) => told.push(state),
  })
  const [first] = Line.opened as [Line]
  first.hear('hello', { bootId: 'boot_1', version: '1' })
  for (let minutes = 0; minutes < 4; minutes++) {
    t.mock.timers.tick(15_000)
    first.hear('ping', {})
  }
  assert.deepEqual([checks, first.closed], [0, false])
  t.mock.timers.tick(40_000)
  assert.deepEqual([checks, first.closed], [1, true])
  t.mock.timers.tick(3000)
  assert.ok(told.at(-1)?.lostSince !== undefined)
  assert.equal(Line.opened.length, 2, 'asked for again')
  Line.opened[1]?.hear('hello', { bootId: 'boot_1', version: '1' })
  assert.equal(told.at(-1)?.lostSince, undefined)
  end()
  t.mock.timers.tick(120_000)
  assert.deepEqual([checks, Line.opened.length], [1, 2], 'no timer is left')
})
