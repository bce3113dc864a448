import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pauseSeconds, reconciled, remoteName } from '../../../src/controller/uploads/queue.rules.ts'
import { uploads } from './uploads.ts'

test('pauses double from a minute and end at an hour', () => {
  assert.deepEqual([1, 2, 3, 4, 5, 6, 7, 8, 100].map(pauseSeconds), [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600])
})

test('two takes of one name have two names at the destination, and no name leaves its folder', () => {
  const name = (id: string, text: string, chunk?: number) => remoteName({ id, name: text }, 'ad-hoc/x.flac', chunk)
  assert.equal(name('rec_0f3e9d1a-0000-4000-8000-00000000ab12', 'Board 3/4'), 'Board 3_4_00000000ab12.flac')
  assert.notEqual(name('rec_1', 'Same'), name('rec_2', 'Same'))
  assert.equal(name('rec_1', 'Größe: 東京', 2), 'Größe_ 東京_1_part0002.flac')
  assert.equal(name('rec_1', '../..'), '_.._1.flac')
  assert.equal(name('rec_1', '...'), 'recording_1.flac')
  assert.ok(Buffer.byteLength(name('rec_1', '東'.repeat(240))) < 240)
})

const OUTCOMES: [Parameters<typeof reconciled>, ReturnType<typeof reconciled>][] = [
  [['all', undefined], 'uploaded'],
  [['some', undefined], 'partial'],
  [['none', undefined], undefined],
  [['pending', undefined], undefined],
  [[undefined, undefined], undefined],
  [[undefined, { jobEnded: true, outcomes: ['all', 'all'], total: 2 }], 'uploaded'],
  [[undefined, { jobEnded: true, outcomes: ['all', 'some'], total: 2 }], 'partial'],
  [[undefined, { jobEnded: true, outcomes: ['all', 'none'], total: 2 }], 'partial'],
  [[undefined, { jobEnded: true, outcomes: ['none', 'none'], total: 2 }], undefined],
  [[undefined, { jobEnded: false, outcomes: ['all'], total: 2 }], undefined],
  [[undefined, { jobEnded: false, outcomes: ['all', 'all'], total: 2 }], 'uploaded'],
  [[undefined, { jobEnded: true, outcomes: ['all'], total: undefined }], 'partial'],
  [[undefined, { jobEnded: false, outcomes: ['all', 'pending'], total: 2 }], undefined],
]
for (const [[whole, chunks], status] of OUTCOMES)
  test(`uploads ${whole ?? ''} ${chunks ? JSON.stringify(chunks) : ''} make a recording ${status ?? 'stay as it is'}`, () => {
    assert.equal(reconciled(whole, chunks), status)
  })

test('a cached recording is queued by the given policy, else by its first', async () => {
  const u = uploads()
  const destinationId = await u.destination()
  const [first, second] = [await u.policy(destinationId), await u.policy(destinationId, { pathOverride: 'b' })]
  const { id, path } = u.cached([first])
  u.k.forget()
  const item = await u.enqueue(id)
  assert.deepEqual(
    { ...item, checksum: '', id: '' },
    {
      attemptCount: 0,
      cachePath: path,
      checksum: '',
      createdAt: u.k.now(),
      destinationId,
      fileName: 'rec_1_1.mp3',
      id: '',
      lastError: 'provider_not_configured',
      maxAttempts: 5,
      nextAttemptAt: u.k.now(),
      provider: 's3',
      recordingId: id,
      status: 'queued',
      target: 's3://takes/rooms',
      updatedAt: u.k.now(),
      uploadPolicyId: first,
    },
  )
  assert.deepEqual(u.k.trail(), [
    'recordings.upload_queue.enqueue allowed',
    'recordings.upload_queue.enqueue.succeeded succeeded',
  ])
  const other = await u.enqueue(id, { uploadPolicyId: second, reason: 'for the archive' })
  assert.deepEqual([other.pathOverride, other.target, other.lastError], ['b', 's3://takes/rooms/b', 'for the archive'])
  await u.k.close()
})

