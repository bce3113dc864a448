import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

async function world() {
  const k = kit()
  const admin = k.as('admin')
  for (const id of ['hall', 'booth']) await admin.post('/rooms', { id, name: id, site: 'North' })
  const { id, node } = await k.enroll()
  const interfaceId = node.interfaces[0].id as string
  const put = (...assignments: object[]) => admin.put(`/nodes/${id}/channel-rooms`, { assignments })
  const rooms = async () =>
    (await admin.get(`/nodes/${id}`)).json.data.interfaces[0].channels.map((c: { roomId?: string }) => c.roomId)
  k.forget()
  return { admin, id, interfaceId, k, put, rooms }
}

test('channels go into rooms, keep the ones not mentioned, and come out with null', async () => {
  const { id, interfaceId, k, put, rooms } = await world()
  const both = await put({ interfaceId, channelIndexes: [1, 2, 2], roomId: 'hall' })
  assert.equal(both.status, 200)
  assert.deepEqual(
    both.json.data.interfaces[0].channels.map((c: { roomId: string }) => c.roomId),
    ['hall', 'hall'],
  )
  await put({ interfaceId, channelIndexes: [2], roomId: 'booth' })
  assert.deepEqual(await rooms(), ['hall', 'booth'])
  await put({ interfaceId, channelIndexes: [1], roomId: null })
  assert.deepEqual(await rooms(), [undefined, 'booth'])
  const [row] = k.rows<{ details: string; before: string; after: string }>(
    "SELECT details, before, after FROM audit_events WHERE action = 'nodes.channel-rooms.assign.succeeded' ORDER BY seq LIMIT 1",
  )
  const { assignedRoomIds, channelCount, reassignedScheduleIds } = JSON.parse(row?.details ?? '')
  assert.deepEqual([assignedRoomIds, channelCount, reassignedScheduleIds], [['hall'], 2, []])
  assert.deepEqual(JSON.parse(row?.after ?? '').interfaces[0].channels, [
    { index: 1, roomId: 'hall' },
    { index: 2, roomId: 'hall' },
  ])
  // Who is on the room's roster sees the node from the next request on.
  const booth = k.person('ann', ['viewer'], [['room', 'booth']])
  assert.equal((await booth.get(`/nodes/${id}`)).status, 200)
  await k.close()
})

test('an unknown room, a foreign interface, a channel that is not there: 400 with its reason, and nothing moves', async () => {
  const { admin, interfaceId, k, put, rooms } = await world()
  const { node: other } = await k.enroll('Other')
  k.forget()
  const good = { interfaceId, channelIndexes: [1], roomId: 'hall' }
  const bad: [object, string][] = [
    [{ ...good, roomId: 'none' }, 'room_not_found'],
    [{ ...good, interfaceId: other.interfaces[0].id }, 'interface_not_found'],
    [{ ...good, channelIndexes: [1, 3] }, 'channel_not_found'],
  ]
  for (const [assignment, reason] of bad) {
    const answer = await put(good, assignment)
    assert.deepEqual([answer.status, answer.json.reason], [400, reason])
  }
  for (const assignments of [
    [],
    [{ ...good, channelIndexes: [] }],
    [{ ...good, channelIndexes: [513] }],
    Array(257).fill(good),
  ])
    assert.equal((await put(...assignments)).status, 400)
  assert.deepEqual(await rooms(), [undefined, undefined])
  assert.equal((await admin.put('/nodes/none/channel-rooms', { assignments: [good] })).status, 404)
  assert.equal((await k.as('operator').put('/nodes/none/channel-rooms', { assignments: [good] })).status, 403)
  assert.ok(k.trail().includes('nodes.channel-rooms.assign.failed failed channel_not_found'))
  await k.close()
})
