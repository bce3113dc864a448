import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { TakeManifest } from '../../../src/wire/manifests.ts'
import { type S3Server, s3Server } from '../../kit/s3.ts'
import { S3_DESTINATION, sha256, type Uploads, uploads } from './uploads.ts'

let server: S3Server
let refuses = false
before(async () => {
  server = await s3Server({
    interfere: (request, response) => {
      const refused = refuses && request.method === 'PUT' && (request.url ?? '').includes('.roomtone.json')
      if (refused) response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>')
      return refused
    },
    keeps: true,
  })
})
after(() => server.close())

let u: Uploads
beforeEach(() => {
  refuses = false
  server.objects.clear()
  u = uploads()
})
afterEach(() => u.k.close())

const told = (key: string): TakeManifest => TakeManifest.parse(JSON.parse(String(server.objects.get(key)?.body)))

/** An uploaded take; gives the key of its object. */
async function uploaded(name: string): Promise<{ destination: string; id: string; key: string }> {
  const destination = await u.destination({ s3: { ...S3_DESTINATION.s3, endpoint: server.endpoint } })
  const { id } = u.cached([], { name })
  await u.enqueue(id, { uploadPolicyId: await u.policy(destination) })
  await u.k.tick('upload')
  const [key = ''] = server.objects.keys()
  return { destination, id, key }
}

test('beside an uploaded take lies its manifest, and says what is changed later', async () => {
  const { id, key } = await uploaded('Algebra')
  await u.k.tick('upload-manifests')
  const beside = `${key}.roomtone.json`
  assert.deepEqual([...server.objects.keys()], [key, beside])
  assert.equal(server.objects.get(beside)?.contentType, 'application/json')
  const { file, recording } = told(beside)
  assert.deepEqual(file, {
    rendition: 'primary',
    checksum: `sha256:${sha256(server.objects.get(key)?.body as Buffer)}`,
  })
  assert.deepEqual([recording.id, recording.name, recording.status], [id, 'Algebra', 'uploaded'])
  assert.doesNotMatch(String(server.objects.get(beside)?.body), /secret|token|AKIA/i)
  assert.equal((await u.owner.patch(`/recordings/${id}/metadata`, { name: 'Geometry' })).status, 200)
  await u.k.tick('upload-manifests')
  assert.equal(told(beside).recording.name, 'Geometry')
})

test('an upload is done whatever becomes of its manifest, which is tried again', async () => {
  refuses = true
  const { destination, id, key } = await uploaded('Algebra')
  await u.k.tick('upload-manifests')
  assert.equal(u.recording(id).status, 'uploaded')
  assert.deepEqual([...server.objects.keys()], [key])
  assert.ok(u.k.logged.some((line) => line.includes('manifests could not be put beside takes')))
  refuses = false
  u.k.advance('11s')
  await u.k.tick('upload-manifests')
  assert.equal(told(`${key}.roomtone.json`).recording.id, id)
  // One that is gone is not waited for.
  u.k.sql('UPDATE recordings SET name = ?', 'x')
  u.k.sql('UPDATE upload_policies SET destination_id = NULL')
  u.k.sql('DELETE FROM upload_destinations WHERE id = ?', destination)
  await u.k.tick('upload-manifests')
  assert.deepEqual(u.k.rows(`SELECT 1 FROM manifest_queue WHERE destination_id <> ''`), [])
})
