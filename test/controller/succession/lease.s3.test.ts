import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaseStore, StoreUnreachable } from '../../../src/controller/succession/lease.s3.ts'
import { s3Server } from '../../kit/s3.ts'
import { pairAt } from './world.ts'

test('what is no lease, or longer than any, is refused with what to do', async (t) => {
  let tooLong = false
  const s3 = await s3Server({
    interfere: (_, response) => {
      if (tooLong) response.writeHead(500).end(Buffer.alloc(2 * 1024 * 1024))
      return tooLong
    },
    keeps: true,
  })
  t.after(() => s3.close())
  const store = await leaseStore(pairAt(s3), 5000)
  t.after(() => store.close())
  s3.objects.set('takes/pair/lease.json', { body: Buffer.from('{"not":"a lease"}'), etag: '"1"' } as never)
  const says = (message: string) => (e: Error) => e instanceof StoreUnreachable && e.message === message
  await assert.rejects(store.read(), says('the object at SVC_LEASE_URL is not a lease: choose an unused key'))
  tooLong = true
  await assert.rejects(store.read(), says('SVC_LEASE_URL returned an oversized answer: is it an S3 service?'))
})
