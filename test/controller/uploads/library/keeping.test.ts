import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { afterEach, test } from 'node:test'
import { copyStore, type FileId } from '../../../../src/controller/uploads/copies.store.ts'
import { presenceRunner } from '../../../../src/controller/uploads/library/presence.runner.ts'
import { type S3Object, type S3Options, s3Server } from '../../../kit/s3.ts'
import { counted, wav } from '../../recordings/chunks/world.ts'
import { S3_DESTINATION } from '../uploads.ts'
import { type LibraryWorld, library } from './world.ts'

const DESTINATIONS = '/settings/upload-destinations'

let w: LibraryWorld
afterEach(() => w.close())

const begin = async (options?: S3Options, env?: Record<string, string>): Promise<LibraryWorld> => {
  w = await library(options, env)
  return w
}

const due = (id: string): void => {
  w.k.sql(`UPDATE recordings SET retention_policy_id = 'day' WHERE id = ?`, id)
  w.k.advance('2d')
}

test('retention frees what a destination holds: the take stays, and says where it is', async () => {
  await begin()
  const id = await w.uploaded(randomBytes(1000))
  assert.deepEqual(w.recording(id).held, ['local', w.destinationId])
  due(id)
  w.k.forget()
  await w.k.tick('retention')
  const { cached, checksum, held, status } = w.recording(id)
  assert.deepEqual([cached, held, status, w.there(`ad-hoc/${id}.mp3`)], [true, [w.destinationId], 'uploaded', false])
  assert.match(checksum as string, /^sha256:/)
  assert.deepEqual(w.k.trail(), [
    'recordings.retention.cache_deleted succeeded max_age',
    'recordings.retention.runner.completed succeeded',
  ])
  const [row] = w.k.rows<{ d: string }>(
    `SELECT details AS d FROM audit_events WHERE action = 'recordings.retention.cache_deleted'`,
  )
  assert.equal(JSON.parse(row?.d ?? '').keptAtDestination, true)
  w.k.forget()
  await w.k.tick('retention')
  assert.deepEqual(w.k.trail(), [])
})

test('a destination that does not keep the library changes nothing: what it holds is deleted here as ever', async () => {
  await begin()
  await w.owner.patch(`${DESTINATIONS}/${w.destinationId}`, { keepsLibrary: false })
  const id = await w.uploaded(randomBytes(1000))
  assert.deepEqual(w.recording(id).held, ['local'])
  due(id)
  await w.k.tick('retention')
  assert.deepEqual([w.recording(id).cached, w.recording(id).held], [false, []])
})

test('an upload policy that deletes after the upload frees the file, too', async () => {
  await begin()
  const fields = { deleteCacheAfterUpload: true, trigger: 'on_recording_cached' }
  const policyId = await w.policy(w.destinationId, fields)
  const bytes = randomBytes(1000)
  w.cached([policyId], { bytes, id: 'rec_now' })
  await w.enqueue('rec_now')
  await w.k.tick('upload')
  assert.deepEqual([w.recording('rec_now').held, w.there('ad-hoc/rec_now.mp3')], [[w.destinationId], false])
  assert.ok((await w.send('GET', '/recordings/rec_now/stream')).body.equals(bytes))
})

test('masters are kept as well: until they are there, nothing is freed', async () => {
  let fails = true
  await begin({
    interfere: (request, response, operation) => {
      const refuses = fails && operation === 'put' && request.url?.includes('.raw.') === true
      if (refuses) response.writeHead(500).end()
      return refuses
    },
  })
  const [played, master] = [randomBytes(1000), randomBytes(5000)]
  w.takes.recording('rec_1', { uploadPolicyIds: [w.policyId] })
  w.takes.file('rec_1', 'enhanced', played, 'mp3')
  w.takes.file('rec_1', 'raw', master)
  w.k.db.tx(() => w.takes.store.settle('rec_1', 'cached', w.k.now()))
  await w.enqueue('rec_1')
  await w.k.tick('upload')
  assert.deepEqual(w.recording('rec_1').held, ['local'])
  due('rec_1')
  await w.k.tick('retention')
  assert.deepEqual(w.recording('rec_1').held, ['local'])
  fails = false
  await w.k.tick('upload')
  await w.k.tick('retention')
  assert.deepEqual(w.recording('rec_1').held, [w.destinationId])
  assert.ok((await w.send('GET', '/recordings/rec_1/file?rendition=raw')).body.equals(master))
  assert.ok((await w.send('GET', '/recordings/rec_1/file')).body.equals(played))
})

