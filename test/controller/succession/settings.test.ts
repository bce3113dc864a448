import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../../src/controller/config.ts'
import { placeOf, replicaOfTerm } from '../../../src/controller/succession/place.rules.ts'
import { statusOf } from '../../../src/controller/succession/status.rules.ts'
import { scratchDir } from '../../kit/scratch.ts'

const PAIR = {
  SVC_LEASE_ACCESS_KEY_ID: 'AKIA',
  SVC_LEASE_SECRET_ACCESS_KEY: 'a-secret-of-the-bucket',
  SVC_LEASE_URL: 's3://bucket/pair/lease.json?region=eu-central-1',
  SVC_PUBLIC_URL: 'https://one.example/',
  SVC_REPLICA_URL: 's3://bucket/pair/database/?endpoint=https://s3.example',
}
const read = (env: Record<string, string>) => readConfig({ SVC_DATA_DIR: scratchDir('roomtone-pair-'), ...env })

test('a box that names no lease is alone', () => {
  const config = read({})
  assert.equal(config.pair, undefined)
  assert.equal(config.SVC_DATABASE_REPLICATED, false)
})

test('two boxes are told by settings, and their replicator decides about checkpoints', () => {
  const config = read(PAIR)
  const { lease, replica, ttlMs, url } = config.pair!
  assert.deepEqual(lease, { bucket: 'bucket', endpoint: undefined, key: 'pair/lease.json', region: 'eu-central-1' })
  assert.deepEqual(replica, {
    bucket: 'bucket',
    endpoint: 'https://s3.example',
    key: 'pair/database',
    region: 'us-east-1',
  })
  assert.equal(replicaOfTerm(replica, 12).key, 'pair/database/term-000012')
  assert.deepEqual([ttlMs, url], [30_000, 'https://one.example'])
  assert.equal(config.SVC_DATABASE_REPLICATED, true)
})

test('what contradicts itself stops the start, with what to do, and without the secret', () => {
  const { SVC_LEASE_SECRET_ACCESS_KEY: _, ...keyless } = PAIR
  const { SVC_LEASE_URL: __, ...leaseless } = PAIR
  const { SVC_PUBLIC_URL: ___, ...nowhere } = PAIR
  const { SVC_REPLICA_URL: ____, ...alone } = PAIR
  const cases: [Record<string, string>, RegExp][] = [
    [keyless, /needs SVC_LEASE_ACCESS_KEY_ID and SVC_LEASE_SECRET_ACCESS_KEY/],
    [leaseless, /SVC_REPLICA_URL needs SVC_LEASE_URL/],
    [alone, /SVC_LEASE_URL needs SVC_REPLICA_URL, a folder such as s3:/],
    [nowhere, /SVC_LEASE_URL needs SVC_PUBLIC_URL/],
    [{ ...PAIR, SVC_LEASE_URL: 'https://bucket/lease' }, /SVC_LEASE_URL is not usable/],
    [{ ...PAIR, SVC_REPLICA_URL: 's3://bucket/a?region=x&acl=public' }, /SVC_REPLICA_URL is not usable/],
    [{ SVC_STANDBY_TAKEOVER: 'automatic' }, /SVC_STANDBY_TAKEOVER=automatic needs SVC_LEASE_URL/],
  ]
  for (const [env, words] of cases)
    assert.throws(
      () => read(env),
      (e: Error) => words.test(e.message) && !e.message.includes('a-secret'),
    )
})

test('an address without a key, with a user or of another scheme is none', () => {
  for (const text of [
    's3://bucket',
    's3://bucket/',
    's3://me@bucket/a',
    'http://bucket/a',
    's3://b/a?endpoint=ftp://x',
    'x',
  ])
    assert.equal(placeOf(text), undefined, text)
})

test('a standby is ready while it has a copy and nothing failed; a fenced box never is', () => {
  const seen = { lease: undefined, selfId: 'a', selfName: 'two', version: '1' }
  const at = (away: Parameters<typeof statusOf>[1]) => statusOf(seen, away, 100_000)
  assert.deepEqual([at({ role: 'standby' }).ready, at({ role: 'standby' }).behindSeconds], [false, undefined])
  const copied = at({ copyAt: 58_000, role: 'standby' })
  assert.deepEqual([copied.ready, copied.behindSeconds], [true, 42])
  // Clocks of two boxes differ a little.
  assert.equal(at({ copyAt: 101_000, role: 'standby' }).behindSeconds, 0)
  const failing = at({ copyAt: 58_000, fault: 'the replica is gone', role: 'standby' })
  assert.deepEqual([failing.ready, failing.message], [false, 'the replica is gone'])
  assert.equal(at({ copyAt: 58_000, role: 'fenced' }).ready, false)
})
