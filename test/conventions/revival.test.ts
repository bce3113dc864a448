// What is deleted takes the permissions that name it along: nobody holds them for the next thing of that id.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldsOf, good, k } from '../sweeps/sweep.ts'

const oneOf = (path: string) => new RegExp(`^${path}/:[^/]+$`)
const chosen = k.routes.flatMap((made) => {
  if (made.method !== 'POST' || !made.body || !fieldsOf(made.body).includes('id')) return []
  const removal = k.routes.find((r) => r.method === 'DELETE' && oneOf(made.path).test(r.path))
  return removal ? [{ made, removal, path: made.path }] : []
})

test('kinds whose ids are chosen by who makes one, and that can be deleted', () => {
  assert.deepEqual(chosen.map(({ path }) => path).sort(), [
    '/rooms',
    '/schedules',
    '/settings/switchers',
    '/settings/upload-destinations',
  ])
})

for (const { made, path, removal } of chosen)
  test(`${path}: who was granted a deleted one has nothing of the next one of its id`, async () => {
    const id = 'again'
    const { type } = removal.target(new Proxy({}, { get: () => id }), undefined)
    const admin = k.as('admin')
    const make = async () => assert.equal((await admin.post(path, { ...good(made), id })).status, 201)
    const ann = k.person(`ann-${type}`, ['viewer'], [[type, id]])
    const bob = `bob-${type}`
    k.person(bob, ['viewer'])
    const naming = { subjectType: 'user', resourceType: type, resourceId: id, subjectId: bob }
    // Of what has recordings a refusal has to be removed first: it would not hold for them (fleet/rooms/detach.store.ts).
    const stays = !['room', 'schedule'].includes(type)
    const policies = [
      { ...naming, effect: 'allow' },
      ...(stays ? [{ ...naming, effect: 'deny', subjectId: 'carol' }] : []),
    ]
    assert.equal((await admin.patch('/auth/access-policies', { policies })).status, 200)
    await make()
    const [allow] = k.rows<{ id: string }>(`SELECT id FROM access_policies WHERE effect = 'allow'`)
    assert.equal((await admin.delete(`${path}/${id}`)).status, 204)
    const [told] = (await admin.get(`/audit-events?action=${removal.action}.succeeded&limit=1`)).json.data
    assert.deepEqual(told.details.ended, { grantsOf: [`ann-${type}`], policies: [allow?.id] })
    await make()
    assert.deepEqual((await ann.get('/auth/me')).json.data.resourceGrants, [])
    const left = k.rows<{ effect: string }>(`SELECT effect FROM access_policies WHERE resource_id = ?`, id)
    assert.deepEqual(
      left.map(({ effect }) => effect),
      stays ? ['deny'] : [],
      'a refusal stays',
    )
    assert.equal((await admin.delete(`${path}/${id}`)).status, 204)
  })
