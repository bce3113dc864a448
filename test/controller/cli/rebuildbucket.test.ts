import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../../kit/executable.ts'
import { kit } from '../../kit/kit.ts'
import { ACCESS_KEY, SECRET_KEY, s3Server } from '../../kit/s3.ts'
import { scratchDir } from '../../kit/scratch.ts'
import { S3_DESTINATION, sha256, uploads } from '../uploads/uploads.ts'

async function roomtone(on: string, ...args: string[]) {
  const env = {
    ...process.env,
    SVC_DATA_DIR: on,
    SVC_REBUILD_S3_ACCESS_KEY_ID: ACCESS_KEY,
    SVC_REBUILD_S3_SECRET_ACCESS_KEY: SECRET_KEY,
    SVC_SECRET_KEY: 'kit-secret-key-0123456789',
  }
  const child = spawn(process.execPath, [path.join(ROOT, 'src/main.ts'), ...args], { env })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text))
  const [code] = await once(child, 'close')
  return { code, said }
}

test('from a bucket comes a library whose takes are played from there', async (t) => {
  let refused = 'none'
  const server = await s3Server({
    // An object that was archived, or that this key may not read.
    interfere: (request, response, operation) => {
      if (operation !== 'get' || !request.url?.startsWith(`/${encodeURI(refused)}`)) return false
      response.writeHead(403, { 'content-type': 'application/xml' })
      response.end('<Error><Code>AccessDenied</Code><Message>no</Message></Error>')
      return true
    },
    keeps: true,
  })
  const dir = scratchDir('roomtone-rebuild-')
  t.after(async () => {
    await server.close()
    fs.rmSync(dir, { recursive: true, force: true })
  })
  const u = uploads()
  const destination = await u.destination({ s3: { ...S3_DESTINATION.s3, endpoint: server.endpoint } })
  const policy = await u.policy(destination, { pathOverride: 'Lectures/2026' })
  const made = ['Algebra', 'Botanik', 'Chemie', 'Musik & Klang'].map((name) => u.cached([policy], { name }))
  for (const { id } of made) await u.enqueue(id, { uploadPolicyId: policy })
  await u.k.tick('upload')
  await u.k.tick('upload-manifests')
  await u.k.close()
  const keys = [...server.objects.keys()]
  assert.equal(keys.length, 2 * made.length)
  const damaged = keys.find((key) => /Botanik.*json$/.test(key))!
  Object.assign(server.objects.get(damaged)!, { body: Buffer.from('{"version":1}'), size: 13 })
  server.objects.set('takes/elsewhere/other.mp3', server.objects.get(keys[0]!)!)
  refused = keys.find((key) => /Chemie.*json$/.test(key))!

  const url = `s3://takes/rooms?endpoint=${encodeURIComponent(server.endpoint)}`
  const { code, said } = await roomtone(dir, 'rebuild', '--from-destination', url)
  assert.equal(code, 0, said)
  assert.match(said, /^4 takes found; 2 manifests damaged; 2 files without manifest\.$/m)
  assert.match(said, /^without manifest: rooms\/Lectures\/2026\/Botanik.*\.mp3$/m)
  assert.doesNotMatch(said, new RegExp(SECRET_KEY))

  const k = kit({
    file: path.join(dir, 'roomtone.db'),
    env: { SVC_RECORDING_CACHE_DIR: path.join(dir, 'recordings') },
  })
  const { data } = (await k.as('admin').get('/recordings?sortBy=name&sortOrder=asc')).json
  const said2 = data.map((one: { checksum: string; name: string; status: string }) => [
    one.name,
    one.status,
    one.checksum,
  ])
  const sums = made.map(({ bytes }) => `sha256:${sha256(bytes)}`)
  assert.deepEqual(
    said2.filter(([, status]: string[]) => status === 'uploaded'),
    [
      ['Algebra', 'uploaded', sums[0]],
      ['Musik & Klang', 'uploaded', sums[3]],
    ],
  )
  assert.deepEqual(
    said2.filter(([, status]: string[]) => status === 'cached').map(([, , sum]: string[]) => sum),
    [sums[1], sums[2]],
  )
  // Of a disk that holds none of them.
  for (const { checksum, held, id } of data) {
    assert.deepEqual([held.length, held[0].startsWith('upload_dest_')], [1, true])
    const played = await k.app.request(`/api/v1/recordings/${id}/stream`, {
      headers: { authorization: `Bearer ${k.as('admin').token}` },
    })
    assert.deepEqual([played.status, `sha256:${sha256(Buffer.from(await played.arrayBuffer()))}`], [200, checksum])
  }
  assert.deepEqual(k.db.raw.pragma('foreign_key_check'), [])
  assert.equal(k.rows<{ n: number }>(`SELECT sum(n) AS n FROM upload_cells WHERE status = 'succeeded'`)[0]?.n, 4)
  await k.close()
})

test('a bucket that refuses, and a destination nobody knows, leave nothing behind', async (t) => {
  const server = await s3Server()
  const dir = scratchDir('roomtone-rebuild-')
  t.after(async () => {
    await server.close()
    fs.rmSync(dir, { recursive: true, force: true })
  })
  const none = () => fs.readdirSync(dir).filter((name) => name.startsWith('roomtone.db'))
  const unknown = await roomtone(dir, 'rebuild', '--from-destination', 'upload_dest_1')
  assert.deepEqual([unknown.code, none()], [2, []])
  assert.match(unknown.said, /name its bucket/)
  // A mistyped word must not send the key somewhere else.
  for (const mistyped of ['s3://takes/%zz', 's3://takes:9000/rooms', 's3://takes/rooms?enpoint=https://s3.example']) {
    const { code, said } = await roomtone(dir, 'rebuild', '--from-destination', mistyped)
    assert.deepEqual([code, none()], [2, []], said)
    assert.match(said, /name its bucket/)
  }
  const empty = await roomtone(
    dir,
    'rebuild',
    '--from-destination',
    `s3://takes/misspelt?endpoint=${encodeURIComponent(server.endpoint)}`,
  )
  assert.deepEqual([empty.code, none()], [2, []], empty.said)
  assert.match(empty.said, /Nothing was found/)
  const url = `s3://others/rooms?endpoint=${encodeURIComponent(server.endpoint)}`
  const refused = await roomtone(dir, 'rebuild', '--from-destination', url)
  assert.notEqual(refused.code, 0)
  assert.match(refused.said, /NoSuchBucket/)
  assert.deepEqual(none(), [])
})
