import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'
import { frame, level, REF } from './frames.ts'

const interfaceOf = (node: { interfaces: { id: string }[] }): string => node.interfaces[0]?.id as string

test('a frame may name its interface by system ref, by id or as the agent calls it; it is shown by id', async () => {
  const k = kit()
  const { id, node, agent } = await k.enroll()
  const iid = interfaceOf(node)
  for (const name of [REF, iid, 'alsa_card_desk_dev_0']) {
    const sent = frame(id, name)
    const answer = await agent.post(`/nodes/${id}/meter-frame`, sent)
    assert.equal(answer.status, 202, answer.text)
    assert.deepEqual(answer.json.data, { frame: { ...sent, interfaceId: iid }, receivedAt: k.now() })
    const shown = await k.as('admin').get(`/nodes/${id}/meters`)
    assert.deepEqual(shown.json.data, { ...sent, interfaceId: iid })
  }
  await k.close()
})

test('a frame of a device nobody has told of is kept under the name it came with', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  assert.equal((await agent.post(`/nodes/${id}/meter-frame`, frame(id, 'hw:9,9'))).status, 202)
  assert.equal((await k.as('admin').get(`/nodes/${id}/meters`)).json.data.interfaceId, 'hw:9,9')
  await k.close()
})

test('an interface of another node is not found by its id', async () => {
  const k = kit()
  const one = await k.enroll('A')
  const other = await k.enroll('B', { location: { site: 'South', room: 'Cellar' } })
  const foreign = interfaceOf(other.node)
  await one.agent.post(`/nodes/${one.id}/meter-frame`, frame(one.id, foreign))
  const south = k.person('ann', ['operator'], [['site', 'South']])
  assert.deepEqual((await south.get(`/nodes/${other.id}/meters`)).json.data.levels, [])
  assert.equal((await south.get(`/nodes/${one.id}/meters`)).status, 403)
  await k.close()
})

test('a frame for another node is refused, whether the path or the body names it', async () => {
  const k = kit()
  const one = await k.enroll('A')
  const other = await k.enroll('B')
  k.forget()
  assert.equal((await one.agent.post(`/nodes/${other.id}/meter-frame`, frame(other.id, REF))).status, 403)
  const answer = await one.agent.post(`/nodes/${one.id}/meter-frame`, frame(other.id, REF))
  assert.equal(answer.status, 403)
  assert.deepEqual(answer.json, {
    ...{ error: 'Forbidden', message: 'Meter frame node mismatch' },
    ...{ permission: 'node:control', reason: 'node_scope_denied' },
  })
  const refused = 'nodes.meter_frame.ingest.failed denied node_scope_denied'
  assert.deepEqual(
    k.trail().filter((row) => row.startsWith('nodes.meter_frame')),
    [refused, refused],
  )
  await k.close()
})

test('a malformed frame is 400 with issues and changes nothing', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const good = frame(id, REF)
  await agent.post(`/nodes/${id}/meter-frame`, good)
  const before = (await k.as('admin').get(`/nodes/${id}/meters`)).json.data
  const many = Array.from({ length: 513 }, (_, i) => level(i + 1))
  for (const [why, wrong] of [
    ['no levels', { ...good, levels: undefined }],
    ['513 levels', { ...good, levels: many }],
    ['a channel twice', { ...good, levels: [level(1), level(1)] }],
    ['channel 0', { ...good, levels: [level(0)] }],
    ['above 24 dBFS', { ...good, levels: [level(1, { peakDbfs: 24.1 })] }],
    ['below -160 dBFS', { ...good, levels: [level(1, { rmsDbfs: -160.1 })] }],
    ['no label', { ...good, levels: [level(1, { label: '' })] }],
    [
      'a score above 1',
      { ...good, levels: [level(1, { quality: { ...level(1).quality, noiseScore: 1.1 } as never })] },
    ],
    ['half a quality', { ...good, levels: [level(1, { quality: { noiseScore: 1 } as never })] }],
    ['no instant', { ...good, capturedAt: 'yesterday' }],
    ['no interface', { ...good, interfaceId: '' }],
    ['text', 'levels'],
  ] as const) {
    const answer = await agent.post(`/nodes/${id}/meter-frame`, wrong)
    assert.equal(answer.status, 400, why)
    assert.ok(answer.json.issues.length > 0, why)
  }
  assert.deepEqual((await k.as('admin').get(`/nodes/${id}/meters`)).json.data, before)
  assert.equal((await agent.post(`/nodes/${id}/meter-frame`, { ...good, levels: many.slice(1) })).status, 202)
  await k.close()
})

