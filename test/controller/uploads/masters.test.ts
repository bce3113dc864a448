// The raw master beside an enhanced take: the authoritative record goes where the take goes that is played.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import * as path from 'node:path'
import { afterEach, test } from 'node:test'
import type { UploadItem } from '../../../src/wire/uploads.ts'
import { type S3Options, type S3Server, s3Server } from '../../kit/s3.ts'
import { NO_SMBD, SMB_PASSWORD, type SmbServer, smbServer } from '../../kit/smb.ts'
import { sound } from '../../kit/sound.ts'
import { chunked, counted, wav } from '../recordings/chunks/world.ts'
import { ENHANCEMENT } from '../recordings/library/takes.ts'
import { S3_DESTINATION, sha256, type Uploads, uploads } from './uploads.ts'

const AUTO = { trigger: 'on_recording_cached' }
const ENHANCED = sound('what is played')
const RAW = sound('the master')

let u: Uploads
let server: S3Server
afterEach(async () => {
  await u.k.close()
  await server.close()
})

const begin = async (
  options: S3Options = {},
  env: Record<string, string> = { SVC_DATABASE_REPLICATED: 'true' },
): Promise<string> => {
  u = uploads(env)
  server = await s3Server({ keeps: true, ...options })
  return u.destination({ s3: { ...S3_DESTINATION.s3, endpoint: server.endpoint } })
}

/** A policy of a new controller with a destination that works. */
const policyOf = async (fields: object = {}): Promise<string> => {
  const destination = await begin()
  return u.policy(destination, fields)
}

/** A recording of a node that delivers its renditions; `send` gives the answer's queue items. */
async function take(uploadPolicyIds: string[]) {
  const { agent, id: nodeId } = await u.k.enroll()
  u.takes.recording('rec_9', { name: 'Choir', nodeId, uploadPolicyIds })
  u.takes.job('job_9', 'rec_9', {
    nodeId,
    status: 'running',
    claimedBy: nodeId,
    command: { enhancement: ENHANCEMENT },
  })
  return async (rendition: 'enhanced' | 'raw', bytes: Uint8Array): Promise<UploadItem[]> => {
    const headers = { 'x-svc-file-name': 'a.wav', 'x-svc-recording-job-id': 'job_9' }
    const answer = await agent.put(`/recordings/rec_9/cache-file?rendition=${rendition}`, bytes, headers)
    assert.equal(answer.status, 201, answer.text)
    return answer.json.data.uploadQueueItems
  }
}

const queue = async (): Promise<UploadItem[]> => (await u.owner.get('/upload-queue')).json.data
const names = async (): Promise<string[]> => (await queue()).map(({ fileName = '', status }) => `${fileName} ${status}`)
const stored = () => Object.fromEntries([...server.objects].map(([key, { body }]) => [key, String(body)]))
const refuse: S3Options['interfere'] = (request, response) => {
  const refused = /\.raw\./.test(request.url ?? '')
  if (refused) response.writeHead(403).end('<Error><Code>AccessDenied</Code><Message>no</Message></Error>')
  return refused
}

test('the master comes after what is played, and follows it to every place as an item of its own', async () => {
  const destination = await begin()
  const policies = [await u.policy(destination, AUTO), await u.policy(destination, { ...AUTO, pathOverride: 'copy' })]
  const send = await take([...policies, await u.policy(destination, { pathOverride: 'manual' })])
  assert.equal((await send('enhanced', ENHANCED)).length, 2)
  await u.k.tick('upload')
  assert.equal(u.recording('rec_9').status, 'uploaded')
  assert.deepEqual(await send('raw', RAW), [], 'the answer to a master tells of no items')
  assert.equal(u.recording('rec_9').status, 'uploaded', 'what has arrived stays arrived')
  await u.k.tick('upload')
  assert.deepEqual(stored(), {
    'takes/rooms/Choir_9.wav': String(ENHANCED),
    'takes/rooms/Choir_9.raw.wav': String(RAW),
    'takes/rooms/copy/Choir_9.wav': String(ENHANCED),
    'takes/rooms/copy/Choir_9.raw.wav': String(RAW),
  })
  const raw = (await queue()).filter((item) => item.checksum === `sha256:${sha256(RAW)}`)
  assert.deepEqual(
    raw.map((item) => [item.status, item.uploadPolicyId, item.cachePath]).sort(),
    policies.map((id) => ['succeeded', id, u.recording('rec_9').rawCachePath]).sort(),
  )
})

test('one that comes first waits for what is played; the same one again is not sent again', async () => {
  const send = await take([await policyOf(AUTO)])
  await send('raw', RAW)
  assert.deepEqual(await queue(), [])
  await send('enhanced', ENHANCED)
  await u.k.tick('upload')
  const sent = ['Choir_9.raw.wav succeeded', 'Choir_9.wav succeeded']
  assert.deepEqual((await names()).sort(), sent)
  await send('raw', RAW)
  assert.deepEqual((await names()).sort(), sent)
  // Another one takes its place here, and stands beside it there.
  const another = sound('another master')
  await send('raw', another)
  await u.k.tick('upload')
  assert.equal(stored()['takes/rooms/Choir_9.raw.wav'], String(RAW))
  assert.equal(stored()[`takes/rooms/Choir_9.raw_${sha256(another).slice(0, 12)}.wav`], String(another))
})

