import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

const desk = {
  alias: 'Input',
  systemName: 'USB Desk',
  systemRef: 'hw:CARD=Desk,DEV=0',
  backend: 'alsa',
  channelCount: 2,
  sampleRates: [48000],
}

test('an enrolled node is provisioning, has its interfaces, and its token is shown once', async () => {
  const k = kit()
  const { id, node, token } = await k.enroll()
  assert.match(token, /^svc_node_[\w-]{43}$/)
  assert.equal(node.status, 'provisioning')
  assert.equal(node.interfaces[0].systemRef, 'hw:CARD=Desk,DEV=0')
  assert.deepEqual(node.interfaces[0].channels, [
    { index: 1, alias: 'Channel 1' },
    { index: 2, alias: 'Channel 2' },
  ])
  assert.equal((await k.as('admin').get(`/nodes/${id}`)).json.data.agentVersion, 'unknown')
  assert.ok(!JSON.stringify(k.rows('SELECT * FROM audit_events')).includes(token))
  await k.close()
})

test('PATCH merges the location, replaces audioDefaults, clears with null and refuses what it does not know', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id } = await k.enroll()
  await admin.post('/rooms', { id: 'hall', site: 'North', name: 'Hall' })
  const patched = await admin.patch(`/nodes/${id}`, {
    alias: 'Big hall',
    location: { building: 'B', floor: null },
    audioDefaults: { captureChannels: 4 },
    notes: 'door code in the book',
    roomId: 'hall',
  })
  assert.deepEqual(patched.json.data.location, { site: 'North', room: 'Hall', building: 'B' })
  assert.deepEqual(patched.json.data.audioDefaults, { captureChannels: 4 })
  assert.equal(patched.json.data.roomId, 'hall')
  const cleared = (await admin.patch(`/nodes/${id}`, { audioDefaults: {}, notes: null, roomId: null })).json.data
  assert.deepEqual([cleared.audioDefaults, cleared.notes, cleared.roomId], [undefined, undefined, undefined])
  assert.equal((await admin.patch(`/nodes/${id}`, { status: 'online' })).status, 400)
  assert.equal((await admin.patch(`/nodes/${id}`, {})).status, 400)
  assert.equal((await admin.patch(`/nodes/${id}`, { roomId: 'nowhere' })).status, 400)
  assert.equal((await admin.patch('/nodes/node_9', { alias: 'x' })).status, 404)
  await k.close()
})

test('an inventory keeps ids and labels, flags what is gone, and is idempotent', async () => {
  const k = kit()
  const { id, node, agent } = await k.enroll()
  const iface = node.interfaces[0].id
  await k
    .as('admin')
    .patch(`/nodes/${id}/interfaces/${iface}`, { alias: 'Lectern', channels: [{ index: 2, alias: 'Spare' }] })
  k.forget()
  const same = await agent.post(`/nodes/${id}/inventory`, { interfaces: [desk] })
  assert.equal(same.status, 202)
  assert.deepEqual([same.json.data.changed, same.json.data.summary.unchanged], [false, 1])
  assert.deepEqual(k.trail(), [])

  const wider = await agent.post(`/nodes/${id}/inventory`, {
    interfaces: [
      { ...desk, channelCount: 3 },
      { ...desk, channelCount: 9 },
    ],
  })
  assert.deepEqual(wider.json.data.summary.updated, ['USB Desk'])
  const [kept] = wider.json.data.node.interfaces
  assert.equal(wider.json.data.node.interfaces.length, 1)
  assert.equal(kept.id, iface)
  assert.equal(kept.alias, 'Lectern')
  assert.deepEqual(
    kept.channels.map((c: { alias: string }) => c.alias),
    ['Channel 1', 'Spare', 'Channel 3'],
  )

  const gone = await agent.post(`/nodes/${id}/inventory`, { interfaces: [] })
  assert.deepEqual(gone.json.data.summary.absent, ['USB Desk'])
  assert.equal(gone.json.data.node.interfaces[0].absent, true)
  const back = await agent.post(`/nodes/${id}/inventory`, { interfaces: [{ ...desk, channelCount: 3 }] })
  assert.deepEqual(back.json.data.summary.reactivated, ['USB Desk'])
  assert.equal(back.json.data.node.interfaces[0].absent, undefined)
  assert.deepEqual(k.trail(), Array(3).fill('nodes.inventory.reconciled succeeded'))
  await k.close()
})

test('the first heartbeat brings a node online, silence takes it offline at read, a beat brings it back', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id, agent } = await k.enroll()
  k.advance('1h')
  const status = async () => (await admin.get(`/nodes/${id}`)).json.data.status
  assert.equal(await status(), 'provisioning')
  const beat = { agentVersion: '2026.11.21-1', hostname: 'recorder', status: 'offline', interfaces: [{}] }
  assert.equal((await agent.post(`/nodes/${id}/heartbeat`, beat)).json.data.status, 'online')
  k.advance('120s')
  assert.equal(await status(), 'online')
  k.advance('1s')
  assert.equal(await status(), 'offline')
  assert.equal((await admin.get('/nodes?status=offline')).json.meta.total, 1)
  await agent.post(`/nodes/${id}/heartbeat`, { ...beat, status: 'recording' })
  assert.equal(await status(), 'recording')
  await k.close()
})

