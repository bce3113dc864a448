import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Kit, kit } from '../../../kit/kit.ts'
import { reading } from '../../../kit/reading.ts'

interface Told {
  id?: string
  kind: string
  op?: string
  state?: object
}

const open = async (k: Kit, person: { token: string | undefined }) => {
  const response = await k.app.request('/api/v1/events', { headers: { authorization: `Bearer ${person.token}` } })
  assert.equal(response.status, 200)
  const stream = reading(response)
  return {
    cancel: stream.cancel,
    change: async () => (await stream.event('change')) as Told | undefined,
    event: stream.event,
  }
}
/** Changes until one of `kind` about `id` comes; that one. */
async function until(stream: Awaited<ReturnType<typeof open>>, kind: string, id: string): Promise<Told | undefined> {
  for (;;) {
    const told = await stream.change()
    if (!told || (told.kind === kind && told.id === id)) return told
  }
}
const record = (k: Kit, nodeId: string) =>
  k.as('admin').post('/recordings', { durationSeconds: 60, name: 'Lecture', nodeId })

test('it begins with hello, which says which start of which version this is', async () => {
  const k = kit()
  const hellos = []
  for (const name of ['ann', 'bob']) {
    const stream = await open(k, k.person(name, ['viewer']))
    hellos.push((await stream.event('hello')) as { bootId: string; version: string })
    await stream.cancel()
  }
  assert.ok(hellos[0]?.bootId)
  assert.match(hellos[0]?.version ?? '', /^\d+\.\d+\.\d+/)
  assert.deepEqual(hellos[0], hellos[1])
  assert.equal((await k.as('viewer').get('/events?kinds=node,nonsense')).status, 400)
  await k.close()
})

test('what a person changes is told to others, with the small state of a node and a job', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const stream = await open(k, k.person('ann', ['viewer'], [['site', 'North']]))
  await stream.event('hello')
  await k.as('admin').patch(`/nodes/${id}`, { alias: 'Hall' })
  assert.deepEqual((await until(stream, 'node', id))?.state, { recording: false, status: 'provisioning' })
  const { json } = await record(k, id)
  const { data: recording, job } = json
  assert.equal((await until(stream, 'recording', recording.id))?.id, recording.id)
  assert.equal((await agent.post(`/recording-jobs/${job.id}/claim`)).status, 200)
  assert.deepEqual((await until(stream, 'job', job.id))?.state, { status: 'running' })
  await agent.post(`/recording-jobs/${job.id}/heartbeat`, { progress: { percent: 40, stage: 'rendering' } })
  assert.deepEqual((await until(stream, 'job', job.id))?.state, { percent: 40, stage: 'rendering', status: 'running' })
  await stream.cancel()
  await k.close()
})

test('a recorder that falls silent is told of once, although it says nothing', async () => {
  const k = kit({ env: { SVC_WATCHDOG_RUNNER_ENABLED: 'false' } })
  const { id, agent } = await k.enroll()
  const beat = () => agent.post(`/nodes/${id}/heartbeat`, { agentVersion: '1', hostname: 'h' })
  assert.equal((await beat()).status, 202)
  await k.tick('node-offline')
  const stream = await open(k, k.person('ann', ['viewer'], [['site', 'North']]))
  await stream.event('hello')
  k.advance('121s')
  await k.tick('node-offline')
  assert.deepEqual((await until(stream, 'node', id))?.state, { recording: false, status: 'offline' })
  await k.tick('node-offline')
  await beat()
  assert.deepEqual((await until(stream, 'node', id))?.state, { recording: false, status: 'online' })
  await stream.cancel()
  await k.close()
})

test('a read, a refusal and a machine that changes nothing are told to nobody', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const stream = await open(k, k.as('admin'))
  await stream.event('hello')
  await agent.get(`/nodes/${id}/config`)
  await k.as('admin').get('/nodes')
  await k.as('viewer').patch(`/nodes/${id}`, { alias: 'No' })
  await k.as('admin').post('/rooms', { id: 'hall', name: 'Hall', site: 'North' })
  assert.equal((await stream.change())?.kind, 'room')
  await stream.cancel()
  await k.close()
})

test('who saw a thing is told that it moved away or is gone', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const north = await open(k, k.person('ann', ['viewer'], [['site', 'North']]))
  const south = await open(k, k.person('bob', ['viewer'], [['site', 'South']]))
  for (const stream of [north, south]) await stream.event('hello')
  const { json } = await record(k, id)
  const recordingId = json.data.id as string
  await until(north, 'recording', recordingId)
  await k.as('admin').post(`/recordings/${recordingId}/stop`)
  await until(north, 'recording', recordingId)
  const removed = await k.as('admin').delete(`/recordings/${recordingId}`)
  assert.equal(removed.status, 204, removed.text)
  assert.equal((await until(north, 'recording', recordingId))?.op, 'deleted', 'the take is gone')
  await k.as('admin').patch(`/nodes/${id}`, { location: { site: 'South' } })
  assert.equal((await until(north, 'node', id))?.op, 'deleted', 'the node has left')
  assert.equal((await until(south, 'node', id))?.op, 'updated', 'and has come')
  for (const stream of [north, south]) await stream.cancel()
  await k.close()
})

