import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'
import { chunked, counted, tone, wav } from './world.ts'

const ENHANCED = { codec: 'wav', enhancement: { loudnorm: { enabled: true } } }
const FRAMES = 2000
const piece = (n: number) => wav(counted(n * FRAMES, FRAMES))

test('a day after they were joined without loss the files of chunks go; what comes again changes nothing', async () => {
  const k = kit()
  const t = await chunked(k, ENHANCED)
  const raw = (n: number) => wav(counted(20_000 + n * FRAMES, FRAMES))
  for (const n of [0, 1]) {
    await t.put(n, raw(n), '&rendition=raw')
    await t.put(n, piece(n), `&rendition=enhanced${n === 1 ? '&chunkTotal=2' : ''}`)
  }
  await k.tick('chunk-join')
  k.advance('23h')
  await k.tick('chunk-release')
  assert.equal(t.files().length, 6)
  k.advance('2h')
  k.forget()
  await k.tick('chunk-release')
  assert.deepEqual(k.trail(), ['recordings.chunks.release.succeeded succeeded'])
  const before = await t.recording()
  assert.deepEqual(t.files(), [before.enhancedCachePath, before.rawCachePath].sort())
  assert.ok(t.read(before.enhancedCachePath).equals(wav(counted(0, 2 * FRAMES))))
  const again = [await t.put(1, piece(1), '&rendition=enhanced&chunkTotal=2'), await t.put(0, raw(0), '&rendition=raw')]
  assert.deepEqual([again[0]?.status, again[1]?.status], [201, 201])
  assert.deepEqual([again[0]?.json.data.chunk.index, again[1]?.json.data.chunk.index], [2, 1])
  const beyond = await t.put(2, piece(2), '&rendition=enhanced')
  assert.deepEqual([beyond.status, beyond.json.reason], [409, 'chunk_set_closed'])
  await k.tick('chunk-join')
  assert.deepEqual([await t.recording(), t.files().length], [before, 2])
  assert.deepEqual(
    (await t.chunks()).map((c: Record<string, unknown>) => [c.index, c.status, c.cachePath]),
    [
      [1, 'cached', undefined],
      [2, 'cached', undefined],
    ],
  )
  await k.close()
})

test('chunks whose join loses something, or that are not all there, stay', async () => {
  const k = kit()
  const lossy = await chunked(k, { codec: 'mp3' })
  await lossy.put(0, tone('mp3', 1), '&chunkTotal=1')
  const holed = await chunked(k)
  await holed.put(1, piece(1), '&chunkTotal=2')
  k.advance('61s')
  await k.tick('chunk-join')
  k.advance('3d')
  await k.tick('chunk-release')
  assert.equal(lossy.files().filter((name) => name.includes('part')).length, 2)
  await k.close()
})
