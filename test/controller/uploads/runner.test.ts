import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as path from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { uploadWorkStore } from '../../../src/controller/uploads/work.store.ts'
import { type S3Server, s3Server } from '../../kit/s3.ts'
import { S3_DESTINATION, sha256, type Uploads, uploads } from './uploads.ts'

let server: S3Server
before(async () => {
  server = await s3Server()
})
after(() => server.close())

let u: Uploads
afterEach(async () => {
  await u.k.close()
  server.useSecret(server.secretAccessKey)
})

const working = (fields: object = {}) =>
  u.destination({ ...fields, s3: { ...S3_DESTINATION.s3, endpoint: server.endpoint } })
const alarms = () =>
  u.k.rows<{ status: string }>(
    `SELECT status FROM health_events WHERE type = 'controller.recording.upload_queue_failed'`,
  )
const told = () => u.k.trail().filter((row) => row.includes('upload_queue.'))

test('what is due arrives, verified, and the recording is uploaded', async () => {
  u = uploads()
  const policy = await u.policy(await working(), { pathOverride: 'Hall/..\\2026' })
  const { bytes, id } = u.cached([policy], { name: 'Board meeting' })
  const item = await u.enqueue(id)
  u.k.forget()
  await u.k.tick('upload')
  const done = u.item(item.id)
  assert.deepEqual([done.status, done.attemptCount, done.lastError], ['succeeded', 1, undefined])
  const object = server.objects.get(`takes/rooms/Hall/2026/${done.fileName}`)
  assert.equal(object?.sha256, sha256(bytes))
  assert.deepEqual(object?.metadata, {
    checksum: `sha256:${sha256(bytes)}`,
    recording_id: id,
    upload_queue_id: item.id,
  })
  assert.equal(object?.contentType, 'audio/mpeg')
  assert.equal(u.recording(id).status, 'uploaded')
  assert.deepEqual(u.k.trail(), [
    'recordings.upload_queue.runner_item.succeeded succeeded',
    'recordings.upload_queue.reconciled.succeeded succeeded',
    'recordings.upload_queue.runner.completed succeeded',
  ])
  u.k.forget()
  await u.k.tick('upload')
  assert.deepEqual(u.k.trail(), [], 'a pass that attempts nothing tells nothing')
})

test('a manual run answers what it did, with how it is known', async () => {
  u = uploads()
  const policy = await u.policy(await working())
  const { bytes, id } = u.cached([policy])
  const item = await u.enqueue(id)
  const { json, status } = await u.owner.post('/upload-runner/run')
  assert.equal(status, 200)
  const expected = `sha256:${sha256(bytes)}`
  assert.deepEqual(json.summary, {
    attempted: 1,
    deferred: 0,
    failed: 0,
    items: [
      {
        checksumVerification: {
          algorithm: 'sha256',
          expected,
          method: 's3_checksum_sha256',
          status: 'provider_validated',
        },
        itemId: item.id,
        provider: 's3',
        recordingId: id,
        status: 'succeeded',
      },
    ],
    succeeded: 1,
  })
  assert.deepEqual(json.data.lastSummary, json.summary)
  assert.equal(json.data.running, false)
  assert.ok(u.k.trail().includes('recordings.upload_runner.run.succeeded succeeded'))
})

test('a wrong secret fails visibly, waits longer each time, spends the budget, and is made good by a retry', async () => {
  u = uploads()
  const policy = await u.policy(await working({ s3SecretAccessKey: 'the-wrong-secret-of-them-all' }), {
    maxAttempts: 3,
  })
  const { id } = u.cached([policy])
  const item = await u.enqueue(id)
  for (const [attempt, pause] of [
    [1, 60],
    [2, 120],
  ] as const) {
    u.k.forget()
    const { json } = await u.owner.post('/upload-runner/run')
    assert.deepEqual([json.summary.deferred, json.summary.items[0].status], [1, 'retrying'])
    const now = u.item(item.id)
    assert.deepEqual([now.status, now.attemptCount], ['retrying', attempt])
    assert.equal(Date.parse(now.nextAttemptAt) - Date.parse(u.k.now()), pause * 1000)
    assert.match(now.lastError ?? '', /^SignatureDoesNotMatch: /)
    assert.ok(!now.lastError?.includes('the-wrong-secret'))
    assert.ok(told().includes(`recordings.upload_queue.runner_item.deferred partial ${now.lastError}`))
    assert.ok(u.k.trail().includes('recordings.upload_runner.run.succeeded partial'))
    await u.k.tick('upload')
    assert.equal(u.item(item.id).attemptCount, attempt, 'not before its time')
    u.k.advance(`${pause}s`)
  }
  assert.deepEqual(alarms(), [])
  await u.k.tick('upload')
  assert.deepEqual([u.item(item.id).status, u.item(item.id).attemptCount], ['failed', 3])
  assert.deepEqual(alarms(), [{ status: 'open' }])
  const [event] = u.k.rows<{ details: string; severity: string }>('SELECT details, severity FROM health_events')
  assert.deepEqual(
    [event?.severity, JSON.parse(event?.details ?? '')],
    [
      'warning',
      { provider: 's3', reason: 'SignatureDoesNotMatch', source: 'upload_runner', uploadQueueItemId: item.id },
    ],
  )
  assert.deepEqual([u.recording(id).status, u.recording(id).healthStatus], ['cached', 'warning'])
  u.k.advance('1d')
  await u.k.tick('upload')
  assert.equal(u.item(item.id).attemptCount, 3, 'a failed item is left alone')
  server.useSecret('the-wrong-secret-of-them-all')
  await u.owner.post(`/upload-queue/${item.id}/retry`)
  await u.k.tick('upload')
  assert.equal(u.item(item.id).status, 'succeeded')
  assert.deepEqual(alarms(), [{ status: 'resolved' }])
  assert.deepEqual([u.recording(id).status, u.recording(id).healthStatus], ['uploaded', 'healthy'])
})

