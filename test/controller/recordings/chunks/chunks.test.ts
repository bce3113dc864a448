import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'
import { chunked, counted, wav } from './world.ts'

const hex = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
const ENHANCED = { codec: 'wav', enhancement: { loudnorm: { enabled: true } } }
const FRAMES = 2000
const piece = (n: number) => wav(counted(n * FRAMES, FRAMES))

test('chunks are stored one by one; the last one completes the job, and the take is played as one', async () => {
  const k = kit()
  const t = await chunked(k)
  const first = await t.put(0, piece(0))
  assert.equal(first.status, 201, first.text)
  const { chunk, file, uploadQueueItems } = first.json.data
  assert.deepEqual(chunk, {
    cachePath: `ad-hoc/${t.recordingId}/part0001.wav`,
    cachedAt: k.now(),
    checksum: hex(piece(0)),
    createdAt: k.now(),
    durationSeconds: 5,
    id: `chunk_${t.recordingId}_1`,
    index: 1,
    jobId: t.job.id,
    offsetSeconds: 0,
    recordingId: t.recordingId,
    sizeBytes: piece(0).length,
    status: 'cached',
  })
  assert.deepEqual([file.cachePath, uploadQueueItems], [chunk.cachePath, []])
  assert.deepEqual([(await t.state()).status, (await t.recording()).status], ['running', 'recording'])
  await t.put(1, piece(1))
  assert.equal((await t.put(2, piece(2), '&chunkTotal=3', { 'x-svc-duration-seconds': '2' })).status, 201)
  assert.deepEqual([(await t.state()).status, (await t.recording()).status], ['completed', 'cached'])
  assert.equal((await t.recording()).durationSeconds, 12)
  await k.tick('chunk-join')
  const recording = await t.recording()
  assert.equal(recording.cachePath, `ad-hoc/${t.recordingId}.wav`)
  assert.ok(t.read(recording.cachePath).equals(wav(counted(0, 3 * FRAMES))))
  const played = await k.as('admin').get(`/recordings/${t.recordingId}/stream`)
  assert.deepEqual(
    [played.status, played.headers.get('content-length'), played.headers.get('content-type')],
    [200, String(44 + 3 * FRAMES * 2), 'audio/wav'],
  )
  assert.deepEqual(
    (await t.chunks()).map((c: Record<string, unknown>) => [
      c.index,
      c.total,
      c.offsetSeconds,
      c.durationSeconds,
      c.uploads,
    ]),
    [
      [1, 3, 0, 5, []],
      [2, 3, 5, 5, []],
      [3, 3, 10, 2, []],
    ],
  )
  assert.equal(t.files().length, 4)
  assert.ok(k.trail().includes('recordings.chunks.join.succeeded succeeded'))
  await k.close()
})

test('chunks come in any order, again and again; each is there once', async () => {
  const k = kit()
  const t = await chunked(k)
  for (const [index, query] of [
    [2, '&chunkTotal=3'],
    [0, ''],
    [0, ''],
    [2, '&chunkTotal=3'],
    [1, '&chunkTotal=3'],
    [1, ''],
  ] as const)
    assert.equal((await t.put(index, piece(index), query)).status, 201)
  await k.tick('chunk-join')
  const { cachePath, status } = await t.recording()
  assert.equal(status, 'cached')
  assert.ok(t.read(cachePath).equals(wav(counted(0, 3 * FRAMES))))
  assert.equal(t.files().length, 4)
  assert.equal(k.trail().filter((row) => row.startsWith('recordings.chunks.join')).length, 1)
  await k.close()
})

test('a chunk sent anew with other bytes replaces the old one, and the take is joined anew', async () => {
  const k = kit()
  const t = await chunked(k)
  await t.put(0, piece(7))
  await t.put(1, piece(1), '&chunkTotal=2')
  await k.tick('chunk-join')
  const before = await t.recording()
  await t.put(0, piece(0))
  await k.tick('chunk-join')
  const after = await t.recording()
  assert.notEqual(after.checksum, before.checksum)
  assert.ok(t.read(after.cachePath).equals(wav(counted(0, 2 * FRAMES))))
  assert.equal(t.files().length, 3)
  await k.close()
})