test('of a take in chunks the joined file is kept, and its master', async () => {
  await begin()
  const { agent, id: nodeId } = await w.k.enroll()
  w.takes.recording('rec_9', { nodeId, uploadPolicyIds: [w.policyId] })
  w.takes.job('job_9', 'rec_9', { nodeId, status: 'running', claimedBy: nodeId })
  const headers = { 'x-svc-file-name': 'a.wav', 'x-svc-recording-job-id': 'job_9' }
  for (const rendition of ['enhanced', 'raw'])
    for (const index of [0, 1]) {
      const query = `chunk=${index}&chunkTotal=2&rendition=${rendition}`
      const { status, text } = await agent.put(
        `/recordings/rec_9/cache-file?${query}`,
        wav(counted(800 * index, 800)),
        headers,
      )
      assert.equal(status, 201, text)
    }
  await w.k.tick('chunk-join')
  await w.k.tick('upload')
  const { cachePath = '', held, rawCachePath = '' } = w.recording('rec_9')
  assert.deepEqual(held, ['local', w.destinationId])
  const [played, master] = [cachePath, rawCachePath].map((file) => readFileSync(path.join(w.root, file)))
  due('rec_9')
  await w.k.tick('retention')
  assert.deepEqual(
    [w.recording('rec_9').held, w.k.rows('SELECT 1 FROM recording_chunk_files')],
    [[w.destinationId], []],
  )
  assert.ok((await w.send('GET', '/recordings/rec_9/stream')).body.equals(played as Buffer))
  assert.ok((await w.send('GET', '/recordings/rec_9/file?rendition=raw')).body.equals(master as Buffer))
  const chunks = await w.owner.get('/recording-jobs/job_9/chunks')
  assert.equal(chunks.json.data.length, 2)
})

test('a take whose object is no longer there is not freed: it is uploaded again', async () => {
  await begin()
  const id = await w.uploaded(randomBytes(1000))
  w.store.objects.clear()
  due(id)
  await w.k.tick('retention')
  assert.deepEqual([w.recording(id).held, w.there(`ad-hoc/${id}.mp3`)], [['local'], true])
  assert.deepEqual(w.events(), [{ severity: 'warning', status: 'open' }])
  await w.k.tick('upload')
  assert.deepEqual(w.recording(id).held, ['local', w.destinationId])
  assert.deepEqual(w.events(), [{ severity: 'warning', status: 'resolved' }])
  await w.k.tick('retention')
  assert.deepEqual(w.recording(id).held, [w.destinationId])
})

test('a bucket that is not there damages nothing', async () => {
  let gone = false
  await begin({
    interfere: (request, response) => {
      if (!gone) return false
      response.writeHead(404, { 'content-type': 'application/xml' })
      response.end(
        request.method === 'HEAD' ? undefined : '<Error><Code>NoSuchBucket</Code><Message>none</Message></Error>',
      )
      return true
    },
  })
  const id = await w.uploaded(randomBytes(1000))
  gone = true
  due(id)
  await w.k.tick('retention')
  assert.deepEqual([w.recording(id).held, w.events()], [['local', w.destinationId], []])
})

