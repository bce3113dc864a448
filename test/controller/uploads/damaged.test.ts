// A destination that damages what it is given: the upload fails, nothing here is deleted, and a later attempt makes it good.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { afterEach, test } from 'node:test'
import { s3Server } from '../../kit/s3.ts'
import { NO_SMBD, SMB_PASSWORD, smbServer } from '../../kit/smb.ts'
import { counted, wav } from '../recordings/chunks/world.ts'
import { S3_DESTINATION, type Uploads, uploads } from './uploads.ts'

interface Place {
  close(): Promise<void>
  destination: object
  /** From now on it keeps what it is given. */
  mend(): void
}

const flipped = (bytes: Buffer): Buffer => {
  const copy = Buffer.from(bytes)
  copy[copy.length - 1] = (copy.at(-1) as number) ^ 1
  return copy
}

async function store(reportsChecksums: boolean): Promise<Place> {
  let bad = true
  const alters = (bytes: Buffer): Buffer => (bad ? flipped(bytes) : bytes)
  const server = await s3Server({ alters, keeps: true, reportsChecksums })
  return {
    close: server.close,
    destination: { s3: { ...S3_DESTINATION.s3, endpoint: server.endpoint } },
    mend: () => {
      bad = false
    },
  }
}

async function share(): Promise<Place> {
  const script = path.join(u.root, '..', `bad-${randomBytes(4).toString('hex')}`)
  const lines = ['#!/bin/sh', 'find "$1" -name ".*.part" -exec truncate -s -1 {} +']
  writeFileSync(script, `${lines.join('\n')}\n`)
  chmodSync(script, 0o755)
  const server = await smbServer([`preexec = ${script} %P`])
  const { port, username } = server
  return {
    close: server.close,
    destination: {
      kind: 'smb',
      s3: {},
      smb: { port, server: '127.0.0.1', share: server.share, username },
      smbPassword: SMB_PASSWORD,
    },
    mend: () => rmSync(script),
  }
}

let u: Uploads
let place: Place
afterEach(async () => {
  await place.close()
  await u.k.close()
})

const begin = async (make: () => Promise<Place>): Promise<string> => {
  u = uploads({ SVC_SMBCLIENT_COMMAND: '/usr/bin/smbclient' })
  place = await make()
  const fields = { deleteCacheAfterUpload: true, maxAttempts: 5, trigger: 'on_recording_cached' }
  return u.policy(await u.destination(place.destination), fields)
}

/** Everything here that deletes takes has its turn, a week later. */
async function retention(): Promise<void> {
  const fields = { id: 'week', name: 'W', action: 'delete_cache', maxAgeDays: 1 }
  await u.owner.post('/settings/retention-policies', fields)
  u.k.sql(`UPDATE recordings SET retention_policy_id = 'week'`)
  u.k.advance('7d')
  await u.k.tick('retention')
}

const statuses = () =>
  u.k
    .rows<{ status: string; e: string | null }>('SELECT status, last_error AS e FROM upload_queue ORDER BY rowid')
    .map(({ status, e }) => `${status} ${e?.split(':')[0] ?? ''}`.trim())

/** The upload failed and will be tried again; the files stay; it succeeds once the destination is sound; they may go. */
async function madeGood(files: string[], recordingId: string): Promise<void> {
  const there = () => files.map((file) => existsSync(path.join(u.root, file)))
  await u.k.tick('upload')
  assert.deepEqual(new Set(statuses()), new Set(['retrying checksum_mismatch']))
  assert.notEqual(u.recording(recordingId).status, 'uploaded')
  await retention()
  assert.deepEqual(
    there(),
    files.map(() => true),
  )
  place.mend()
  await u.k.tick('upload')
  assert.deepEqual(new Set(statuses()), new Set(['succeeded']))
  assert.equal(u.recording(recordingId).status, 'uploaded')
  await u.k.tick('retention')
  assert.deepEqual(
    there(),
    files.map(() => false),
  )
}

const PLACES: [string, () => Promise<Place>, string | false][] = [
  ['a store with checksums', () => store(true), false],
  ['a store without checksums', () => store(false), false],
  ['a share', share, NO_SMBD],
]
for (const [what, make, skip] of PLACES) {
  test(`${what} that damages a take: it stays until it has arrived`, { skip }, async () => {
    const policy = await begin(make)
    const { id, path: file } = u.cached([policy])
    await u.enqueue(id)
    await madeGood([file], id)
  })

  test(`${what} that damages a large take: it stays until it has arrived`, { skip }, async () => {
    const policy = await begin(make)
    const { id, path: file } = u.cached([policy], { bytes: randomBytes(17 * 1024 * 1024 + 3) })
    await u.enqueue(id)
    await madeGood([file], id)
  })

  test(`${what} that damages a take and its raw master: both stay until both have arrived`, { skip }, async () => {
    const policy = await begin(make)
    const { agent, id: nodeId } = await u.k.enroll()
    u.takes.recording('rec_9', { nodeId, uploadPolicyIds: [policy] })
    u.takes.job('job_9', 'rec_9', { nodeId, status: 'running', claimedBy: nodeId })
    const files: string[] = []
    for (const [rendition, from] of [
      ['enhanced', 0],
      ['raw', 900],
    ] as const) {
      const headers = { 'x-svc-file-name': 'a.wav', 'x-svc-recording-job-id': 'job_9' }
      const sound = wav(counted(from, 800))
      const { json, status, text } = await agent.put(
        `/recordings/rec_9/cache-file?rendition=${rendition}`,
        sound,
        headers,
      )
      assert.equal(status, 201, text)
      files.push(rendition === 'raw' ? json.data.recording.rawCachePath : json.data.recording.cachePath)
    }
    await madeGood(files, 'rec_9')
  })

  test(`${what} that damages chunks: all of them stay until all have arrived`, { skip }, async () => {
    const policy = await begin(make)
    const { agent, id: nodeId } = await u.k.enroll()
    u.takes.recording('rec_9', { nodeId, uploadPolicyIds: [policy] })
    u.takes.job('job_9', 'rec_9', { nodeId, status: 'running', claimedBy: nodeId })
    const headers = { 'x-svc-file-name': 'a.wav', 'x-svc-recording-job-id': 'job_9' }
    for (const rendition of ['enhanced', 'raw'])
      for (const index of [0, 1]) {
        const query = `chunk=${index}&chunkTotal=2&rendition=${rendition}`
        const sound = wav(counted(800 * index, 800))
        const { status, text } = await agent.put(`/recordings/rec_9/cache-file?${query}`, sound, headers)
        assert.equal(status, 201, text)
      }
    // The joined master is queued, too: it is to be there before anything is judged.
    await u.k.tick('chunk-join')
    const files = u.k.rows<{ path: string }>('SELECT path FROM recording_chunk_files ORDER BY path')
    assert.equal(files.length, 4)
    await madeGood(
      files.map(({ path }) => path),
      'rec_9',
    )
  })
}