test('a heartbeat tells which denoiser the node carries; one nobody knows costs only itself', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const denoiser = { engine: 'deepfilternet3', model: 'small', sha256: 'ab'.repeat(32) }
  const told = async (one: object) => {
    const runtime = { audioBackends: ['alsa'], denoiser: one }
    assert.equal(
      (await agent.post(`/nodes/${id}/heartbeat`, { agentVersion: '1', hostname: 'h', runtime })).status,
      202,
    )
    return (await k.as('admin').get(`/nodes/${id}`)).json.data.runtime
  }
  assert.deepEqual(await told(denoiser), { audioBackends: ['alsa'], denoiser })
  assert.deepEqual(await told({ ...denoiser, engine: 'other' }), { audioBackends: ['alsa'] })
  await k.close()
})

test('an unchanged heartbeat is audited once per window, with the count of the window before', async () => {
  const k = kit({ env: { SVC_AUDIT_MACHINE_WINDOW_SECONDS: '300' } })
  const { id, agent } = await k.enroll()
  const beat = { agentVersion: '1', hostname: 'h' }
  await agent.post(`/nodes/${id}/heartbeat`, beat)
  k.forget()
  for (let i = 0; i < 60; i++) {
    await agent.post(`/nodes/${id}/heartbeat`, beat)
    await agent.get(`/nodes/${id}/config`)
    await agent.post(`/nodes/${id}/recording-jobs/claim-next-group`)
    k.advance('5s')
  }
  assert.deepEqual(k.trail(), [
    'nodes.heartbeat.succeeded succeeded',
    'nodes.config.read.succeeded succeeded',
    'recording_jobs.claim_next_group.succeeded succeeded',
  ])
  await agent.post(`/nodes/${id}/heartbeat`, beat)
  const [last] = k.rows<{ details: string }>('SELECT details FROM audit_events ORDER BY seq DESC LIMIT 1')
  assert.equal(JSON.parse(last!.details).count, 60)
  await k.close()
})

test('lists filter, page and show only what the caller may see', async () => {
  const k = kit()
  const admin = k.as('admin')
  await admin.post('/rooms', { id: 'hall', site: 'North', name: 'Hall' })
  const a = await k.enroll('Alpha')
  await k.enroll('Beta', { location: { site: 'South', room: '100%_Room' }, tags: ['choir'] })
  await k.enroll('Gamma')
  await admin.patch(`/nodes/${a.id}`, { roomId: 'hall' })
  const aliases = async (path: string, principal = admin) =>
    (await principal.get(path)).json.data.map((n: { alias: string }) => n.alias)
  assert.deepEqual(await aliases('/nodes'), ['Alpha', 'Beta', 'Gamma'])
  assert.deepEqual(await aliases('/nodes?site=south'), ['Beta'])
  assert.deepEqual(await aliases('/nodes?q=choir'), ['Beta'])
  assert.deepEqual(await aliases('/nodes?q=%25_'), ['Beta'])
  assert.deepEqual(await aliases('/nodes?q=lectern'), [])
  assert.deepEqual(await aliases('/nodes?backend=alsa&limit=2&offset=1'), ['Beta', 'Gamma'])
  k.sql(`UPDATE nodes SET agent_version = '0.9.0' WHERE id = '${a.id}'`)
  assert.deepEqual(await aliases('/nodes?agentVersion=0.9.0'), ['Alpha'])
  assert.deepEqual(await aliases('/nodes?agentVersion=0.9'), [])
  const meta = (await admin.get('/nodes?limit=500')).json.meta
  assert.deepEqual(meta, { hasNextPage: false, hasPreviousPage: false, limit: 200, offset: 0, returned: 3, total: 3 })
  assert.deepEqual(await aliases('/nodes', k.as('viewer')), [])
  assert.deepEqual(await aliases('/nodes', k.person('sue', ['viewer'], [['site', 'South']])), ['Beta'])
  assert.deepEqual(await aliases('/nodes', k.person('ron', ['viewer'], [['room', 'hall']])), ['Alpha'])
  for (const bad of ['limit=0', 'limit=501', 'limit=x', 'colour=red', 'status=lost'])
    assert.equal((await admin.get(`/nodes?${bad}`)).status, 400, bad)
  await k.close()
})

test('a node speaks for itself only', async () => {
  const k = kit()
  const a = await k.enroll('Alpha')
  const b = await k.enroll('Beta')
  k.forget()
  const foreign = await a.agent.post(`/nodes/${b.id}/heartbeat`, { agentVersion: '1', hostname: 'h' })
  assert.equal(foreign.status, 403)
  assert.equal((await k.bearer('svc_node_wrong').get(`/nodes/${a.id}/config`)).status, 401)
  assert.equal((await k.anonymous.get(`/nodes/${a.id}/config`)).status, 401)
  assert.deepEqual(k.trail(), [
    'nodes.heartbeat.failed denied node_scope_denied',
    'nodes.config.read.failed denied invalid_node_token',
    'nodes.config.read.failed denied missing_node_token',
  ])
  await k.close()
})

test('a health event of an agent is one event however often it is sent', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const event = { id: 'node_event_1', type: 'agent.started', severity: 'info', details: { version: '1' } }
  const first = await agent.post(`/nodes/${id}/health-events`, event)
  assert.equal(first.status, 201)
  const again = await agent.post(`/nodes/${id}/health-events`, event)
  assert.deepEqual(again.json.data, first.json.data)
  assert.equal(first.json.data.details.localEventId, 'node_event_1')
  assert.equal((await agent.post(`/nodes/${id}/health-events`, { ...event, type: 'watchdog.x' })).status, 400)
  assert.equal(
    (await agent.post(`/nodes/${id}/health-events`, { ...event, id: 'e2', recordingId: 'rec_9' })).status,
    404,
  )
  assert.equal(k.rows('SELECT * FROM health_events').length, 1)
  await k.close()
})
