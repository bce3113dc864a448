import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterEach, test } from 'node:test'
import { type S3Options, s3Server } from '../../../kit/s3.ts'
import { counted, wav } from '../../recordings/chunks/world.ts'
import { S3_DESTINATION } from '../uploads.ts'
import { type LibraryWorld, library } from './world.ts'

let w: LibraryWorld
afterEach(() => w.close())

/** A store that sends `more` bytes behind an object than its head says; `how` it says so. */
function sendingMore(how: 'by its range' | 'by its length') {
  const state = { more: 0 }
  const send = (response: ServerResponse, bytes: Buffer, etag: string): void => {
    const range = { 'content-range': `bytes 0-${bytes.length - 1}/${bytes.length}` }
    const sent = Buffer.concat([bytes, Buffer.alloc(state.more)])
    if (how === 'by its range') return void response.writeHead(206, { etag, ...range }).end(sent)
    const head = { etag, ...range, 'content-length': bytes.length }
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
    response.socket?.write(`HTTP/1.1 206 Partial Content\r\n${lines.join('')}\r\n`)
    response.socket?.end(sent)
  }
  const interfere: S3Options['interfere'] = (request, response, operation) => {
    const [[, object] = []] = w?.objects() ?? []
    if (operation !== 'get' || state.more === 0 || !object?.body) return false
    if (!request.headers.range?.startsWith('bytes=0-')) return false
    send(response, object.body, object.etag)
    return true
  }
  return { interfere, state }
}

test('a store that sends more than it said has another object: before the first byte the next copy is asked', async (t) => {
  const { interfere, state } = sendingMore('by its range')
  const sound = await s3Server({ keeps: true })
  t.after(() => sound.close())
  w = await library({ interfere })
  const s3 = { ...S3_DESTINATION.s3, endpoint: sound.endpoint }
  const second = await w.destination({ displayName: 'Second', keepsLibrary: true, s3 })
  await w.policy(second, { id: 'second' })
  const bytes = randomBytes(1000)
  await w.uploaded(bytes)
  await w.enqueue('rec_1', { uploadPolicyId: 'second' })
  await w.k.tick('upload')
  w.k.sql(`UPDATE recordings SET retention_policy_id = 'day'`)
  w.k.advance('2d')
  await w.k.tick('retention')
  // The one that was verified last is asked first.
  w.k.sql('UPDATE remote_copies SET verified_at = ? WHERE destination_id = ?', w.k.now(), w.destinationId)
  state.more = 5
  const got = await w.send('GET', '/recordings/rec_1/stream')
  assert.deepEqual([got.status, got.broken, got.body.equals(bytes)], [200, false, true])
  assert.deepEqual([w.recording('rec_1').held, w.events()], [[second], [{ severity: 'warning', status: 'open' }]])
})

test('a store that sends more than it said, and no other copy: damage before the first byte, and the told length behind it', async () => {
  const { interfere, state } = sendingMore('by its range')
  w = await library({ interfere })
  const [short, long] = [randomBytes(1000), randomBytes(3 * 1024 * 1024)]
  await w.beyond(short)
  state.more = 5
  const refused = await w.send('GET', '/recordings/rec_1/stream')
  assert.deepEqual([refused.status, JSON.parse(refused.body.toString()).reason], [502, 'library_damaged'])
  state.more = 0
  assert.equal((await w.owner.delete('/recordings/rec_1')).status, 204)
  w.store.objects.clear()
  await w.beyond(long, 'rec_2')
  state.more = 5
  const got = await w.send('GET', '/recordings/rec_2/stream')
  assert.deepEqual([got.status, got.broken, got.body.equals(long)], [200, false, true])
  assert.deepEqual(w.recording('rec_2').held, [])
})

test('what a store sends behind the length it said is nobody’s', async () => {
  const { interfere, state } = sendingMore('by its length')
  w = await library({ interfere })
  for (const [id, size] of [
    ['rec_1', 1000],
    ['rec_2', 3 * 1024 * 1024],
  ] as const) {
    w.store.objects.clear()
    const bytes = randomBytes(size)
    state.more = 0
    await w.beyond(bytes, id)
    state.more = 500
    const got = await w.send('GET', `/recordings/${id}/stream`)
    assert.deepEqual([got.status, got.broken, got.body.equals(bytes)], [200, false, true])
  }
})

