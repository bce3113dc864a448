// The scheduling defaults of the controller's settings stand in for what a start or a schedule leaves out.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Kit } from '../../kit/kit.ts'
import { house } from '../schedules/world.ts'
import { S3_DESTINATION } from '../uploads/uploads.ts'

/** One setting of each kind beside the built-in ones, and all of them chosen as defaults. */
async function chosen(k: Kit) {
  const owner = k.as('owner')
  const make = async (kind: string, body: object): Promise<string> => {
    const made = await owner.post(`/settings/${kind}`, body)
    assert.equal(made.status, 201, made.text)
    return made.json.data.id
  }
  const destinationId = await make('upload-destinations', S3_DESTINATION)
  const ids = {
    profile: await make('recording-profiles', { codec: 'flac', name: 'House' }),
    retention: await make('retention-policies', { name: 'House' }),
    upload: await make('upload-policies', { destinationId, name: 'House' }),
    watchdog: await make('watchdog-policies', { name: 'House' }),
  }
  const patched = await owner.patch('/settings/controller', {
    defaultRecordingProfileId: ids.profile,
    defaultRetentionPolicyId: ids.retention,
    defaultUploadPolicyId: ids.upload,
    defaultWatchdogPolicyId: ids.watchdog,
  })
  assert.equal(patched.status, 200, patched.text)
  return ids
}

const BUILT_IN = {
  profile: 'voice-mp3-vbr',
  retention: 'retention-keep-controller-cache',
  upload: 'upload-policy-stub',
  watchdog: 'scheduled-voice-watchdog',
}

type Named = {
  recordingProfileId: string
  retentionPolicyId: string
  uploadPolicyIds: string[]
  watchdogPolicyId: string
}
const of = ({ recordingProfileId, retentionPolicyId, uploadPolicyIds, watchdogPolicyId }: Named) => ({
  profile: recordingProfileId,
  retention: retentionPolicyId,
  upload: uploadPolicyIds.join(),
  watchdog: watchdogPolicyId,
})

const bare = ({
  recordingProfileId: _,
  retentionPolicyId: __,
  watchdogPolicyId: ___,
  ...rest
}: Record<string, unknown>) => rest

test('an ad-hoc start takes the defaults for what it does not name, also for who has no right to them', async () => {
  const { interfaceId, k, nodeId } = await house()
  const ids = await chosen(k)
  const ann = k.person('ann', ['operator'], [['node', nodeId]])
  const start = (more: object = {}) => ann.post('/recordings', { captureInterfaceId: interfaceId, nodeId, ...more })
  const first = await start({ captureChannelSelection: [1] })
  assert.equal(first.status, 202, first.text)
  assert.deepEqual(of(first.json.data), ids)
  assert.equal(first.json.job.command.outputCodec, 'flac')
  k.sql('UPDATE nodes SET max_concurrent = 8')
  const named = await k.as('admin').post('/recordings', {
    ...{ captureChannelSelection: [2], captureInterfaceId: interfaceId, nodeId },
    ...{ recordingProfileId: BUILT_IN.profile, retentionPolicyId: BUILT_IN.retention, uploadPolicyIds: [] },
  })
  assert.deepEqual(of(named.json.data), { ...BUILT_IN, watchdog: ids.watchdog })
  await k.as('owner').patch('/settings/controller', { defaultRecordingProfileId: null, defaultWatchdogPolicyId: null })
  const cleared = await start({ captureChannelSelection: [3] })
  assert.deepEqual(of(cleared.json.data), { ...ids, profile: BUILT_IN.profile, watchdog: BUILT_IN.watchdog })
  await k.close()
})

test('a schedule may leave profile, watchdog, retention and uploads out, and gets the defaults of its making', async () => {
  const { admin, body, get, k } = await house()
  const plain = await admin.post('/schedules', bare(body()))
  assert.equal(plain.status, 201, plain.text)
  assert.deepEqual(of(plain.json.data), { ...BUILT_IN, upload: '' })
  const ids = await chosen(k)
  const ann = k.person('ann', ['operator'], [['site', 'North']])
  const made = await ann.post('/schedules', bare(body({ captureChannelSelection: [3] })))
  assert.equal(made.status, 201, made.text)
  assert.deepEqual(of(made.json.data), ids)
  const named = await admin.post('/schedules', body({ uploadPolicyIds: [] }))
  assert.deepEqual(of(named.json.data), { ...BUILT_IN, retention: ids.retention, upload: '' })
  k.advance('1h')
  await k.tick('schedule')
  const taken = (id: string) =>
    k.rows<Record<string, string>>(
      `SELECT recording_profile_id AS profile, retention_policy_id AS retention, watchdog_policy_id AS watchdog,
         (SELECT group_concat(policy_id) FROM recording_upload_policies p WHERE p.recording_id = r.id) AS upload
         FROM recordings r WHERE schedule_id = ?`,
      id,
    )[0]
  assert.deepEqual({ ...taken(plain.json.data.id) }, BUILT_IN)
  k.sql('UPDATE nodes SET max_concurrent = 8')
  k.advance('5m')
  await k.tick('schedule')
  assert.deepEqual({ ...taken(made.json.data.id) }, ids)
  assert.deepEqual(of(await get(made.json.data.id)), ids)
  await k.close()
})

test('the tags of an ad-hoc start are the tags; two stand in where none are given', async () => {
  const { interfaceId, k, nodeId } = await house()
  k.sql('UPDATE nodes SET max_concurrent = 8')
  const tags = async (channel: number, more: object) => {
    const wish = { captureChannelSelection: [channel], captureInterfaceId: interfaceId, nodeId }
    return (await k.as('admin').post('/recordings', { ...wish, ...more })).json.data.tags
  }
  assert.deepEqual(await tags(1, { tags: ['mass', 'Mass'] }), ['mass'])
  assert.deepEqual(await tags(2, { tags: [] }), [])
  assert.deepEqual(await tags(3, {}), ['ad-hoc', 'voice'])
  await k.close()
})