test('a source that is gone, changed or outside never reaches the destination', async () => {
  u = uploads()
  const policy = await u.policy(await working())
  const before = server.operations.length
  const [gone, changed, outside] = ['gone', 'changed', 'outside'].map((id) => u.cached([policy], { id }))
  const items = [await u.enqueue('gone'), await u.enqueue('changed'), await u.enqueue('outside')]
  u.k.sql(`UPDATE upload_queue SET cache_path = 'ad-hoc/none.mp3' WHERE recording_id = ?`, gone?.id)
  writeFileSync(path.join(u.root, changed?.path ?? ''), 'tampered')
  writeFileSync(path.join(u.k.dir, 'outside.mp3'), 'x')
  u.k.sql(`UPDATE upload_queue SET cache_path = '../outside.mp3' WHERE recording_id = ?`, outside?.id)
  await u.k.tick('upload')
  assert.deepEqual(
    items.map(({ id }) => u.item(id).lastError),
    ['cache_path_missing', 'source_checksum_mismatch', 'cache_path_outside_root'],
  )
  assert.equal(server.operations.length, before)
})

test('a destination that cannot be used says why on its items', async () => {
  u = uploads()
  const destinationId = await working()
  const policy = await u.policy(destinationId)
  const item = await u.enqueue(u.cached([policy]).id)
  await u.owner.patch(`/settings/upload-destinations/${destinationId}`, { enabled: false })
  await u.k.tick('upload')
  assert.equal(u.item(item.id).lastError, 'destination_disabled')
  await u.owner.patch(`/settings/upload-policies/${policy}`, { destinationId: await u.destination({ id: 'other' }) })
  await u.owner.delete(`/settings/upload-destinations/${destinationId}`)
  u.k.advance('1h')
  await u.k.tick('upload')
  assert.equal(u.item(item.id).lastError, 'destination_not_found')
})

test('a crash in the middle: due again at the next start, and failed when it was the last attempt', async () => {
  u = uploads()
  const policy = await u.policy(await working(), { maxAttempts: 2 })
  const [item, last] = [await u.enqueue(u.cached([policy]).id), await u.enqueue(u.cached([policy]).id)]
  const crashed = (id: string, attempts: number) =>
    u.k.sql(
      `UPDATE upload_queue SET status = 'retrying', claim = 'dead', attempt_count = ?, next_attempt_at = '2099' WHERE id = ?`,
      attempts,
      id,
    )
  crashed(item.id, 1)
  crashed(last.id, 2)
  await u.k.tick('upload')
  assert.deepEqual([u.item(item.id).status, u.item(item.id).attemptCount], ['succeeded', 2])
  assert.deepEqual([u.item(last.id).status, u.item(last.id).lastError], ['failed', 'upload_interrupted'])
  assert.equal(alarms().length, 1)
})

/** Takes connections and never says a word. */
async function silent() {
  const sockets: { destroy(): void }[] = []
  const arrived = Promise.withResolvers<void>()
  const dead = createServer((request) => {
    request.resume()
    arrived.resolve()
  }).on('connection', (socket) => sockets.push(socket))
  await new Promise<void>((resolve) => dead.listen(0, '127.0.0.1', resolve))
  return {
    arrived: arrived.promise,
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => dead.close(resolve))
    },
    endpoint: `http://127.0.0.1:${(dead.address() as AddressInfo).port}`,
  }
}

