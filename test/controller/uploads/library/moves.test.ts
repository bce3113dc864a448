import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { afterEach, test } from 'node:test'
import { s3Server } from '../../../kit/s3.ts'
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

/** Gives the destination the address of another store, which has the same objects or none. */
async function move({ withObjects }: { withObjects: boolean }): Promise<void> {
  other ??= await s3Server({ keeps: true })
  if (withObjects) for (const [key, object] of w.store.objects) other.objects.set(key, object)
  const { s3 } = (await w.owner.get(self())).json.data
  const { accessKeyId, endpoint, secretAccessKey } = other
  const patch = { s3: { ...s3, accessKeyId, endpoint }, s3SecretAccessKey: secretAccessKey }
  assert.equal((await w.owner.patch(self(), patch)).status, 200)
}

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
  assert.deepEqual(w.k.trail(), ['recordings.library.copy_left_behind succeeded'])
  assert.ok(isOver())
  assert.deepEqual(w.events(), [])
  await w.k.tick('upload')
  assert.deepEqual(held('rec_1'), ['local', w.destinationId])
  assert.equal(other?.objects.size, 1)
  await w.k.tick('retention')
  assert.deepEqual(held('rec_1'), [w.destinationId])
})

test('a file that is nowhere else and not at the new place is an alarm, and is found again when the destination moves back', async () => {
  w = await library()
  await w.beyond(randomBytes(1000))
  const { s3 } = (await w.owner.get(self())).json.data
  await move({ withObjects: false })
  await w.k.tick('library-moves')
  assert.deepEqual(w.events(), [{ severity: 'critical', status: 'open' }])
  w.k.advance('1s')
  const back = { s3, s3SecretAccessKey: w.store.secretAccessKey }
  assert.equal((await w.owner.patch(self(), back)).status, 200)
  const played = await w.send('GET', '/recordings/rec_1/file')
  assert.equal(played.status, 200)
  assert.deepEqual(held('rec_1'), [w.destinationId])
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
