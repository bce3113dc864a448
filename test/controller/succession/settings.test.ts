import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../../src/controller/config.ts'
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
