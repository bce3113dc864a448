import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import * as http from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { listening } from '../../kit/http.ts'
import { type Kit, kit } from '../../kit/kit.ts'
import { sound } from '../../kit/sound.ts'

const digest = (bytes: Uint8Array) => `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`
const hex = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

async function claimed(k: Kit) {
  const node = await k.enroll()
  const { data, job } = (await k.as('admin').post('/recordings', { nodeId: node.id, durationSeconds: 10 })).json
  await node.agent.post(`/nodes/${node.id}/recording-jobs/claim-next`)
  const headers = {
    'content-type': 'audio/wav',
    'x-svc-file-name': 'take.wav',
    'x-svc-duration-seconds': '10',
    'x-svc-recording-job-id': job.id,
  }
  const recording = async () => (await k.as('admin').get(`/recordings/${data.id}`)).json.data
  const state = async () => (await k.as('admin').get(`/recording-jobs/${job.id}`)).json.data
  const files = () =>
    (existsSync(k.takes) ? readdirSync(k.takes, { recursive: true, withFileTypes: true }) : [])
      .filter((f) => f.isFile())
      .map((f) => f.name)
  return {
    ...node,
    files,
    headers,
    job,
    path: `/recordings/${data.id}/cache-file`,
    recording,
    recordingId: data.id as string,
    state,
  }
}

test('the primary upload stores the file, completes the job and makes the recording playable', async () => {
  const k = kit()
  const t = await claimed(k)
  const bytes = sound(300_000)
  const done = await t.agent.put(t.path, bytes, { ...t.headers, 'content-digest': digest(bytes) })
  assert.equal(done.status, 201, done.text)
  assert.deepEqual(done.json.data.file, {
    cachePath: `ad-hoc/${t.recordingId}.wav`,
    checksum: hex(bytes),
    durationSeconds: 10,
    fileName: 'take.wav',
    mimeType: 'audio/wav',
    size: 300_000,
  })
  assert.equal((await t.state()).status, 'completed')
  const recording = await t.recording()
  assert.deepEqual(
    [recording.status, recording.cached, recording.durationSeconds, recording.healthStatus],
    ['cached', true, 10, 'healthy'],
  )
  assert.ok(readFileSync(join(k.takes, recording.cachePath)).equals(bytes))
  const raw = await t.agent.put(`${t.path}?rendition=raw`, sound(10), t.headers)
  assert.equal(raw.status, 201)
  assert.equal((await t.recording()).cachePath, recording.cachePath)
  await k.close()
})

test('a repeated upload replaces the file whole and leaves nothing behind', async () => {
  const k = kit()
  const t = await claimed(k)
  for (const bytes of [sound(1000), sound(2000), sound(1000)]) {
    assert.equal((await t.agent.put(t.path, bytes, t.headers)).status, 201)
    assert.equal((await t.recording()).checksum, hex(bytes))
    assert.equal(t.files().length, 1)
  }
  await k.close()
})

test('a day after it was finished a take is not given up for other bytes at all', async () => {
  const k = kit()
  const t = await claimed(k)
  const [first, corrected] = [sound(3000), sound(3500)]
  assert.equal((await t.agent.put(t.path, first, t.headers)).status, 201)
  k.advance('23h')
  assert.equal((await t.agent.put(t.path, corrected, t.headers)).status, 201)
  assert.equal((await t.agent.put(`${t.path}?rendition=raw`, first, t.headers)).status, 201)
  k.advance('2h')
  for (const query of ['', '?rendition=raw']) {
    const { json, status } = await t.agent.put(t.path + query, sound(9000), t.headers)
    assert.deepEqual([status, json.reason], [409, 'take_already_stored'])
  }
  assert.equal((await t.recording()).checksum, hex(corrected))
  assert.equal((await t.agent.put(t.path, corrected, t.headers)).status, 201)
  await k.close()
})

test('a finished take is not given up for less than half of it', async () => {
  const k = kit()
  const t = await claimed(k)
  const [part, bytes, master] = [sound(400), sound(3000), sound(5000)]
  for (const [query, whole] of [
    ['', part],
    ['', bytes],
    ['?rendition=raw', master],
  ] as const)
    assert.equal((await t.agent.put(t.path + query, whole, t.headers)).status, 201)
  const resumed = { 'upload-offset': '0', 'upload-complete': '?1' }
  for (const query of ['', '?rendition=raw'])
    for (const more of [{}, resumed]) {
      const { json, status } = await t.agent.put(t.path + query, sound(54, 'flac'), { ...t.headers, ...more })
      assert.deepEqual([status, json.reason], [409, 'take_already_stored'])
    }
  const { cachePath, checksum, rawCachePath } = await t.recording()
  assert.equal(checksum, hex(bytes))
  assert.ok(readFileSync(join(k.takes, cachePath)).equals(bytes))
  assert.ok(readFileSync(join(k.takes, rawCachePath)).equals(master))
  assert.equal(t.files().length, 2)
  assert.equal((await t.agent.put(t.path, bytes, t.headers)).status, 201)
  await k.close()
})

