import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { kit } from '../kit/kit.ts'

test('a part that cannot stop keeps no other from stopping, and is told of at the end', async () => {
  const k = kit()
  const fault = new Error('no')
  k.waveforms.stop = () => Promise.reject(fault)
  const stopTicker = k.ticker.stop.bind(k.ticker)
  let stopped = false
  k.ticker.stop = async () => {
    await stopTicker()
    stopped = true
  }
  const write = k.pipeline.group.submit(() => 'written')
  await assert.rejects(k.stop(), (e) => e instanceof AggregateError && e.errors.length === 1 && e.errors[0] === fault)
  assert.deepEqual([stopped, await write], [true, 'written'])
  k.db.close()
  rmSync(k.dir, { recursive: true })
})

test('a database that refuses writes keeps nothing from stopping', async () => {
  const k = kit()
  k.db.raw.pragma('query_only = ON')
  const refused = assert.rejects(
    k.pipeline.group.submit(() => undefined),
    { status: 503 },
  )
  await k.stop()
  await refused
  k.db.close()
  rmSync(k.dir, { recursive: true })
})