test('what a denial hides is told of neither when it changes nor when it goes', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { agent, id } = await k.enroll()
  await admin.post('/rooms', { id: 'vault', name: 'Vault', site: 'North' })
  const channels = { assignments: [{ channelIndexes: [1], interfaceId: 'hw:CARD=USB,DEV=0', roomId: 'vault' }] }
  const { interfaces } = (await admin.get(`/nodes/${id}`)).json.data
  channels.assignments[0]!.interfaceId = interfaces[0].id
  assert.equal((await admin.put(`/nodes/${id}/channel-rooms`, channels)).status, 200)
  const denial = { effect: 'deny', resourceId: 'vault', resourceType: 'room', subjectId: 'ann', subjectType: 'user' }
  assert.equal((await admin.patch('/auth/access-policies', { policies: [denial] })).status, 200)
  const ann = k.person('ann', ['viewer'], [['site', 'North']])
  assert.equal((await k.bearer(ann.token as string).get(`/nodes/${id}`)).status, 403)
  const stream = await open(k, ann)
  await stream.event('hello')
  await admin.patch(`/nodes/${id}`, { alias: 'Hidden' })
  const told = await agent.post(`/nodes/${id}/health-events`, { severity: 'warning', type: 'agent.meter.clipping' })
  await admin.post(`/health-events/${told.json.data.id}/acknowledge`, {})
  const { json } = await record(k, id)
  await admin.post(`/recordings/${json.data.id}/stop`)
  await admin.delete(`/recordings/${json.data.id}`)
  await admin.post('/rooms', { id: 'open', name: 'Open', site: 'North' })
  const ids: (string | undefined)[] = []
  for (let last = ''; last !== 'open'; ids.push(last)) last = (await stream.change())?.id ?? ''
  assert.deepEqual(ids, ['open'])
  await stream.cancel()
  await k.close()
})

test('rights are read anew: a grant that ends silences, resync tells so; an ended session ends the stream', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const ann = k.person('ann', ['viewer'], [['site', 'North']])
  const stream = await open(k, ann)
  await stream.event('hello')
  k.sql(`DELETE FROM user_grants WHERE user_id = 'ann'`)
  k.advance('6s')
  await k.as('admin').patch(`/nodes/${id}`, { alias: 'Unseen' })
  assert.deepEqual(await stream.event('resync'), {})
  k.sql(`INSERT INTO user_grants VALUES ('ann', 'site', 'North')`)
  k.advance('6s')
  await k.as('admin').patch(`/nodes/${id}`, { alias: 'Seen' })
  assert.ok(await until(stream, 'node', id))
  k.sql(`UPDATE sessions SET revoked_at = '2026-03-02T09:00:00.000Z' WHERE user_id = 'ann'`)
  k.advance('6s')
  await k.as('admin').patch(`/nodes/${id}`, { alias: 'Again' })
  assert.equal(await stream.change(), undefined)
  await k.close()
})

test('a client that reads nothing is told to read everything again, and costs no memory', async () => {
  const k = kit()
  const stream = await open(k, k.as('admin'))
  await stream.event('hello')
  for (let i = 0; i < 1500; i++) k.events.emit('job.progressed', { id: `job_${i}` })
  assert.deepEqual(await stream.event('resync'), {})
  await stream.cancel()
  await k.close()
})

test('without a session there is no stream; a person without any right has one that says nothing', async () => {
  const k = kit()
  assert.equal((await k.anonymous.get('/events')).status, 401)
  const { id } = await k.enroll()
  const stream = await open(k, k.person('guest', []))
  await stream.event('hello')
  await k.as('admin').patch(`/nodes/${id}`, { alias: 'Hall' })
  k.sql(`UPDATE sessions SET revoked_at = '2026-03-02T09:00:00.000Z' WHERE user_id = 'guest'`)
  k.advance('6s')
  await k.as('admin').patch(`/nodes/${id}`, { alias: 'Hall 2' })
  assert.equal(await stream.change(), undefined)
  await k.close()
})

