// A test a row of the tables of node and interface states (docs/contract/nodes.md: Status).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

async function world(env: Record<string, string> = {}) {
  const k = kit({ env })
  const { id, agent, node } = await k.enroll()
  const status = async () => (await k.as('admin').get(`/nodes/${id}`)).json.data.status
  const beat = (reported?: string) =>
    agent.post(`/nodes/${id}/heartbeat`, {
      agentVersion: '2',
      hostname: 'h',
      ...(reported ? { status: reported } : {}),
    })
  const report = async (...interfaces: object[]) =>
    (await agent.post(`/nodes/${id}/inventory`, { interfaces })).json.data.summary
  const shown = async () => (await k.as('admin').get(`/nodes/${id}`)).json.data.interfaces
  return { agent, beat, id, k, node, report, shown, status }
}
const desk = {
  alias: 'x',
  systemName: 'USB Desk',
  systemRef: 'hw:CARD=Desk,DEV=0',
  backend: 'alsa',
  channelCount: 2,
  sampleRates: [48000],
}
const NOTHING = { absent: [], added: [], reactivated: [], unchanged: 0, updated: [] }

test('- -> provisioning: enroll; silence never takes it offline', async () => {
  const { k, status } = await world()
  k.advance('2d')
  assert.equal(await status(), 'provisioning')
  await k.close()
})

test('provisioning -> provisioning: bootstrap, inventory, meter frame and config do not move it', async () => {
  const { agent, id, k, report, status } = await world()
  await report(desk)
  await agent.get(`/nodes/${id}/config`)
  await agent.post(`/nodes/${id}/meter-frame`, { capturedAt: k.now(), interfaceId: 'x', levels: [], nodeId: id })
  assert.equal(await status(), 'provisioning')
  await k.close()
})

for (const reported of ['recording', 'degraded', 'alerting'])
  test(`provisioning -> ${reported} and any live -> ${reported}: a heartbeat reports it`, async () => {
    const { beat, k, status } = await world()
    await beat(reported)
    assert.equal(await status(), reported)
    await beat('online')
    await beat(reported)
    assert.equal(await status(), reported)
    await k.close()
  })

for (const reported of [undefined, 'provisioning', 'offline'])
  test(`provisioning -> online and any live -> online: a heartbeat that reports ${reported ?? 'nothing'}`, async () => {
    const { beat, k, status } = await world()
    await beat(reported)
    assert.equal(await status(), 'online')
    await beat('recording')
    await beat(reported)
    assert.equal(await status(), 'online')
    await k.close()
  })

test('any live -> offline: only beyond the setting, derived at read, and 0 switches it off', async () => {
  const { beat, k, status } = await world()
  await beat('recording')
  k.advance('120s')
  assert.equal(await status(), 'recording')
  k.advance('1ms')
  assert.equal(await status(), 'offline')
  assert.equal(k.rows<{ status: string }>('SELECT status FROM nodes')[0]?.status, 'recording')
  await beat('degraded')
  assert.equal(await status(), 'degraded')
  await k.close()
  const never = await world({ SVC_NODE_OFFLINE_AFTER_SECONDS: '0' })
  await never.beat()
  never.k.advance('30d')
  assert.equal(await never.status(), 'online')
  await never.k.close()
})

test('a status nobody knows is refused and moves nothing', async () => {
  const { beat, k, status } = await world()
  assert.equal((await beat('asleep')).status, 400)
  assert.equal(await status(), 'provisioning')
  await k.close()
})

test('interface: - -> present, and present -> present without a difference', async () => {
  const { k, report, shown } = await world()
  const line = { alias: 'Line', systemName: 'PCI', channelCount: 1 }
  assert.deepEqual(await report(desk, line), { ...NOTHING, added: ['PCI'], unchanged: 1 })
  assert.deepEqual(await report(line, desk), { ...NOTHING, unchanged: 2 })
  assert.deepEqual(
    (await shown()).map((i: { systemName: string }) => i.systemName),
    ['USB Desk', 'PCI'],
  )
  await k.close()
})

for (const [fact, value] of Object.entries({
  backend: 'jack',
  channelCount: 3,
  hardwarePath: '/sys/9',
  sampleRates: [44100],
  serialNumber: 'S9',
  systemName: 'USB Desk 2',
}))
  test(`interface: present -> present with another ${fact}: overwritten, labels kept`, async () => {
    const { id, k, node, report, shown } = await world()
    const path = `/nodes/${id}/interfaces/${node.interfaces[0].id}`
    await k.as('admin').patch(path, { alias: 'Mine', channels: [{ alias: 'Pult', index: 1 }] })
    assert.equal((await report({ ...desk, [fact]: value })).updated.length, 1)
    const [now] = await shown()
    assert.deepEqual(
      [now[fact], now.alias, now.channels[0].alias, now.id],
      [value, 'Mine', 'Pult', node.interfaces[0].id],
    )
    await k.close()
  })

test('interface: channels above the new width go, missing ones come', async () => {
  const { k, report, shown } = await world()
  await report({ ...desk, channelCount: 1 })
  assert.equal((await shown())[0].channels.length, 1)
  await report({ ...desk, channelCount: 4 })
  assert.deepEqual(
    (await shown())[0].channels.map((c: { index: number }) => c.index),
    [1, 2, 3, 4],
  )
  await k.close()
})

test('interface: present -> absent -> absent -> present, with everything that was put on it', async () => {
  const { id, k, node, report, shown } = await world()
  const admin = k.as('admin')
  const interfaceId = node.interfaces[0].id
  await admin.post('/rooms', { id: 'hall', name: 'Hall', site: 'North' })
  await admin.put(`/nodes/${id}/channel-rooms`, { assignments: [{ interfaceId, channelIndexes: [1], roomId: 'hall' }] })
  const before = await shown()
  assert.deepEqual(await report(), { ...NOTHING, absent: ['USB Desk'] })
  assert.deepEqual(await shown(), [{ ...before[0], absent: true }])
  assert.deepEqual(await report(), { ...NOTHING, unchanged: 1 })
  assert.deepEqual(await report(desk), { ...NOTHING, reactivated: ['USB Desk'] })
  assert.deepEqual(await shown(), before)
  await k.close()
})
