// The lease, the other box and the replica, as `roomtone doctor` sees them from a controller or a standby.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeCopy, judgeLease, pairChecks } from '../../../src/controller/cli/doctor/pair.ts'
import type { Config } from '../../../src/controller/config.ts'
import { leaseStore } from '../../../src/controller/succession/lease.s3.ts'
import { placeOf } from '../../../src/controller/succession/place.rules.ts'
import type { Lease } from '../../../src/wire/lease.ts'
import { json, serve } from '../../agent/server.ts'
import { s3Server } from '../../kit/s3.ts'
import { pairAt } from '../succession/world.ts'

const NOW = Date.parse('2026-03-02T09:00:00.000Z')
const signal = () => AbortSignal.timeout(20_000)
const leaseAt = (url: string, renewedAt = new Date(NOW).toISOString()): Lease => ({
  automatic: false,
  holder: { id: 'one', name: 'Box one', url },
  renewedAt,
  term: 3,
  version: 1,
})

test('a lease is well while it is renewed; else what to do depends on whose it is', () => {
  const pair = { ttlMs: 30_000, url: 'https://two' }
  const status = (seconds: number, url: string) => judgeLease(leaseAt(url), pair, NOW + seconds * 1000)
  assert.deepEqual([status(60, 'https://one').status, status(91, 'https://one').status], ['ok', 'fail'])
  assert.match(status(91, 'https://one').fix ?? '', /takeover --unplanned/)
  assert.match(status(91, 'https://two').message, /^This box holds the lease, term 3, and renewed it 91 seconds ago/)
  assert.doesNotMatch(status(91, 'https://two').fix ?? '', /takeover/)
  assert.equal(judgeLease(undefined, pair, NOW).status, 'fail')
})

test('a replica that is not written fails', () => {
  const status = (seconds: number) => judgeCopy(NOW - seconds * 1000, 3, NOW).status
  assert.deepEqual([status(1), status(300), status(301)], ['ok', 'ok', 'fail'])
  assert.match(judgeCopy(undefined, 3, NOW).message, /no replica of term 3/)
})

test('a standby looks at the lease, at the controller and at its replica in the real bucket', async (t) => {
  const s3 = await s3Server({ keeps: true })
  t.after(() => s3.close())
  let term = 3
  const one = await serve(t, (_seen, response) => json(response.setHeader('x-svc-term', term), 200, {}))
  const replica = placeOf(`s3://takes/pair/database?endpoint=${s3.endpoint}`)!
  const config = { pair: { ...pairAt(s3, false, 'https://two'), replica } } as unknown as Config
  const looks = () => pairChecks(config)
  const found = async (which: 'copy' | 'lease' | 'other') => await looks()[which](signal())
  assert.deepEqual([(await found('lease')).status, (await found('other')).status], ['fail', 'skipped'])
  const store = await leaseStore(config.pair!, 5000)
  await store.write(leaseAt(one.url, new Date().toISOString()), undefined)
  store.close()
  assert.equal((await found('lease')).status, 'ok')
  assert.equal((await found('other')).status, 'ok')
  term = 2
  assert.match((await found('other')).message, /no box of this pair \(term 2, the lease has 3\)/)
  assert.match((await found('copy')).message, /no replica of term 3/)
  await s3.close()
  assert.deepEqual([(await found('lease')).status, (await found('copy')).status], ['fail', 'skipped'])
})

test('a controller of one box has nothing to look at', async () => {
  const looks = pairChecks({} as Config)
  for (const look of Object.values(looks)) assert.equal((await look(signal())).status, 'skipped')
})
