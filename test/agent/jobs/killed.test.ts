import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { MARKED_HEADER } from '../../../src/agent/audio/marks.rules.ts'
import type { Upload } from '../../../src/agent/link/link.ts'
import { Enhancement } from '../../../src/wire/profiles.ts'
import { age } from '../../kit/take.ts'
import { job, plainEnhancer, tempDir, tones, until, wav, world } from './kit.ts'

const CHILD = path.join(import.meta.dirname, 'child.ts')
const RATE = 48_000
const settings = { keepUploaded: true }
const chain = { enhancement: Enhancement.parse({}) }

const sentFiles = (dir: string): string[] => {
  const names = fs.existsSync(`${dir}.sent`) ? fs.readdirSync(`${dir}.sent`) : []
  return names.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
}

/** Runs the job in a process of its own until something is the case, and kills it there. */
async function killedWhen(dir: string, command: object, when: () => boolean): Promise<void> {
  const args = [CHILD, dir, JSON.stringify({ a: command }), JSON.stringify(settings)]
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  const gone = new Promise((resolve) => child.once('exit', resolve))
  await until(() => when() || child.exitCode !== null)
  child.kill('SIGKILL')
  await gone
}

interface Arrived extends Pick<Upload, 'chunk' | 'chunkTotal' | 'rendition'> {
  pcm: Buffer
}

/** What the killed processes had sent, and then the last one, which is told to stop. */
async function delivered(t: TestContext, dir: string, command: object): Promise<Arrived[]> {
  const before = sentFiles(dir).map((name) => {
    const [, chunk, rendition, total] = name.split('.')
    const number = (text = '') => (text === '' ? undefined : Number(text))
    const { pcm } = wav(fs.readFileSync(path.join(`${dir}.sent`, name)))
    return { chunk: number(chunk), chunkTotal: number(total), pcm, rendition: (rendition || undefined) as 'raw' }
  })
  const w = world(t, settings, dir, { enhancer: plainEnhancer() })
  w.link.add(job('a', command))
  const recovered = w.runner.recover()
  await until(() => w.link.uploads.length > 0)
  w.link.set('a', { status: 'stop_requested' })
  await recovered
  await w.runner.idle()
  assert.deepEqual(fs.readdirSync(path.join(dir, 'takes')), [])
  return [...before, ...w.link.uploads.map((u) => ({ ...u, pcm: wav(u.bytes).pcm }))]
}

const kept = (dir: string): Buffer => wav(fs.readFileSync(path.join(dir, 'cache/a/take.wav'))).pcm

test('killed again and again while chunks of two renditions go up: every sample exactly once, nothing sent without need', async (t) => {
  const dir = tempDir(t)
  // So long that its time is not over however late the next process starts.
  const command = { ...chain, captureDevice: 'test:speed=2', chunkSeconds: 1, durationSeconds: 600 }
  for (const count of [1, 3, 4]) await killedWhen(dir, command, () => sentFiles(dir).length >= count)
  const all = await delivered(t, dir, command)
  const raw = new Map(all.filter((u) => u.rendition === 'raw').map((u) => [u.chunk!, u.pcm]))
  const whole = Buffer.concat([...raw].sort(([a], [b]) => a - b).map(([, pcm]) => pcm))
  assert.ok(whole.equals(kept(dir)))
  assert.ok(whole.subarray(0, RATE * 4).equals(tones(RATE)))
  const chunks = Math.ceil(whole.length / 4 / RATE)
  const every = new Set(Array.from({ length: chunks }, (_, i) => i))
  assert.deepEqual(new Set(raw.keys()), every)
  const enhanced = all.filter((u) => u.rendition === 'enhanced')
  assert.deepEqual(new Set(enhanced.map((u) => u.chunk)), every)
  assert.deepEqual(
    all.filter((u) => u.chunkTotal !== undefined).map((u) => [u.chunk, u.rendition, u.chunkTotal]),
    [[chunks - 1, 'enhanced', chunks]],
  )
  // One may have been on its way at each of the three ends.
  assert.ok(all.length >= 2 * chunks && all.length <= 2 * chunks + 3, `${all.length} uploads of ${chunks} chunks`)
})

test('killed between the two renditions of a whole take: only the missing one is sent, and no encoding is done again', async (t) => {
  const dir = tempDir(t)
  const command = { ...chain, outputCodec: 'flac', outputFileName: 'rec_a.flac' }
  const file = path.join(dir, 'takes/a/state.json')
  // Killed too late, it is gone: then nothing was left to send.
  const state = () => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '"uploaded":true')
  await killedWhen(dir, command, () => sentFiles(dir).length > 0 && state().includes('"uploaded":true'))
  const w = world(t, { ...settings, renderCommand: 'false' }, dir)
  w.link.add(job('a', command as object))
  await w.runner.recover()
  await w.runner.idle()
  const sent = w.link.uploads.map((u) => [u.rendition, u.contentType])
  // The second may have been accepted, too.
  assert.ok(sent.length === 0 || sent.join() === 'raw,audio/flac', sent.join())
  assert.deepEqual(kept(dir), tones(2 * RATE))
})

test('a power cut that loses the end of a take whose chunks are with the controller: the job ends with what it has', async (t) => {
  const dir = tempDir(t)
  const command = { captureDevice: 'test:speed=2', chunkSeconds: 1, durationSeconds: 600 }
  await killedWhen(dir, command, () => sentFiles(dir).length >= 2)
  const file = path.join(dir, 'takes/a/take.wav')
  fs.truncateSync(file, MARKED_HEADER + RATE * 4 + 1000)
  age(file, 3600)
  const w = world(t, settings, dir)
  w.link.add({ ...job('a', command), status: 'running' })
  await w.runner.recover()
  await w.runner.idle()
  assert.deepEqual(w.link.failed, [['a', 'final_chunk_total_undelivered']])
  assert.deepEqual(fs.readdirSync(path.join(dir, 'takes')), [])
})