test('a master that does not arrive leaves the recording partial, is alarmed of and can be sent again', async () => {
  const refusing = { on: true }
  const interfere: S3Options['interfere'] = (...args) => refusing.on && Boolean(refuse(...args))
  const destination = await begin({ interfere })
  const send = await take([await u.policy(destination, { ...AUTO, deleteCacheAfterUpload: true, maxAttempts: 1 })])
  await send('enhanced', ENHANCED)
  await send('raw', RAW)
  await u.k.tick('upload')
  assert.deepEqual((await names()).sort(), ['Choir_9.raw.wav failed', 'Choir_9.wav succeeded'])
  const { cachePath = '', status } = u.recording('rec_9')
  assert.equal(status, 'partial')
  assert.ok(existsSync(path.join(u.root, cachePath)), 'nothing is deleted while something failed')
  const alarms = () =>
    u.k.rows<{ status: string }>(
      `SELECT status FROM health_events WHERE type = 'controller.recording.upload_queue_failed'`,
    )
  assert.deepEqual(alarms(), [{ status: 'open' }], 'the take beside it has not made it good')
  refusing.on = false
  const failed = (await queue()).find((item) => item.status === 'failed')
  const retried = await u.owner.post(`/upload-queue/${failed?.id}/retry`)
  assert.equal(retried.json.data.checksum, `sha256:${sha256(RAW)}`)
  await u.k.tick('upload')
  assert.equal(stored()['takes/rooms/Choir_9.raw.wav'], String(RAW))
  assert.deepEqual([u.recording('rec_9').status, alarms()], ['uploaded', [{ status: 'resolved' }]])
  const { rawCachePath = '' } = u.recording('rec_9')
  assert.deepEqual(
    [cachePath, rawCachePath].map((file) => existsSync(path.join(u.root, file))),
    [false, true],
    'what is played is deleted as the policy says, the master never',
  )
})

test('a master that comes when what is played has been deleted here already goes there all the same', async () => {
  const send = await take([await policyOf({ ...AUTO, deleteCacheAfterUpload: true })])
  await send('enhanced', ENHANCED)
  await u.k.tick('upload')
  assert.equal(u.recording('rec_9').cached, false)
  await send('raw', RAW)
  await u.k.tick('upload')
  assert.deepEqual((await names()).sort(), ['Choir_9.raw.wav succeeded', 'Choir_9.wav succeeded'])
  assert.equal(u.recording('rec_9').status, 'uploaded')
  assert.ok(existsSync(path.join(u.root, u.recording('rec_9').rawCachePath ?? '')))
})

test('queued by hand it goes along; the answer is the item of what is played', async () => {
  const policy = await policyOf()
  const { id } = u.cached([policy], { bytes: ENHANCED, name: 'Choir' })
  u.file(id, 'raw', RAW, 'wav')
  const item = await u.enqueue(id)
  assert.equal(item.checksum, `sha256:${sha256(ENHANCED)}`)
  assert.equal((await u.enqueue(id)).id, item.id)
  await u.k.tick('upload')
  assert.equal((await queue()).length, 2)
  assert.deepEqual(Object.values(stored()).sort(), [String(RAW), String(ENHANCED)].sort())
})

test('where masters are to stay, they stay', async () => {
  const destination = await begin({}, { SVC_UPLOAD_RAW_MASTERS: 'false' })
  const send = await take([await u.policy(destination, AUTO)])
  await send('enhanced', ENHANCED)
  await send('raw', RAW)
  await u.enqueue('rec_9')
  await u.k.tick('upload')
  assert.deepEqual(await names(), ['Choir_9.wav succeeded'])
  assert.equal(u.recording('rec_9').status, 'uploaded')
})

test('of a take in chunks the joined master is sent, in one piece', async () => {
  const policy = await policyOf(AUTO)
  const t = await chunked(u.k, { codec: 'wav' }, { uploadPolicyIds: [policy] })
  const raw = (n: number) => wav(counted(20_000 + n * 800, 800))
  for (const [n, end] of ['', '&chunkTotal=2'].entries()) {
    await t.put(n, wav(counted(n * 800, 800)), `&rendition=enhanced${end}`)
    await t.put(n, raw(n), '&rendition=raw')
  }
  await u.k.tick('chunk-join')
  await u.k.tick('upload')
  const sent = [...server.objects].filter(([key]) => /\.raw\.wav$/.test(key)).map(([, { body }]) => body)
  assert.equal(sent.length, 1)
  assert.ok(sent[0]?.equals(wav(counted(20_000, 1600))))
  assert.deepEqual([server.objects.size, (await t.recording()).status], [3, 'uploaded'])
})

test('a share gets it too, read back and compared', { skip: NO_SMBD }, async () => {
  await begin()
  const smb: SmbServer = await smbServer()
  const { port, share, username } = smb
  const where = { port, server: '127.0.0.1', share, username }
  const destination = await u.destination({ kind: 'smb', smb: where, smbPassword: SMB_PASSWORD })
  const send = await take([await u.policy(destination, AUTO)])
  await send('enhanced', ENHANCED)
  await send('raw', RAW)
  await u.k.tick('upload')
  assert.deepEqual(readFileSync(path.join(smb.dir, 'Choir_9.raw.wav')), RAW)
  assert.deepEqual(u.k.rows('SELECT status, verification FROM upload_queue'), [
    { status: 'succeeded', verification: 'matched' },
    { status: 'succeeded', verification: 'matched' },
  ])
  await smb.close()
})
