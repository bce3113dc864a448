import assert from 'node:assert/strict'
import { test } from 'node:test'
import { placeOf, replicaOfTerm } from '../../../src/controller/succession/place.rules.ts'

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

test('each term has a replica in a folder of its own', () => {
  const replica = placeOf('s3://bucket/pair/database')!
  assert.deepEqual(replicaOfTerm(replica, 12), { ...replica, key: 'pair/database/term-000012' })
})
