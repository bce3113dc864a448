import assert from 'node:assert/strict'
import { existsSync, rmSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { type Kit, kit } from '../../../kit/kit.ts'
import { counted, wav } from '../chunks/world.ts'
import { type Claimed, claimed, deliver, ENHANCED, heard, offered, REPLICATED, uploaded } from './world.ts'

const FRAMES = 2000
const piece = (n: number) => wav(counted(n * FRAMES, FRAMES))
/** Masters sound different. */
const put = async (c: Claimed, n: number, query = '') =>
  (await deliver(c, piece(query.includes('raw') ? n + 5 : n), `?chunk=${n}${query}`)).status
const both = async (c: Claimed) => [await put(c, 0), await put(c, 1, '&chunkTotal=2')]
const joinedFile = (k: Kit) => {
  const [file] = k.rows<{ path: string }>('SELECT path FROM recording_files')
  return path.join(k.takes, file?.path ?? '')
}

for (const released of [false, true])
  test(`a take in chunks that is delivered again is whole again, ${released ? 'after' : 'before'} its chunks went`, async () => {
    const k = kit(REPLICATED)
    const c = await claimed(k)
    await both(c)
    await k.tick('chunk-join')
    if (released) {
      k.advance('25h')
      await k.tick('chunk-release')
    }
    assert.equal(await heard(c), 'hold')
    rmSync(k.takes, { recursive: true })
    assert.equal(await heard(c), 'offer')
    assert.equal((await offered(c)).status, 200)
    assert.deepEqual(await both(c), [201, 201])
    await k.tick('chunk-join')
    assert.ok(existsSync(joinedFile(k)))
    assert.equal(await heard(c), 'hold')
    assert.deepEqual(k.rows('SELECT type FROM health_events'), [])
    k.advance('25h')
    await k.tick('chunk-release')
    assert.deepEqual(k.rows('SELECT path FROM recording_chunk_files'), [])
    assert.equal(await heard(c), 'hold')
    await k.close()
  })

test('an offer changes nothing about a take whose joined file is here, or at a destination', async () => {
  const k = kit(REPLICATED)
  const c = await claimed(k)
  await both(c)
  await k.tick('chunk-join')
  const state = () => k.rows('SELECT * FROM chunked_recordings, recording_chunk_files')
  const before = state()
  await offered(c)
  assert.deepEqual(state(), before)
  uploaded(k, c.recordingId)
  rmSync(joinedFile(k))
  await offered(c)
  assert.deepEqual(state(), before)
  await k.close()
})

test('chunks stay while the file made of them is neither here nor at a destination, and make it again', async () => {
  const k = kit(REPLICATED)
  const c = await claimed(k)
  await both(c)
  await k.tick('chunk-join')
  rmSync(joinedFile(k))
  k.advance('25h')
  await k.tick('chunk-release')
  assert.equal(k.rows('SELECT path FROM recording_chunk_files').length, 2)
  await k.tick('chunk-join')
  assert.ok(existsSync(joinedFile(k)))
  await k.close()
})

test('a take in chunks of which the first never came is asked for, whatever was made of the others', async () => {
  const k = kit(REPLICATED)
  const c = await claimed(k)
  await put(c, 1)
  assert.equal(await put(c, 2, '&chunkTotal=3'), 201)
  assert.equal(await heard(c), 'offer')
  k.advance('2m')
  await k.tick('chunk-join')
  uploaded(k, c.recordingId)
  k.advance('1s')
  assert.equal(await heard(c), 'offer', 'what was made of two thirds is at a destination')
  await offered(c)
  await put(c, 0)
  k.advance('2m')
  await k.tick('chunk-join')
  assert.equal(await heard(c), 'hold')
  uploaded(k, c.recordingId)
  k.advance('1s')
  assert.equal(await heard(c), 'let_go')
  await k.close()
})

test('masters in chunks count until they are joined themselves, and are asked for where they are missing', async () => {
  const k = kit(REPLICATED)
  const c = await claimed(k, ENHANCED)
  await put(c, 0, '&rendition=enhanced')
  await put(c, 0, '&rendition=raw')
  assert.equal(await put(c, 1, '&chunkTotal=2&rendition=enhanced'), 201)
  await k.tick('chunk-join')
  uploaded(k, c.recordingId)
  k.advance('1s')
  assert.equal(await heard(c), 'offer')
  assert.equal(await put(c, 1, '&rendition=raw'), 201)
  assert.equal(await heard(c), 'hold')
  k.advance('2m')
  await k.tick('chunk-join')
  assert.equal(await heard(c), 'hold')
  uploaded(k, c.recordingId)
  k.advance('1s')
  assert.equal(await heard(c), 'let_go')
  await k.close()
})

test('a master that is ordered and not here is asked for', async () => {
  const k = kit(REPLICATED)
  const c = await claimed(k, ENHANCED)
  await deliver(c, piece(1), '?rendition=enhanced')
  uploaded(k, c.recordingId)
  k.advance('1s')
  assert.equal(await heard(c), 'offer')
  await deliver(c, piece(2), '?rendition=raw')
  assert.equal(await heard(c), 'hold')
  await k.close()
})

test('what retention took of a take in chunks is let go of', async () => {
  const k = kit(REPLICATED)
  const c = await claimed(k)
  await both(c)
  await k.tick('chunk-join')
  k.sql('DELETE FROM recording_files')
  k.sql('DELETE FROM recording_chunk_files')
  assert.equal(await heard(c), 'let_go')
  await k.close()
})
