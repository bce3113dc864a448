import assert from 'node:assert/strict'
import { test } from 'node:test'
import { uploads } from './uploads.ts'

const BASE = '/settings/upload-policies'

test('the built-in policy is always listed, and has no destination', async () => {
  const u = uploads()
  const { json } = await u.owner.get(BASE)
  assert.deepEqual(
    json.data.map((p: { id: string; name: string; destinationId?: string }) => [p.id, p.name, p.destinationId]),
    [['upload-policy-stub', 'Stub Upload Queue', undefined]],
  )
  await u.k.close()
})

test('a policy gets the defaults of the contract, and the number of attempts that is set', async () => {
  const u = uploads({ SVC_UPLOAD_QUEUE_MAX_ATTEMPTS: '7' })
  const id = await u.policy(await u.destination(), { name: 'N' })
  const { json } = await u.owner.get(`${BASE}/${id}`)
  const { updatedAt: _, destinationId: __, ...rest } = json.data
  assert.deepEqual(rest, {
    deleteCacheAfterUpload: false,
    enabled: true,
    id,
    maxAttempts: 7,
    name: 'N',
    trigger: 'manual',
  })
  await u.k.close()
})

test('a policy must target a destination that exists', async () => {
  const u = uploads()
  const none = await u.owner.post(BASE, { name: 'P' })
  assert.deepEqual([none.status, none.json.reason], [400, 'destination_required'])
  assert.ok(Array.isArray(none.json.issues))
  const unknown = await u.owner.post(BASE, { name: 'P', destinationId: 'nowhere' })
  assert.deepEqual([unknown.status, unknown.json.reason], [400, 'destination_not_found'])
  const id = await u.policy(await u.destination())
  const moved = await u.owner.patch(`${BASE}/${id}`, { destinationId: 'nowhere' })
  assert.deepEqual([moved.status, moved.json.reason], [400, 'destination_not_found'])
  const twice = await u.owner.post(BASE, {
    id,
    name: 'P',
    destinationId: (await u.owner.get(`${BASE}/${id}`)).json.data.destinationId,
  })
  assert.deepEqual([twice.status, twice.json.reason], [409, 'upload_policy_exists'])
  await u.k.close()
})

test('a destination out of scope is forbidden', async () => {
  const u = uploads()
  const id = await u.destination()
  u.k.sql(`INSERT INTO access_policies VALUES ('p', 0, 'deny', 'user', 'adam', 'upload_destination', ?, NULL)`, id)
  const adam = u.k.person('adam', ['admin'])
  const answer = await adam.post(BASE, { name: 'P', destinationId: id })
  assert.equal(answer.status, 403)
  assert.deepEqual(answer.json, { error: 'Forbidden', permission: 'settings:manage' })
  await u.k.close()
})

test('a patch changes what it names; an empty folder is none', async () => {
  const u = uploads()
  const id = await u.policy(await u.destination(), { pathOverride: 'a/b', deleteCacheAfterUpload: true })
  const path = `${BASE}/${id}`
  const named = await u.owner.patch(path, { name: 'Q' })
  assert.deepEqual([named.json.data.pathOverride, named.json.data.deleteCacheAfterUpload], ['a/b', true])
  const plain = await u.owner.patch(path, {
    pathOverride: '',
    enabled: false,
    maxAttempts: 100,
    trigger: 'on_recording_cached',
  })
  assert.equal('pathOverride' in plain.json.data, false)
  assert.deepEqual(
    [plain.json.data.enabled, plain.json.data.maxAttempts, plain.json.data.trigger],
    [false, 100, 'on_recording_cached'],
  )
  for (const bad of [{}, { maxAttempts: 0 }, { maxAttempts: 101 }, { pathOverride: null }, { trigger: 'never' }])
    assert.equal((await u.owner.patch(path, bad)).status, 400, JSON.stringify(bad))
  assert.equal((await u.owner.patch(`${BASE}/none`, { name: 'Q' })).status, 404)
  const { json } = await u.owner.get(`${path}/actions`)
  assert.deepEqual(Object.keys(json.data.actions), ['detail', 'update'])
  await u.k.close()
})