test('an alert comes with how many are open, of those the person may see', async () => {
  const k = kit()
  const { id: north } = await k.enroll('North recorder')
  const { id: south } = await k.enroll('South recorder', { location: { room: 'Hall', site: 'South' } })
  const ann = await open(k, k.person('ann', ['viewer'], [['site', 'North']]))
  const boss = await open(k, k.as('admin'))
  for (const stream of [ann, boss]) await stream.event('hello')
  const report = async (nodeId: string, severity: string) =>
    (await k.as('admin').post('/health-events', { nodeId, severity, type: 'room.noise' })).json.data.id as string
  await report(south, 'critical')
  await report(north, 'info')
  const seen = await report(north, 'warning')
  const [told, all] = [await until(ann, 'health', seen), await until(boss, 'health', seen)]
  assert.deepEqual(told?.state, { counts: { critical: 0, warning: 1 }, severity: 'warning', status: 'open' })
  assert.deepEqual(all?.state, { counts: { critical: 1, warning: 1 }, severity: 'warning', status: 'open' })
  await k.as('admin').post(`/health-events/${seen}/resolve`, {})
  assert.deepEqual((await until(ann, 'health', seen))?.state, {
    ...{ counts: { critical: 0, warning: 0 }, severity: 'warning', status: 'resolved' },
  })
  for (const stream of [ann, boss]) await stream.cancel()
  await k.close()
})

test('an upload says how much of it is sent, to those who may see its take', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const ann = await open(k, k.person('ann', ['viewer'], [['site', 'North']]))
  await ann.event('hello')
  const { json } = await record(k, id)
  const recordingId = json.data.id as string
  k.sql(
    `INSERT INTO upload_queue (id, recording_id, destination_id, provider, status, max_attempts, next_attempt_at, cache_path,
       checksum, file_name, created_at, updated_at)
     VALUES ('u1', ?, 'd1', 's3', 'queued', 3, ?, 'a.mp3', 'sha256:00', 'a.mp3', ?, ?)`,
    ...[recordingId, k.now(), k.now(), k.now()],
  )
  k.db.tx(() => k.events.emit('upload.progressed', { percent: 40, recordingId }))
  assert.deepEqual((await until(ann, 'upload', recordingId))?.state, { percent: 40, status: 'queued' })
  k.sql("UPDATE upload_queue SET status = 'retrying'")
  k.db.tx(() => k.events.emit('upload.progressed', { recordingId }))
  assert.deepEqual((await until(ann, 'upload', recordingId))?.state, { status: 'retrying' })
  await ann.cancel()
  await k.close()
})

/** Every change that is told, up to the room that is made at the end. */
async function toldUntilRoom(k: Kit, stream: Awaited<ReturnType<typeof open>>): Promise<Told[]> {
  const end = k.now().replaceAll(/\D/g, '') + k.rows('SELECT id FROM rooms').length
  await k.as('admin').post('/rooms', { id: end, name: end, site: 'North' })
  const told: Told[] = []
  for (;;) {
    const change = await stream.change()
    if (!change || change.id === end) return told
    told.push(change)
  }
}
const alerts = (told: readonly Told[]) => told.filter(({ kind }) => kind === 'health')

test('an alert is told of once, whoever opens it: a recorder, a lease that ran out, a person', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const { json } = await record(k, id)
  await agent.post(`/recording-jobs/${json.job.id}/claim`)
  const stream = await open(k, k.as('admin'))
  await stream.event('hello')
  const reported = await agent.post(`/nodes/${id}/health-events`, { severity: 'critical', type: 'agent.capture.lost' })
  const state = { counts: { critical: 1, warning: 0 }, severity: 'critical', status: 'open' }
  const [first, ...others] = alerts(await toldUntilRoom(k, stream))
  assert.deepEqual([first?.id, first?.op, first?.state, others], [reported.json.data.id, 'created', state, []])
  k.advance('1h')
  await k.tick('job-lease')
  const told = await toldUntilRoom(k, stream)
  const [failure] = k.rows<{ id: string }>(
    "SELECT id FROM health_events WHERE type = 'controller.recording.job_failed'",
  )
  assert.deepEqual(
    alerts(told).map((one) => one.id),
    [failure?.id],
  )
  assert.ok(
    told.some((one) => one.kind === 'recording' && one.id === json.data.id),
    'the take is worse off for it',
  )
  const posted = await k.as('admin').post('/health-events', { nodeId: id, severity: 'info', type: 'room.noise' })
  assert.deepEqual(
    alerts(await toldUntilRoom(k, stream)).map((one) => one.id),
    [posted.json.data.id],
  )
  await stream.cancel()
  await k.close()
})

test('who manages access is told of sessions that end and of display links', async () => {
  const k = kit()
  const admin = k.as('admin')
  const stream = await open(k, k.person('boss', ['owner']))
  await stream.event('hello')
  const { data } = (await admin.post('/auth/display-links', { name: 'Foyer', site: 'North' })).json
  assert.equal((await until(stream, 'user', data.id))?.op, 'created')
  await admin.delete(`/auth/display-links/${data.id}`)
  assert.equal((await until(stream, 'user', data.id))?.op, 'deleted')
  await stream.cancel()
  await k.close()
})
