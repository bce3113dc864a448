// Nodes go out of use and come back: what lets them in ends, what they recorded stays.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateSshKey } from '../../../../src/crypto/sshkey.ts'
import { kit } from '../../../kit/kit.ts'
import { house } from '../../schedules/world.ts'

const BEAT = { agentVersion: 'agent-v1', hostname: 'hall', status: 'online' }
const RETIRED = { error: 'Node is retired: reinstate it first', reason: 'node_retired' }

test('retiring ends tokens, keys and unspent bootstrap tokens, and switches its schedules off', async () => {
  const { add, admin, agent, get, k, nodeId } = await house()
  await agent.post(`/nodes/${nodeId}/heartbeat`, BEAT)
  await admin.post(`/nodes/${nodeId}/ssh-credential/rotate`, {})
  const { token } = (await admin.post(`/nodes/${nodeId}/bootstrap-token`, {})).json.data
  const off = await add({ enabled: false, name: 'Off' })
  const on = await add()
  k.forget()
  const { json, status } = await admin.post(`/nodes/${nodeId}/retire`)
  assert.deepEqual([status, json.data.status, json.disabledScheduleIds], [200, 'retired', [on.id]])
  assert.deepEqual(k.trail(), ['nodes.retire allowed', 'nodes.retire.succeeded succeeded'])
  const { enabled, nextRunAt } = await get(on.id)
  assert.deepEqual([enabled, nextRunAt, (await get(off.id)).enabled], [false, undefined, false])
  assert.equal((await agent.post(`/nodes/${nodeId}/heartbeat`, BEAT)).status, 401)
  const key = generateSshKey('svc-test')
  assert.equal((await k.bearer(token).post(`/nodes/${nodeId}/bootstrap`, key)).status, 401)
  assert.equal((await admin.get(`/nodes/${nodeId}/ssh-credential`)).json.data, null)
  // Once more is the same, and changes nothing.
  const before = (await admin.get(`/nodes/${nodeId}`)).json.data
  k.advance('1m')
  const again = await admin.post(`/nodes/${nodeId}/retire`)
  assert.deepEqual([again.status, again.json.data, again.json.disabledScheduleIds], [200, before, []])
  await k.close()
})

test('a retired node is asked for nothing: no take, no token, no key, no schedule, no listening', async () => {
  const { add, admin, body, k, nodeId } = await house()
  const { id } = await add()
  await admin.post(`/nodes/${nodeId}/retire`)
  const asked = [
    admin.post('/recordings', { captureChannelSelection: [1, 2], nodeId }),
    admin.patch(`/schedules/${id}`, { enabled: true }),
    admin.post('/schedules', body({ name: 'Another' })),
    admin.post(`/nodes/${nodeId}/bootstrap-token`, {}),
    admin.post(`/nodes/${nodeId}/credentials/rotate`),
    admin.post(`/nodes/${nodeId}/ssh-credential/rotate`, {}),
    admin.post(`/nodes/${nodeId}/lifecycle/smoke_check`, {}),
    admin.post(`/nodes/${nodeId}/listen`, {}),
    admin.post('/nodes/bootstrap-config', { controllerUrl: 'https://c.example', nodes: [{ nodeId }] }),
  ]
  for (const answer of await Promise.all(asked)) assert.deepEqual([answer.status, answer.json], [409, RETIRED])
  // Its name, its notes and its rooms can be put in order all the same.
  assert.equal((await admin.patch(`/nodes/${nodeId}`, { alias: 'Old desk' })).status, 200)
  await k.close()
})

