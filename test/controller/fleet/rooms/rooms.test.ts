import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

test('a room lives from create to delete, and the trail tells the story', async () => {
  const k = kit()
  const admin = k.as('admin')
  const made = await admin.post('/rooms', { site: 'North', name: 'Hall' })
  assert.equal(made.status, 201)
  assert.deepEqual(made.json.data, {
    id: 'room_1',
    site: 'North',
    name: 'Hall',
    createdAt: k.now(),
    updatedAt: k.now(),
  })
  assert.equal((await admin.patch('/rooms/room_1', { notes: 'x', name: '' })).json.data.notes, 'x')
  assert.equal((await admin.patch('/rooms/room_1', { notes: null })).json.data.notes, undefined)
  assert.equal((await admin.get('/rooms/room_1')).json.data.nodeCount, 0)
  assert.equal((await admin.delete('/rooms/room_1')).status, 204)
  assert.deepEqual(
    k.trail().filter((t) => !t.includes('read')),
    [
      'rooms.create allowed',
      'rooms.create.succeeded succeeded',
      'rooms.update allowed',
      'rooms.update.succeeded succeeded',
      'rooms.update allowed',
      'rooms.update.succeeded succeeded',
      'rooms.delete allowed',
      'rooms.delete.succeeded succeeded',
    ],
  )
  await k.close()
})

test('refusals: 401, 403, 400, 409, 404, each with its one row', async () => {
  const k = kit()
  const admin = k.as('admin')
  assert.equal((await k.anonymous.get('/rooms')).status, 401)
  assert.equal((await k.as('viewer').post('/rooms', {})).status, 403)
  assert.equal((await k.as('viewer').get('/rooms/room_9')).status, 403)
  const bad = await admin.post('/rooms', { site: '' })
  assert.equal(bad.status, 400)
  assert.ok(bad.json.issues.length > 0)
  await admin.post('/rooms', { site: 'North', name: 'Hall' })
  const again = await admin.post('/rooms', { site: 'North', name: 'Hall' })
  assert.deepEqual([again.status, again.json.reason], [409, 'room_exists'])
  assert.equal((await admin.get('/rooms/nope')).status, 404)
  assert.deepEqual(
    k.trail().filter((t) => /denied|failed/.test(t)),
    [
      'rooms.read denied unauthenticated',
      'rooms.create denied missing_permission',
      'rooms.detail.read denied missing_resource_scope',
      'rooms.create.failed failed invalid_request',
      'rooms.create.failed failed room_exists',
      'rooms.detail.read.failed failed room_not_found',
    ],
  )
  await k.close()
})

test('a room booked by a schedule is kept: nothing is half done', async () => {
  const k = kit()
  const admin = k.as('admin')
  await admin.post('/rooms', { site: 'North', name: 'Hall', id: 'hall' })
  k.sql("INSERT INTO schedules (id, name, room_id, created_at, updated_at) VALUES ('s1', 'Daily', 'hall', '', '')")
  const answer = await admin.delete('/rooms/hall')
  assert.deepEqual([answer.status, answer.json.reason], [409, 'room_in_use'])
  assert.equal((await admin.get('/rooms/hall')).status, 200)
  await k.close()
})

test('a list shows what the caller may see: grants on the room, not on others', async () => {
  const k = kit()
  const admin = k.as('admin')
  for (const id of ['a', 'b', 'c']) await admin.post('/rooms', { site: 'North', name: id, id })
  const names = async (principal: { get(path: string): Promise<{ json: { data: { id: string }[] } }> }) =>
    (await principal.get('/rooms')).json.data.map((room) => room.id)
  assert.deepEqual(await names(admin), ['a', 'b', 'c'])
  assert.deepEqual(await names(k.as('viewer')), [])
  assert.deepEqual(await names(k.person('ann', ['viewer'], [['room', 'b']])), ['b'])
  k.sql("INSERT INTO access_policies VALUES ('p', 1, 'deny', 'everyone', NULL, 'room', 'c', NULL)")
  assert.deepEqual(await names(admin), ['a', 'b'])
  await k.close()
})

test('probes answer without a session and leave no row', async () => {
  const k = kit()
  assert.equal((await k.anonymous.get('/healthz')).json.ok, true)
  assert.equal((await k.anonymous.get('/readyz')).json.database, 'ready')
  assert.deepEqual(k.trail(), [])
  await k.close()
})

test('how many nodes a room has follows its channels, however they come, move and go', async () => {
  const k = kit()
  const admin = k.as('admin')
  for (const id of ['hall', 'booth']) await admin.post('/rooms', { id, name: id, site: 'North' })
  const { id, agent, node } = await k.enroll()
  const interfaceId = node.interfaces[0].id
  const counts = async () =>
    Object.fromEntries(
      (await admin.get('/rooms')).json.data.map((r: { id: string; nodeCount: number }) => [r.id, r.nodeCount]),
    )
  const put = (channelIndexes: number[], roomId: string | null) =>
    admin.put(`/nodes/${id}/channel-rooms`, { assignments: [{ channelIndexes, interfaceId, roomId }] })
  await put([1, 2], 'hall')
  assert.deepEqual(await counts(), { booth: 0, hall: 1 })
  await put([2], 'booth')
  assert.deepEqual(await counts(), { booth: 1, hall: 1 })
  // The device tells of one channel: the other keeps the room an operator gave it, until an operator takes it away.
  const narrow = {
    alias: 'Desk',
    systemName: 'USB Desk',
    systemRef: 'hw:CARD=Desk,DEV=0',
    backend: 'alsa',
    channelCount: 1,
  }
  await agent.post(`/nodes/${id}/inventory`, { interfaces: [narrow] })
  assert.deepEqual(await counts(), { booth: 1, hall: 1 })
  assert.equal((await put([2], null)).status, 200)
  assert.deepEqual(await counts(), { booth: 0, hall: 1 })
  await admin.patch(`/nodes/${id}`, { roomId: 'booth' })
  assert.deepEqual(await counts(), { booth: 0, hall: 1 })
  await put([1], null)
  assert.deepEqual(await counts(), { booth: 1, hall: 0 })
  await put([1], 'hall')
  // The people of the booth must not get the hall's microphone by its deletion.
  const inUse = await admin.delete('/rooms/hall')
  assert.deepEqual([inUse.status, inUse.json.reason], [409, 'room_in_use'])
  assert.deepEqual(await counts(), { booth: 0, hall: 1 })
  await put([1], null)
  assert.equal((await admin.delete('/rooms/hall')).status, 204)
  assert.deepEqual(await counts(), { booth: 1 })
  await k.close()
})
