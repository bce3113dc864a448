import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chunkStore } from '../../../../src/controller/monitoring/listen/chunks.store.ts'
import {
  type Chunk,
  firstFor,
  following,
  isEnough,
  isFresh,
} from '../../../../src/controller/monitoring/listen/listen.rules.ts'
import { endlessHead, pcmOf, withoutStart } from '../../../../src/controller/monitoring/listen/wav.rules.ts'
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

test('short pieces: a second back, and no stream begins with less than most of one', () => {
  const short = (n: number) => chunk(n, n / 5, { durationMs: 200, receivedAt: at(n * 200 + 200) })
  const raw = Array.from({ length: 10 }, (_, n) => short(n))
  const first = firstFor({ raw, enhanced: [] }, false, at(2000))
  assert.equal(first?.sequence, 5)
  const begun = (count: number) => {
    const kept = { raw: raw.slice(0, count), enhanced: [] }
    return isEnough(kept, firstFor(kept, false, at(2000)) as Chunk)
  }
  assert.deepEqual([1, 3, 4, 10].map(begun), [false, false, true, true])
})

test('where the rendition changes within a piece, its rest is heard: nothing twice, nothing missing', () => {
  const ms = (from: number, durationMs: number) => ({ audio: wav(1, durationMs), capturedAt: at(from), durationMs })
  const heard = chunk(1, 0, { ...ms(0, 300), receivedAt: at(300) })
  const enhanced = [chunk(2, 0, { ...ms(200, 500), rendition: 'enhanced', receivedAt: at(800) })]
  const raw = [heard, chunk(3, 0, { ...ms(300, 300), receivedAt: at(700) })]
  const rest = following({ enhanced, raw }, true, heard, at(800))
  assert.deepEqual([rest?.capturedAt, rest?.durationMs, rest?.rendition], [at(300), 400, 'enhanced'])
  assert.deepEqual(rest?.audio, wav(1, 400))
  const { audio: _, ...facts } = rest as Chunk
  const back = following({ enhanced: [], raw: [...raw, chunk(4, 0, ms(600, 300))] }, true, facts, at(900))
  assert.deepEqual([back?.sequence, back?.capturedAt, back?.durationMs], [4, at(700), 200])
})

test('enhanced pieces that stop are not waited for: the raw ones go on', () => {
  const enhanced = [chunk(1, 0, { rendition: 'enhanced', receivedAt: at(1300) })]
  const raw = [chunk(2, 0), chunk(3, 1), chunk(4, 2), chunk(5, 3)]
  const next = (count: number) =>
    following({ enhanced, raw: raw.slice(0, count) }, true, enhanced[0] as Chunk, at(4000))
  assert.equal(next(3), undefined)
  assert.equal(next(4)?.sequence, 3)
})

test('back from enhanced to raw: raw pieces that came before the enhanced one are heard too', () => {
  const enhanced = [chunk(9, 0, { rendition: 'enhanced', receivedAt: at(2500) })]
  const raw = [chunk(5, 0), chunk(6, 1), chunk(7, 2), chunk(10, 3, { receivedAt: at(6000) })]
  const back = following({ enhanced, raw }, true, enhanced[0] as Chunk, at(6000))
  assert.deepEqual([back?.sequence, back?.capturedAt], [6, at(1000)])
  assert.equal(following({ enhanced, raw }, true, back as Chunk, at(6000))?.sequence, 7)
})

test('a piece that is sent again, because its answer was lost, is kept once', () => {
  const chunks = chunkStore()
  const { sequence: _, ...one } = chunk(0, 0, { sent: '7' })
  const [first, again] = [chunks.put(one), chunks.put({ ...one, receivedAt: at(1500) })]
  assert.equal(again.sequence, first.sequence)
  chunks.put({ ...one, rendition: 'enhanced' })
  chunks.put({ ...one, capturedAt: at(1000) })
  assert.deepEqual([chunks.kept('n1').raw.length, chunks.kept('n1').enhanced.length], [2, 1])
})

test('a WAV without its start is one of the rest; what is none stays as it is', () => {
  assert.deepEqual(withoutStart(wav(7, 300), 100), wav(7, 200))
  assert.deepEqual(withoutStart(wav(7, 300), 9999), wav(7, 0))
  const other = Buffer.from('no audio')
  assert.equal(withoutStart(other, 100), other)
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
  assert.equal(endlessHead(pcmOf(plain)?.format as Buffer).length, 44)
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
