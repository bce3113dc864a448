// The library in an object store that is not ours: OpenStack Swift with its S3 interface, which reports no SHA-256.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import {
  AbortMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { NO_SWIFT, swiftServer } from '../../../kit/swift.ts'
import { type LibraryWorld, library } from './world.ts'

const MIB = 1024 * 1024
const Bucket = 'takes'
const options = { skip: NO_SWIFT }

let swift: Awaited<ReturnType<typeof swiftServer>>
let client: S3Client
let w: LibraryWorld
before(async () => {
  if (NO_SWIFT) return
  swift = await swiftServer()
  const { endpoint } = swift
  client = new S3Client({ credentials: swift, endpoint, forcePathStyle: true, region: 'us-east-1' })
  await client.send(new CreateBucketCommand({ Bucket }))
  w = await library({}, { SVC_LIBRARY_REDIRECT: '1' }, swift)
})
after(async () => {
  if (NO_SWIFT) return
  await w.close()
  client.destroy()
  await swift.close()
})

const keyOf = (id: string): string => {
  const [row] = w.k.rows<{ key: string }>('SELECT object_key AS key FROM remote_copies WHERE recording_id = ?', id)
  return row?.key ?? ''
}
/** As a page loads it: read through. */
const loaded = (id: string, headers = {}) =>
  w.send('GET', `/recordings/${id}/stream`, { 'sec-fetch-dest': 'audio', ...headers })

test(
  'takes are verified by reading them back, freed here, and read through: one PUT, and one in parts',
  options,
  async () => {
    for (const [id, size] of [
      ['rec_small', 100_001],
      ['rec_large', 18 * MIB + 5],
    ] as const) {
      const bytes = randomBytes(size)
      await w.beyond(bytes, id)
      const [row] = w.k.rows('SELECT verification AS v FROM upload_queue WHERE recording_id = ?', id)
      assert.deepEqual(row, { v: 'matched' })
      assert.ok((await loaded(id)).body.equals(bytes))
      const part = await loaded(id, { range: `bytes=${size - 70_000}-${size - 3}` })
      assert.deepEqual(
        [part.status, part.headers['content-range']],
        [206, `bytes ${size - 70_000}-${size - 3}/${size}`],
      )
      assert.ok(part.body.equals(bytes.subarray(size - 70_000, size - 2)))
    }
  },
)

test('a link leads to the take', options, async () => {
  const bytes = randomBytes(5000)
  const id = await w.beyond(bytes, 'rec_link')
  const { headers, status } = await w.send('GET', `/recordings/${id}/file`)
  assert.equal(status, 307)
  const got = await fetch(headers.location as string)
  assert.deepEqual([got.status, got.headers.get('content-disposition')], [200, 'attachment; filename="rec_link.mp3"'])
  assert.ok(Buffer.from(await got.arrayBuffer()).equals(bytes))
})

test('an object that was written over or deleted is damage', options, async () => {
  const id = await w.beyond(randomBytes(3000), 'rec_hurt')
  await client.send(new PutObjectCommand({ Body: randomBytes(3000), Bucket, Key: keyOf(id) }))
  assert.equal((await loaded(id)).status, 502)
  await client.send(new DeleteObjectCommand({ Bucket, Key: keyOf(id) }))
  assert.equal((await loaded(id)).status, 502)
  assert.deepEqual([w.recording(id).held, w.events()], [[], [{ severity: 'critical', status: 'open' }]])
})

test('what was begun in parts and left is taken back, and another’s is not', options, async () => {
  // The clock of the kit stands in the past, the store's does not: what it has is older than a day only for a kit of tomorrow.
  await w.uploaded(randomBytes(17 * MIB), 'rec_parts')
  const Key = keyOf('rec_parts')
  const theirs = { Bucket, Key: 'rooms/theirs.tar' }
  await client.send(new CreateMultipartUploadCommand({ Bucket, Key }))
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(theirs))
  const left = async () =>
    ((await client.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads ?? []).map((upload) => upload.Key)
  w.k.advance(`${Math.ceil((Date.now() - Date.parse(w.k.now())) / 3_600_000) + 26}h`)
  await w.k.tick('upload-parts')
  assert.deepEqual(await left(), [theirs.Key])
  await client.send(new AbortMultipartUploadCommand({ ...theirs, UploadId }))
})
