import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freeId, locksOut, policyList, slug } from '../../../../src/controller/identity/access/access.rules.ts'
import { kit } from '../../../kit/kit.ts'

const policy = (effect: string, subjectId: string | undefined, resource: string, subjectType = 'user') => {
  const [resourceType = '', resourceId = ''] = resource.split('/')
  return { effect, subjectType, resourceType, resourceId, ...(subjectId ? { subjectId } : {}) }
}

test('the list is replaced whole: order kept, duplicates collapse to the last, ids are steady', async () => {
  const k = kit()
  const admin = k.as('admin')
  const wanted = [
    policy('allow', 'Ann@Example.org', 'room/a'),
    { ...policy('deny', 'ignored', 'room/b', 'everyone'), reason: 'first' },
    { ...policy('deny', undefined, 'room/b', 'everyone'), reason: 'second' },
  ]
  const answer = await admin.patch('/auth/access-policies', { policies: wanted })
  assert.equal(answer.status, 200)
  const [first, second] = answer.json.data
  assert.deepEqual(answer.json.data, [
    { ...policy('allow', 'ann@example.org', 'room/a'), id: first.id },
    { ...policy('deny', undefined, 'room/b', 'everyone'), reason: 'second', id: second.id },
  ])
  const next = await admin.patch('/auth/access-policies', { policies: [wanted[2], policy('allow', 'x', 'node/*')] })
  assert.equal(next.json.data[0].id, second.id)
  assert.deepEqual((await admin.get('/auth/access-policies')).json.data, next.json.data)
  const row = k.rows(`SELECT target_type AS t, target_id AS id, before FROM audit_events
    WHERE action = 'auth.access_policies.update.succeeded' ORDER BY seq DESC`)[0]
  assert.deepEqual([row?.t, row?.id, JSON.parse(String(row?.before))], ['auth', null, { policies: answer.json.data }])
  assert.deepEqual((await admin.patch('/auth/access-policies', {})).json.data, [])
  await k.close()
})

test('a policy binds at the next request, by id, by e-mail and by group; a deny binds an owner too', async () => {
  const k = kit()
  const admin = k.as('admin')
  await admin.post('/rooms', { site: 'North', name: 'A', id: 'a' })
  await admin.post('/auth/groups', { name: 'crew', memberIds: [] })
  const [ann, owner] = [k.person('ann', ['viewer']), k.as('owner')]
  await admin.put('/auth/groups/crew/members', { memberIds: ['ann'] })
  const under = async (...policies: object[]) => {
    assert.equal((await admin.patch('/auth/access-policies', { policies })).status, 200)
    return Promise.all([ann, owner].map(async (principal) => (await principal.get('/rooms/a')).status))
  }
  assert.deepEqual(await under(), [403, 200])
  assert.deepEqual(await under(policy('allow', 'ann', 'room/a')), [200, 200])
  assert.deepEqual(await under(policy('allow', 'ANN@example.org', 'room/*')), [200, 200])
  assert.deepEqual(await under(policy('allow', 'crew', '*/a', 'group')), [200, 200])
  const both = [policy('allow', 'ann', 'room/a'), policy('deny', undefined, 'room/a', 'everyone')]
  assert.deepEqual(await under(...both), [403, 403])
  await k.close()
})

test('a list that would deny everything to everyone, or to all who could take it back, is refused', async () => {
  const k = kit()
  const admin = k.as('admin')
  await admin.post('/auth/groups', { name: 'bosses', memberIds: ['admin'] })
  const stored = (await admin.patch('/auth/access-policies', { policies: [policy('deny', 'x', 'room/a')] })).json.data
  k.forget()
  const refused = [
    [policy('deny', undefined, '*/*', 'everyone')],
    [policy('allow', 'admin', '*/*'), policy('deny', 'admin@example.org', '*/*')],
    [policy('deny', 'bosses', '*/*', 'group')],
  ]
  for (const policies of refused) {
    const answer = await admin.patch('/auth/access-policies', { policies })
    assert.deepEqual([answer.status, answer.json.reason], [409, 'access_policy_lockout'])
  }
  const broken = await admin.patch('/auth/access-policies', { policies: [policy('deny', undefined, 'room/a')] })
  assert.deepEqual([broken.status, broken.json.issues[0].path], [400, ['policies', 0, 'subjectId']])
  assert.deepEqual((await admin.get('/auth/access-policies')).json.data, stored)
  assert.deepEqual(
    k.trail().filter((t) => t.includes('failed')),
    [...Array(3).fill('access_policy_lockout'), 'invalid_request'].map(
      (reason) => `auth.access_policies.update.failed failed ${reason}`,
    ),
  )
  await k.close()
})

test('whoever is denied everything can still take the policies back when the permission is theirs', async () => {
  const k = kit()
  const [admin, owner] = [k.as('admin'), k.as('owner')]
  assert.equal((await admin.patch('/auth/access-policies', { policies: [policy('deny', 'owner', '*/*')] })).status, 200)
  assert.equal((await owner.get('/auth/users/admin')).status, 403)
  assert.equal((await owner.patch('/auth/access-policies', { policies: [] })).status, 200)
  assert.equal((await owner.get('/auth/users/admin')).status, 200)
  await k.close()
})

test('rules: slugs are short and readable, taken ids get a number, a lockout needs every manager', () => {
  assert.equal(slug('  Hällo -- Wörld! '), 'h-llo-w-rld')
  assert.equal(slug('???'), '')
  assert.equal(slug('x'.repeat(300)).length, 120)
  assert.equal(
    freeId('a', (id) => ['a', 'a-2'].includes(id)),
    'a-3',
  )
  const long = 'x'.repeat(120)
  assert.equal(freeId(long, (id) => id === long).length, 120)
  const deny = policyList(
    [{ effect: 'deny', subjectType: 'user', subjectId: 'm1', resourceType: '*', resourceId: '*' }],
    [],
    () => 'p',
  )
  const manager = (id: string) => ({ id, email: `${id}@x`, groupIds: [] })
  assert.equal(locksOut(deny, [manager('m1')]), true)
  assert.equal(locksOut(deny, [manager('m1'), manager('m2')]), false)
  assert.equal(locksOut(deny, []), false)
})

test('a list with a wrong name is refused: no policy ends by a typing mistake', async () => {
  const k = kit()
  const deny = {
    effect: 'deny',
    id: 'no-hall',
    resourceId: 'hall',
    resourceType: 'room',
    subjectId: 'ann',
    subjectType: 'user',
  }
  const set = await k.as('owner').patch('/auth/access-policies', { policies: [deny] })
  assert.equal(set.status, 200, set.text)
  for (const wrong of [{ polices: [] }, { a: 1 }, { policies: [], more: 1 }])
    assert.equal((await k.as('owner').patch('/auth/access-policies', wrong)).status, 400)
  assert.equal(k.rows('SELECT id FROM access_policies').length, 1)
  await k.close()
})