test('the same bytes sent again stay the same file: a crash on the way leaves no second one', async () => {
  const k = kit()
  const t = await claimed(k)
  const bytes = sound(1000)
  const first = await t.agent.put(t.path, bytes, t.headers)
  const { cachePath } = first.json.data.file
  // Also where the stored file was hurt meanwhile.
  writeFileSync(join(k.takes, cachePath), 'hurt')
  const again = await t.agent.put(t.path, bytes, t.headers)
  assert.deepEqual([again.status, again.json.data.file], [201, first.json.data.file])
  assert.ok(readFileSync(join(k.takes, cachePath)).equals(bytes))
  assert.equal(t.files().length, 1)
  await k.close()
})

const NO_AUDIO = '#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n../scheduled/rec_other.flac\n#EXT-X-ENDLIST\n'
for (const [query, more] of [
  ['', {}],
  ['?rendition=raw', {}],
  ['?chunk=0', {}],
  ['', { 'upload-offset': '0', 'upload-complete': '?1' }],
] as const)
  test(`what is no audio is refused and not kept, whatever its name says (${query} ${Object.keys(more)})`, async () => {
    const k = kit()
    const t = await claimed(k)
    const answer = await t.agent.put(t.path + query, Buffer.from(NO_AUDIO), { ...t.headers, ...more })
    assert.deepEqual([answer.status, answer.json.reason], [415, 'unsupported_audio'], answer.text)
    assert.deepEqual(t.files(), [])
    assert.equal((await t.state()).status, 'running')
    const events = k.rows<{ severity: string }>(
      "SELECT severity FROM health_events WHERE type = 'controller.recording.cache_file_failed'",
    )
    assert.deepEqual(events, [{ severity: 'critical' }])
    // The recorder may still send what it has.
    assert.equal((await t.agent.put(t.path + query, sound(100), { ...t.headers, ...more })).status, 201)
    await k.close()
  })

test('a file that is not of the format of its name is kept as what it is', async () => {
  const k = kit()
  const t = await claimed(k)
  const { json } = await t.agent.put(t.path, sound(100, 'flac'), { ...t.headers, 'x-svc-file-name': 'take.mp3' })
  assert.deepEqual(
    [json.data.file.cachePath, json.data.file.mimeType, json.data.file.fileName],
    [`ad-hoc/${t.recordingId}.flac`, 'audio/flac', 'take.mp3'],
  )
  await k.close()
})

test('an upload in pieces is judged when it is whole: its first piece may be shorter than a signature', async () => {
  const k = kit()
  const t = await claimed(k)
  const bytes = sound(100)
  const first = await t.agent.put(t.path, bytes.subarray(0, 3), {
    ...t.headers,
    'upload-offset': '0',
    'upload-complete': '?0',
  })
  assert.equal(first.status, 204, first.text)
  const second = await t.agent.put(t.path, bytes.subarray(3), {
    ...t.headers,
    'upload-offset': '3',
    'upload-complete': '?1',
  })
  assert.equal(second.status, 201, second.text)
  assert.equal(second.json.data.file.checksum, hex(bytes))
  await k.close()
})