test('a copy with other bytes under its ETag is sound again only when its bytes are', async () => {
  w = await library()
  const bytes = wav(counted(0, 400_000))
  const id = await w.beyond(bytes)
  const [[, object] = []] = w.objects()
  object!.body = Buffer.from(bytes)
  object!.body[700_000]! ^= 1
  w.k.sql('DELETE FROM recording_waveforms')
  await w.owner.get(`/recordings/${id}/waveform`)
  await w.k.waveforms.idle()
  assert.deepEqual([w.recording(id).held, w.events()], [[], [{ severity: 'critical', status: 'open' }]])
  w.k.forget()
  assert.equal((await w.send('GET', `/recordings/${id}/stream`, { range: 'bytes=0-99' })).status, 206)
  const got = await w.send('GET', `/recordings/${id}/stream`)
  assert.deepEqual([got.status, got.broken], [200, true])
  assert.ok(got.body.length < bytes.length)
  assert.deepEqual([w.recording(id).held, w.events()], [[], [{ severity: 'critical', status: 'open' }]])
  object!.body = Buffer.from(bytes)
  assert.equal((await w.send('GET', `/recordings/${id}/stream`, { range: 'bytes=0-99' })).status, 206)
  assert.deepEqual(w.recording(id).held, [])
  assert.ok((await w.send('GET', `/recordings/${id}/stream`)).body.equals(bytes))
  assert.deepEqual(
    [w.recording(id).held, w.events()],
    [[w.destinationId], [{ severity: 'critical', status: 'resolved' }]],
  )
})

test('nobody is sent to a copy that was damaged: what it holds shows when it is read', async () => {
  w = await library({}, { SVC_LIBRARY_REDIRECT: '1' })
  const bytes = randomBytes(1000)
  const id = await w.beyond(bytes)
  w.k.sql('UPDATE remote_copies SET damaged_at = ?', w.k.now())
  assert.ok((await w.send('GET', `/recordings/${id}/file`)).body.equals(bytes))
  assert.equal((await w.send('GET', `/recordings/${id}/file`)).status, 307)
})

test('where only a copy that was damaged answers nothing is freed', async (t) => {
  let down = false
  const damaged = await s3Server({ keeps: true })
  t.after(() => damaged.close())
  w = await library({ interfere: (_, response) => (down ? !!response.destroy() : false) })
  const s3 = { ...S3_DESTINATION.s3, endpoint: damaged.endpoint }
  const second = await w.destination({ displayName: 'Second', keepsLibrary: true, s3 })
  await w.policy(second, { id: 'second' })
  await w.uploaded(randomBytes(1000))
  await w.enqueue('rec_1', { uploadPolicyId: 'second' })
  await w.k.tick('upload')
  w.k.sql('UPDATE remote_copies SET damaged_at = ? WHERE destination_id = ?', w.k.now(), second)
  w.k.sql(`UPDATE recordings SET retention_policy_id = 'day'`)
  w.k.advance('2d')
  down = true
  await w.k.tick('retention')
  assert.deepEqual(w.recording('rec_1').held, ['local', w.destinationId])
})

test('a damaged copy is none: the destination with the last sound one stays, and that of the damaged one may go', async (t) => {
  const other = await s3Server({ keeps: true })
  t.after(() => other.close())
  w = await library()
  const s3 = { ...S3_DESTINATION.s3, endpoint: other.endpoint }
  const second = await w.destination({ displayName: 'Second', keepsLibrary: true, s3 })
  await w.policy(second, { id: 'second' })
  await w.uploaded(randomBytes(1000))
  await w.enqueue('rec_1', { uploadPolicyId: 'second' })
  await w.k.tick('upload')
  w.k.sql(`UPDATE recordings SET retention_policy_id = 'day'`)
  w.k.advance('2d')
  await w.k.tick('retention')
  const off = async (id: string) =>
    (await w.owner.patch(`/settings/upload-destinations/${id}`, { keepsLibrary: false })).status
  w.k.sql('UPDATE remote_copies SET damaged_at = ? WHERE destination_id = ?', w.k.now(), second)
  assert.deepEqual([await off(w.destinationId), await off(second)], [409, 200])
})
