import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCalendar } from '../../src/agent/calendar.ts'

const DAY = 86_400_000

test('no clock alone makes anything old, and the true time goes on without being heard', () => {
  let [wall, passed] = [100 * DAY, 5000]
  const calendar = createCalendar({ monotonic: () => passed, now: () => wall })
  assert.equal(calendar.surely(), undefined, 'nobody else was asked yet')
  calendar.heard(100 * DAY)
  passed += DAY
  wall += DAY
  assert.equal(calendar.surely(), 101 * DAY)
  wall += 365 * DAY
  assert.equal(calendar.surely(), 101 * DAY, 'our clock is a year ahead')
  wall -= 500 * DAY
  assert.equal(calendar.clock.now(), 101 * DAY, 'what is recorded now is not noted as old')
  calendar.heard(1000 * DAY)
  assert.equal(calendar.surely(), wall, 'their clock is years ahead')
  assert.equal(calendar.clock.monotonic(), passed)
})
