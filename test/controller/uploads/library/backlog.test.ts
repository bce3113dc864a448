import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { afterEach, test } from 'node:test'
import { type LibraryWorld, library } from './world.ts'

let w: LibraryWorld
afterEach(() => w.close())

test('what a destination was sent before it kept the library is queued as a whole once it does', async () => {
  w = await library()
  const self = `/settings/upload-destinations/${w.destinationId}`
  await w.owner.patch(self, { keepsLibrary: false })
  const other = await w.policy(w.destinationId, { id: 'off' })
  for (const [id, policyId] of [
    ['rec_1', w.policyId],
    ['rec_2', other],
  ] as const) {
    w.takes.recording(id, { uploadPolicyIds: [policyId] })
    w.takes.file(id, 'enhanced', randomBytes(1000), 'mp3')
    w.takes.file(id, 'raw', randomBytes(5000))
    w.k.db.tx(() => w.takes.store.settle(id, 'cached', w.k.now()))
    await w.enqueue(id, { uploadPolicyId: policyId })
  }
  await w.k.tick('upload')
  assert.equal((await w.owner.patch(`/settings/upload-policies/${other}`, { enabled: false })).status, 200)
  await w.k.tick('library-backlog')
  assert.equal(w.store.objects.size, 2)
  assert.equal((await w.owner.patch(self, { keepsLibrary: true })).status, 200)
  assert.deepEqual(w.recording('rec_1').held, ['local'])
  w.k.forget()
  await w.k.tick('library-backlog')
  assert.deepEqual(w.k.trail(), ['recordings.upload_queue.auto_enqueue.succeeded succeeded'])
  assert.deepEqual(w.k.rows('SELECT 1 FROM library_walks'), [])
  await w.k.tick('upload')
  assert.deepEqual([w.recording('rec_1').held, w.recording('rec_1').status], [['local', w.destinationId], 'uploaded'])
  assert.deepEqual(w.recording('rec_2').held, ['local'])
  w.k.forget()
  await w.k.tick('library-backlog')
  assert.deepEqual(w.k.trail(), [])
})