test('missing chunks leave the take partial and playable with the gap noted; when they come it is whole', async () => {
  const k = kit()
  const t = await chunked(k)
  await t.put(0, piece(0))
  await t.put(3, piece(3), '&chunkTotal=4')
  assert.deepEqual([(await t.state()).status, (await t.recording()).status], ['completed', 'partial'])
  await k.tick('chunk-join')
  assert.equal((await t.recording()).cachePath, undefined)
  k.advance('61s')
  await k.tick('chunk-join')
  const partial = await t.recording()
  assert.equal(t.read(partial.cachePath).length, 44 + 2 * FRAMES * 2)
  const [row] = k.rows<{ details: string }>(
    `SELECT details FROM audit_events WHERE action = 'recordings.chunks.join.succeeded'`,
  )
  assert.deepEqual(JSON.parse(row!.details).missing, [2, 3])
  const warnings = () =>
    k.rows<{ s: string }>(
      `SELECT severity || ' ' || status AS s FROM health_events WHERE type = 'controller.recording.chunks_missing'`,
    )
  assert.deepEqual([warnings(), partial.healthStatus], [[{ s: 'warning open' }], 'warning'])
  await t.put(1, piece(1))
  assert.equal((await t.recording()).status, 'partial')
  await t.put(2, piece(2))
  await k.tick('chunk-join')
  const whole = await t.recording()
  assert.deepEqual([whole.status, whole.healthStatus, warnings()], ['cached', 'healthy', [{ s: 'warning resolved' }]])
  assert.ok(t.read(whole.cachePath).equals(wav(counted(0, 4 * FRAMES))))
  assert.equal(t.files().length, 5)
  await k.close()
})

test('a job that fails after some chunks leaves what has come: partial, joined at once', async () => {
  const k = kit()
  const t = await chunked(k)
  await t.put(0, piece(0))
  await t.put(1, piece(1))
  await t.agent.post(`/recording-jobs/${t.job.id}/failed`, undefined, {
    'x-svc-reason': 'final_chunk_total_undelivered',
  })
  assert.equal((await t.recording()).status, 'partial')
  await k.tick('chunk-join')
  assert.ok(t.read((await t.recording()).cachePath).equals(wav(counted(0, 2 * FRAMES))))
  await k.close()
})

test('a stopped take in chunks is joined from what has come', async () => {
  const k = kit()
  const t = await chunked(k)
  await t.put(0, piece(0))
  await k.as('admin').post(`/recordings/${t.recordingId}/stop`)
  await t.agent.post(`/recording-jobs/${t.job.id}/cancelled`, undefined, {
    'x-svc-reason': 'controller_stop_requested',
  })
  assert.equal((await t.recording()).status, 'completed')
  await k.tick('chunk-join')
  const recording = await t.recording()
  assert.equal(recording.status, 'partial')
  assert.ok(t.read(recording.cachePath).equals(piece(0)))
  await k.close()
})

test('what came is joined at once when the lease ran out; what comes later is joined with it when it is quiet', async () => {
  const k = kit()
  const t = await chunked(k)
  await t.put(0, piece(0))
  k.advance('60s')
  await k.tick('job-lease')
  await k.tick('chunk-join')
  const played = async () => t.read((await t.recording()).cachePath)
  assert.ok((await played()).equals(piece(0)))
  for (const n of [1, 2]) {
    await t.put(n, piece(n))
    await k.tick('chunk-join')
    assert.ok((await played()).equals(piece(0)), 'not joined anew with every chunk')
  }
  k.advance('61s')
  await k.tick('chunk-join')
  assert.ok((await played()).equals(wav(counted(0, 3 * FRAMES))))
  await k.close()
})

test('chunks that come after the lease ran out are accepted; the last one turns the recording whole', async () => {
  const k = kit()
  const t = await chunked(k)
  await t.put(0, piece(0))
  k.advance('60s')
  await k.tick('job-lease')
  assert.deepEqual([(await t.state()).status, (await t.recording()).status], ['failed', 'partial'])
  assert.equal((await t.put(1, piece(1), '&chunkTotal=2')).status, 201)
  const { healthStatus, status } = await t.recording()
  assert.deepEqual([(await t.state()).status, status, healthStatus], ['completed', 'cached', 'healthy'])
  await k.close()
})