test('a destination that does not answer keeps takes on this disk', async () => {
  let down = false
  await begin({ interfere: (_, response) => (down ? !!response.destroy() : false) })
  const id = await w.uploaded(randomBytes(1000))
  due(id)
  down = true
  await w.k.tick('retention')
  assert.deepEqual(w.recording(id).held, ['local', w.destinationId])
  assert.ok(w.k.logged.some((line) => line.includes('their destination does not answer')))
})

const WRONGS: [string, (objects: Map<string, S3Object>) => void][] = [
  ['lost', (objects) => objects.clear()],
  [
    'another one',
    (objects) => {
      for (const [key, object] of objects) objects.set(key, { ...object, body: randomBytes(1000), etag: '"other"' })
    },
  ],
  [
    'shorter',
    (objects) => {
      for (const [key, object] of objects) objects.set(key, { ...object, body: object.body?.subarray(1) })
    },
  ],
]
for (const [what, damage] of WRONGS)
  test(`an object that is ${what} is a 502, an alert, and no longer told as held; it is sound again when it is back`, async () => {
    await begin()
    const id = await w.beyond(randomBytes(1000))
    const before = new Map(w.store.objects)
    damage(w.store.objects)
    w.k.forget()
    for (let times = 0; times < 2; times++) {
      const got = await w.send('GET', `/recordings/${id}/stream`)
      assert.deepEqual([got.status, JSON.parse(got.body.toString()).reason], [502, 'library_damaged'])
    }
    assert.deepEqual(w.k.trail(), [
      'recordings.playback.stream allowed',
      'recordings.library.copy_damaged failed remote_copy_damaged',
      'recordings.playback.stream.failed failed library_damaged',
      'recordings.playback.stream allowed',
      'recordings.playback.stream.failed failed library_damaged',
    ])
    assert.deepEqual([w.recording(id).held, w.events()], [[], [{ severity: 'critical', status: 'open' }]])
    for (const [key, object] of before) w.store.objects.set(key, object)
    assert.equal((await w.send('GET', `/recordings/${id}/stream`)).status, 200)
    assert.deepEqual(w.recording(id).held, [w.destinationId])
    assert.deepEqual(w.events(), [{ severity: 'critical', status: 'resolved' }])
  })

test('with a second destination a lost object is read from there, and uploaded again from there', async () => {
  await begin()
  const other = await s3Server({ keeps: true })
  const s3 = { ...S3_DESTINATION.s3, endpoint: other.endpoint }
  const second = await w.destination({ displayName: 'Second', keepsLibrary: true, s3 })
  await w.policy(second, { id: 'second', trigger: 'on_recording_cached' })
  const bytes = randomBytes(100_000)
  const id = await w.uploaded(bytes)
  w.k.advance('1m')
  await w.enqueue(id, { uploadPolicyId: 'second' })
  await w.k.tick('upload')
  due(id)
  await w.k.tick('retention')
  assert.deepEqual([...w.recording(id).held].sort(), [second, w.destinationId].sort())
  // The one that was verified last is asked first.
  other.objects.clear()
  assert.ok((await w.send('GET', `/recordings/${id}/stream`)).body.equals(bytes))
  assert.deepEqual([w.recording(id).held, w.events()], [[w.destinationId], [{ severity: 'warning', status: 'open' }]])
  // The last one as well: nothing is left to upload it from.
  const kept = new Map(w.store.objects)
  w.store.objects.clear()
  assert.equal((await w.send('GET', `/recordings/${id}/stream`)).status, 502)
  assert.deepEqual(w.events(), [
    { severity: 'warning', status: 'resolved' },
    { severity: 'critical', status: 'open' },
  ])
  for (const [key, object] of kept) w.store.objects.set(key, object)
  assert.equal((await w.send('GET', `/recordings/${id}/stream`)).status, 200)
  await w.k.tick('upload')
  assert.equal([...other.objects.values()][0]?.body?.equals(bytes), true)
  assert.deepEqual(w.recording(id).held.length, 2)
  assert.ok(w.events().every(({ status }) => status === 'resolved'))
  assert.deepEqual([w.there(`ad-hoc/${id}.mp3`), w.there('.borrowed')], [false, true])
  assert.deepEqual(execFileSync('ls', [path.join(w.root, '.borrowed')]).toString(), '')
  await other.close()
})

