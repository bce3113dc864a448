import assert from 'node:assert/strict'
import { test } from 'node:test'
import { meterWatchers } from '../../../../src/controller/monitoring/meters/watchers.ts'
import { type Kit, kit } from '../../../kit/kit.ts'
import { reading } from '../../../kit/reading.ts'
import { frame, level, REF } from './frames.ts'

const bare = (index: number, more = {}) => {
  const { quality: _, ...rest } = level(index, more)
  return rest
}
const open = async (k: Kit, principal: { token: string | undefined }, nodes: string) => {
  const headers = { authorization: `Bearer ${principal.token}` }
  const response = await k.app.request(`/api/v1/meter-events?detail=levels&nodes=${nodes}`, { headers })
  assert.equal(response.status, 200)
  const feed = reading(response)
  return { cancel: feed.cancel, next: () => feed.event('levels') as Promise<Record<string, unknown> | undefined> }
}
const wanted = async (agent: { get: Kit['anonymous']['get'] }, id: string): Promise<boolean> =>
  (await agent.get(`/nodes/${id}/config`)).json.data.liveMeters.requested

test('levels are arrays by channel, rounded, with what clips and what speaks', async () => {
  const k = kit()
  const { agent, id, node } = await k.enroll()
  const levels = [
    level(1, { clipping: true, peakDbfs: -0.04, rmsDbfs: -27.16 }),
    bare(2, { peakDbfs: -160, rmsDbfs: -160 }),
  ]
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF, 2, { levels }))
  const feed = await open(k, k.as('admin'), id)
  assert.deepEqual(await feed.next(), {
    at: '2026-03-02T09:00:00.000Z',
    channels: [1, 2],
    clip: [1],
    interfaceId: node.interfaces[0].id,
    nodeId: id,
    peak: [0, -120],
    rms: [-27.2, -120],
    speech: [1],
  })
  await feed.cancel()
  await k.close()
})

test('only chosen nodes within reach are streamed, and only they are asked for quick frames', async () => {
  const k = kit()
  const north = await k.enroll('A')
  const other = await k.enroll('B')
  const south = await k.enroll('C', { location: { site: 'South', room: 'Cellar' } })
  const feed = await open(k, k.person('ann', ['viewer'], [['site', 'North']]), `${north.id},${south.id},nobody`)
  const next = feed.next()
  for (const { agent, id } of [other, south, north]) await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF))
  assert.equal((await next)?.nodeId, north.id)
  const asked = []
  for (const { agent, id } of [north, other, south]) asked.push(await wanted(agent, id))
  assert.deepEqual(asked, [true, false, false])
  await feed.cancel()
  assert.equal(await wanted(north.agent, north.id), false)
  await k.close()
})

test('a quick frame is shown in place of the whole ones, and neither kept nor judged', async () => {
  const k = kit()
  const { agent, id } = await k.enroll()
  const feed = await open(k, k.as('admin'), id)
  const first = feed.next()
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF, 2))
  assert.deepEqual((await first)?.speech, [1, 2])
  const at = '2026-03-02T09:00:00.250Z'
  const quick = frame(id, REF, 2, { capturedAt: at, levels: [bare(1), bare(2)], quick: true })
  const second = feed.next()
  assert.equal((await agent.post(`/nodes/${id}/meter-frame`, quick)).status, 202)
  assert.deepEqual([(await second)?.at, (await second)?.speech], [at, [1, 2]])
  const third = feed.next()
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF, 2, { capturedAt: '2026-03-02T09:00:01.000Z' }))
  const late = '2026-03-02T09:00:05.000Z'
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF, 2, { capturedAt: late }))
  assert.equal((await third)?.at, late)
  const kept = (await k.as('admin').get(`/nodes/${id}/meters`)).json.data
  assert.deepEqual([kept.capturedAt, kept.quick], [late, undefined])
  await feed.cancel()
  await k.close()
})

test('channels out of sight are left out of quick frames as well', async () => {
  const k = kit()
  const { agent, id, node } = await k.enroll()
  k.sql(`INSERT INTO rooms VALUES ('booth', 'North', 'Booth', NULL, NULL, NULL, NULL, ?, ?)`, k.now(), k.now())
  k.sql(`UPDATE channels SET room_id = 'booth' WHERE interface_id = ? AND idx = 2`, node.interfaces[0].id)
  const ann = await open(k, k.person('ann', ['viewer'], [['room', 'booth']]), id)
  const bob = await open(k, k.as('admin'), id)
  const both = Promise.all([ann.next(), bob.next()])
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF, 2, { levels: [bare(1), bare(2)], quick: true }))
  assert.deepEqual(
    (await both).map((seen) => seen?.channels),
    [[2], [1, 2]],
  )
  await ann.cancel()
  await bob.cancel()
  await k.close()
})

test('who no longer reads, or may no longer see the node, asks nothing of its recorder', async () => {
  const k = kit()
  const { agent, id } = await k.enroll()
  const feed = await open(k, k.person('ann', ['viewer'], [['site', 'North']]), id)
  const first = feed.next()
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF))
  await first
  assert.equal(await wanted(agent, id), true)
  k.advance('16s')
  assert.equal(await wanted(agent, id), false)
  k.sql(`DELETE FROM user_grants WHERE user_id = 'ann'`)
  const after = feed.next()
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF))
  await Promise.race([after, new Promise((resolve) => setTimeout(resolve, 200))])
  assert.equal(await wanted(agent, id), false)
  await feed.cancel()
  await k.close()
})

test('without detail the stream stays as it is: whole frames, and nobody is asked for quick ones', async () => {
  const k = kit()
  const { agent, id } = await k.enroll()
  const headers = { authorization: `Bearer ${k.as('admin').token}` }
  const feed = reading(await k.app.request(`/api/v1/meter-events?nodes=${id}`, { headers }))
  const next = feed.event('meter') as Promise<Record<string, unknown>>
  await agent.post(
    `/nodes/${id}/meter-frame`,
    frame(id, REF, 1, { capturedAt: '2026-03-02T09:00:09.000Z', quick: true }),
  )
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF))
  assert.equal((await next).capturedAt, '2026-03-02T09:00:00.000Z')
  assert.equal(await wanted(agent, id), false)
  await feed.cancel()
  await k.close()
})

test('quick frames are asked for once by many watchers, until the last has gone, and a watcher may choose others', async () => {
  const now = { ms: 0 }
  const told: string[] = []
  const watchers = meterWatchers({ monotonic: () => now.ms }, (nodeId) => told.push(nodeId))
  const [ann, bob] = [{}, {}]
  const watched = (nodeId: string) => watchers.wanted(nodeId).requested
  watchers.renew(ann, ['a', 'b'])
  watchers.renew(bob, ['b'])
  assert.deepEqual(told.splice(0), ['a', 'b', 'b'])
  now.ms = 10_000
  watchers.renew(ann, ['b', 'c'])
  assert.deepEqual(told.splice(0).sort(), ['a', 'c'])
  now.ms = 15_001
  assert.deepEqual(['a', 'b', 'c'].map(watched), [false, true, true])
  watchers.renew(bob, ['b'])
  assert.deepEqual(told.splice(0), ['b'], 'bob had lapsed')
  watchers.end(ann)
  watchers.end(ann)
  assert.deepEqual(told.splice(0).sort(), ['b', 'c'])
  assert.deepEqual(['b', 'c'].map(watched), [true, false])
  watchers.end(bob)
  assert.equal(watched('b'), false)
})
