import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { tonePeriod } from '../../../src/agent/capture/tones.ts'
import type { EnhanceRequest, Enhancer } from '../../../src/agent/enhance/enhance.ts'
import { LinkError } from '../../../src/agent/link/link.ts'
import { Enhancement } from '../../../src/wire/profiles.ts'
import { job, plainEnhancer, type Sent, status, tones, until, wav, world } from './kit.ts'

const RATE = 48_000
const chain = () => Enhancement.parse({})
const joined = (sent: Sent[]): Buffer => Buffer.concat(sent.map((u) => wav(u.bytes).pcm))
const take = (dir: string, id = 'a') => path.join(dir, 'takes', id, 'take.wav')

test('chunks go up while the take runs, and together are the source, sample for sample', async (t) => {
  const w = world(t)
  const running: (string | undefined)[] = []
  w.link.onUpload = async () => void running.push(status(w.workDir))
  w.runner.accept(w.link.add(job('a', { captureDevice: 'test:speed=4', chunkSeconds: 1, durationSeconds: 5 })))
  await w.runner.idle()
  const sent = w.link.uploads
  assert.ok(joined(sent).equals(tones(5 * RATE)))
  assert.deepEqual(
    sent.map((u) => [u.chunk, u.chunkTotal, u.durationSeconds, u.fileName, u.rendition]),
    [0, 1, 2, 3, 4].map((k) => [k, k === 4 ? 5 : undefined, 1, `rec_a.chunk-000${k}.wav`, undefined]),
  )
  assert.equal(running[0], 'capturing')
  assert.deepEqual(new Set(w.names()), new Set(['chunked_started', 'chunk_uploaded', 'chunked_completed']))
  assert.deepEqual(fs.readdirSync(path.join(w.workDir, 'takes')), [])
})

test('a stop keeps what is there: the last chunk is as long as it is', async (t) => {
  const w = world(t)
  w.runner.accept(w.link.add(job('a', { captureDevice: 'test:speed=4', chunkSeconds: 1, durationSeconds: 600 })))
  await until(() => w.link.uploads.length >= 2)
  w.link.set('a', { status: 'stop_requested' })
  await w.runner.idle()
  const pcm = joined(w.link.uploads)
  assert.ok(pcm.equals(tones(pcm.length / 4)))
  const last = w.link.uploads.at(-1)!
  assert.equal(last.chunkTotal, w.link.uploads.length)
  assert.ok(last.durationSeconds > 0 && last.durationSeconds <= 1)
  assert.equal(w.link.jobs.get('a')!.status, 'completed')
})

test('a take shorter than a chunk is one chunk; length, rate and channels of the job hold in each', async (t) => {
  const w = world(t)
  const command = { captureChannelSelection: [2], chunkSeconds: 2, durationSeconds: 1, outputCodec: 'flac' as const }
  w.runner.accept(w.link.add(job('a', { ...command, outputFileName: 'x.flac' })))
  await w.runner.idle()
  const [one, ...more] = w.link.uploads
  assert.deepEqual(more, [])
  assert.deepEqual([one!.chunk, one!.chunkTotal, one!.durationSeconds, one!.contentType], [0, 1, 1, 'audio/flac'])
})

test('a gap is told with its chunk, at its place there', async (t) => {
  const w = world(t, { retryPauseSeconds: 0.2 })
  const command = { captureDevice: 'test:fail-after=1.5', chunkSeconds: 1, durationSeconds: 3 }
  w.runner.accept(w.link.add(job('a', command)))
  await w.runner.idle()
  const sent = w.link.uploads
  assert.equal(joined(sent).length, 3 * RATE * 4)
  assert.equal(sent[0]!.details!.gaps, undefined)
  assert.equal(sent[1]!.details!.gaps![0]!.atSeconds, 0.5)
  const told = sent.map((u) => u.details!.gapSeconds ?? 0).reduce((sum, seconds) => sum + seconds)
  const { seconds } = w.events.find((e) => e.type.endsWith('capture_device_recovered'))!.details as { seconds: number }
  assert.ok(Math.abs(told - Math.min(seconds, 1.5)) < 1e-6)
  assert.ok(sent.every((u) => u.details!.source === 'test' && u.details!.capture!.sampleRate === RATE))
})

test('the members of a group get their own chunks; a late one begins its own with its first frame', async (t) => {
  const w = world(t)
  const member = (id: string, command: object) =>
    job(id, { captureDevice: 'test:speed=4', captureGroupId: 'cap_1', chunkSeconds: 1, ...command })
  w.runner.accept(
    w.link.add(
      member('a', { captureChannelSelection: [1], durationSeconds: 6 }),
      member('b', { captureChannelSelection: [2], chunkSeconds: 2, durationSeconds: 3 }),
    ),
  )
  await until(() => w.link.uploads.some((u) => u.jobId === 'a' && u.chunk === 1))
  w.runner.accept(w.link.add(member('c', { captureChannelSelection: [1], durationSeconds: 2 })))
  await w.runner.idle()
  const of = (id: string) => w.link.uploads.filter((u) => u.jobId === id)
  const only = (channel: number, from: number, frames: number): Buffer => {
    const period = tonePeriod({ channels: 2, format: 'S16_LE', rate: RATE })
    const out = Buffer.alloc(frames * 2)
    for (let i = 0; i < frames; i++)
      out.writeInt16LE(period.readInt16LE((((from + i) % (RATE / 100)) * 2 + channel) * 2), i * 2)
    return out
  }
  assert.ok(joined(of('a')).equals(only(0, 0, 6 * RATE)))
  assert.ok(joined(of('b')).equals(only(1, 0, 3 * RATE)))
  assert.deepEqual(
    of('b').map((u) => u.durationSeconds),
    [2, 1],
  )
  const late = joined(of('c'))
  assert.equal(late.length, 2 * RATE * 2)
  const at = Array.from({ length: 480 }, (_, i) => i).find((i) => late.equals(only(0, i, 2 * RATE)))
  assert.notEqual(at, undefined)
})