test('what is not what was announced is refused, stores nothing and leaves the job as it was', async () => {
  const k = kit({ env: { SVC_RECORDING_CACHE_MAX_BYTES: '1000' } })
  const t = await claimed(k)
  const bytes = sound(100)
  const tries: [Uint8Array, object, number, string][] = [
    [bytes, { 'content-digest': digest(randomBytes(1)) }, 400, 'digest_mismatch'],
    [bytes, { 'content-digest': 'sha-256=nonsense' }, 400, 'invalid_digest'],
    [new Uint8Array(0), {}, 400, 'empty_file'],
    [sound(1001), {}, 413, 'file_too_large'],
    [bytes, { 'x-svc-duration-seconds': '-1' }, 400, 'invalid_duration'],
    [bytes, { 'x-svc-duration-seconds': 'long' }, 400, 'invalid_duration'],
    [bytes, { 'upload-offset': '-4' }, 400, 'invalid_offset'],
    [bytes, { 'upload-offset': '50' }, 409, 'upload_offset_mismatch'],
  ]
  for (const [body, headers, status, reason] of tries) {
    const answer = await t.agent.put(t.path, body, { ...t.headers, ...headers })
    assert.deepEqual([answer.status, answer.json.reason], [status, reason])
  }
  assert.equal((await t.agent.put(`${t.path}?chunk=-1`, bytes, t.headers)).status, 400)
  assert.deepEqual(t.files(), [])
  assert.equal((await t.state()).status, 'running')
  const told = k.rows<{ details: string }>(
    "SELECT details FROM health_events WHERE type = 'controller.recording.cache_file_failed'",
  )
  assert.deepEqual(
    told.map((e) => JSON.parse(e.details).reason),
    ['empty_file', 'file_too_large', 'invalid_duration', 'invalid_duration', 'invalid_chunk_index'],
  )
  await k.close()
})

test('whose upload it is: recording, node and job must fit', async () => {
  const k = kit()
  const t = await claimed(k)
  const other = await k.enroll('Other')
  const bytes = sound(10)
  const put = async (agent: typeof t.agent, headers = {}, path = t.path) =>
    (await agent.put(path, bytes, { ...t.headers, ...headers })).status
  assert.equal(await put(other.agent), 403)
  assert.equal(await put(t.agent, { 'x-svc-recording-job-id': 'job_9' }), 404)
  assert.equal(await put(t.agent, {}, '/recordings/rec_9/cache-file'), 404)
  const elsewhere = (await k.as('admin').post('/recordings', { nodeId: other.id })).json
  assert.equal(await put(t.agent, { 'x-svc-recording-job-id': elsewhere.job.id }), 403)
  await t.agent.post(`/recording-jobs/${t.job.id}/failed`)
  assert.equal(await put(t.agent), 409)
  assert.deepEqual(t.files(), [])
  await k.close()
})

test('a take that comes after its lease ran out is accepted and makes the recording whole', async () => {
  const k = kit()
  const t = await claimed(k)
  k.advance('60s')
  await k.tick('job-lease')
  assert.deepEqual([(await t.state()).status, (await t.recording()).status], ['failed', 'failed'])
  const bytes = sound(64)
  assert.equal((await t.agent.put(t.path, bytes, t.headers)).status, 201)
  assert.deepEqual(
    [(await t.state()).status, (await t.recording()).status, (await t.recording()).healthStatus],
    ['completed', 'cached', 'healthy'],
  )
  const [row] = k.rows<{ details: string }>(
    "SELECT details FROM audit_events WHERE action = 'recordings.cache_file.attach.succeeded'",
  )
  assert.equal(JSON.parse(row!.details).lateDelivery, true)
  await k.close()
})

test('also where a stop was pending when the lease ran out', async () => {
  const k = kit()
  const t = await claimed(k)
  await k.as('admin').post(`/recordings/${t.recordingId}/stop`)
  k.advance('60s')
  await k.tick('job-lease')
  assert.equal((await t.state()).failureReason, 'stop_request_lease_expired')
  assert.equal((await t.agent.put(t.path, sound(64), t.headers)).status, 201)
  assert.deepEqual([(await t.state()).status, (await t.recording()).status], ['completed', 'cached'])
  await k.close()
})

test('a late take never replaces the audio of the retry that took its place', async () => {
  const k = kit()
  const t = await claimed(k)
  k.advance('60s')
  await k.tick('job-lease')
  const retry = (await k.as('admin').post(`/recording-jobs/${t.job.id}/retry`)).json.data
  const late = () => t.agent.put(t.path, sound(64), t.headers)
  assert.equal((await late()).json.reason, 'superseded_by_retry')
  await t.agent.post(`/nodes/${t.id}/recording-jobs/claim-next`)
  const bytes = sound(32)
  assert.equal((await t.agent.put(t.path, bytes, { ...t.headers, 'x-svc-recording-job-id': retry.id })).status, 201)
  assert.equal((await late()).json.reason, 'superseded_by_retry')
  assert.equal((await t.recording()).checksum, hex(bytes))
  await k.close()
})

