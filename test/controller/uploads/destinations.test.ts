import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describe, type StoredDestination, segments } from '../../../src/controller/uploads/destinations.rules.ts'
import { S3_DESTINATION, uploads } from './uploads.ts'

const AT = '2026-03-02T09:00:00.000Z'
const s3 = (more: Partial<StoredDestination> = {}): StoredDestination => ({
  displayName: 'A',
  enabled: true,
  hasS3SecretAccessKey: true,
  hasSmbPassword: false,
  id: 'd',
  keepsLibrary: false,
  kind: 's3',
  s3: { accessKeyId: 'k', bucket: 'b', region: 'eu' },
  updatedAt: AT,
  ...more,
})
const smb = (more: Partial<StoredDestination> = {}): StoredDestination => ({
  ...s3(),
  hasSmbPassword: true,
  kind: 'smb',
  smb: { server: 'nas', share: 'takes', username: 'u' },
  ...more,
})

const STATES: [string, StoredDestination, string | undefined, string, string | undefined][] = [
  ['all there', s3(), undefined, 'ready', undefined],
  [
    'an endpoint stands for the region',
    s3({ s3: { accessKeyId: 'k', bucket: 'b', endpoint: 'http://x' } }),
    undefined,
    'ready',
    undefined,
  ],
  ['not enabled', s3({ enabled: false }), undefined, 'disabled', 'destination_disabled'],
  ['no secret', s3({ hasS3SecretAccessKey: false }), undefined, 'not_configured', 'missing_s3.secretAccessKey'],
  [
    'missing beats disabled',
    s3({ enabled: false, s3: { bucket: 'b', region: 'eu' } }),
    undefined,
    'not_configured',
    'missing_s3.accessKeyId',
  ],
  [
    'neither region nor endpoint',
    s3({ s3: { accessKeyId: 'k', bucket: 'b' } }),
    undefined,
    'not_configured',
    'missing_s3.region|s3.endpoint',
  ],
  [
    'two missing',
    smb({ hasSmbPassword: false, smb: { server: 'nas', share: 'takes' } }),
    undefined,
    'not_configured',
    'missing_smb.username_and_smb.password',
  ],
  [
    'nothing of a share',
    smb({ smb: undefined }),
    undefined,
    'not_configured',
    'missing_smb.server_and_smb.share_and_smb.username',
  ],
  ['no program', smb(), 'install it', 'not_implemented', 'install it'],
  ['no program, and disabled', smb({ enabled: false }), 'install it', 'disabled', 'destination_disabled'],
]

for (const [name, stored, absent, status, reason] of STATES)
  test(`a destination is ${status}: ${name}`, () => {
    const d = describe(stored, () => absent)
    assert.deepEqual([d.status, d.reason], [status, reason])
    assert.equal(d.configured, stored.enabled && d.missingFields.length === 0)
    assert.equal(d.implemented, absent === undefined)
  })

test('the target is what people read; blanks, dots and double dots are no folders', () => {
  const target = (d: StoredDestination) => describe(d, () => undefined).target
  assert.equal(target(s3()), 's3://b')
  assert.equal(target(s3({ s3: { bucket: 'b', prefix: '/a//../b/./ c /' } })), 's3://b/a/b/c')
  assert.equal(target(smb({ smb: { server: 'nas', share: 'takes', path: 'a\\..\\b' } })), 'smb://nas/takes/a/b')
  assert.equal(target(smb({ smb: { server: 'nas' } })), undefined)
  assert.deepEqual(segments('..\\../ ./x'), ['x'])
})

test('secrets are write-only: kept when absent, deleted when empty, sealed for their row alone', async () => {
  const u = uploads()
  const id = await u.destination()
  const path = `/settings/upload-destinations/${id}`
  const sealed = () => u.k.rows<{ s3_secret: string | null }>('SELECT s3_secret FROM upload_destinations')[0]?.s3_secret
  assert.match(String(sealed()), /^enc\.v1:/)
  const kept = await u.owner.patch(path, { displayName: 'Other', s3: { bucket: 'b', region: 'eu', accessKeyId: 'k' } })
  assert.equal(kept.status, 200)
  assert.equal(kept.json.data.hasS3SecretAccessKey, true)
  assert.deepEqual(kept.json.data.s3, { bucket: 'b', region: 'eu', accessKeyId: 'k' }, 'replaced whole')
  const gone = await u.owner.patch(path, { s3SecretAccessKey: '' })
  assert.equal(gone.json.data.hasS3SecretAccessKey, false)
  assert.equal(gone.json.data.status, 'not_configured')
  assert.equal(sealed(), null)
  assert.ok(!kept.text.includes(S3_DESTINATION.s3SecretAccessKey))
  await u.k.close()
})

