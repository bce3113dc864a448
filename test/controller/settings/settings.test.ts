import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../kit/kit.ts'

const PATH = '/settings/controller'
const FRESH = {
  controllerName: 'Roomtone Controller',
  defaultRecordingProfileId: null,
  defaultRetentionPolicyId: null,
  defaultUploadPolicyId: null,
  defaultWatchdogPolicyId: null,
  siteName: '',
  timezone: null,
  weekStartsOn: 'monday',
}

test('the settings are one row that changes field by field; null clears a default', async () => {
  const k = kit()
  const admin = k.as('admin')
  assert.deepEqual((await k.as('viewer').get(PATH)).json.data, FRESH)
  k.forget()
  const changed = await admin.patch(PATH, {
    defaultRecordingProfileId: 'voice-mp3-vbr',
    weekStartsOn: 'sunday',
    other: 1,
  })
  assert.deepEqual(changed.json.data, { ...FRESH, defaultRecordingProfileId: 'voice-mp3-vbr', weekStartsOn: 'sunday' })
  const cleared = await admin.patch(PATH, { controllerName: ' Hall ', defaultRecordingProfileId: null })
  assert.deepEqual(cleared.json.data, { ...FRESH, controllerName: 'Hall', weekStartsOn: 'sunday' })
  assert.deepEqual((await admin.get(PATH)).json.data, cleared.json.data)
  assert.deepEqual(k.trail(), [
    'settings.controller.update allowed',
    'settings.controller.update.succeeded succeeded',
    'settings.controller.update allowed',
    'settings.controller.update.succeeded succeeded',
    'settings.controller.read allowed',
  ])
  const [row] = k.rows<{ before: string; target: string }>(
    "SELECT before, target_id AS target FROM audit_events WHERE action LIKE '%.succeeded' ORDER BY seq LIMIT 1",
  )
  assert.deepEqual([JSON.parse(row?.before ?? ''), row?.target], [FRESH, 'controller'])
  await k.close()
})

test('an empty or wrong change is a 400, an unknown default a 404, and nothing has changed', async () => {
  const k = kit()
  const admin = k.as('admin')
  for (const body of [{}, { other: 1 }, { weekStartsOn: 'Montag' }, { controllerName: '' }, { controllerName: null }])
    assert.equal((await admin.patch(PATH, body)).status, 400, JSON.stringify(body))
  for (const name of ['RecordingProfile', 'RetentionPolicy', 'UploadPolicy', 'WatchdogPolicy']) {
    const answer = await admin.patch(PATH, { weekStartsOn: 'friday', [`default${name}Id`]: 'none' })
    assert.equal(answer.status, 404, name)
  }
  assert.equal((await k.as('operator').patch(PATH, { weekStartsOn: 'friday' })).status, 403)
  assert.deepEqual((await admin.get(PATH)).json.data, FRESH)
  await k.close()
})

test('the settings tell what may be done with them', async () => {
  const k = kit()
  const read = async (role: 'admin' | 'auditor' | 'viewer') => k.as(role).get('/settings/controller/actions')
  const { actions, links, settings } = (await read('admin')).json.data
  assert.deepEqual([actions.detail.enabled, actions.update.enabled], [true, true])
  assert.deepEqual(links, { detail: '/api/v1/settings/controller', update: '/api/v1/settings/controller' })
  assert.equal(settings.weekStartsOn, 'monday')
  assert.equal((await read('viewer')).json.data.actions.update.reason, 'missing_permission')
  assert.equal((await read('auditor')).status, 403)
  await k.close()
})