test('what cannot be queued is refused with its reason', async () => {
  const u = uploads()
  const disabled = await u.policy(await u.destination(), { enabled: false })
  const { id } = u.cached([])
  u.recording(id)
  u.takes.recording('empty')
  const answers = async (recording: string, body: object) => {
    const { status, json } = await u.owner.post(`/recordings/${recording}/upload-queue`, body)
    return [status, json.reason ?? json.error]
  }
  assert.deepEqual(await answers(id, {}), [409, 'destination_required'], 'the built-in policy sends nowhere')
  const nowhere = await u.owner.post(`/recordings/${id}/upload-queue`, {})
  assert.match(nowhere.json.error, /has no destination: create one .*destinationId of an upload policy/)
  assert.deepEqual(await answers(id, { uploadPolicyId: 'none' }), [404, 'Upload policy not found'])
  assert.deepEqual(await answers(id, { uploadPolicyId: disabled }), [409, 'upload_policy_disabled'])
  assert.deepEqual(await answers('empty', {}), [409, 'recording_not_cached'])
  assert.deepEqual(await answers('none', {}), [404, 'Recording not found'])
  for (const body of [{ reason: '' }, { reason: 'x'.repeat(241) }, { other: 1 }])
    assert.equal((await u.owner.post(`/recordings/${id}/upload-queue`, body)).status, 400)
  assert.deepEqual(u.k.rows('SELECT * FROM upload_queue'), [])
  await u.k.close()
})

test('what is queued or done already is given as it is', async () => {
  const u = uploads()
  const policy = await u.policy(await u.destination())
  const { id } = u.cached([policy])
  const first = await u.enqueue(id)
  assert.equal((await u.enqueue(id)).id, first.id)
  u.k.sql(`UPDATE upload_queue SET status = 'succeeded'`)
  assert.equal((await u.enqueue(id)).id, first.id)
  u.k.sql(`UPDATE upload_queue SET checksum = 'sha256:other'`)
  assert.notEqual((await u.enqueue(id)).id, first.id, 'another file is another upload')
  u.k.sql(`UPDATE upload_queue SET status = 'failed'`)
  await u.enqueue(id)
  assert.equal(u.k.rows('SELECT * FROM upload_queue').length, 3)
  await u.k.close()
})

test('a newer file overtakes one that still waits', async () => {
  const u = uploads()
  const policy = await u.policy(await u.destination())
  const { id } = u.cached([policy])
  const first = await u.enqueue(id)
  u.k.sql(`UPDATE upload_queue SET status = 'retrying', attempt_count = 3, claim = 'c', next_attempt_at = '2099'`)
  u.file(id, 'enhanced', Buffer.from('newer'), 'wav')
  const again = await u.enqueue(id)
  assert.deepEqual(
    [again.id, again.status, again.attemptCount, again.nextAttemptAt],
    [first.id, 'queued', 0, u.k.now()],
  )
  assert.equal(again.cachePath, `ad-hoc/${id}.wav`)
  await u.k.close()
})

test('many are queued all or nothing', async () => {
  const u = uploads()
  const policy = await u.policy(await u.destination())
  const ids = [u.cached([policy]).id, u.cached([policy]).id]
  u.takes.recording('empty', { uploadPolicyIds: [policy] })
  const bulk = (recordingIds: string[]) => u.owner.post('/recordings/bulk-upload-queue', { recordingIds })
  const refused = await bulk([...ids, 'empty'])
  assert.deepEqual(
    [refused.status, refused.json.error],
    [409, 'One or more recordings have no stored audio yet: leave them out, or wait until they are delivered'],
  )
  const unknown = await bulk([...ids, 'none'])
  assert.deepEqual([unknown.status, unknown.json.error], [404, 'One or more recordings are not visible'])
  assert.equal(u.k.rows('SELECT * FROM upload_queue').length, 0)
  const done = await bulk([...ids, ...ids])
  assert.equal(done.status, 201)
  assert.deepEqual(done.json.meta, { queuedCount: 2 })
  assert.equal((await bulk([])).status, 400)
  assert.equal((await bulk(Array.from({ length: 201 }, (_, i) => `r${i}`))).status, 400)
  await u.k.close()
})