test('who asks for a take that was joined in part, and is whole now, gets the whole of it', async () => {
  const k = kit()
  const t = await chunked(k)
  await t.put(0, piece(0))
  k.advance('60s')
  await k.tick('job-lease')
  await k.tick('chunk-join')
  await t.put(1, piece(1), '&chunkTotal=2')
  const asked = k.as('admin').get(`/recordings/${t.recordingId}/file`)
  await k.tick('chunk-join')
  const { headers, status } = await asked
  assert.deepEqual([status, headers.get('content-length')], [200, String(wav(counted(0, 2 * FRAMES)).length)])
  await k.close()
})

test('what is no chunk is refused: index, owner, size, and a job that ended', async () => {
  const k = kit({ env: { SVC_RECORDING_CACHE_MAX_BYTES: '5000' } })
  const t = await chunked(k)
  for (const index of ['-1', 'x', '1.5', '', '1000000'])
    assert.deepEqual(
      (({ status, json }) => [status, json.reason])(await t.agent.put(`${t.path}?chunk=${index}`, piece(0), t.headers)),
      [400, 'invalid_chunk_index'],
      index,
    )
  assert.equal((await t.put(0, new Uint8Array(0))).json.reason, 'empty_file')
  assert.equal((await t.put(0, wav(counted(0, 4000)))).json.reason, 'file_too_large')
  const other = await k.enroll('Other')
  assert.equal((await other.agent.put(`${t.path}?chunk=0`, piece(0), t.headers)).status, 403)
  assert.deepEqual(t.files(), [])
  // A total that cannot be read is ignored.
  await t.put(0, piece(0), '&chunkTotal=many')
  await t.put(1, piece(0), '&chunkTotal=0')
  assert.equal((await t.state()).status, 'running')
  await t.agent.post(`/recording-jobs/${t.job.id}/failed`)
  assert.equal((await t.put(2, piece(0))).json.reason, 'recording_job_not_completable')
  k.sql('DELETE FROM recording_jobs')
  const { 'x-svc-recording-job-id': _, ...anonymous } = t.headers
  const orphan = await t.agent.put(`${t.path}?chunk=0`, piece(0), anonymous)
  assert.deepEqual([orphan.status, orphan.json.reason], [409, 'chunk_upload_missing_job'])
  await k.close()
})

test('a broken chunk upload leaves nothing; a resumable one goes on where it broke off', async () => {
  const k = kit()
  const t = await chunked(k)
  const bytes = piece(0)
  const announced = { 'upload-length': String(bytes.length), 'upload-offset': '0', 'upload-complete': '?0' }
  assert.equal((await t.put(0, bytes.subarray(0, 1000), '', announced)).status, 204)
  assert.equal((await t.put(1, piece(1))).status, 201)
  const rest = { ...announced, 'upload-offset': '1000', 'upload-complete': '?1' }
  assert.equal((await t.put(0, bytes.subarray(1000), '', rest)).status, 201)
  assert.ok(t.read(`ad-hoc/${t.recordingId}/part0001.wav`).equals(bytes))
  const wrong = { 'content-digest': 'sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:' }
  assert.equal((await t.put(2, bytes, '', wrong)).json.reason, 'digest_mismatch')
  assert.equal(t.files().length, 2)
  await k.close()
})

test('raw masters are joined beside what is played, and complete nothing', async () => {
  const k = kit()
  const t = await chunked(k, ENHANCED)
  const raw = (n: number) => wav(counted(20_000 + n * FRAMES, FRAMES))
  await t.put(0, raw(0), '&rendition=raw&chunkTotal=2')
  assert.deepEqual([(await t.chunks())[0].status, (await t.state()).status], ['capturing', 'running'])
  await t.put(0, piece(0), '&rendition=enhanced')
  await t.put(1, piece(1), '&rendition=enhanced&chunkTotal=2')
  await t.put(1, raw(1), '&rendition=raw')
  await k.tick('chunk-join')
  const recording = await t.recording()
  assert.equal(recording.cachePath, recording.enhancedCachePath)
  assert.ok(t.read(recording.enhancedCachePath).equals(wav(counted(0, 2 * FRAMES))))
  assert.ok(t.read(recording.rawCachePath).equals(wav(counted(20_000, 2 * FRAMES))))
  const [first] = await t.chunks()
  assert.deepEqual(
    [first.enhancedCachePath, first.rawCachePath],
    [`ad-hoc/${t.recordingId}/part0001.wav`, `ad-hoc/${t.recordingId}/part0001.raw.wav`],
  )
  await k.close()
})

