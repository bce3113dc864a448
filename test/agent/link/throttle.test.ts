import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Throttle } from '../../../src/agent/link/throttle.ts'

const { signal } = new AbortController()

test('streams together keep to the rate: never faster, whatever the machine does', async () => {
  const throttle = new Throttle(800) // 100 kB/s
  const piece = throttle.pieceBytes
  assert.ok(piece <= 25_000)
  const from = performance.now()
  const stream = async () => {
    for (let sent = 0; sent < 30_000; sent += 5000) await throttle.pass(5000, signal)
  }
  await Promise.all([stream(), stream()])
  // The first piece is free, the other eleven are paid for; timers may end a millisecond early.
  assert.ok(performance.now() - from >= ((60_000 - 5000) / 100_000) * 1000 - 15)
})

test('no limit is no delay, and a slow line gets small pieces: silence must not look like an outage', async () => {
  const free = new Throttle(0)
  assert.equal(free.pieceBytes, 256 * 1024)
  for (let i = 0; i < 1000; i++) await free.pass(1 << 20, signal)
  assert.ok(new Throttle(8).pieceBytes <= 1000)
})

test('an abort ends the waiting', async () => {
  const throttle = new Throttle(1)
  await throttle.pass(100_000, signal)
  const stop = new AbortController()
  const waiting = assert.rejects(throttle.pass(1, stop.signal), /abort/i)
  stop.abort()
  await waiting
})