test('a secret stays where it was entered for: another server, share, port or endpoint asks for it again', async () => {
  const u = uploads()
  const share = { server: 'nas', share: 'takes', username: 'u' }
  const smb = await u.destination({ id: 'nas', kind: 'smb', s3: undefined, smb: share, smbPassword: 'share-password' })
  const s3 = await u.destination()
  const row = () => u.k.rows('SELECT smb, smb_password, s3, s3_secret FROM upload_destinations ORDER BY id')
  const patch = (id: string, body: object) => u.owner.patch(`/settings/upload-destinations/${id}`, body)
  const before = row()
  const asked: [string, object, string][] = [
    [smb, { smb: { ...share, server: 'evil.test' } }, 'smbPassword'],
    [smb, { smb: { ...share, share: 'other' } }, 'smbPassword'],
    [smb, { smb: { ...share, port: 4450 } }, 'smbPassword'],
    [smb, { displayName: 'N', enabled: true, smb: { ...share, server: 'nas.evil.test' } }, 'smbPassword'],
    [s3, { s3: { ...S3_DESTINATION.s3, endpoint: 'https://evil.test' } }, 's3SecretAccessKey'],
    [s3, { s3: { ...S3_DESTINATION.s3, endpoint: 'http://127.0.0.1:10' } }, 's3SecretAccessKey'],
  ]
  for (const [id, body, field] of asked) {
    const { json, status } = await patch(id, body)
    assert.deepEqual([status, json.reason, json.issues[0].path], [400, 'upload_destination_secret_required', [field]])
  }
  assert.deepEqual(row(), before)
  // By way of nothing it is asked for, too.
  assert.equal((await patch(smb, { smb: { username: 'u' } })).status, 200)
  assert.equal((await patch(smb, { smb: { ...share, server: 'evil.test' } })).status, 400)
  assert.equal((await patch(s3, { s3: { bucket: 'b', region: 'eu', accessKeyId: 'k' } })).status, 200)
  assert.equal((await patch(s3, { s3: { ...S3_DESTINATION.s3, endpoint: 'https://evil.test' } })).status, 400)
  // With the secret, or without any, it is as one likes; what stays where it is asks nothing.
  const moved = { smb: { ...share, server: 'NAS2' }, smbPassword: 'another-password' }
  assert.equal((await patch(smb, moved)).json.data.hasSmbPassword, true)
  const same = { smb: { ...share, path: 'a/b', port: 445, server: 'nas2', username: 'v' } }
  assert.equal((await patch(smb, same)).json.data.hasSmbPassword, true)
  const bare = await patch(smb, { smb: { ...share, server: 'third' }, smbPassword: '' })
  assert.deepEqual([bare.status, bare.json.data.hasSmbPassword], [200, false])
  assert.equal((await patch(smb, { smb: { ...share, server: 'fourth' } })).status, 200)
  assert.ok(!JSON.stringify([u.k.logged, u.k.rows('SELECT * FROM audit_events')]).includes('-password'))
  await u.k.close()
})

test('a secret moved to another row does not open there, and says what to do', async () => {
  const u = uploads()
  const [first, second] = [await u.destination(), await u.destination()]
  u.k.sql(
    'UPDATE upload_destinations SET s3_secret = (SELECT s3_secret FROM upload_destinations WHERE id = ?) WHERE id = ?',
    first,
    second,
  )
  const policy = await u.policy(second)
  const { id } = u.cached([])
  const item = await u.enqueue(id, { uploadPolicyId: policy })
  await u.k.tick('upload')
  assert.equal(u.item(item.id).lastError, 'destination_secret_unreadable')
  await u.k.close()
})

