import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chunkStore } from '../../../src/controller/listen/chunks.store.ts'
import { type Chunk, firstFor, following, isFresh } from '../../../src/controller/listen/listen.rules.ts'
import { endlessHead, pcmOf } from '../../../src/controller/listen/wav.rules.ts'
import { wav } from './chunks.ts'

const START = Date.parse('2026-03-02T09:00:00.000Z')
const at = (ms: number): string => new Date(START + ms).toISOString()
const chunk = (sequence: number, second: number, more: Partial<Chunk> = {}): Chunk => ({
  audio: new Uint8Array(),
  capturedAt: at(second * 1000),
  durationMs: 1000,
  nodeId: 'n1',
  receivedAt: at(second * 1000 + 1000),
  rendition: 'raw',
  sequence,
  ...more,
})

test('a listener begins up to two seconds back, without a hole', () => {
  const raw = [chunk(1, 0), chunk(2, 1), chunk(3, 2)]
  assert.equal(firstFor({ raw, enhanced: [] }, false, at(3000))?.sequence, 2)
  const holed = [chunk(1, 0), chunk(2, 2)]
  assert.equal(firstFor({ raw: holed, enhanced: [] }, false, at(3000))?.sequence, 2)
  const long = [chunk(1, 0, { durationMs: 5000 })]
  assert.equal(firstFor({ raw: long, enhanced: [] }, false, at(3000))?.sequence, 1)
})

test('a long piece is fresh until its successor is due', () => {
  const long = chunk(1, 0, { durationMs: 10_000 })
  assert.equal(isFresh(long, at(12_000)), true)
  assert.equal(isFresh(long, at(12_001)), false)
  assert.equal(isFresh(chunk(1, 0), at(6001)), false)
})

test('a node whose clock jumps back while the rendition changes is heard again after ten seconds', () => {
  const heard = chunk(5, 100, { rendition: 'enhanced', receivedAt: at(0) })
  const after = (ms: number) => ({ raw: [chunk(6, 10, { receivedAt: at(ms) })], enhanced: [] })
  assert.equal(following(after(9000), true, heard, at(9000)), undefined)
  assert.equal(following(after(10_001), true, heard, at(10_001))?.sequence, 6)
})

test('samples are found behind other chunks, cut to whole frames; other bytes have none', () => {
  const plain = wav(7, 10)
  const list = Buffer.concat([Buffer.from('LIST'), Buffer.from([3, 0, 0, 0]), Buffer.from('abc\0')])
  const noted = Buffer.concat([plain.subarray(0, 12), list, plain.subarray(12), Buffer.from([1])])
  assert.deepEqual(Buffer.from(pcmOf(noted)?.data ?? []), plain.subarray(44))
  assert.equal(pcmOf(plain.subarray(0, 51))?.data.length, 6)
  for (const bytes of [
    new Uint8Array(44),
    plain.subarray(0, 30),
    Buffer.from('RIFF1234WAVEdata\xff\xff\xff\xff', 'latin1'),
  ])
    assert.equal(pcmOf(bytes), undefined)
  const zeroFrames = Buffer.from(plain)
  zeroFrames.writeUInt16LE(0, 32)
  assert.equal(pcmOf(zeroFrames), undefined)
  assert.equal(endlessHead(pcmOf(plain)?.format as Uint8Array).length, 44)
})

test('audio of the last ten seconds is kept, within the bytes of a node and of all', () => {
  const chunks = chunkStore(8 * 1024 * 1024)
  let most = 0
  for (let second = 0; second < 30; second++)
    for (let node = 0; node < 10; node++) {
      const { sequence: _, ...rest } = chunk(0, second, { audio: new Uint8Array(524_288), nodeId: `n${node}` })
      chunks.put(rest)
      most = Math.max(most, chunks.usedBytes())
    }
  assert.ok(most <= 8 * 1024 * 1024, `${most} bytes`)
  const { sequence: _, ...late } = chunk(0, 60, { nodeId: 'n0' })
  chunks.put(late)
  assert.equal(chunks.kept('n0').raw.length, 1)
  assert.equal(chunks.kept('n1').raw.length, 0)
})

test('what metrics say of a chunk outlives its audio', () => {
  const chunks = chunkStore()
  const { sequence: _, ...one } = chunk(0, 0)
  chunks.put({ ...one, rendition: 'enhanced' })
  chunks.put({ ...one, nodeId: 'n2', receivedAt: at(60_000) })
  const facts = { durationSeconds: 1, source: 'agent_audio_chunk' }
  assert.deepEqual(chunks.snapshot(at(61_000)), [
    { ...facts, ageSeconds: 60, nodeId: 'n1', rendition: 'enhanced' },
    { ...facts, ageSeconds: 1, nodeId: 'n2', rendition: 'raw' },
  ])
})

test('sequences grow across restarts', () => {
  const { sequence: _, ...one } = chunk(0, 0)
  const before = chunkStore().put(one).sequence
  assert.ok(chunkStore().put({ ...one, receivedAt: at(5000) }).sequence > before)
})
