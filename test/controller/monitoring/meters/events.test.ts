import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as http from 'node:http'
import { test } from 'node:test'
import { listening } from '../../../kit/http.ts'
import { type Kit, kit } from '../../../kit/kit.ts'
import { reading } from '../../../kit/reading.ts'
import { frame, REF } from './frames.ts'

type Seen = { nodeId: string; levels: { channelIndex: number }[]; capturedAt: string } | undefined

const open = async (k: Kit, principal: { token: string | undefined }) => {
  const headers = { authorization: `Bearer ${principal.token}` }
  const response = await k.app.request('/api/v1/meter-events', { headers })
  assert.equal(response.status, 200)
  const feed = reading(response)
  return { cancel: feed.cancel, next: () => feed.event('meter') as Promise<Seen>, response }
}

/** Waits until it is so, but no longer than 10 s: what is asserted then says what is wrong. */
async function settled(isSo: () => boolean): Promise<void> {
  const end = performance.now() + 10_000
  while (!isSo() && performance.now() < end) await new Promise((resolve) => setImmediate(resolve))
}

const second = (n: number): string => new Date(Date.parse('2026-03-02T09:00:00.000Z') + n * 1000).toISOString()

test('the stream is server-sent events and says so before anything has happened', async () => {
  const k = kit()
  const response = await k.app.request('/api/v1/meter-events', {
    headers: { authorization: `Bearer ${k.as('admin').token}` },
  })
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  assert.equal(response.headers.get('cache-control'), 'no-cache')
  const feed = reading(response)
  assert.equal(new TextDecoder().decode(await feed.bytes()), 'retry: 2000\n\n')
  await feed.cancel()
  await k.close()
})

test('every frame arrives as it comes; recent ones open the stream', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF, 1))
  const feed = await open(k, k.as('admin'))
  assert.equal((await feed.next())?.levels.length, 1)
  for (const n of [1, 2, 3]) {
    await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF, 2, { capturedAt: second(n) }))
    assert.equal((await feed.next())?.capturedAt, second(n))
  }
  await feed.cancel()
  await k.close()
})

test('levels of chosen nodes: arrays in place of whole frames, and nothing of other nodes', async () => {
  const k = kit()
  const [hall, attic] = [await k.enroll('Hall'), await k.enroll('Attic')]
  const headers = { authorization: `Bearer ${k.as('admin').token}` }
  const response = await k.app.request(`/api/v1/meter-events?detail=levels&nodes=${hall.id},unknown`, { headers })
  const stream = reading(response)
  const next = stream.event('levels')
  await attic.agent.post(`/nodes/${attic.id}/meter-frame`, frame(attic.id, REF, 1))
  await hall.agent.post(`/nodes/${hall.id}/meter-frame`, frame(hall.id, REF, 2))
  const told = (await next) as Record<string, unknown>
  const shown = (await k.as('admin').get(`/nodes/${hall.id}/meters`)).json.data
  assert.deepEqual(told, {
    at: shown.capturedAt,
    channels: [1, 2],
    clip: [],
    interfaceId: shown.interfaceId,
    nodeId: hall.id,
    peak: shown.levels.map((level: { peakDbfs: number }) => level.peakDbfs),
    rms: shown.levels.map((level: { rmsDbfs: number }) => level.rmsDbfs),
    speech: [1, 2],
  })
  await stream.cancel()
  for (const wrong of ['detail=all', `nodes=${Array.from({ length: 201 }, (_, i) => `n${i}`)}`])
    assert.equal((await k.as('admin').get(`/meter-events?${wrong}`)).status, 400, wrong)
  await k.close()
})

test('a frame from long ago does not open the stream', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF, 1))
  k.advance('1m')
  const feed = await open(k, k.as('admin'))
  const first = feed.next()
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF, 2))
  assert.equal((await first)?.levels.length, 2)
  await feed.cancel()
  await k.close()
})

