import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

async function world() {
  const k = kit()
  const admin = k.as('admin')
  await admin.post('/rooms', { site: 'North', name: 'Hall', id: 'hall' })
  const ann = k.person('ann', [])
  k.forget()
  const entry = (subjectId: string, capabilities: string[], subjectType = 'user') => ({
    subjectType,
    subjectId,
    capabilities,
  })
  const put = (...entries: object[]) => admin.put('/rooms/hall/roster', { entries })
  return { k, admin, ann, entry, put }
}

test('the manual roster is replaced whole; duplicates collapse, empty entries vanish, strangers are kept', async () => {
  const { k, admin, entry, put } = await world()
  await admin.post('/auth/groups', { name: 'crew' })
  const answer = await put(
    entry('ann', ['listen', 'view', 'view']),
    entry('ann', ['edit']),
    entry('nobody', ['view']),
    entry('gone', []),
    entry('crew', ['book'], 'group'),
  )
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.json.data, [
    {
      subjectType: 'user',
      subjectId: 'ann',
      subjectName: 'ann',
      capabilities: ['view', 'listen', 'edit'],
      source: 'manual',
    },
    { subjectType: 'user', subjectId: 'nobody', capabilities: ['view'], source: 'manual' },
    { subjectType: 'group', subjectId: 'crew', subjectName: 'crew', capabilities: ['book'], source: 'manual' },
  ])
  assert.deepEqual((await admin.get('/rooms/hall/roster')).json.data, answer.json.data)
  assert.deepEqual((await put(entry('ann', ['view']))).json.data.length, 1)
  const row = k.rows(`SELECT before, after, target_id AS id FROM audit_events
    WHERE action = 'rooms.roster.update.succeeded' ORDER BY seq DESC`)[0]
  assert.equal(row?.id, 'hall')
  assert.deepEqual(
    [JSON.parse(String(row?.before)).roster.length, JSON.parse(String(row?.after)).roster.length],
    [3, 1],
  )
  await k.close()
})

test('what a schedule put on the roster stays, beside the manual entry of the same person', async () => {
  const { k, entry, put } = await world()
  for (const capability of ['view', 'operate'])
    k.sql("INSERT INTO room_roster VALUES ('hall', 'user', 'ann', ?, 'calendar', 's1')", capability)
  const manual = { ...entry('ann', ['view']), subjectName: 'ann', source: 'manual' }
  const calendar = {
    ...entry('ann', ['view', 'operate']),
    subjectName: 'ann',
    source: 'calendar',
    sourceScheduleId: 's1',
  }
  assert.deepEqual((await put(entry('ann', ['view']))).json.data, [manual, calendar])
  assert.deepEqual((await put()).json.data, [calendar])
  await k.close()
})

test('a capability opens the room at the next request, and closes it again', async () => {
  const { k, ann, entry, put } = await world()
  assert.equal((await ann.get('/rooms/hall')).status, 403)
  await put(entry('ann', ['view']))
  assert.equal((await ann.get('/rooms/hall')).status, 200)
  await put(entry('ann', ['edit']))
  assert.equal((await ann.get('/rooms/hall')).status, 403)
  await k.close()
})

test('refusals: unknown room, unknown capability, no permission, each with its row', async () => {
  const { k, admin, ann, entry, put } = await world()
  assert.equal((await admin.get('/rooms/nope/roster')).status, 404)
  assert.equal((await admin.put('/rooms/nope/roster', { entries: [] })).status, 404)
  assert.equal((await put(entry('ann', ['fly']))).status, 400)
  assert.equal((await admin.put('/rooms/hall/roster', {})).status, 400)
  assert.equal((await ann.get('/rooms/hall/roster')).status, 403)
  assert.deepEqual(
    k.trail().filter((t) => /denied|failed/.test(t)),
    [
      'rooms.roster.read.failed failed room_not_found',
      'rooms.roster.update.failed failed room_not_found',
      'rooms.roster.update.failed failed invalid_request',
      'rooms.roster.update.failed failed invalid_request',
      'rooms.roster.read denied missing_permission',
    ],
  )
  await k.close()
})
