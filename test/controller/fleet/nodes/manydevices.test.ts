import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listening } from '../../../kit/http.ts'
import { kit } from '../../../kit/kit.ts'

const device = (name: string, channelCount = 2) => ({ alias: name, channelCount, systemName: name, systemRef: name })
const devices = (prefix: string, count: number, channelCount = 2) =>
  Array.from({ length: count }, (_, n) => device(`${prefix} ${n}`, channelCount))
const count = (k: ReturnType<typeof kit>) => k.rows<{ n: number }>('SELECT count(*) AS n FROM interfaces')[0]?.n

test('a node that makes up devices keeps the newest, and what an operator named or uses', async () => {
  const k = kit()
  const { agent, id } = await k.enroll()
  const admin = k.as('admin')
  const inventory = (interfaces: object[]) => agent.post(`/nodes/${id}/inventory`, { interfaces })
  const [named] = (await inventory([device('named')])).json.data.node.interfaces
  await admin.patch(`/nodes/${id}/interfaces/${named.id}`, { alias: 'The good microphone' })
  const room = (await admin.post('/rooms', { name: 'Hall', site: 'North' })).json.data.id
  const found = (await inventory([device('in a room')])).json.data.node.interfaces
  const used = found.find((one: { systemName: string }) => one.systemName === 'in a room')
  const assignments = [{ channelIndexes: [1], interfaceId: used.id, roomId: room }]
  assert.equal((await admin.put(`/nodes/${id}/channel-rooms`, { assignments })).status, 200)
  for (let n = 0; n < 10; n++) {
    k.advance('61s')
    assert.equal((await inventory(devices(`made up ${n}`, 64))).status, 202)
  }
  assert.equal(count(k), 256)
  const left = (await admin.get(`/nodes/${id}`)).json.data.interfaces.map((one: { alias: string }) => one.alias)
  assert.ok(left.includes('The good microphone') && left.includes('in a room') && left.includes('made up 9 63'))
  assert.ok(!left.includes('made up 0 0'))
  await k.close()
})

test('what does not fit is refused, and changes nothing', async () => {
  const k = kit()
  const { agent, id } = await k.enroll()
  const wide = await agent.post(`/nodes/${id}/inventory`, { interfaces: devices('wide', 64, 33) })
  assert.equal(wide.status, 400)
  assert.equal(count(k), 1)
  assert.equal(k.rows('SELECT 1 FROM interfaces WHERE absent = 1').length, 0)
  await k.close()
})

test('a node tells of its devices twelve times a minute, whether they are accepted or not', async () => {
  const k = kit()
  const { id, token } = await k.enroll()
  const { close, url } = await listening(k)
  const inventory = (interfaces: object[]) =>
    fetch(`${url}/nodes/${id}/inventory`, {
      body: JSON.stringify({ interfaces }),
      headers: { authorization: `Bearer ${token}` },
      method: 'POST',
    })
  for (let n = 0; n < 6; n++) {
    assert.equal((await inventory([device(`card ${n}`)])).status, 202)
    assert.equal((await inventory(devices('wide', 64, 33))).status, 400)
  }
  const refused = await inventory([device('card 6')])
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('retry-after'), '60')
  k.advance('61s')
  assert.equal((await inventory([device('card 6')])).status, 202)
  await close()
  await k.close()
})

test('an event has details of 64 KiB, and a node 120 events a minute', async () => {
  const k = kit()
  const [{ agent, id, token }, other] = [await k.enroll('A'), await k.enroll('B')]
  const event = (details: object) => ({ details, severity: 'info', type: 'agent.something' })
  const long = await agent.post(`/nodes/${id}/health-events`, event({ text: 'x'.repeat(65_536) }))
  assert.deepEqual([long.status, long.json.reason], [413, 'payload_too_large'])
  const huge = await agent.post(`/nodes/${id}/health-events`, event({ text: 'x'.repeat(900_000) }))
  assert.equal(huge.status, 413)
  assert.equal((await agent.post(`/nodes/${id}/health-events`, event({ text: 'x'.repeat(65_000) }))).status, 201)
  const { close, url } = await listening(k)
  const post = (nodeId: string, bearer: string) =>
    fetch(`${url}/nodes/${nodeId}/health-events`, {
      body: JSON.stringify(event({})),
      headers: { authorization: `Bearer ${bearer}` },
      method: 'POST',
    })
  for (let n = 0; n < 120; n++) assert.equal((await post(id, token)).status, 201)
  const refused = await post(id, token)
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  assert.equal((await post(other.id, other.token)).status, 201)
  k.advance('61s')
  assert.equal((await post(id, token)).status, 201)
  await close()
  await k.close()
})

test('a node that is another one at every beat leaves so many rows', async () => {
  const k = kit()
  const { agent, id } = await k.enroll()
  k.forget()
  for (let n = 0; n < 200; n++)
    await agent.post(`/nodes/${id}/heartbeat`, {
      agentVersion: '1',
      hostname: 'h',
      status: n % 2 ? 'recording' : 'online',
    })
  assert.ok(k.trail().length <= 61, `${k.trail().length} rows`)
  await k.close()
})
