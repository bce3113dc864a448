import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { afterEach, test } from 'node:test'
import { ACCESS_KEY, s3Server } from '../../../kit/s3.ts'
import { type LibraryWorld, library } from './world.ts'

let w: LibraryWorld
let other: Awaited<ReturnType<typeof s3Server>> | undefined
afterEach(async () => {
  await other?.close()
  other = undefined
  await w.close()
})

const self = () => `/settings/upload-destinations/${w.destinationId}`
const held = (id: string) => w.recording(id).held
const isOver = () => w.k.rows('SELECT 1 FROM library_moves').length === 0

const patched = async (patch: object) => assert.equal((await w.owner.patch(self(), patch)).status, 200)
type Store = Pick<NonNullable<typeof other>, 'accessKeyId' | 'endpoint' | 'secretAccessKey'>

/** The destination is given the address of a store. */
async function moveTo({ accessKeyId, endpoint, secretAccessKey }: Store): Promise<void> {
  const { s3 } = (await w.owner.get(self())).json.data
  await patched({ s3: { ...s3, accessKeyId, endpoint }, s3SecretAccessKey: secretAccessKey })
}

/** The same, of another store, which has the same objects or none. */
async function move({ withObjects }: { withObjects: boolean }): Promise<void> {
  other ??= await s3Server({ keeps: true })
  if (withObjects) for (const [key, object] of w.store.objects) other.objects.set(key, object)
  await moveTo(other)
}

async function moveBack(): Promise<void> {
  w.k.advance('1s')
  await moveTo({ accessKeyId: ACCESS_KEY, endpoint: w.store.endpoint, secretAccessKey: w.store.secretAccessKey })
}

/** Two days go by, and retention looks at everything; `guarded`: it wants takes to be uploaded. */
async function retention({ guarded = true } = {}): Promise<void> {
  w.k.sql(`UPDATE recordings SET retention_policy_id = 'day'`)
  w.k.sql('UPDATE retention_policies SET delete_only_after_uploaded = ?', Number(guarded))
  w.k.advance('2d')
  await w.k.tick('retention')
}
const played = async () => (await w.send('GET', '/recordings/rec_1/file')).status

test('copies at a destination that moved count once they are seen at its new place', async () => {
  w = await library()
  await w.beyond(randomBytes(1000))
  await move({ withObjects: true })
  assert.deepEqual(held('rec_1'), [])
  await w.k.tick('library-moves')
  assert.deepEqual(held('rec_1'), [w.destinationId])
  assert.ok(isOver())
  assert.deepEqual(w.events(), [])
})

test('what is not at the new place is sent there again, and nothing lets go of it before', async () => {
  w = await library()
  await w.uploaded(randomBytes(1000))
  w.k.sql(`UPDATE recordings SET retention_policy_id = 'day'`)
  await move({ withObjects: false })
  w.k.advance('2d')
  await w.k.tick('retention')
  assert.deepEqual(held('rec_1'), ['local'])
  w.k.forget()
  await w.k.tick('library-moves')
  assert.deepEqual(w.k.trail(), ['recordings.library.copy_left_behind failed remote_copy_damaged'])
  assert.ok(isOver())
  assert.deepEqual(w.events(), [])
  await w.k.tick('upload')
  assert.deepEqual(held('rec_1'), ['local', w.destinationId])
  assert.equal(other?.objects.size, 1)
  await w.k.tick('retention')
  assert.deepEqual(held('rec_1'), [w.destinationId])
})

test('a wrong address and the right one again: the alarm ends, the take is held, and the destination is guarded as before', async () => {
  w = await library()
  await w.beyond(randomBytes(1000))
  await move({ withObjects: false })
  await w.k.tick('library-moves')
  assert.deepEqual(w.events(), [{ severity: 'critical', status: 'open' }])
  const { s3 } = (await w.owner.get(self())).json.data
  assert.equal((await w.owner.patch(self(), { s3: { ...s3, bucket: 'elsewhere' } })).status, 409)
  assert.equal((await w.owner.patch(self(), { enabled: false })).status, 409)
  await moveBack()
  await w.k.tick('library-moves')
  assert.deepEqual(w.events(), [{ severity: 'critical', status: 'resolved' }])
  assert.deepEqual(held('rec_1'), [w.destinationId])
  assert.equal(await played(), 200)
})