test('a destination that alone holds takes is neither disabled, nor deleted, nor made another place', async () => {
  await begin()
  await w.beyond(randomBytes(1000))
  const self = `${DESTINATIONS}/${w.destinationId}`
  const s3 = { ...S3_DESTINATION.s3, bucket: 'another', endpoint: w.store.endpoint }
  for (const patch of [{ enabled: false }, { keepsLibrary: false }, { s3 }]) {
    const { json, status } = await w.owner.patch(self, patch)
    assert.deepEqual([status, json.reason, json.count], [409, 'upload_destination_holds_library', 1])
  }
  w.k.sql('DELETE FROM upload_policies WHERE destination_id = ?', w.destinationId)
  const { json, status } = await w.owner.delete(self)
  assert.deepEqual([status, json.reason, json.count], [409, 'upload_destination_holds_library', 1])
  assert.match(json.error ?? json.message, /1 take is at this destination alone/)
  assert.equal((await w.owner.patch(self, { displayName: 'Renamed' })).status, 200)
  assert.equal((await w.owner.delete('/recordings/rec_1')).status, 204)
  assert.equal((await w.owner.patch(self, { enabled: false })).status, 200)
})

test('only S3 keeps the library', async () => {
  await begin()
  const smb = { displayName: 'NAS', keepsLibrary: true, kind: 'smb', smb: { server: 'nas', share: 'x', username: 'u' } }
  const { json, status } = await w.owner.post(DESTINATIONS, smb)
  assert.deepEqual([status, json.reason], [400, 'library_needs_s3'])
})

test('on an empty disk the database serves the whole library, and learns that nothing is here', async () => {
  await begin()
  const takes = [randomBytes(1000), randomBytes(2000), randomBytes(3000)]
  for (const [i, bytes] of takes.entries()) await w.uploaded(bytes, `rec_${i}`)
  w.cached([], { id: 'rec_alone' })
  w.emptyDisk()
  assert.ok((await w.send('GET', '/recordings/rec_0/stream')).body.equals(takes[0] as Buffer))
  assert.deepEqual(w.recording('rec_0').held, [w.destinationId])
  await w.k.tick('library-presence')
  for (const [i, bytes] of takes.entries()) {
    assert.deepEqual(w.recording(`rec_${i}`).held, [w.destinationId])
    assert.ok((await w.send('GET', `/recordings/rec_${i}/file`)).body.equals(bytes))
  }
  assert.deepEqual(w.recording('rec_alone').held, ['local'])
  assert.equal((await w.send('GET', '/recordings/rec_alone/stream')).status, 409)
  // The disk was only not mounted: what is on it counts again after the next start, byte for byte.
  mkdirSync(path.join(w.root, 'ad-hoc'), { recursive: true })
  const onDisk = [takes[0] as Buffer, takes[1] as Buffer, randomBytes(3000)]
  for (const [i, bytes] of onDisk.entries()) writeFileSync(path.join(w.root, `ad-hoc/rec_${i}.mp3`), bytes)
  const copies = copyStore(w.k.db)
  const again = { here: (file: FileId) => w.k.db.tx(() => copies.here(file)), notHere: () => false }
  await presenceRunner({ db: w.k.db, isMoving: () => false, library: again, takes: w.root }).tick(
    w.k.now(),
    new AbortController().signal,
  )
  assert.deepEqual(w.recording('rec_0').held, ['local', w.destinationId])
  assert.deepEqual(w.recording('rec_2').held, [w.destinationId])
})