test('a dead destination keeps nobody waiting; stopping gives its items back with their attempts', async () => {
  u = uploads({ SVC_UPLOAD_RUNNER_BATCH_SIZE: '6' })
  const dead = await silent()
  const stuck = await u.policy(
    await u.destination({ id: 'a-dead', s3: { ...S3_DESTINATION.s3, endpoint: dead.endpoint } }),
  )
  const fine = await u.policy(await working({ id: 'b-fine' }))
  const waiting = []
  for (let i = 0; i < 5; i++) waiting.push(await u.enqueue(u.cached([stuck]).id))
  const items = []
  for (let i = 0; i < 4; i++) items.push(await u.enqueue(u.cached([fine]).id))
  const pass = u.k.tick('upload')
  await dead.arrived
  while (items.some(({ id }) => u.item(id).status !== 'succeeded'))
    await new Promise((resolve) => setImmediate(resolve))
  const { json } = await u.owner.get('/upload-runner/actions')
  assert.equal(json.data.status.running, true)
  assert.equal(json.data.actions.run.reason, 'upload_runner_already_running')
  const overlapping = await u.owner.post('/upload-runner/run')
  assert.deepEqual(overlapping.json.summary, { attempted: 0, deferred: 0, failed: 0, items: [], succeeded: 0 })
  assert.equal(waiting.filter(({ id }) => u.item(id).attemptCount === 1).length, 2, 'two connections at most')
  await u.k.stop()
  await pass
  for (const { id } of waiting) {
    const { attemptCount, nextAttemptAt } = u.item(id)
    assert.deepEqual([attemptCount, nextAttemptAt], [0, u.k.now()])
  }
  assert.deepEqual(u.k.rows('SELECT id FROM upload_queue WHERE claim IS NOT NULL'), [])
  await dead.close()
})

test('a file goes to every destination; only when all have it the recording is uploaded', async () => {
  u = uploads()
  const [good, bad] = [
    await working({ id: 'good' }),
    await working({ id: 'bad', s3SecretAccessKey: 'another-wrong-secret' }),
  ]
  const policies = [await u.policy(good), await u.policy(bad, { maxAttempts: 1 })]
  const { id } = u.cached(policies)
  const items = [await u.enqueue(id), await u.enqueue(id, { uploadPolicyId: policies[1] })]
  u.k.sql(`UPDATE upload_queue SET next_attempt_at = '2099' WHERE id = ?`, items[1]?.id)
  await u.k.tick('upload')
  assert.equal(u.recording(id).status, 'cached', 'one is still to come')
  u.k.sql(`UPDATE upload_queue SET next_attempt_at = '2000' WHERE id = ?`, items[1]?.id)
  u.k.forget()
  await u.k.tick('upload')
  assert.equal(u.recording(id).status, 'partial')
  assert.ok(told().includes('recordings.upload_queue.reconciled.partial partial'))
  await u.owner.patch('/settings/upload-destinations/bad', { s3SecretAccessKey: server.secretAccessKey })
  await u.owner.post(`/upload-queue/${items[1]?.id}/retry`)
  await u.k.tick('upload')
  assert.equal(u.recording(id).status, 'uploaded')
})

test('what is taken away under way settles nothing', async () => {
  u = uploads()
  const dead = await silent()
  const policy = await u.policy(await u.destination({ s3: { ...S3_DESTINATION.s3, endpoint: dead.endpoint } }))
  const { id } = u.cached([policy])
  await u.enqueue(id)
  const pass = u.k.tick('upload')
  await dead.arrived
  await u.owner.delete(`/recordings/${id}`)
  await dead.close()
  await pass
  assert.deepEqual(u.k.rows('SELECT * FROM upload_queue'), [])
  assert.deepEqual(alarms(), [])
})

test('a manual run takes only what its caller sees', async () => {
  u = uploads()
  const policy = await u.policy(await working())
  u.node('n2', 'South')
  const [north, south] = [
    await u.enqueue(u.cached([policy]).id),
    await u.enqueue(u.cached([policy], { nodeId: 'n2' }).id),
  ]
  const op = u.k.person('op', ['operator'], [['site', 'South']])
  const { json } = await op.post('/upload-runner/run')
  assert.deepEqual(
    json.summary.items.map((i: { itemId: string }) => i.itemId),
    [south.id],
  )
  assert.equal(u.item(north.id).status, 'queued')
  await u.owner.post('/upload-runner/run')
  const { lastSummary } = (await op.get('/upload-runner')).json.data
  assert.deepEqual([lastSummary.attempted, lastSummary.items], [0, []])
})

test('a claim holds until its lease ends, a renewed one longer, and only the last one may settle', async () => {
  u = uploads()
  const { id } = await u.enqueue(u.cached([await u.policy(await working())]).id)
  const work = uploadWorkStore(u.k.db)
  const at = (minute: number) => `2026-03-02T10:${String(minute).padStart(2, '0')}:00.000Z`
  const due = (minute: number) => work.due(u.item(id).destinationId ?? '', [], 10, at(minute))
  assert.deepEqual(due(0), [id])
  assert.equal(work.claim(id, 'one', at(15), at(0))?.attemptCount, 1)
  assert.equal(work.claim(id, 'two', at(15), at(0)), undefined, 'claimed once')
  assert.deepEqual(due(14), [])
  work.renew(id, 'one', at(30))
  assert.deepEqual([due(29), due(30)], [[], [id]])
  assert.equal(work.claim(id, 'two', at(45), at(30))?.attemptCount, 2)
  assert.equal(work.succeed(id, 'one', 'matched', at(31)), undefined)
  assert.equal(work.fail(id, 'one', 'late', at(40), at(31)), undefined)
  assert.equal(work.succeed(id, 'two', 'matched', at(31))?.status, 'succeeded')
})