test('a wrong address and the right one again, on a disk that has lost its takes: nothing is forgotten', async () => {
  w = await library()
  await w.uploaded(randomBytes(1000))
  w.emptyDisk()
  await move({ withObjects: false })
  await w.k.tick('library-moves')
  await w.k.tick('upload')
  await moveBack()
  await w.k.tick('library-moves')
  await w.k.tick('library-presence')
  assert.equal(await played(), 200)
  assert.deepEqual(held('rec_1'), [w.destinationId])
})

for (const guarded of [true, false])
  test(`retention waits while a destination is switched off or looked through, ${guarded ? 'with' : 'without'} its guard`, async () => {
    w = await library()
    await w.uploaded(randomBytes(1000))
    await patched({ enabled: false })
    await retention({ guarded })
    await patched({ enabled: true })
    assert.deepEqual(held('rec_1'), ['local', w.destinationId])
    await move({ withObjects: true })
    await retention({ guarded })
    assert.deepEqual(held('rec_1'), ['local'])
    await w.k.tick('library-moves')
    await w.k.tick('retention')
    assert.deepEqual([held('rec_1'), await played()], [[w.destinationId], 200])
  })

test('the only copy here stays when its destination is deleted', async () => {
  w = await library()
  await w.uploaded(randomBytes(1000))
  const next = await w.destination({ displayName: 'Next' })
  assert.equal((await w.owner.patch(`/settings/upload-policies/${w.policyId}`, { destinationId: next })).status, 200)
  assert.equal((await w.owner.delete(self())).status, 204)
  await retention()
  assert.deepEqual([held('rec_1'), await played()], [['local'], 200])
})

test('an object that the store says nothing of holds up no other, and is asked for again', async () => {
  w = await library()
  for (const id of ['rec_1', 'rec_2', 'rec_3']) await w.uploaded(randomBytes(1000), id)
  const refused = { key: 'rec_2' as string | undefined }
  other = await s3Server({
    keeps: true,
    interfere: (request, response) => {
      const isRefused = refused.key !== undefined && request.url?.includes(refused.key)
      if (isRefused) response.writeHead(403).end()
      return Boolean(isRefused)
    },
  })
  await move({ withObjects: true })
  await w.k.tick('library-moves')
  const both = ['local', w.destinationId]
  assert.deepEqual(['rec_1', 'rec_2', 'rec_3'].map(held), [both, ['local'], both])
  assert.ok(!isOver())
  refused.key = undefined
  await w.k.tick('library-moves')
  await w.k.tick('library-moves')
  assert.deepEqual(held('rec_2'), both)
  assert.ok(isOver())
})

test('the same bytes under another ETag are the same file; other bytes of that length are not', async () => {
  w = await library()
  for (const id of ['rec_1', 'rec_2']) await w.beyond(randomBytes(1000), id)
  await move({ withObjects: true })
  for (const [key, object] of other?.objects ?? []) {
    const body = key.includes('rec_2') ? randomBytes(1000) : object.body
    other?.objects.set(key, { ...object, body, etag: '"of-three-parts-3"' })
  }
  assert.equal(await played(), 503, 'nobody knows yet')
  assert.deepEqual(w.events(), [])
  await w.k.tick('library-moves')
  assert.deepEqual([held('rec_1'), held('rec_2')], [[w.destinationId], []])
  assert.equal(await played(), 200)
  assert.deepEqual(w.events(), [{ severity: 'critical', status: 'open' }])
})

