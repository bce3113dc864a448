import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RoomRights } from '../../../../src/wire/access.ts'
import { kit } from '../../../kit/kit.ts'

async function world() {
  const k = kit()
  const admin = k.as('admin')
  for (const [id, site] of Object.entries({ court: 'North', hall: 'North', store: 'South' }))
    assert.equal((await admin.post('/rooms', { id, name: `Room ${id}`, site })).status, 201)
  const made = await admin.post('/auth/users', {
    email: 'tess@example.org',
    name: 'Tess',
    password: 'a long password',
    resourceGrants: [{ resourceId: 'North', resourceType: 'site' }],
    roles: ['technician'],
  })
  const id = made.json.data.id as string
  const rights = async (query = ''): Promise<Record<string, string[]>> => {
    const answer = await admin.get(`/auth/users/${id}/rooms${query}`)
    assert.equal(answer.status, 200)
    return Object.fromEntries((answer.json.data as RoomRights[]).map((room) => [room.id, room.permissions]))
  }
  return { admin, id, k, rights }
}

test('what somebody may do is told of every room: grant, roster and denial each where they hold', async () => {
  const { admin, id, rights } = await world()
  const before = await rights()
  assert.deepEqual(Object.keys(before), ['court', 'hall', 'store'], 'by site and name')
  assert.ok(before.hall?.includes('node:manage') && before.hall.includes('listen:monitor'))
  assert.ok(!before.hall?.includes('recording:download'))
  assert.deepEqual(before.store, [])
  const entry = { capabilities: ['download'], subjectId: id, subjectType: 'user' }
  assert.equal((await admin.put('/rooms/store/roster', { entries: [entry] })).status, 200)
  const denial = { effect: 'deny', resourceId: 'court', resourceType: 'room', subjectType: 'everyone' }
  assert.equal((await admin.patch('/auth/access-policies', { policies: [denial] })).status, 200)
  const after = await rights()
  assert.deepEqual([after.store, after.court], [['recording:download'], []])
})

test('what is told is what happens: each answer for a room equals the request of that person', async () => {
  const { k, rights } = await world()
  const login = { email: 'tess@example.org', password: 'a long password' }
  const tess = k.bearer((await k.anonymous.post('/auth/login', login)).json.data.token)
  for (const [room, permissions] of Object.entries(await rights())) {
    const answer = await tess.get(`/rooms/${room}`)
    assert.equal(answer.status === 200, permissions.includes('node:read'), room)
  }
})

test('a disabled account may do nothing, a search narrows, pages are counted, nobody is 404', async () => {
  const { admin, id, rights } = await world()
  assert.deepEqual(Object.keys(await rights('?search=south')), ['store'])
  const page = await admin.get(`/auth/users/${id}/rooms?limit=1&offset=1`)
  assert.deepEqual([page.json.data[0].id, page.json.meta.total, page.json.meta.hasNextPage], ['hall', 3, true])
  await admin.patch(`/auth/users/${id}/status`, { disabled: true })
  assert.deepEqual(Object.values(await rights()), [[], [], []])
  assert.equal((await admin.get('/auth/users/nobody/rooms')).status, 404)
})

test('only who manages access may ask', async () => {
  const { id, k } = await world()
  for (const role of ['operator', 'technician', 'viewer', 'auditor'] as const)
    assert.equal((await k.as(role).get(`/auth/users/${id}/rooms`)).status, 403)
})