test('a client that does not read skips frames: only the newest of an interface waits', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const feed = await open(k, k.as('admin'))
  const begun = feed.next()
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF, 2, { capturedAt: second(0) }))
  await begun
  for (let n = 1; n <= 50; n++)
    for (const ref of [REF, 'hw:2,0'])
      await agent.post(`/nodes/${id}/meter-frame`, frame(id, ref, 2, { capturedAt: second(n) }))
  assert.equal((await feed.next())?.capturedAt, second(50))
  assert.equal((await feed.next())?.capturedAt, second(50))
  const after = feed.next()
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF, 2, { capturedAt: second(51) }))
  assert.equal((await after)?.capturedAt, second(51))
  await feed.cancel()
  await k.close()
})

test('only nodes in reach are streamed, and of them only the levels in reach', async () => {
  const k = kit()
  const north = await k.enroll('A')
  const south = await k.enroll('B', { location: { site: 'South', room: 'Cellar' } })
  const iid = south.node.interfaces[0].id
  k.sql(`INSERT INTO rooms VALUES ('cellar', 'South', 'Cellar', NULL, NULL, NULL, NULL, ?, ?)`, k.now(), k.now())
  k.sql(`UPDATE channels SET room_id = 'cellar' WHERE interface_id = ? AND idx = 2`, iid)
  const feed = await open(k, k.person('ann', ['operator'], [['room', 'cellar']]))
  const seen = feed.next()
  await north.agent.post(`/nodes/${north.id}/meter-frame`, frame(north.id, REF))
  // A device in no room of theirs is not even named.
  await south.agent.post(`/nodes/${south.id}/meter-frame`, frame(south.id, 'hw:9,9'))
  await south.agent.post(`/nodes/${south.id}/meter-frame`, frame(south.id, REF))
  assert.deepEqual([(await seen)?.nodeId, (await seen)?.levels.map((l) => l.channelIndex)], [south.id, [2]])
  await feed.cancel()
  await k.close()
})

for (const [why, change] of [
  ['the session is revoked', (k: Kit) => k.sql(`UPDATE sessions SET revoked_at = ? WHERE user_id = 'ann'`, k.now())],
  ['the account is disabled', (k: Kit) => k.sql(`UPDATE users SET disabled_at = ? WHERE id = 'ann'`, k.now())],
  ['the permission is taken', (k: Kit) => k.sql(`DELETE FROM user_roles WHERE user_id = 'ann'`)],
] as const)
  test(`${why}: the stream ends within seconds`, async () => {
    const k = kit()
    const { id, agent } = await k.enroll()
    const feed = await open(k, k.person('ann', ['operator'], [['site', 'North']]))
    const first = feed.next()
    await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF))
    assert.ok(await first)
    change(k)
    k.advance('6s')
    const next = feed.next()
    await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF))
    assert.equal(await next, undefined)
    await k.close()
  })

test('a grant that is taken or given changes what is streamed', async () => {
  const k = kit()
  const north = await k.enroll('A')
  const south = await k.enroll('B', { location: { site: 'South', room: 'Cellar' } })
  const feed = await open(k, k.person('ann', ['operator'], [['site', 'North']]))
  const both = async () => {
    const next = feed.next()
    await north.agent.post(`/nodes/${north.id}/meter-frame`, frame(north.id, REF))
    await south.agent.post(`/nodes/${south.id}/meter-frame`, frame(south.id, REF))
    return (await next)?.nodeId
  }
  assert.equal(await both(), north.id)
  k.sql(`UPDATE user_grants SET resource_id = 'South' WHERE user_id = 'ann'`)
  k.advance('6s')
  assert.equal(await both(), south.id)
  await feed.cancel()
  await k.close()
})

