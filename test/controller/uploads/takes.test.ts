import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import * as path from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { type S3Server, s3Server } from '../../kit/s3.ts'
import { sound } from '../../kit/sound.ts'
import { S3_DESTINATION, type Uploads, uploads } from './uploads.ts'

let server: S3Server
before(async () => {
  server = await s3Server()
})
after(() => server.close())

let u: Uploads
afterEach(() => u.k.close())

const working = () => u.destination({ s3: { ...S3_DESTINATION.s3, endpoint: server.endpoint } })
const told = () => u.k.trail().filter((row) => row.includes('upload_queue.'))

test('a node that delivers a take queues it where its recording goes by itself, once per destination and folder', async () => {
  u = uploads()
  const destination = await working()
  const auto = { trigger: 'on_recording_cached' }
  const policies = [
    await u.policy(destination, auto),
    await u.policy(destination, auto),
    await u.policy(destination, { ...auto, pathOverride: 'copy' }),
    await u.policy(destination, { ...auto, pathOverride: 'off', enabled: false }),
    await u.policy(destination, { pathOverride: 'manual' }),
    'upload-policy-stub',
  ]
  const node = await u.k.enroll()
  u.takes.recording('rec_9', { nodeId: node.id, uploadPolicyIds: policies })
  u.takes.job('job_9', 'rec_9', { nodeId: node.id, status: 'running', claimedBy: node.id })
  u.k.forget()
  const answer = await node.agent.put('/recordings/rec_9/cache-file', sound('take', 'mp3'), {
    'x-svc-file-name': 'a.mp3',
  })
  assert.equal(answer.status, 201, answer.text)
  const { uploadQueueItems: items } = answer.json.data
  assert.deepEqual(
    items.map((item: { uploadPolicyId: string }) => item.uploadPolicyId),
    [policies[0], policies[2]],
  )
  assert.deepEqual(told(), ['recordings.upload_queue.auto_enqueue.succeeded succeeded'])
  await u.k.tick('upload')
  assert.equal(u.recording('rec_9').status, 'uploaded')
})

test('that a take could not be queued never costs its custody', async () => {
  u = uploads()
  const policy = await u.policy(await working(), { trigger: 'on_recording_cached' })
  const node = await u.k.enroll()
  u.takes.recording('rec_9', { nodeId: node.id, uploadPolicyIds: [policy] })
  u.takes.job('job_9', 'rec_9', { nodeId: node.id, status: 'running', claimedBy: node.id })
  u.k.sql(`CREATE TRIGGER broken BEFORE INSERT ON upload_queue BEGIN SELECT RAISE(ABORT, 'no'); END`)
  u.k.forget()
  const answer = await node.agent.put('/recordings/rec_9/cache-file', sound('take', 'mp3'), {
    'x-svc-file-name': 'a.mp3',
  })
  assert.equal(answer.status, 201, answer.text)
  assert.deepEqual(answer.json.data.uploadQueueItems, [])
  assert.equal(u.recording('rec_9').status, 'cached')
  assert.equal(told().length, 1)
  assert.match(told()[0] ?? '', /^recordings\.upload_queue\.auto_enqueue\.failed failed/)
})

test('the file is deleted after a verified upload when the policy says so; the raw master stays', async () => {
  u = uploads()
  const policy = await u.policy(await working(), { deleteCacheAfterUpload: true })
  const { id, path: file } = u.cached([policy])
  const raw = u.file(id, 'raw', Buffer.from('the master'), 'wav')
  await u.enqueue(id)
  await u.k.tick('upload')
  assert.equal(existsSync(path.join(u.root, file)), false)
  assert.equal(existsSync(path.join(u.root, raw)), true)
  assert.deepEqual([u.recording(id).status, u.recording(id).cachePath], ['uploaded', raw])
  const [row] = u.k.rows<{ details: string }>(
    `SELECT details FROM audit_events WHERE action LIKE '%reconciled.succeeded'`,
  )
  assert.deepEqual(JSON.parse(row?.details ?? '').retention, { cacheDeleted: true, policyId: policy })
})

test('other bytes of a take that is archived and gone here never overwrite it; the same ones keep their name', async () => {
  u = uploads()
  const policy = await u.policy(await working(), { deleteCacheAfterUpload: true, trigger: 'on_recording_cached' })
  const node = await u.k.enroll()
  u.takes.recording('rec_9', { nodeId: node.id, uploadPolicyIds: [policy], name: 'Choir' })
  u.takes.job('job_9', 'rec_9', { nodeId: node.id, status: 'running', claimedBy: node.id })
  const names = []
  for (const words of ['the take', 'not the take', 'the take']) {
    const answer = await node.agent.put('/recordings/rec_9/cache-file', sound(words, 'mp3'), {
      'x-svc-file-name': 'a.mp3',
    })
    assert.equal(answer.status, 201, answer.text)
    names.push(answer.json.data.uploadQueueItems[0].fileName)
    await u.k.tick('upload')
    assert.equal(u.recording('rec_9').cached, names.length === 3, 'what is archived already is not sent again')
  }
  assert.deepEqual([names[0], names[2]], ['Choir_9.mp3', 'Choir_9.mp3'])
  assert.match(names[1], /^Choir_9_[0-9a-f]{12}\.mp3$/)
})

