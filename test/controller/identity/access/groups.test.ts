import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

function world() {
  const k = kit()
  const admin = k.as('admin')
  for (const name of ['ann', 'bob']) k.person(name, ['viewer'])
  return { k, admin }
}

test('a group lives from create to delete, with a readable id', async () => {
  const { k, admin } = world()
  const made = await admin.post('/auth/groups', { name: 'Stage & Sound', description: 'x', memberIds: ['ann', 'ann'] })
  assert.equal(made.status, 201)
  assert.deepEqual(made.json.data, {
    id: 'stage-sound',
    name: 'Stage & Sound',
    description: 'x',
    memberCount: 1,
    createdAt: k.now(),
    updatedAt: k.now(),
    members: [{ email: 'ann@example.org', id: 'ann', name: 'ann' }],
  })
  assert.equal((await admin.post('/auth/groups', { name: 'stage sound' })).json.data.id, 'stage-sound-2')
  assert.match((await admin.post('/auth/groups', { name: '???' })).json.data.id, /^group-[0-9a-f]{6}$/)
  const renamed = await admin.patch('/auth/groups/stage-sound', { name: 'Crew', description: null })
  assert.deepEqual([renamed.json.data.name, renamed.json.data.description], ['Crew', undefined])
  const members = await admin.put('/auth/groups/stage-sound/members', { memberIds: ['bob'] })
  assert.deepEqual(
    members.json.data.members.map((member: { id: string }) => member.id),
    ['bob'],
  )
  const detail = (await admin.get('/auth/groups/stage-sound')).json.data
  assert.deepEqual(Object.keys(detail.actions).sort(), ['delete', 'detail', 'updateGroup', 'updateMembers'])
  assert.deepEqual(detail.links, {
    delete: '/api/v1/auth/groups/stage-sound',
    detail: '/api/v1/auth/groups/stage-sound',
    members: '/api/v1/auth/groups/stage-sound/members',
    update: '/api/v1/auth/groups/stage-sound',
  })
  const list = (await admin.get('/auth/groups?limit=1')).json
  assert.deepEqual([list.meta.total, list.data[0].members], [3, undefined])
  assert.equal((await admin.delete('/auth/groups/stage-sound')).status, 204)
  assert.equal((await admin.get('/auth/groups/stage-sound')).status, 404)
  await k.close()
})

test('deleting a group takes memberships, policies and roster rows with it, and says so', async () => {
  const { k, admin } = world()
  await admin.post('/rooms', { site: 'North', name: 'Hall', id: 'hall' })
  await admin.post('/auth/groups', { name: 'crew', memberIds: ['ann', 'bob'] })
  await admin.patch('/auth/access-policies', {
    policies: [{ effect: 'allow', subjectType: 'group', subjectId: 'crew', resourceType: 'room', resourceId: 'hall' }],
  })
  const entry = { subjectType: 'group', subjectId: 'crew', capabilities: ['view'] }
  await admin.put('/rooms/hall/roster', { entries: [entry] })
  k.sql("INSERT INTO schedules (id, name, room_id, created_at, updated_at) VALUES ('s1', 'Daily', 'hall', '', '')")
  k.sql("INSERT INTO schedule_groups VALUES ('s1', 0, 'crew')")
  k.sql("INSERT INTO room_roster VALUES ('hall', 'group', 'crew', 'view', 'calendar', 's1')")
  assert.equal((await k.person('ann', []).get('/rooms/hall')).status, 200)
  await admin.delete('/auth/groups/crew')
  assert.equal((await k.person('ann', []).get('/rooms/hall')).status, 403)
  assert.deepEqual((await admin.get('/auth/access-policies')).json.data, [])
  assert.deepEqual((await admin.get('/rooms/hall/roster')).json.data, [])
  const row = k.rows(`SELECT details, before FROM audit_events WHERE action = 'auth.groups.delete.succeeded'`)[0]
  const { memberCount, schedulesUpdated } = JSON.parse(String(row?.details))
  assert.deepEqual([memberCount, schedulesUpdated], [2, 1])
  assert.deepEqual(JSON.parse(String(row?.before)), { id: 'crew', memberIds: ['ann', 'bob'], name: 'crew' })
  await k.close()
})

test('refusals change nothing: unknown members, unknown groups, empty patches, strangers', async () => {
  const { k, admin } = world()
  await admin.post('/auth/groups', { name: 'crew', memberIds: ['ann'] })
  k.forget()
  const bad = await admin.post('/auth/groups', { name: 'other', memberIds: ['ann', 'nobody'] })
  assert.equal(bad.status, 400)
  assert.deepEqual([bad.json.reason, bad.json.unknownMemberIds, bad.json.issues], ['unknown_member', ['nobody'], []])
  assert.equal((await admin.put('/auth/groups/crew/members', { memberIds: ['nobody'] })).status, 400)
  assert.equal((await admin.get('/auth/groups')).json.meta.total, 1)
  assert.equal((await admin.get('/auth/groups/crew')).json.data.group.memberCount, 1)
  assert.equal((await admin.patch('/auth/groups/crew', {})).status, 400)
  assert.equal((await admin.patch('/auth/groups/crew', { id: 'x', name: 'y' })).status, 400)
  assert.equal((await admin.patch('/auth/groups/nope', { name: 'y' })).status, 404)
  assert.equal((await admin.delete('/auth/groups/nope')).status, 404)
  assert.equal((await k.as('viewer').post('/auth/groups', { name: 'x' })).status, 403)
  assert.deepEqual(
    k.trail().filter((t) => /denied|failed/.test(t)),
    [
      'auth.groups.create.failed failed unknown_member',
      'auth.groups.members.update.failed failed unknown_member',
      'auth.groups.update.failed failed invalid_request',
      'auth.groups.update.failed failed invalid_request',
      'auth.groups.update.failed failed group_not_found',
      'auth.groups.delete.failed failed group_not_found',
      'auth.groups.create denied missing_permission',
    ],
  )
  await k.close()
})