test('two uploads of one rendition at once never mix: one wins whole', async () => {
  const k = kit()
  const t = await claimed(k)
  const takes = Array.from({ length: 6 }, () => sound(400_000))
  const answers = await Promise.all(takes.map((bytes) => t.agent.put(t.path, bytes, t.headers)))
  assert.ok(answers.some((a) => a.status === 201))
  assert.ok(answers.every((a) => a.status === 201 || a.json.reason === 'upload_in_progress'))
  const { cachePath, checksum } = await t.recording()
  assert.equal(hex(readFileSync(join(k.takes, cachePath))), checksum)
  assert.ok(takes.some((bytes) => hex(bytes) === checksum))
  assert.equal(t.files().length, 1)
  await k.close()
})

/** Sends the first `bytes` of a longer body and breaks the connection once the controller holds them. */
async function brokenUpload(url: string, token: string, headers: object, bytes: Uint8Array, arrived: () => boolean) {
  const request = http.request(url, {
    method: 'PUT',
    headers: { ...headers, authorization: `Bearer ${token}`, 'content-length': bytes.length + 1000 },
  })
  request.on('error', () => {})
  request.write(bytes)
  while (!arrived()) await new Promise((resolve) => setImmediate(resolve))
  request.destroy()
}

test('a resumable upload goes on where it broke off; a plain one leaves nothing', async () => {
  const k = kit()
  const server = await listening(k)
  const t = await claimed(k)
  const url = server.url + t.path
  const whole = sound(3_000_000)
  const resumable = {
    ...t.headers,
    'upload-length': String(whole.length),
    'upload-complete': '?1',
    'upload-offset': '0',
  }
  const part = () => join(k.takes, '.incoming', `${t.recordingId}.primary.${t.job.id}.part`)
  const partBytes = () => (existsSync(part()) ? readFileSync(part()).length : 0)
  await brokenUpload(url, t.token, resumable, whole.subarray(0, 2_100_000), () => partBytes() > 1_000_000)
  const auth = { authorization: `Bearer ${t.token}`, ...t.headers }
  const head = await fetch(url, { method: 'HEAD', headers: auth })
  const offset = Number(head.headers.get('upload-offset'))
  assert.ok(offset > 1_000_000 && offset < whole.length)
  const rest = await fetch(url, {
    method: 'PUT',
    headers: { ...auth, ...resumable, 'upload-offset': String(offset), 'content-digest': digest(whole) },
    body: whole.subarray(offset),
  })
  assert.equal(rest.status, 201)
  const { cachePath } = await t.recording()
  assert.ok(readFileSync(join(k.takes, cachePath)).equals(whole))

  const plain = `${url}?rendition=raw`
  await brokenUpload(plain, t.token, t.headers, whole.subarray(0, 2_100_000), () => t.files().length === 2)
  while (t.files().length > 1) await new Promise((resolve) => setImmediate(resolve))
  assert.equal((await t.recording()).rawCachePath, undefined)
  await server.close()
  await k.close()
})

const begun = { 'upload-offset': '0', 'upload-complete': '?0' }

for (const [how, remove] of [
  ['alone', (k: Kit, id: string) => k.as('admin').delete(`/recordings/${id}`)],
  ['among many', (k: Kit, id: string) => k.as('admin').post('/recordings/bulk-delete', { recordingIds: [id] })],
] as const)
  test(`unfinished uploads go with their recording, deleted ${how}`, async () => {
    const k = kit()
    const t = await claimed(k)
    const master = await t.agent.put(`${t.path}?rendition=raw`, sound(1000), { ...t.headers, ...begun })
    assert.equal(master.status, 204, master.text)
    assert.equal((await t.agent.put(t.path, sound(1000), t.headers)).status, 201)
    assert.equal(t.files().length, 2)
    const gone = await remove(k, t.recordingId)
    assert.ok(gone.status === 200 || gone.status === 204, gone.text)
    assert.deepEqual(t.files(), [])
    await k.close()
  })

test('only so many unfinished uploads of a job are kept; those go on', async () => {
  const k = kit()
  const t = await claimed(k)
  const piece = (chunk: number, more: object) =>
    t.agent.put(`${t.path}?chunk=${chunk}`, sound(100), { ...t.headers, ...more })
  for (let chunk = 0; chunk < 8; chunk++) assert.equal((await piece(chunk, begun)).status, 204)
  const refused = await piece(8, begun)
  assert.deepEqual([refused.status, refused.json.reason], [429, 'too_many_unfinished_uploads'])
  assert.equal(t.files().length, 8)
  const more = { 'upload-offset': '100', 'upload-complete': '?1' }
  assert.equal((await piece(0, more)).status, 201)
  assert.equal((await piece(8, begun)).status, 204)
  await k.close()
})
