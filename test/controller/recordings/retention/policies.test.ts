import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

const FRESH = {
  action: 'keep',
  deleteOnlyAfterUploaded: true,
  enabled: true,
  maxAgeDays: null,
  maxBytes: null,
  minFreeDiskPercent: null,
  preserveTagged: true,
  scope: 'controller_cache',
}

test('policies are made with their defaults, listed by name, changed and shown', async () => {
  const k = kit()
  const admin = k.as('admin')
  k.forget()
  const made = await admin.post('/settings/retention-policies', { name: ' Archive ' })
  const { id } = made.json.data
  assert.deepEqual([made.status, made.json.data], [201, { ...FRESH, id, name: 'Archive', updatedAt: k.now() }])
  const list = async () => (await admin.get('/settings/retention-policies')).json.data
  assert.deepEqual(
    (await list()).map((p: { name: string }) => p.name),
    ['Archive', 'Keep controller cache'],
  )
  const patched = await admin.patch(`/settings/retention-policies/${id}`, { maxAgeDays: 7, action: 'delete_cache' })
  assert.deepEqual([patched.status, patched.json.data.maxAgeDays, patched.json.data.action], [200, 7, 'delete_cache'])
  await admin.patch(`/settings/retention-policies/${id}`, { maxAgeDays: null })
  const shown = await admin.get(`/settings/retention-policies/${id}`)
  assert.deepEqual([shown.json.data.maxAgeDays, shown.json.data.action], [null, 'delete_cache'])
  assert.deepEqual(
    k.trail().filter((row) => row.includes('succeeded')),
    [
      'settings.retention_policies.create.succeeded succeeded',
      'settings.retention_policies.read.succeeded succeeded',
      'settings.retention_policies.update.succeeded succeeded',
      'settings.retention_policies.update.succeeded succeeded',
      'settings.retention_policies.detail.read.succeeded succeeded',
    ],
  )
  await k.close()
})

test('a given id is kept; a second policy of that id is refused', async () => {
  const k = kit()
  const make = () => k.as('admin').post('/settings/retention-policies', { id: 'archive', name: 'Archive' })
  assert.equal((await make()).json.data.id, 'archive')
  const again = await make()
  assert.deepEqual([again.status, again.json.reason], [409, 'retention_policy_exists'])
  await k.close()
})

test('what a policy cannot be is refused with issues', async () => {
  const k = kit()
  const admin = k.as('admin')
  const bad = [
    {},
    { name: '' },
    { name: 'x', maxAgeDays: 0 },
    { name: 'x', maxAgeDays: 3651 },
    { name: 'x', maxBytes: 0 },
    { name: 'x', maxBytes: 1e15 + 1 },
    { name: 'x', minFreeDiskPercent: 96 },
    { name: 'x', scope: 'everywhere' },
    { name: 'x', action: 'shred' },
    { name: 'x', unknown: 1 },
  ]
  for (const body of bad) {
    const answer = await admin.post('/settings/retention-policies', body)
    assert.deepEqual([answer.status, answer.json.issues.length > 0], [400, true], JSON.stringify(body))
  }
  const one = '/settings/retention-policies/retention-keep-controller-cache'
  for (const body of [{}, { id: 'other' }, { name: null }])
    assert.equal((await admin.patch(one, body)).status, 400, JSON.stringify(body))
  const missing = await admin.get('/settings/retention-policies/nope')
  assert.deepEqual([missing.status, missing.json.error], [404, 'Retention policy not found'])
  assert.ok(k.trail().includes('settings.retention_policies.detail.read.failed failed not_found'))
  assert.equal((await admin.patch('/settings/retention-policies/nope', { name: 'x' })).status, 404)
  await k.close()
})

test('the actions of a policy are those the caller may take', async () => {
  const k = kit()
  const path = '/settings/retention-policies/retention-keep-controller-cache'
  const self = `/api/v1${path}`
  const admin = (await k.as('admin').get(`${path}/actions`)).json.data
  assert.deepEqual(admin.links, { detail: self, update: self })
  assert.deepEqual(admin.actions.update, { enabled: true, href: self, method: 'PATCH', permission: 'settings:manage' })
  assert.equal(admin.policy.id, 'retention-keep-controller-cache')
  const viewer = k.person('v', ['operator'], [['retention_policy', 'retention-keep-controller-cache']])
  const seen = await viewer.get(`${path}/actions`)
  assert.deepEqual([seen.status, seen.json.data?.actions.update.reason], [200, 'missing_permission'])
  await k.close()
})

test('recorders are told their policies', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  await k.as('admin').post('/settings/retention-policies', {
    ...{ action: 'delete_cache', id: 'tidy', maxBytes: 5, name: 'Tidy', scope: 'recorder_cache' },
  })
  const config = (await agent.get(`/nodes/${id}/config`)).json.data
  assert.deepEqual(config.recorderCachePolicies, [
    { deleteAfterUpload: false, maxAgeDays: null, maxBytes: 5, minFreeDiskPercent: null, policyId: 'tidy' },
  ])
  await k.close()
})