const KEPT: [string, string, (id: string, policy: string) => void | Promise<void>][] = [
  [
    'another item has failed',
    'upload_incomplete',
    async (id) => {
      const other = await u.policy(await u.destination({ id: 'x' }), { maxAttempts: 1 })
      await u.enqueue(id, { uploadPolicyId: other })
    },
  ],
  [
    'the policy keeps it',
    'policy_keeps_cache',
    (_, policy) => void u.k.sql('UPDATE upload_policies SET delete_cache_after_upload = 0 WHERE id = ?', policy),
  ],
]
for (const [why, reason, prepare] of KEPT)
  test(`the file stays when ${why}`, async () => {
    u = uploads()
    const policy = await u.policy(await working(), { deleteCacheAfterUpload: true })
    const { id, path: file } = u.cached([policy])
    await u.enqueue(id)
    await prepare(id, policy)
    await u.k.tick('upload')
    assert.equal(existsSync(path.join(u.root, file)), true)
    const rows = u.k.rows<{ details: string }>(`SELECT details FROM audit_events WHERE action LIKE '%reconciled%'`)
    assert.equal(JSON.parse(rows.at(-1)?.details ?? '{}').retention.skipped, reason)
  })

test('a store that tells no checksums is read back, and then the file may go', async () => {
  u = uploads()
  const old = await s3Server({ keeps: true, reportsChecksums: false })
  const destination = await u.destination({ s3: { ...S3_DESTINATION.s3, endpoint: old.endpoint } })
  const policy = await u.policy(destination, { deleteCacheAfterUpload: true })
  const { id, path: file } = u.cached([policy])
  await u.enqueue(id)
  const { json } = await u.owner.post('/upload-runner/run')
  assert.equal(json.summary.items[0].checksumVerification.status, 'matched')
  assert.equal(existsSync(path.join(u.root, file)), false)
  assert.equal(u.recording(id).status, 'uploaded')
  await old.close()
})

test('a take that is being played is deleted by a later pass', async () => {
  u = uploads()
  const policy = await u.policy(await working(), { deleteCacheAfterUpload: true })
  const { id, path: file } = u.cached([policy])
  await u.enqueue(id)
  const listening = await u.k.app.request(`/api/v1/recordings/${id}/file`, {
    headers: { authorization: 'Bearer svc_owner' },
  })
  await u.k.tick('upload')
  await u.k.tick('upload')
  assert.equal(existsSync(path.join(u.root, file)), true)
  assert.equal(u.recording(id).status, 'uploaded')
  await listening.body?.cancel()
  u.k.advance('1d')
  await u.k.tick('upload')
  assert.equal(existsSync(path.join(u.root, file)), false)
  assert.equal(u.recording(id).cached, false)
})

test('a take in chunks is uploaded when each of its chunks is', async () => {
  u = uploads()
  const policy = await u.policy(await working(), { trigger: 'on_recording_cached' })
  const node = await u.k.enroll()
  u.takes.recording('rec_9', { nodeId: node.id, uploadPolicyIds: [policy], name: 'Choir' })
  u.takes.job('job_9', 'rec_9', { nodeId: node.id, status: 'running', claimedBy: node.id })
  const chunks = () =>
    u.k.rows<{ status: string }>('SELECT status FROM recording_chunks ORDER BY idx').map((row) => row.status)
  const put = (index: number, total = '') =>
    node.agent.put(`/recordings/rec_9/cache-file?chunk=${index}${total}`, sound(`chunk ${index}`, 'mp3'), {
      'x-svc-file-name': 'a.mp3',
      'x-svc-recording-job-id': 'job_9',
    })
  const first = await put(0)
  assert.equal(first.status, 201, first.text)
  assert.deepEqual(first.json.data.uploadQueueItems[0].fileName, 'Choir_9_part0001.mp3')
  assert.deepEqual(chunks(), ['uploading'])
  await u.k.tick('upload')
  assert.deepEqual(chunks(), ['uploaded'])
  assert.equal(u.recording('rec_9').status, 'recording', 'more is to come')
  await put(1, '&chunkTotal=2')
  await u.k.tick('upload')
  assert.deepEqual([chunks(), u.recording('rec_9').status], [['uploaded', 'uploaded'], 'uploaded'])
})