test('lists, counts, metrics, rooms and the watchdog leave it out; `retired=1` shows it only', async () => {
  const k = kit()
  const admin = k.as('admin')
  const gone = await k.enroll('Gone')
  const stays = await k.enroll('Stays')
  for (const { agent, id } of [gone, stays]) await agent.post(`/nodes/${id}/heartbeat`, BEAT)
  await admin.post('/rooms', { id: 'hall', name: 'Hall', site: 'North' })
  await admin.patch(`/nodes/${gone.id}`, { roomId: 'hall' })
  const passes = async (count: number) => {
    for (let pass = 0; pass < count; pass++) {
      k.advance('30s')
      await k.tick('watchdog')
    }
  }
  await k.tick('watchdog')
  await passes(5)
  const alarms = () =>
    k.rows<{ t: string }>(`SELECT node_id || ' ' || status AS t FROM health_events ORDER BY t`).map(({ t }) => t)
  assert.deepEqual(alarms(), [`${gone.id} open`, `${stays.id} open`])
  await admin.post(`/nodes/${gone.id}/retire`)
  const listed = async (query = '') =>
    (await admin.get(`/nodes${query}`)).json.data.map((node: { alias: string }) => node.alias)
  assert.deepEqual(
    [await listed(), await listed('?retired=1'), await listed('?retired=0')],
    [['Stays'], ['Gone'], ['Stays']],
  )
  assert.deepEqual(await listed('?retired=1&status=retired'), ['Gone'])
  assert.equal((await admin.get('/nodes?retired=yes')).status, 400)
  const csv = (await admin.get('/nodes/export')).text
  assert.deepEqual([csv.includes('Gone'), csv.includes('Stays')], [false, true])
  const { nodeCount, offlineNodes } = (await admin.get('/status')).json.data
  assert.deepEqual([nodeCount, offlineNodes], [1, 1])
  assert.ok(!(await admin.get('/metrics')).text.includes(gone.id))
  assert.equal((await admin.get('/rooms/hall')).json.data.nodeCount, 0)
  assert.deepEqual((await admin.get('/rooms/hall/overview')).json.data.nodes, [])
  await passes(1)
  assert.deepEqual(alarms(), [`${gone.id} resolved`, `${stays.id} open`])
  await k.close()
})

test('a node that records, or is about to, is not retired', async () => {
  const k = kit()
  const { agent, id } = await k.enroll()
  const { json } = await k.as('admin').post('/recordings', { nodeId: id })
  const retire = () => k.as('admin').post(`/nodes/${id}/retire`)
  const refused = await retire()
  assert.deepEqual([refused.status, refused.json.reason], [409, 'node_recording'])
  await agent.post(`/nodes/${id}/recording-jobs/claim-next`)
  assert.equal((await retire()).status, 409)
  await agent.post(`/recording-jobs/${json.job.id}/failed`)
  assert.equal((await retire()).status, 200)
  // What it recorded stays, and is not begun anew.
  assert.equal((await k.as('admin').get(`/recordings/${json.data.id}`)).status, 200)
  assert.deepEqual((await k.as('admin').post(`/recording-jobs/${json.job.id}/retry`)).json, RETIRED)
  await k.close()
})

test('a reinstated node waits for a new bootstrap; its schedules stay off', async () => {
  const { add, admin, get, k, nodeId } = await house()
  const { id } = await add()
  await admin.post(`/nodes/${nodeId}/retire`)
  k.forget()
  const { json, status } = await admin.post(`/nodes/${nodeId}/reinstate`)
  assert.deepEqual([status, json.data.status], [200, 'provisioning'])
  assert.deepEqual(k.trail(), ['nodes.reinstate allowed', 'nodes.reinstate.succeeded succeeded'])
  assert.equal((await get(id)).enabled, false)
  const { token } = (await admin.post(`/nodes/${nodeId}/bootstrap-token`, {})).json.data
  const key = generateSshKey('svc-test')
  const joined = await k.bearer(token).post(`/nodes/${nodeId}/bootstrap`, key)
  assert.equal(joined.status, 201, joined.text)
  await k.bearer(joined.json.data.controllerToken).post(`/nodes/${nodeId}/heartbeat`, BEAT)
  assert.equal((await admin.get(`/nodes/${nodeId}`)).json.data.status, 'online')
  // A node in use is left alone.
  assert.equal((await admin.post(`/nodes/${nodeId}/reinstate`)).json.data.status, 'online')
  await k.close()
})

test('who may not manage a node does not retire it', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const ann = k.person('ann', ['operator'], [['node', id]])
  for (const verb of ['retire', 'reinstate']) assert.equal((await ann.post(`/nodes/${id}/${verb}`)).status, 403)
  await k.close()
})