test('a nanosecond instant is taken, a synthetic frame stays marked', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const sent = frame(id, REF, 1, { capturedAt: '2026-03-02T08:59:59.123456789Z', synthetic: true })
  await agent.post(`/nodes/${id}/meter-frame`, sent)
  const { data } = (await k.as('admin').get(`/nodes/${id}/meters`)).json
  assert.equal(data.capturedAt, '2026-03-02T08:59:59.123Z')
  assert.equal(data.synthetic, true)
  await k.close()
})

test('frames that come together are kept each; one for another node refuses them all', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const second = (n: number) => frame(id, REF, 1, { capturedAt: `2026-03-02T09:00:0${n}.000Z` })
  const answer = await agent.post(`/nodes/${id}/meter-frames`, { frames: [second(1), second(2)] })
  assert.deepEqual([answer.status, answer.json.data], [202, { receivedAt: k.now() }])
  assert.equal((await k.as('admin').get(`/nodes/${id}/meters`)).json.data.capturedAt, second(2).capturedAt)
  const mixed = { frames: [second(3), frame('another', REF)] }
  assert.equal((await agent.post(`/nodes/${id}/meter-frames`, mixed)).json.reason, 'node_scope_denied')
  assert.equal((await k.as('admin').get(`/nodes/${id}/meters`)).json.data.capturedAt, second(2).capturedAt)
  assert.equal((await agent.post(`/nodes/${id}/meter-frames`, { frames: [] })).status, 400)
  await k.close()
})

test('frames are telemetry: one audit row per window, and the status of the node does not move', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  k.sql('UPDATE node_credentials SET last_used_at = ?, state = ?', k.now(), 'active')
  k.forget()
  for (let i = 0; i < 20; i++) await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF))
  assert.deepEqual(k.trail(), ['nodes.meter_frame.ingest.succeeded succeeded'])
  assert.equal((await k.as('admin').get(`/nodes/${id}`)).json.data.status, 'provisioning')
  await k.close()
})

test('before the first frame the answer is an empty one of now', async () => {
  const k = kit()
  const { id, node } = await k.enroll()
  const bare = await k.enroll('Bare', { interfaces: [] })
  const admin = k.as('admin')
  const empty = { capturedAt: k.now(), levels: [] }
  const answer = await admin.get(`/nodes/${id}/meters`)
  assert.deepEqual(answer.json.data, { ...empty, interfaceId: interfaceOf(node), nodeId: id })
  const none = await admin.get(`/nodes/${bare.id}/meters`)
  assert.deepEqual(none.json.data, { ...empty, interfaceId: '', nodeId: bare.id })
  assert.equal((await admin.get('/nodes/nobody/meters')).status, 404)
  await k.close()
})

test('a person of one room sees the levels of that room alone', async () => {
  const k = kit()
  const { id, node, agent } = await k.enroll()
  for (const [index, room] of ['hall', 'booth'].entries()) {
    k.sql('INSERT INTO rooms VALUES (?, ?, ?, NULL, NULL, NULL, NULL, ?, ?)', room, 'North', room, k.now(), k.now())
    k.sql('UPDATE channels SET room_id = ? WHERE interface_id = ? AND idx = ?', room, interfaceOf(node), index + 1)
  }
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF))
  const channels = async (principal: {
    get: (path: string) => Promise<{ json: { data: { levels: { channelIndex: number }[] } } }>
  }) => (await principal.get(`/nodes/${id}/meters`)).json.data.levels.map((l) => l.channelIndex)
  assert.deepEqual(await channels(k.person('ann', ['operator'], [['room', 'booth']])), [2])
  const bob = k.person('bob', [])
  k.sql(`INSERT INTO room_roster VALUES ('hall', 'user', 'bob', 'view', 'manual', '')`)
  assert.deepEqual(await channels(bob), [1])
  await k.close()
})

test('of a node that meters several interfaces, one may be asked for', async () => {
  const k = kit()
  const { id, node, agent } = await k.enroll()
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, REF, 1))
  await agent.post(`/nodes/${id}/meter-frame`, frame(id, 'hw:2,0', 2))
  const admin = k.as('admin')
  assert.equal((await admin.get(`/nodes/${id}/meters`)).json.data.levels.length, 2)
  const named = await admin.get(`/nodes/${id}/meters?interfaceId=${encodeURIComponent(REF)}`)
  assert.equal(named.json.data.interfaceId, interfaceOf(node))
  assert.equal(named.json.data.levels.length, 1)
  await k.close()
})