test('an operator of one room sees and moves the items of that room only', async () => {
  const u = uploads()
  const policy = await u.policy(await u.destination())
  u.node('n2', 'South')
  const [north, south] = [u.cached([policy]).id, u.cached([policy], { nodeId: 'n2' }).id]
  const [a, b] = [await u.enqueue(north), await u.enqueue(south)]
  const op = u.k.person('op', ['operator'], [['site', 'South']])
  const list = await op.get('/upload-queue')
  assert.deepEqual([list.json.data.map((i: { id: string }) => i.id), list.json.meta.total], [[b.id], 1])
  assert.equal((await op.get(`/upload-queue/${b.id}`)).json.data.recording.id, south)
  for (const path of [`/upload-queue/${a.id}`, `/upload-queue/${a.id}/actions`, '/upload-queue/none'])
    assert.equal((await op.get(path)).status, 403, path)
  assert.equal((await op.post(`/upload-queue/${a.id}/retry`)).status, 403)
  assert.equal((await op.post(`/recordings/${north}/upload-queue`, {})).status, 403)
  u.k.forget()
  const bulk = await op.post('/recordings/bulk-upload-queue', { recordingIds: [south, north] })
  assert.equal(bulk.status, 404)
  assert.ok(u.k.trail().includes('recordings.upload_queue.bulk_enqueue.failed denied recording_not_visible'))
  assert.equal((await u.owner.get('/upload-queue/none')).status, 404)
  const viewer = u.k.person('v', ['viewer'], [['site', 'South']])
  const { json } = await viewer.get(`/upload-queue/${b.id}/actions`)
  assert.equal(json.data.actions.retry.reason, 'missing_permission')
  await u.k.close()
})

test('the list is in the order of what is due, filtered and paged', async () => {
  const u = uploads()
  const policy = await u.policy(await u.destination())
  const ids: string[] = []
  for (let i = 0; i < 3; i++) {
    ids.push((await u.enqueue(u.cached([policy]).id)).id)
    u.k.advance('1m')
  }
  u.k.sql(
    `UPDATE upload_queue SET next_attempt_at = '2026-03-02T08:00:00.000Z', status = 'failed' WHERE id = ?`,
    ids[2],
  )
  const get = async (query: string) => (await u.owner.get(`/upload-queue?${query}`)).json
  assert.deepEqual(
    (await get('')).data.map((i: { id: string }) => i.id),
    [ids[2], ids[0], ids[1]],
  )
  assert.deepEqual(
    (await get('limit=1&offset=1')).data.map((i: { id: string }) => i.id),
    [ids[0]],
  )
  assert.equal((await get('limit=500')).meta.limit, 200)
  assert.equal((await get('status=failed')).meta.total, 1)
  assert.equal((await get('provider=smb')).meta.total, 0)
  assert.equal((await get('recordingId=rec_2')).data[0].id, ids[1])
  for (const bad of ['limit=0', 'limit=501', 'status=x', 'provider=x', 'offset=-1'])
    assert.equal((await u.owner.get(`/upload-queue?${bad}`)).status, 400, bad)
  await u.k.close()
})

const RETRIES: [string, boolean][] = [
  ['queued', false],
  ['retrying', false],
  ['succeeded', false],
  ['failed', true],
  ['cancelled', true],
]
for (const [status, allowed] of RETRIES)
  test(`an item that is ${status} ${allowed ? 'is due again with all its attempts' : 'cannot be retried'}`, async () => {
    const u = uploads()
    const policy = await u.policy(await u.destination())
    const item = await u.enqueue(u.cached([policy]).id)
    u.k.sql(`UPDATE upload_queue SET status = ?, attempt_count = 5, last_error = 'x', next_attempt_at = '2099'`, status)
    const { json } = await u.owner.get(`/upload-queue/${item.id}/actions`)
    assert.equal(json.data.actions.retry.enabled, allowed)
    const answer = await u.owner.post(`/upload-queue/${item.id}/retry`)
    if (!allowed) {
      assert.deepEqual([answer.status, answer.json.reason], [409, 'upload_queue_item_not_retryable'])
      assert.equal(json.data.actions.retry.reason, 'upload_queue_item_not_retryable')
    } else {
      const { attemptCount, lastError, nextAttemptAt, status: now } = answer.json.data
      assert.deepEqual(
        [now, attemptCount, lastError, nextAttemptAt],
        ['retrying', 0, 'provider_not_configured', u.k.now()],
      )
    }
    await u.k.close()
  })

test('items go with their recording', async () => {
  const u = uploads()
  const policy = await u.policy(await u.destination())
  const { id } = u.cached([policy])
  await u.enqueue(id)
  assert.equal((await u.owner.delete(`/recordings/${id}`)).status, 204)
  assert.deepEqual(u.k.rows('SELECT * FROM upload_queue'), [])
  await u.k.close()
})