test('the waveform of a take that is elsewhere is made from there', async () => {
  await begin()
  const id = await w.beyond(wav(counted(0, 8000)))
  rmSync(path.join(w.root, 'ad-hoc'), { force: true, recursive: true })
  w.k.sql('DELETE FROM recording_waveforms')
  assert.equal((await w.owner.get(`/recordings/${id}/waveform`)).status, 202)
  await w.k.waveforms.idle()
  const { json, status } = await w.owner.get(`/recordings/${id}/waveform?points=10`)
  assert.deepEqual([status, json.data.state, json.data.sampleCount], [200, 'ready', 4000])
  assert.deepEqual(execFileSync('ls', [path.join(w.root, '.borrowed')]).toString(), '')
})

test('with SVC_LIBRARY_REDIRECT people are sent to the store for five minutes, and pages still get what they load', async () => {
  await begin({}, { SVC_LIBRARY_REDIRECT: '1' })
  const bytes = randomBytes(5000)
  const id = await w.beyond(bytes)
  w.k.forget()
  const sent = await w.send('GET', `/recordings/${id}/file`)
  const location = sent.headers.location ?? ''
  assert.deepEqual([sent.status, sent.body.length, sent.headers['cache-control']], [307, 0, 'private, no-store'])
  assert.equal(new URL(location).searchParams.get('X-Amz-Expires'), '300')
  const got = await fetch(location, { headers: { range: 'bytes=10-19' } })
  assert.deepEqual(
    [got.status, got.headers.get('content-type'), got.headers.get('content-disposition')],
    [206, 'audio/mpeg', `attachment; filename="${id}.mp3"`],
  )
  assert.ok(Buffer.from(await got.arrayBuffer()).equals(bytes.subarray(10, 20)))
  const said = [...w.k.logged, ...w.k.rows<{ d: string }>('SELECT details AS d FROM audit_events').map(({ d }) => d)]
  assert.ok(said.every((line) => !/X-Amz|Signature=/.test(line)))
  const page = await w.send('GET', `/recordings/${id}/stream`, { 'sec-fetch-dest': 'audio' })
  assert.ok(page.status === 200 && page.body.equals(bytes))
  const head = await w.send('HEAD', `/recordings/${id}/stream`)
  assert.deepEqual([head.status, head.headers['content-length']], [200, '5000'])
  w.store.objects.clear()
  assert.equal((await w.send('GET', `/recordings/${id}/file`)).status, 502)
})

test('uploads in parts that were begun here and never ended are taken back after a day, and nobody else’s', async () => {
  await begin()
  const large = randomBytes(17 * 1024 * 1024)
  await w.uploaded(large)
  const [[key = ''] = []] = w.objects()
  const day = new Date(Date.parse(w.k.now()) - 25 * 3_600_000)
  const rest = { checksummed: false, contentType: undefined, metadata: {}, parts: new Map() }
  w.store.uploads.set('ours', { ...rest, begun: day, key })
  w.store.uploads.set('young', { ...rest, begun: new Date(Date.parse(w.k.now()) + 24 * 3_600_000), key })
  w.store.uploads.set('theirs', { ...rest, begun: day, key: 'takes/rooms/backup.tar' })
  w.store.uploads.set('longer', { ...rest, begun: day, key: `${key}.tar` })
  await w.k.tick('upload-parts')
  assert.equal(w.store.uploads.size, 4)
  w.k.advance('25h')
  w.k.sql(`UPDATE upload_queue SET claim = 'under way'`)
  await w.k.tick('upload-parts')
  assert.equal(w.store.uploads.size, 4)
  w.k.sql('UPDATE upload_queue SET claim = NULL')
  w.k.forget()
  await w.k.tick('upload-parts')
  assert.deepEqual([...w.store.uploads.keys()], ['young', 'theirs', 'longer'])
  assert.deepEqual(w.k.trail(), ['settings.upload_destinations.parts_taken_back succeeded'])
  w.store.operations.length = 0
  await w.k.tick('upload-parts')
  assert.deepEqual(w.store.operations, [])
})
