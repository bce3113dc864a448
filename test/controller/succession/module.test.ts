import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LeaseClient } from '../../../src/controller/succession/leaseclient.ts'
import { kit } from '../../kit/kit.ts'

interface Told {
  silence: LeaseClient['silence']
  term: number
}

test('a controller writes down its term once, how old its database is, and that the store is away, until it is back', async () => {
  const lease: Told = { silence: undefined, term: 4 }
  const k = kit({ lease: lease as LeaseClient })
  await k.start()
  const began = () => k.trail().filter((row) => row.startsWith('controller.')).length
  assert.equal(began(), 1)
  const pulse = () =>
    JSON.parse(k.rows<{ value: string }>("SELECT value FROM controller_state WHERE key = 'lease_pulse'")[0]!.value)
  assert.deepEqual(pulse(), { term: 4, writtenAt: k.now() })
  await k.start()
  assert.equal(began(), 1)
  const standing = () =>
    k.rows("SELECT 1 FROM health_events WHERE type = 'watchdog.lease_unreachable' AND status <> 'resolved'").length
  for (const [ms, told] of [
    [59_000, 0],
    [60_000, 1],
    [99_000, 1],
  ] as const) {
    lease.silence = { ms, why: 'the bucket does not answer' }
    k.advance('10s')
    await k.tick('lease-pulse')
    assert.equal(standing(), told)
  }
  assert.deepEqual(pulse(), { term: 4, writtenAt: k.now() })
  lease.silence = undefined
  await k.tick('lease-pulse')
  assert.equal(standing(), 0)
  assert.deepEqual(
    k.trail().filter((row) => row.startsWith('health.')),
    ['health.watchdog.lease_unreachable.created succeeded', 'health.watchdog.lease_unreachable.resolved succeeded'],
  )
  await k.close()
})

test('a controller that is alone writes nothing of the kind', async () => {
  const k = kit()
  await k.start()
  assert.deepEqual(k.rows("SELECT 1 FROM controller_state WHERE key = 'lease_pulse'"), [])
  await k.close()
})
