import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

const everything = { effect: 'deny', resourceType: '*', resourceId: '*' }
const bosses = { ...everything, subjectType: 'group', subjectId: 'bosses' }

/** One manager, and a group that is denied everything. */
async function world() {
  const k = kit()
  const admin = k.as('admin')
  k.person('ann', ['viewer'])
  await admin.patch('/auth/access-policies', { policies: [bosses] })
  k.forget()
  return { k, admin }
}
const LAST = [409, 'last_manager_required']

test('a group that is denied everything cannot be made of the last manager', async () => {
  const { k, admin } = await world()
  const made = await admin.post('/auth/groups', { name: 'Bosses', memberIds: ['ann', 'admin'] })
  assert.deepEqual([made.status, made.json.reason], LAST)
  assert.equal((await admin.get('/auth/groups')).json.meta.total, 0)
  assert.equal((await admin.post('/auth/groups', { name: 'Bosses', memberIds: ['ann'] })).status, 201)
  const filled = await admin.put('/auth/groups/bosses/members', { memberIds: ['admin'] })
  assert.deepEqual([filled.status, filled.json.reason], LAST)
  const joined = await admin.patch('/auth/users/admin/access', { roles: ['admin'], groupIds: ['bosses'] })
  assert.deepEqual([joined.status, joined.json.reason], LAST)
  const members = (await admin.get('/auth/groups/bosses')).json.data.group.members
  assert.deepEqual(
    members.map((member: { id: string }) => member.id),
    ['ann'],
  )
  assert.deepEqual(
    k.trail().filter((line) => line.includes('last_manager')),
    ['auth.groups.create', 'auth.groups.members.update', 'auth.users.access.update'].map(
      (action) => `${action}.failed failed last_manager_required`,
    ),
  )
  await k.close()
})

test('two managers who disable each other at once: one of them stays', async () => {
  const k = kit()
  const [a, b] = [k.person('a', ['admin']), k.person('b', ['admin'])]
  const answers = await Promise.all([
    a.patch('/auth/users/b/status', { disabled: true }),
    b.patch('/auth/users/a/status', { disabled: true }),
  ])
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 409])
  assert.equal(k.rows('SELECT 1 FROM users WHERE disabled_at IS NULL').length, 1)
  const [c, d] = [k.person('c', ['owner']), k.person('d', ['owner'])]
  k.sql(`DELETE FROM users WHERE id IN ('a', 'b')`)
  const deleted = await Promise.all([c.delete('/auth/users/d'), d.delete('/auth/users/c')])
  assert.deepEqual(deleted.map((answer) => answer.status).sort(), [204, 409])
  await k.close()
})

test('replacing at once leaves one list whole, never a mixture', async () => {
  const { k, admin } = await world()
  for (let n = 0; n < 6; n++) k.person(`p${n}`, [])
  await admin.post('/auth/groups', { name: 'crew' })
  const halves = [
    ['p0', 'p1', 'p2'],
    ['p3', 'p4', 'p5'],
  ]
  const lists = halves.map((ids) =>
    ids.map((id) => ({
      effect: 'allow',
      subjectType: 'user',
      subjectId: id,
      resourceType: 'room',
      resourceId: 'hall',
    })),
  )
  await Promise.all(
    [0, 1, 0, 1].flatMap((i) => [
      admin.put('/auth/groups/crew/members', { memberIds: halves[i] }),
      admin.patch('/auth/access-policies', { policies: lists[i] }),
      admin.patch('/auth/users/p0/access', { roles: i ? ['viewer'] : ['operator', 'auditor'] }),
    ]),
  )
  const members = (await admin.get('/auth/groups/crew')).json.data.group.members.map((m: { id: string }) => m.id)
  assert.ok(
    halves.some((half) => half.join() === members.join()),
    members.join(),
  )
  const subjects = (await admin.get('/auth/access-policies')).json.data.map((p: { subjectId: string }) => p.subjectId)
  assert.ok(
    halves.some((half) => half.join() === subjects.join()),
    subjects.join(),
  )
  const { roles } = (await admin.get('/auth/users/p0')).json.data.user
  assert.ok(['viewer', 'operator,auditor'].includes(roles.join()), roles.join())
  await k.close()
})