test('a user may read so many streams at once: 429, and a place is free when one ends', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF))
  const ann = k.person('ann', ['admin'])
  const streams = []
  for (let i = 0; i < 16; i++) {
    const feed = await open(k, ann)
    assert.ok(await feed.next())
    streams.push(feed)
  }
  const refused = await ann.get('/meter-events')
  assert.equal(refused.status, 429)
  assert.equal(refused.json.reason, 'too_many_streams')
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  assert.equal((await k.person('bob', ['admin']).get('/meter-events')).status, 200)
  await streams[0]?.cancel()
  assert.equal((await ann.get('/meter-events')).status, 200)
  for (const feed of streams) await feed.cancel()
  await k.close()
})

test('of a crowd that asks at once only so many are let in, and a place is free when one leaves', async () => {
  const k = kit()
  const server = await listening(k)
  const headers = { authorization: `Bearer ${k.as('admin').token}` }
  const ask = () => fetch(`${server.url}/meter-events`, { headers })
  const answers = await Promise.all(Array.from({ length: 40 }, ask))
  const refused = answers.filter((answer) => answer.status === 429)
  assert.equal(refused.length, 24)
  const text = JSON.parse((await Promise.all(refused.map((answer) => answer.text())))[0] as string)
  assert.match(text.error, /close one/)
  assert.ok(Number(refused[0]?.headers.get('retry-after')) > 0)
  const [first, ...others] = answers.filter((answer) => answer.status === 200)
  await first?.body?.cancel()
  await settled(() => k.streams.count() < 16)
  const next = await ask()
  assert.equal(next.status, 200)
  await Promise.all([next, ...others].map((answer) => answer.body?.cancel()))
  await settled(() => k.streams.count() === 0)
  assert.equal(k.streams.count(), 0)
  await server.close()
  await k.close()
})

test('clients that go before the first byte keep no place', async () => {
  const k = kit()
  const server = await listening(k)
  const headers = { authorization: `Bearer ${k.as('admin').token}` }
  const begun = (action: string) => k.trail().filter((row) => row === `meters.stream${action}`).length
  const requests = Array.from({ length: 16 }, () =>
    http.get(`${server.url}/meter-events`, { headers }).on('error', () => {}),
  )
  // The decision is written before the answer begins: they go in between.
  await settled(() => begun(' allowed') > 0)
  assert.ok(begun(' allowed') > 0)
  for (const request of requests) request.destroy()
  await settled(() => begun('.succeeded succeeded') === begun(' allowed') && k.streams.count() === 0)
  assert.equal(begun('.succeeded succeeded'), begun(' allowed'), 'each of them has ended')
  assert.equal(k.streams.count(), 0)
  const next = await open(k, k.as('admin'))
  await next.cancel()
  await server.close()
  await k.close()
})

test('at stop every stream ends', async () => {
  const k = kit()
  const feed = await open(k, k.as('admin'))
  const next = feed.next()
  await k.stop()
  assert.equal(await next, undefined)
  const late = await open(k, k.as('admin'))
  assert.equal(await late.next(), undefined)
  await k.close()
})

test('a client that has gone is forgotten; HEAD opens nothing', async () => {
  const k = kit()
  const server = await listening(k)
  const headers = { authorization: `Bearer ${k.as('admin').token}` }
  const request = http.get(`${server.url}/meter-events`, { headers })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const [greeting] = (await once(response, 'data')) as [Buffer]
  assert.match(greeting.toString(), /^retry/)
  assert.equal(k.streams.count(), 1)
  request.destroy()
  await settled(() => k.streams.count() === 0)
  assert.equal(k.streams.count(), 0)
  assert.equal((await fetch(`${server.url}/meter-events`, { method: 'HEAD', headers })).status, 200)
  assert.equal(k.streams.count(), 0)
  await server.close()
  await k.close()
})

test('who may not read nodes is refused before the stream', async () => {
  const k = kit()
  assert.equal((await k.as('auditor').get('/meter-events')).status, 403)
  assert.equal((await k.anonymous.get('/meter-events')).status, 401)
  k.forget()
  assert.equal((await k.as('viewer').get('/meter-events')).status, 200)
  assert.deepEqual(k.trail(), ['meters.stream allowed', 'meters.stream.succeeded succeeded'])
  await k.close()
})