test('each chunk is enhanced and kept raw; the last enhanced one completes the job', async (t) => {
  const w = world(t, {}, undefined, { enhancer: plainEnhancer() })
  const command = { captureDevice: 'test:speed=8', chunkSeconds: 1, durationSeconds: 2, enhancement: chain() }
  w.runner.accept(w.link.add(job('a', command)))
  await w.runner.idle()
  assert.deepEqual(
    w.link.uploads.map((u) => [u.chunk, u.rendition, u.chunkTotal, u.fileName]),
    [
      [0, 'enhanced', undefined, 'rec_a.chunk-0000.wav'],
      [0, 'raw', undefined, 'rec_a.chunk-0000.raw.wav'],
      [1, 'enhanced', 2, 'rec_a.chunk-0001.wav'],
      [1, 'raw', undefined, 'rec_a.chunk-0001.raw.wav'],
    ],
  )
  assert.ok(joined(w.link.uploads.filter((u) => u.rendition === 'raw')).equals(tones(2 * RATE)))
})

test('an enhancement follows the chunks before it and hears around its own; the disk still holds that', async (t) => {
  const plain = plainEnhancer()
  const asked: EnhanceRequest[] = []
  const held: boolean[] = []
  const noted: unknown[] = []
  const enhance: Enhancer['enhance'] = async (request, options) => {
    const { file, fromFrame, heardFrom = fromFrame, heardTo = 0 } = request.take
    asked.push(request)
    // What another process would go on with.
    const { levelled, partsMade } = JSON.parse(fs.readFileSync(path.join(request.workDir, 'state.json'), 'utf8'))
    noted.push([partsMade, levelled])
    const bytes = fs.readFileSync(file)
    // Its header says how long it is at the end.
    const frames = (all: Buffer, offset = 0) => all.subarray(offset + heardFrom * 4, offset + heardTo * 4)
    held.push(frames(bytes, wav(bytes).dataOffset).equals(frames(tones(heardTo))))
    const heard = [...(request.before?.heard ?? []), { lufs: -20, seconds: asked.length }]
    return { ...(await plain.enhance(request, options)), levelled: { gainDb: asked.length, heard } }
  }
  const w = world(t, {}, undefined, { enhancer: { enhance } })
  const command = { captureDevice: 'test:speed=10', chunkSeconds: 5, durationSeconds: 28, enhancement: chain() }
  w.runner.accept(w.link.add(job('a', command)))
  await w.runner.idle()
  assert.deepEqual(
    asked.map(({ before }) => before?.gainDb),
    [undefined, 1, 2, 3, 4, 5],
  )
  assert.equal(asked[5]!.before!.heard.length, 5)
  assert.deepEqual(
    noted,
    asked.map(({ before }, k) => [k, before]),
  )
  assert.deepEqual(
    asked.map(({ take: { fromFrame, heardFrom, heardTo, toFrame } }) =>
      [heardFrom, fromFrame, toFrame, heardTo].map((frame) => frame! / RATE),
    ),
    [
      [0, 0, 5, 5.1],
      [3, 5, 10, 10.1],
      [8, 10, 15, 15.1],
      [13, 15, 20, 20.1],
      [18, 20, 25, 25.1],
      [23, 25, 28, 28],
    ],
  )
  assert.deepEqual(held, Array(6).fill(true))
})

test('the disk gets back what the controller has while the take runs, and the rest is untouched', async (t) => {
  const w = world(t)
  const command = { captureDevice: 'test:speed=10', chunkSeconds: 2, durationSeconds: 60 }
  w.runner.accept(w.link.add(job('a', command)))
  const blocks = () => fs.statSync(take(w.workDir)).blocks * 512
  await until(() => w.link.uploads.length >= 6)
  // A hole is made after the upload: it is waited for, or the take is over.
  await until(() => !fs.existsSync(take(w.workDir)) || fs.statSync(take(w.workDir)).size - blocks() > 1 << 20)
  assert.ok(fs.statSync(take(w.workDir)).size - blocks() > 1 << 20)
  await w.runner.idle()
  assert.ok(joined(w.link.uploads).equals(tones(60 * RATE)))
})

test('a chunk that is finally refused is kept, the others go on', async (t) => {
  const w = world(t)
  w.link.refusals = [undefined, new LinkError('too large', 413, 'file_too_large')]
  w.runner.accept(w.link.add(job('a', { captureDevice: 'test:speed=8', chunkSeconds: 1, durationSeconds: 3 })))
  await w.runner.idle()
  assert.deepEqual(
    w.link.uploads.map((u) => u.chunk),
    [0, 2],
  )
  const { details, severity } = w.events.at(-1)!
  assert.deepEqual([severity, details!.reason], ['critical', 'file_too_large'])
  const { pcm } = wav(fs.readFileSync(path.join(w.workDir, 'kept/a/1.cut.wav')))
  assert.ok(pcm.equals(tones(2 * RATE).subarray(RATE * 4)))
})

test('where the job says nothing, the chunks are as long as the settings say', async (t) => {
  const w = world(t, { chunkSeconds: 1 })
  w.runner.accept(w.link.add(job('a')))
  await w.runner.idle()
  assert.deepEqual(
    w.link.uploads.map((u) => u.chunk),
    [0, 1],
  )
})
