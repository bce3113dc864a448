import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROFILE_DEFAULTS } from '../../../../src/controller/recordings/profiles/profiles.rules.ts'
import { policyStore } from '../../../../src/controller/recordings/retention/policies.store.ts'
import { BUILT_IN } from '../../../../src/wire/settings.ts'
import { kit } from '../../../kit/kit.ts'

const PATH = '/settings/recording-profiles'

test('a profile made of a name alone is the built-in one under that name', async () => {
  const k = kit()
  const admin = k.as('admin')
  const builtIn = (await admin.get(`${PATH}/${BUILT_IN.profile}`)).json.data
  assert.deepEqual(builtIn, { ...PROFILE_DEFAULTS, id: BUILT_IN.profile, name: 'Voice MP3 VBR' })
  const made = await admin.post(PATH, { name: ' Plain ' })
  assert.equal(made.status, 201)
  assert.deepEqual(made.json.data, { ...builtIn, id: 'recording_profile_1', name: 'Plain' })
  const full = {
    bitrateKbps: 64,
    channelMode: 'mono',
    chunkSeconds: 60,
    codec: 'flac',
    enhancement: null,
    maxTrackSeconds: 90,
    name: 'Full',
    silenceDetectionEnabled: true,
    silenceSkipEnabled: true,
    vbr: false,
  }
  k.advance('1s')
  const { enhancement: _, ...bare } = full
  assert.deepEqual((await admin.post(PATH, full)).json.data, { ...bare, id: 'recording_profile_2' })
  assert.deepEqual(
    (await admin.get(PATH)).json.data.map((p: { id: string }) => p.id),
    ['recording_profile_2', 'recording_profile_1', BUILT_IN.profile],
  )
  await k.close()
})

test('a patch replaces the chain as a whole, and null takes a field away', async () => {
  const k = kit()
  const admin = k.as('admin')
  await admin.post(PATH, { name: 'P', chunkSeconds: 60 })
  const one = `${PATH}/recording_profile_1`
  const chain = (await admin.patch(one, { enhancement: { keepRaw: false, highpass: { hz: 120 } } })).json.data
    .enhancement
  assert.deepEqual([chain.keepRaw, chain.highpass, chain.loudnorm.targetI], [false, { enabled: true, hz: 120 }, -16])
  const again = (await admin.patch(one, { enhancement: { gate: { enabled: true } } })).json.data.enhancement
  assert.deepEqual([again.keepRaw, again.highpass.hz, again.gate.enabled], [true, 80, true])
  const cleared = (await admin.patch(one, { enhancement: null, chunkSeconds: null })).json.data
  assert.deepEqual([cleared.enhancement, cleared.chunkSeconds, cleared.name], [undefined, undefined, 'P'])
  const [row] = k.rows<{ before: string; after: string }>(
    "SELECT before, after FROM audit_events WHERE action LIKE '%update.succeeded' ORDER BY seq DESC",
  )
  const [before, after] = [JSON.parse(row?.before ?? ''), JSON.parse(row?.after ?? '')]
  assert.deepEqual([before.chunkSeconds, before.enhancement.gate.enabled, after], [60, true, cleared])
  await k.close()
})

test('refusals leave nothing behind but their row', async () => {
  const k = kit()
  const admin = k.as('admin')
  const bad = [
    {},
    { name: '' },
    { name: 'x', codec: 'ogg' },
    { name: 'x', bitrateKbps: 0 },
    { name: 'x', chunkSeconds: 604_801 },
    { name: 'x', unknown: 1 },
    { name: 'x', enhancement: { highpass: { hz: 80.5 } } },
  ]
  for (const body of bad) {
    const answer = await admin.post(PATH, body)
    assert.equal(answer.status, 400, JSON.stringify(body))
    assert.ok(answer.json.issues.length > 0)
  }
  assert.equal((await admin.patch(`${PATH}/${BUILT_IN.profile}`, {})).status, 400)
  k.forget()
  assert.equal((await admin.patch(`${PATH}/nope`, { vbr: true })).status, 404)
  assert.equal((await k.as('operator').post(PATH, { name: 'x' })).status, 403)
  assert.deepEqual(k.trail(), [
    'settings.recording_profiles.update allowed',
    'settings.recording_profiles.update.failed failed not_found',
    'settings.recording_profiles.create denied missing_permission',
  ])
  assert.equal(k.rows('SELECT * FROM recording_profiles').length, 1)
  await k.close()
})

test('profiles are seen where they are granted', async () => {
  const k = kit()
  await k.as('admin').post(PATH, { name: 'P' })
  const list = async (principal: ReturnType<typeof k.person>) =>
    (await principal.get(PATH)).json.data.map((p: { name: string }) => p.name)
  assert.deepEqual(await list(k.as('viewer')), [])
  const ann = k.person('ann', ['viewer'], [['recording_profile', 'recording_profile_1']])
  assert.deepEqual(await list(ann), ['P'])
  assert.equal((await ann.get(`${PATH}/${BUILT_IN.profile}`)).status, 403)
  assert.equal((await k.as('auditor').get(PATH)).status, 403)
  await k.close()
})

test('the built-in policies are there, in the shape a recording needs', async () => {
  const k = kit()
  const policies = policyStore(k.db)
  const retention = policies.retentionPolicy(BUILT_IN.retention)
  assert.deepEqual(
    [retention.action, retention.enabled, retention.maxBytes, retention.scope],
    ['keep', true, null, 'controller_cache'],
  )
  policies.requireUploadPolicy(BUILT_IN.upload)
  const admin = k.as('admin')
  const upload = (await admin.get(`/settings/upload-policies/${BUILT_IN.upload}`)).json.data
  assert.deepEqual(
    [upload.enabled, upload.trigger, upload.deleteCacheAfterUpload, 'destinationId' in upload],
    [true, 'manual', false, false],
  )
  const watchdog = (await admin.get(`/settings/watchdog-policies/${BUILT_IN.watchdog}`)).json.data
  assert.equal(watchdog.thresholdDbfs, -45)
  assert.throws(() => policies.retentionPolicy('x'), { status: 404, message: 'Retention policy not found' })
  assert.throws(() => policies.requireUploadPolicy('x'), { status: 404, message: 'Upload policy not found' })
  await k.close()
})

test('a profile shows its actions, blocked where the permission is missing', async () => {
  const k = kit()
  const one = `${PATH}/${BUILT_IN.profile}`
  const { actions, links, profile } = (await k.as('admin').get(`${one}/actions`)).json.data
  const href = `/api/v1${one}`
  assert.deepEqual(links, { detail: href, update: href })
  assert.deepEqual(actions, {
    detail: { enabled: true, href, method: 'GET', permission: 'settings:read' },
    update: { enabled: true, href, method: 'PATCH', permission: 'settings:manage' },
  })
  assert.equal(profile.id, BUILT_IN.profile)
  const ann = k.person('ann', ['viewer'], [['recording_profile', BUILT_IN.profile]])
  assert.equal((await ann.get(`${one}/actions`)).json.data.actions.update.reason, 'missing_permission')
  assert.equal((await k.as('admin').get(`${PATH}/nope/actions`)).status, 404)
  await k.close()
})