test('the kind never changes, ids are given once, names sort the list', async () => {
  const u = uploads()
  await u.destination({ id: 'one', displayName: 'zebra' })
  await u.destination({
    id: 'two',
    displayName: 'Alpha',
    kind: 'smb',
    smb: { server: 'nas', share: 's', username: 'x' },
  })
  const again = await u.owner.post('/settings/upload-destinations', { ...S3_DESTINATION, id: 'one' })
  assert.deepEqual([again.status, again.json.reason], [409, 'upload_destination_exists'])
  await u.owner.patch('/settings/upload-destinations/one', { kind: 'smb', displayName: 'zebra' })
  const list = await u.owner.get('/settings/upload-destinations')
  assert.deepEqual(
    list.json.data.map((d: { id: string; kind: string }) => [d.id, d.kind]),
    [
      ['two', 'smb'],
      ['one', 's3'],
    ],
  )
  assert.equal((await u.owner.patch('/settings/upload-destinations/one', {})).status, 400)
  assert.equal((await u.owner.patch('/settings/upload-destinations/none', { enabled: true })).status, 404)
  await u.k.close()
})

test('a destination in use is not deleted, and says by which policies; one that is not goes', async () => {
  const u = uploads()
  const id = await u.destination()
  const policyId = await u.policy(id, { name: 'Nightly' })
  const refused = await u.owner.delete(`/settings/upload-destinations/${id}`)
  assert.equal(refused.status, 409)
  assert.deepEqual(refused.json.policies, [{ id: policyId, name: 'Nightly' }])
  assert.equal(refused.json.reason, 'upload_destination_in_use')
  const other = await u.destination({ id: 'other' })
  await u.owner.patch(`/settings/upload-policies/${policyId}`, { destinationId: other })
  u.k.forget()
  const gone = await u.owner.delete(`/settings/upload-destinations/${id}`)
  assert.deepEqual([gone.status, gone.text], [204, ''])
  assert.equal((await u.owner.get(`/settings/upload-destinations/${id}`)).status, 404)
  assert.deepEqual(u.k.trail().slice(0, 2), [
    'settings.upload_destinations.delete allowed',
    'settings.upload_destinations.delete.succeeded succeeded',
  ])
  await u.k.close()
})

test('action states follow the role', async () => {
  const u = uploads()
  const id = await u.destination()
  const viewer = u.k.person('v', ['viewer'], [['upload_destination', id]])
  const { json } = await viewer.get(`/settings/upload-destinations/${id}/actions`)
  assert.equal(json.data.actions.detail.enabled, true)
  assert.equal(json.data.actions.update.reason, 'missing_permission')
  assert.equal(json.data.destination.id, id)
  await u.k.close()
})

test('what could become another field, host or command is refused at the door', async () => {
  const u = uploads()
  const bad: object[] = [
    { kind: 'smb', smb: { username: 'a\npassword=b' } },
    { kind: 'smb', smbPassword: 'a\nusername=root' },
    { kind: 'smb', smb: { server: '-x' } },
    { kind: 'smb', smb: { server: 'nas/../other' } },
    { kind: 'smb', smb: { share: 'a/b' } },
    { kind: 'smb', smb: { share: 'a;b' } },
    { kind: 'smb', smb: { port: 0 } },
    { s3: { endpoint: 'file:///etc/passwd' } },
    { s3: { endpoint: 'http://user:pass@host' } },
    { s3: { bucket: '../other' } },
    { s3: { region: 'eu west' } },
  ]
  for (const fields of bad) {
    const answer = await u.owner.post('/settings/upload-destinations', { ...S3_DESTINATION, ...fields })
    assert.equal(answer.status, 400, JSON.stringify(fields))
  }
  await u.k.close()
})

test('without smbclient a destination says what to install', async () => {
  const u = uploads({ SVC_SMBCLIENT_COMMAND: '/nowhere/smbclient' })
  const id = await u.destination({
    kind: 'smb',
    smb: { server: 'nas', share: 's', username: 'x' },
    smbPassword: 'secret',
  })
  const { json } = await u.owner.get(`/settings/upload-destinations/${id}`)
  assert.equal(json.data.status, 'not_implemented')
  assert.equal(json.data.implemented, false)
  assert.match(json.data.reason, /install smbclient/)
  await u.k.close()
})
