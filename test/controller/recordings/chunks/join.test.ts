import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Events } from '../../../../src/controller/events.ts'
import { audit } from '../../../../src/controller/http/audit.ts'
import { PathClaims } from '../../../../src/controller/http/claims.ts'
import { DiskSpace } from '../../../../src/controller/http/diskspace.ts'
import { healthStore } from '../../../../src/controller/monitoring/health/health.store.ts'
import { chunkStore } from '../../../../src/controller/recordings/chunks/chunks.store.ts'
import { joinFiles, readWav } from '../../../../src/controller/recordings/chunks/join.ts'
import { Joiner } from '../../../../src/controller/recordings/chunks/joiner.ts'
import { recordingStore } from '../../../../src/controller/recordings/library/recordings.store.ts'
import { randomIds } from '../../../../src/kernel/ids.ts'
import { wavFormat, wavHeader } from '../../../../src/kernel/wav.rules.ts'
import { type Kit, kit } from '../../../kit/kit.ts'
import { chunked, counted, heard, tone, wav } from './world.ts'

/** Pieces of 5, 5 and 2.5 seconds, as an encoder leaves them. */
const tones = (codec: 'flac' | 'mp3') => [5, 5, 2.5].map((seconds) => tone(codec, seconds))

for (const codec of ['flac', 'mp3'] as const)
  test(`${codec} chunks become one file whose length and headers are right`, async () => {
    const k = kit()
    const t = await chunked(k, { codec })
    for (const [index, bytes] of tones(codec).entries())
      assert.equal((await t.put(index, bytes, index === 2 ? '&chunkTotal=3' : '')).status, 201)
    await k.tick('chunk-join')
    const recording = await t.recording()
    assert.deepEqual([recording.cachePath, recording.status], [`ad-hoc/${t.recordingId}.${codec}`, 'cached'])
    const { frames, seconds } = heard(join(k.takes, recording.cachePath))
    // Without a gap at the seams; the header of an MP3 counts the encoder's own few milliseconds.
    assert.equal(frames, 12.5 * 48_000)
    assert.ok(Math.abs(seconds - 12.5) < 0.05, `${seconds}`)
    assert.equal(t.files().length, 4)
    const played = await k.as('admin').get(`/recordings/${t.recordingId}/stream`)
    assert.equal(played.headers.get('content-type'), { flac: 'audio/flac', mp3: 'audio/mpeg' }[codec])
    await k.close()
  })

test('chunks that do not fit each other are made alike: what is played has one format and the whole length', async () => {
  const k = kit()
  const t = await chunked(k)
  await t.put(0, wav(counted(0, 16_000), 8000))
  await t.put(1, wav(counted(0, 32_000), 16_000))
  await t.put(2, tone('flac', 1), '&chunkTotal=3', { 'x-svc-file-name': 'take.flac' })
  await k.tick('chunk-join')
  const file = join(k.takes, (await t.recording()).cachePath)
  assert.deepEqual(wavFormat((await readWav(file)).fmt), { bits: 16, channels: 2, rate: 8000, tag: 1 })
  assert.equal(heard(file).frames, 3 * 8000)
  assert.deepEqual(
    t.files().filter((name) => name.includes('.incoming')),
    [],
  )
  await k.close()
})

const scratch = (t: { after: (fn: () => void) => void }): string => {
  const dir = mkdtempSync(join(tmpdir(), 'roomtone-join-'))
  t.after(() => rmSync(dir, { force: true, recursive: true }))
  return dir
}
const joining = (dir: string, files: readonly string[]) => ({
  codec: 'wav' as const,
  encoder: { kbps: 128, vbr: false },
  ffmpegCommand: 'ffmpeg',
  files,
  part: join(dir, 'joined.part'),
  signal: new AbortController().signal,
  timeoutMs: 60_000,
})

