import assert from 'node:assert/strict'
import { test } from 'node:test'
import { behindLease, standbyResponses } from '../../../src/controller/succession/gate.ts'
import type { LeaseClient } from '../../../src/controller/succession/leaseclient.ts'
import { s3Server } from '../../kit/s3.ts'
import { box } from './world.ts'

const STATUS = { message: 'm', name: 'one', ready: false, role: 'fenced', version: '1' } as const
const REQUEST = new Request('http://one/api/v1/rooms')

test('an answer that was made while the lease got lost is held back', async () => {
  const s3 = await s3Server({ keeps: true })
  const [one, two] = [await box(s3, 'one'), await box(s3, 'two')]
  await one.leaseClient.claim(true)
  const lost = one.leaseClient.hold()
  const made = Promise.withResolvers<Response>()
  const headers = new Map<string, string>()
  const env = { outgoing: { setHeader: (name: string, value: string) => headers.set(name, value) } }
  const app = behindLease({ fetch: () => made.promise }, one.leaseClient, () =>
    one.leaseClient.status({ role: 'fenced' }),
  )
  const answer = app.fetch(REQUEST, env)
  await two.leaseClient.claim(false)
  assert.equal(await two.leaseClient.takeOverIf(() => true), true)
  await one.leaseClient.renew()
  await lost
  made.resolve(new Response('{"data":"acknowledged"}', { status: 201 }))
  const { headers: told, status } = await answer
  assert.deepEqual([status, told.get('x-svc-reason')], [503, 'fenced'])
  assert.equal(headers.get('x-svc-term'), '1')
  const next = await app.fetch(REQUEST, env)
  const body = (await next.json()) as { reason: string; url: string }
  assert.deepEqual([next.status, body.reason, body.url], [503, 'fenced', 'http://two'])
  for (const each of [one, two]) await each.close()
  await s3.close()
})

test('a box that is not the controller answers probes and status, shows one page, and escapes what it is told', async () => {
  const leaseClient = { term: 2 } as LeaseClient
  const served = standbyResponses(leaseClient, () => ({
    ...STATUS,
    message: '<script>',
    serving: { name: 'two', term: 2, url: 'https://two' },
  }))
  const ask = (path: string, init: RequestInit = {}) => served.fetch(new Request(`http://one${path}`, init))
  const asked = async (path: string, init?: RequestInit) => (await ask(path, init)).status
  assert.equal(await asked('/healthz'), 200)
  assert.equal(await asked('/readyz'), 503)
  assert.equal(await asked('/status'), 200)
  assert.equal(await asked('/api/v1/status'), 200)
  for (const path of ['/api/v1/auth/login', '/metrics', '/healthz'])
    assert.equal(await asked(path, { method: 'POST' }), 503)
  const page = await ask('/rooms', { headers: { accept: 'text/html' } })
  const text = await page.text()
  assert.match(text, /href="https:\/\/two"/)
  assert.equal(text.includes('<script>'), false)
})

test('a recorder that has seen a later controller is refused before anything of it is noted; others are served', async () => {
  const served: string[] = []
  const leaseClient = { mayServe: () => true, term: 2 } as unknown as LeaseClient
  const app = {
    fetch: (request: Request) => {
      served.push(request.headers.get('x-svc-term') ?? 'none')
      return new Response('{}')
    },
  }
  const gate = behindLease(app, leaseClient, () => STATUS)
  const ask = async (term?: string) => {
    const headers: Record<string, string> = term === undefined ? {} : { 'x-svc-term': term }
    return (await gate.fetch(new Request('http://one/api/v1/nodes/n/heartbeat', { headers, method: 'POST' }))).status
  }
  assert.deepEqual([await ask(), await ask('1'), await ask('2'), await ask('3')], [200, 200, 200, 503])
  // What is no term says nothing.
  assert.deepEqual([await ask('-1'), await ask('3, 4'), await ask('9'.repeat(40))], [200, 200, 200])
  assert.equal(served.length, 6)
})