test('a manifest is put beside what was found at the new place', async () => {
  w = await library()
  await w.uploaded(randomBytes(1000))
  await move({ withObjects: true })
  await w.k.tick('library-moves')
  await w.k.tick('upload-manifests')
  assert.ok([...(other?.objects.keys() ?? [])].some((key) => key.endsWith('.roomtone.json')))
})

test('what is being sent while the destination moves is sent to the new place', async () => {
  let moving: Promise<void> | undefined
  w = await library({
    interfere: (_request, _response, operation) => {
      if (operation === 'put') moving ??= move({ withObjects: false })
      return false
    },
  })
  w.cached([w.policyId], { bytes: randomBytes(1000), id: 'rec_1' })
  await w.enqueue('rec_1')
  await w.k.tick('upload')
  await moving
  await w.k.tick('library-moves')
  await w.k.tick('upload')
  assert.deepEqual(held('rec_1'), ['local', w.destinationId])
  assert.equal(other?.objects.size, 1)
})

test('while the new place does not answer, its copies do not count; they do once it does', async () => {
  w = await library()
  await w.uploaded(randomBytes(1000))
  const down = { interfere: true }
  other = await s3Server({
    keeps: true,
    interfere: (_request, response) => down.interfere && Boolean(response.writeHead(503).end()),
  })
  await move({ withObjects: true })
  await w.k.tick('library-moves')
  assert.deepEqual(held('rec_1'), ['local'])
  assert.ok(!isOver())
  down.interfere = false
  await w.k.tick('library-moves')
  assert.deepEqual(held('rec_1'), ['local', w.destinationId])
  assert.ok(isOver())
})

test('of two destinations that moved, the one that lacks a file gets it again once it was found at the other', async () => {
  w = await library()
  const second = await s3Server({ keeps: true })
  try {
    const { accessKeyId, endpoint, secretAccessKey } = second
    const s3 = { ...(await w.owner.get(self())).json.data.s3, accessKeyId, endpoint }
    const both = await w.destination({ displayName: 'B', keepsLibrary: true, s3, s3SecretAccessKey: secretAccessKey })
    const policy = await w.policy(both, { name: 'B' })
    w.cached([w.policyId, policy], { bytes: randomBytes(1000), id: 'rec_1' })
    for (const uploadPolicyId of [w.policyId, policy]) await w.enqueue('rec_1', { uploadPolicyId })
    await w.k.tick('upload')
    await retention()
    assert.deepEqual(held('rec_1')?.toSorted(), [w.destinationId, both].toSorted())
    await move({ withObjects: false })
    const { s3: before } = (await w.owner.get(`/settings/upload-destinations/${both}`)).json.data
    const renamed = {
      s3: { ...before, endpoint: before.endpoint.replace('127.0.0.1', 'localhost') },
      s3SecretAccessKey: secretAccessKey,
    }
    assert.equal((await w.owner.patch(`/settings/upload-destinations/${both}`, renamed)).status, 200)
    for (let i = 0; i < 2; i++) await w.k.tick('library-moves')
    w.k.advance('1h')
    await w.k.tick('upload')
    assert.deepEqual(held('rec_1')?.toSorted(), [w.destinationId, both].toSorted())
    assert.ok(w.events().every(({ status }) => status === 'resolved'))
  } finally {
    await second.close()
  }
})

test('a destination that is switched off while retention asks it takes nothing with it', async () => {
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const gate = { isShut: false }
  w = await library({
    interfere: (request, response) => {
      if (!gate.isShut || request.method !== 'HEAD') return false
      const [object] = [...w.store.objects.values()]
      asked.resolve()
      void answer.promise.then(() =>
        response.writeHead(200, { 'content-length': String(object?.size), etag: object?.etag }).end(),
      )
      return true
    },
  })
  await w.uploaded(randomBytes(1000))
  gate.isShut = true
  const pass = retention()
  await asked.promise
  await patched({ enabled: false })
  answer.resolve()
  await pass
  await patched({ enabled: true })
  assert.deepEqual(held('rec_1'), ['local', w.destinationId])
})