test('WAV headers that were never finished, carry other pieces or 64-bit sizes are read as they are meant', async (t) => {
  const dir = scratch(t)
  const plain = wav(counted(0, 100))
  const unfinished = Buffer.from(plain)
  unfinished.writeUInt32LE(0, 40)
  const streamed = Buffer.from(plain)
  streamed.writeUInt32LE(0xffffffff, 40)
  const listed = Buffer.concat([
    plain.subarray(0, 36),
    Buffer.from('LIST\u0003\u0000\u0000\u0000abc\u0000'),
    plain.subarray(36),
  ])
  const long = Buffer.concat([
    Buffer.from('RF64\xff\xff\xff\xffWAVEds64', 'latin1'),
    Buffer.from([28, 0, 0, 0, ...Array(8).fill(0), 200, ...Array(19).fill(0)]),
    plain.subarray(12, 40),
    Buffer.from([255, 255, 255, 255]),
    plain.subarray(44),
  ])
  const files = [plain, unfinished, streamed, listed, long].map((bytes, i) => {
    const file = join(dir, `${i}.wav`)
    writeFileSync(file, bytes)
    return file
  })
  for (const file of files) assert.equal((await readWav(file)).dataBytes, 200, file)
  const { size } = await joinFiles(joining(dir, files))
  const samples = Buffer.concat(Array(5).fill(plain.subarray(44)))
  assert.equal(size, 44 + 1000)
  assert.ok(readFileSync(join(dir, 'joined.part')).subarray(44).equals(samples))
  for (const bytes of [Buffer.from('no sound'), Buffer.alloc(0), plain.subarray(0, 30), Buffer.alloc(5000)]) {
    writeFileSync(join(dir, 'bad.wav'), bytes)
    await assert.rejects(joinFiles(joining(dir, [...files, join(dir, 'bad.wav')])))
    assert.equal(existsSync(join(dir, 'joined.part')), false)
  }
})

test('beyond 4 GiB the joined header is RF64 and tells the true length', () => {
  const fmt = wav(counted(0, 2)).subarray(20, 36)
  const below = wavHeader(fmt, 0xffffffff - 37)
  assert.deepEqual([below.toString('latin1', 0, 4), below.length, below.readUInt32LE(4)], ['RIFF', 44, 0xffffffff - 1])
  const above = wavHeader(fmt, 6_000_000_000)
  assert.deepEqual([above.toString('latin1', 0, 4), above.readUInt32LE(4), above.length], ['RF64', 0xffffffff, 80])
  assert.equal(above.toString('latin1', 12, 16), 'ds64')
  assert.equal(above.readBigUInt64LE(20), 6_000_000_000n + 72n)
  assert.equal(above.readBigUInt64LE(28), 6_000_000_000n)
  assert.equal(above.readBigUInt64LE(36), 1_500_000_000n)
  assert.equal(above.readUInt32LE(76), 0xffffffff)
})

test('a join that fails keeps the chunks, says so once in health and audit, and is tried again', async (t) => {
  const dir = scratch(t)
  const tool = join(dir, 'ffmpeg')
  writeFileSync(tool, '#!/bin/sh\necho "no encoder here" >&2\nexit 1\n', { mode: 0o755 })
  const k = kit({ env: { SVC_FFMPEG_COMMAND: tool } })
  const take = await chunked(k, { codec: 'flac' })
  await take.put(0, tone('flac', 1), '&chunkTotal=1')
  await k.tick('chunk-join')
  k.advance('61s')
  await k.tick('chunk-join')
  const events = () =>
    k.rows<{ status: string; severity: string; details: string }>(
      `SELECT status, severity, details FROM health_events WHERE type = 'controller.recording.chunk_join_failed'`,
    )
  assert.equal(events().length, 1)
  assert.match(JSON.parse(events()[0]!.details).error, /no encoder here/)
  assert.equal(k.trail().filter((row) => row === 'recordings.chunks.join.failed failed chunk_join_failed').length, 1)
  assert.deepEqual([take.files().length, (await take.recording()).healthStatus], [1, 'critical'])
  writeFileSync(tool, '#!/bin/sh\nexec /usr/bin/env ffmpeg "$@"\n', { mode: 0o755 })
  k.advance('1h')
  await k.tick('chunk-join')
  assert.deepEqual([events()[0]!.status, (await take.recording()).healthStatus], ['resolved', 'healthy'])
  assert.ok((await take.recording()).cachePath)
  await k.close()
})

