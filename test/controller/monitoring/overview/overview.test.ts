import assert from 'node:assert/strict'
import { test } from 'node:test'
import { merged, withinRoom } from '../../../../src/controller/monitoring/overview/overview.rules.ts'
import type { Node } from '../../../../src/wire/nodes.ts'
import { type Kit, kit } from '../../../kit/kit.ts'

async function world() {
  const k = kit()
  const admin = k.as('admin')
  for (const id of ['hall', 'booth']) await admin.post('/rooms', { id, name: id, site: 'North' })
  const { id, node } = await k.enroll()
  const interfaceId = node.interfaces[0].id
  await admin.put(`/nodes/${id}/channel-rooms`, {
    assignments: [
      { interfaceId, channelIndexes: [1], roomId: 'hall' },
      { interfaceId, channelIndexes: [2], roomId: 'booth' },
    ],
  })
  await k.enroll('Elsewhere')
  const overview = async (principal = admin, room = 'hall') =>
    (await principal.get(`/rooms/${room}/overview`)).json.data
  return { admin, id, interfaceId, k, overview }
}

const take = (k: Kit, id: string, room: string, at: string) =>
  k.sql(
    `INSERT INTO recordings (id, name, folder, source, status, recorded_at, room_id, updated_at)
     VALUES (?, ?, 'f', 'ad_hoc', 'cached', ?, ?, ?)`,
    id,
    id,
    at,
    room,
    at,
  )

test('the page of a room has its nodes whole, its ten newest recordings and what comes next', async () => {
  const { admin, id, k, overview } = await world()
  for (let i = 10; i < 25; i++) take(k, `r${i}`, 'hall', `2026-03-01T10:00:${i}.000Z`)
  take(k, 'other', 'booth', '2026-03-01T11:00:00.000Z')
  const schedule = {
    name: 'Choir',
    nodeId: id,
    captureChannelSelection: [1],
    folderTemplate: 'Choir',
    recordingProfileId: 'voice-mp3-vbr',
    recurrence: { mode: 'daily', startTime: '18:00', endTime: '19:00' },
    room: 'Hall',
    titleTemplate: 'Choir',
    watchdogPolicyId: 'scheduled-voice-watchdog',
    timezone: 'Europe/Berlin',
  }
  const made = await admin.post('/schedules', schedule)
  assert.equal(made.status, 201, made.text)
  const page = await overview()
  assert.deepEqual([page.room.id, page.room.nodeCount], ['hall', 1])
  assert.deepEqual(
    page.nodes.map((n: Node) => [n.id, n.interfaces[0]?.channels.length]),
    [[id, 2]],
  )
  assert.deepEqual(
    page.recentRecordings.map((r: { id: string }) => r.id),
    ['r24', 'r23', 'r22', 'r21', 'r20', 'r19', 'r18', 'r17', 'r16', 'r15'],
  )
  const { id: scheduleId } = made.json.data
  assert.deepEqual(
    page.upcoming,
    ['02', '03', '04'].map((day) => ({
      recordingEndAt: `2026-03-${day}T18:00:00.000Z`,
      recordingStartAt: `2026-03-${day}T17:00:00.000Z`,
      scheduleId,
      scheduleName: 'Choir',
    })),
  )
  await admin.patch(`/schedules/${scheduleId}`, { enabled: false })
  assert.deepEqual((await overview()).upcoming, [])
  assert.equal((await admin.get('/rooms/none/overview')).status, 404)
  await k.close()
})

test('who holds only the room sees of a shared node what is in it; what is denied is left out', async () => {
  const { id, interfaceId, k, overview } = await world()
  take(k, 'r1', 'hall', '2026-03-01T10:00:00.000Z')
  take(k, 'r2', 'hall', '2026-03-01T11:00:00.000Z')
  const ann = k.person('ann', ['viewer'], [['room', 'hall']])
  const page = await overview(ann)
  assert.deepEqual(
    page.nodes[0].interfaces.map((i: { id: string; channels: { index: number }[] }) => [
      i.id,
      i.channels.map((c) => c.index),
    ]),
    [[interfaceId, [1]]],
  )
  assert.deepEqual(page.recentRecordings.length, 2)
  assert.equal((await ann.get('/rooms/booth/overview')).status, 403)
  const bob = k.person(
    'bob',
    ['viewer'],
    [
      ['room', 'hall'],
      ['node', id],
    ],
  )
  assert.equal((await overview(bob)).nodes[0].interfaces[0].channels.length, 2)
  k.sql(`INSERT INTO access_policies VALUES ('p', 0, 'deny', 'user', 'ann', 'recording', 'r2', NULL)`)
  assert.deepEqual(
    (await overview(ann)).recentRecordings.map((r: { id: string }) => r.id),
    ['r1'],
  )
  await k.close()
})

test('rules: a node within a room, and merged occurrences', () => {
  const channels = [
    { alias: 'a', index: 1 },
    { alias: 'b', index: 2, roomId: 'booth' },
  ]
  const node = { interfaces: [{ channels }, { channels: [] }], roomId: 'hall' } as unknown as Node
  assert.deepEqual(
    withinRoom(node, 'hall').interfaces.map((i) => i.channels),
    [[channels[0]]],
  )
  assert.deepEqual(withinRoom(node, 'none').interfaces, [])
  const at = (recordingStartAt: string) => ({ recordingStartAt, scheduleId: 's', scheduleName: 's' })
  assert.deepEqual(merged([at('2'), at('4')], [at('3'), at('1')], 3), [at('1'), at('2'), at('3')])
})