test('a take whose last chunk is accepted can be played, downloaded and its master read at once', async () => {
  const k = kit()
  const t = await chunked(k)
  const audio = (n: number, gain: number) => wav(counted(n * 80, 80).map((s) => s * gain))
  for (const n of [0, 1]) {
    await t.put(n, audio(n, 1), `&rendition=enhanced${n === 1 ? '&chunkTotal=2' : ''}`)
  }
  const admin = k.as('admin')
  const at = `/recordings/${t.recordingId}`
  assert.equal((await t.state()).status, 'completed')
  const [played, ticket, download] = await Promise.all([
    admin.get(`${at}/stream`),
    admin.post(`${at}/playback`),
    admin.post(`${at}/download`),
  ])
  assert.deepEqual([played.status, ticket.status, download.status], [200, 202, 202])
  const early = await admin.get(`${at}/stream?rendition=raw`)
  assert.deepEqual([early.status, early.json.reason], [409, 'recording_not_cached'])
  for (const n of [0, 1]) await t.put(n, audio(n, 2), '&rendition=raw')
  const master = await admin.get(`${at}/stream?rendition=raw`)
  assert.equal(master.status, 200)
  assert.notEqual(master.headers.get('etag'), played.headers.get('etag'))
  await k.close()
})

test('where a chunk could not be enhanced its plain file stands in the raw master too', async () => {
  const k = kit()
  const t = await chunked(k, ENHANCED)
  const mono = (n: number) => wav(counted(n * FRAMES, FRAMES), 8000, 1)
  assert.equal((await t.put(0, piece(0), '&rendition=raw')).status, 201)
  assert.equal((await t.put(0, mono(0), '&rendition=enhanced')).status, 201)
  assert.equal((await t.put(1, piece(1), '&rendition=raw')).status, 201)
  assert.equal((await t.put(1, mono(1), '&rendition=enhanced')).status, 201)
  assert.equal((await t.put(2, piece(2), '&chunkTotal=3')).status, 201)
  await k.tick('chunk-join')
  const { cachePath, rawCachePath, status } = await t.recording()
  assert.equal(status, 'cached')
  assert.ok(t.read(rawCachePath).equals(wav(counted(0, 3 * FRAMES))), 'nothing of the master is missing')
  assert.ok(cachePath !== rawCachePath)
  const warnings = k.rows(`SELECT 1 FROM health_events WHERE type = 'controller.recording.chunks_missing'`)
  assert.equal(warnings.length, 0)
  await k.close()
})

test('a take that also comes as one file is played from that one', async () => {
  const k = kit()
  const t = await chunked(k)
  await t.put(0, piece(0))
  const whole = wav(counted(0, 9000))
  assert.equal((await t.agent.put(t.path, whole, t.headers)).status, 201)
  await t.put(1, piece(1), '&chunkTotal=2')
  k.advance('2m')
  await k.tick('chunk-join')
  assert.ok(t.read((await t.recording()).cachePath).equals(whole))
  await k.close()
})

test('a retry begins without the old chunks; a deletion takes them along', async () => {
  const k = kit()
  const t = await chunked(k)
  await t.put(0, piece(0))
  await t.agent.post(`/recording-jobs/${t.job.id}/failed`)
  const retry = (await k.as('admin').post(`/recording-jobs/${t.job.id}/retry`)).json.data
  assert.deepEqual([t.files(), k.rows('SELECT 1 FROM recording_chunks')], [[], []])
  assert.equal((await t.put(0, piece(0))).status, 409)
  await t.agent.post(`/nodes/${t.id}/recording-jobs/claim-next`)
  const own = { 'x-svc-recording-job-id': retry.id }
  await t.put(0, piece(0), '&chunkTotal=1', own)
  await k.tick('chunk-join')
  assert.equal(t.files().length, 2)
  assert.equal((await k.as('admin').delete(`/recordings/${t.recordingId}`)).status, 204)
  assert.deepEqual([t.files(), k.rows('SELECT 1 FROM chunked_recordings')], [[], []])
  await k.close()
})