test('a disk without room for the joined file is a failure that says so; the chunks stay', async () => {
  const k = kit({ env: { SVC_FFMPEG_COMMAND: '/nowhere/ffmpeg' } })
  const take = await chunked(k, { codec: 'flac' })
  await take.put(0, tone('flac', 1))
  k.sql('UPDATE recording_chunk_files SET size_bytes = 1 << 50')
  await take.put(1, tone('flac', 1), '&chunkTotal=2')
  await k.tick('chunk-join')
  const [event] = k.rows<{ details: string }>(
    `SELECT details FROM health_events WHERE type = 'controller.recording.chunk_join_failed'`,
  )
  assert.match(JSON.parse(event!.details).error, /no room for \d+ bytes/)
  assert.equal(take.files().length, 2)
  await k.close()
})

const silent = { debug() {}, error() {}, info() {}, warn() {} }

/** The joiner of the next process on the same database. */
const anotherJoiner = (k: Kit): Joiner =>
  new Joiner({
    audit: audit(k.db, randomIds, 0),
    chunks: chunkStore(k.db),
    clock: { now: () => Date.parse(k.now()), monotonic: () => 0 },
    db: k.db,
    events: new Events(k.db, silent),
    ffmpegCommand: 'ffmpeg',
    health: healthStore(k.db, randomIds, new Events(k.db, silent)),
    ids: randomIds,
    log: silent,
    paths: new PathClaims(k.takes),
    recordings: recordingStore(k.db),
    diskSpace: new DiskSpace(k.takes),
    takes: k.takes,
  })

test('a stop does not wait for a pass of a runner that goes on until its module stops', async (t) => {
  const dir = scratch(t)
  const tool = join(dir, 'ffmpeg')
  const started = join(dir, 'started')
  writeFileSync(tool, `#!/bin/sh\ntouch ${started}\nexec sleep 600\n`, { mode: 0o755 })
  const k = kit({ env: { SVC_FFMPEG_COMMAND: tool } })
  const take = await chunked(k, { codec: 'flac' })
  await take.put(0, tone('flac', 1), '&chunkTotal=1')
  const pass = k.tick('chunk-join')
  while (!existsSync(started)) await new Promise((resolve) => setImmediate(resolve))
  await k.stop()
  await pass
  await k.close()
})

test('a stop ends a running join at once; what is due stands in the database and is joined after the restart', async (t) => {
  const dir = scratch(t)
  const tool = join(dir, 'ffmpeg')
  const started = join(dir, 'started')
  writeFileSync(tool, `#!/bin/sh\ntouch ${started}\nexec sleep 600\n`, { mode: 0o755 })
  const k = kit({ env: { SVC_FFMPEG_COMMAND: tool } })
  const take = await chunked(k, { codec: 'flac' })
  await take.put(0, tone('flac', 1), '&chunkTotal=1')
  while (!existsSync(started)) await new Promise((resolve) => setImmediate(resolve))
  await k.stop()
  assert.deepEqual(k.rows('SELECT join_attempts, join_at FROM chunked_recordings'), [
    { join_attempts: 0, join_at: k.now() },
  ])
  assert.deepEqual(
    take.files().filter((name) => /incoming|txt/.test(name)),
    [],
  )
  assert.equal(k.rows(`SELECT 1 FROM health_events`).length, 0)
  await anotherJoiner(k).run()
  assert.ok((await take.recording()).cachePath)
  await k.close()
})
