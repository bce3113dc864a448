import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { LinkError } from '../../../src/agent/link/link.ts'
import { job, status, tempDir, tones, until, wav, world } from './kit.ts'

const RATE = 48_000
const FLAC = { outputCodec: 'flac' as const, outputFileName: 'x.flac' }

/** An encoder of our own making; `$0.began` has a line for each time it was started. */
function encoder(t: TestContext, body: string): { began: () => number; command: string } {
  const command = path.join(tempDir(t), 'encoder')
  fs.writeFileSync(command, `#!/bin/bash\necho >> "$0.began"\n${body}\n`, { mode: 0o755 })
  const log = `${command}.began`
  return { began: () => (fs.existsSync(log) ? fs.readFileSync(log, 'utf8').length : 0), command }
}

const samples = (t: TestContext, bytes: Buffer): Buffer => {
  const file = path.join(tempDir(t), 'x')
  fs.writeFileSync(file, bytes)
  return execFileSync('ffmpeg', ['-nostdin', '-v', 'error', '-i', file, '-f', 's16le', '-'], { maxBuffer: 1 << 28 })
}

test('the encoder runs along with the capture, once, and its file holds every sample', async (t) => {
  const { began, command } = encoder(t, 'exec ffmpeg "$@"')
  const w = world(t, { renderCommand: command })
  w.runner.accept(w.link.add(job('a', { ...FLAC, captureDevice: 'test:speed=2', durationSeconds: 3 })))
  await until(() => began() > 0)
  assert.equal(status(w.workDir), 'capturing')
  await w.runner.idle()
  assert.equal(began(), 1)
  assert.ok(samples(t, w.link.uploads[0]!.bytes).equals(tones(3 * RATE)))
})

test('an encoder that dies during the capture is started again from the first frame', async (t) => {
  const dies = 'if [ "$(wc -l < "$0.began")" = 1 ]; then head -c 300000 > /dev/null; exit 1; fi; exec ffmpeg "$@"'
  const { began, command } = encoder(t, dies)
  const w = world(t, { renderCommand: command })
  w.runner.accept(w.link.add(job('a', { ...FLAC, captureDevice: 'test:speed=2', durationSeconds: 4 })))
  await until(() => began() > 1)
  assert.equal(status(w.workDir), 'capturing')
  await w.runner.idle()
  assert.ok(samples(t, w.link.uploads[0]!.bytes).equals(tones(4 * RATE)))
  assert.deepEqual(w.names(), ['output_rendered'])
})

test('an encoder that takes nothing does not hold up the capture, and ends with the agent', async (t) => {
  const { began, command } = encoder(t, 'echo $$ > "$0.pid"; exec sleep 600')
  const w = world(t, { renderCommand: command, stopGraceSeconds: 0.1 })
  w.runner.accept(w.link.add(job('a', { ...FLAC, captureDevice: 'test:speed=20', durationSeconds: 20 })))
  await until(() => status(w.workDir) === 'captured')
  assert.equal(began(), 1)
  assert.ok(wav(fs.readFileSync(path.join(w.workDir, 'takes/a/take.wav'))).pcm.equals(tones(20 * RATE)))
  await w.runner.stop()
  assert.throws(() => process.kill(Number(fs.readFileSync(`${command}.pid`, 'utf8')), 0), /ESRCH/)
})

test('for a take without audio no encoder runs', async (t) => {
  const { began, command } = encoder(t, 'exec ffmpeg "$@"')
  const w = world(t, { renderCommand: command })
  const silent = job('a', { ...FLAC, captureDevice: 'test:stall-after=0.00001' })
  w.runner.accept(w.link.add({ ...silent, status: 'stop_requested' }))
  await w.runner.idle()
  assert.deepEqual([w.link.cancelled.length, began()], [1, 0])
})

test('a disk too full for the encoded file is waited for; at last the take itself goes up', async (t) => {
  const { began, command } = encoder(t, 'echo "take: No space left on device" >&2; exit 1')
  const w = world(t, { renderCommand: command })
  w.runner.accept(w.link.add(job('a', FLAC)))
  await w.runner.idle()
  assert.ok(began() > 6)
  assert.deepEqual(fs.readdirSync(path.join(w.workDir, 'takes')), [])
  assert.ok(wav(w.link.uploads[0]!.bytes).pcm.equals(tones(2 * RATE)))
  assert.deepEqual(w.names(), ['output_render_failed'])
})

test('after an outage the oldest take goes first, and one that is stuck holds up none', async (t) => {
  const dir = tempDir(t)
  const before = world(t, { maxConcurrentRecordings: 4, stopGraceSeconds: 0.1 }, dir)
  before.link.upload = (_file, signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new LinkError('stopped'))))
  const ids = ['d', 'b', 'c', 'a']
  for (const [i, id] of ids.entries()) {
    before.runner.accept(before.link.add(job(id)))
    await until(() => ['uploading', 'captured'].includes(status(dir, id) ?? '') && before.runner.holding().length > i)
  }
  await before.runner.stop()
  const w = world(t, {}, dir)
  const asked: string[] = []
  const send = w.link.upload.bind(w.link)
  let stuck = true
  w.link.upload = async (file, signal) => {
    asked.push(file.jobId!)
    if (file.jobId === 'd' && stuck) throw new LinkError('no answer')
    await send(file, signal)
  }
  w.link.add(...ids.map((id) => job(id)))
  await w.runner.recover()
  await until(() => w.runner.holding().join() === 'd')
  stuck = false
  await w.runner.idle()
  assert.deepEqual(w.link.uploads.map((u) => u.jobId).slice(3), ['d'])
  assert.ok(asked.filter((id) => id === 'd').length > 1)
})

test('a job of another make that says nothing of channels gets the map that is assigned', async (t) => {
  const w = world(t, { maxConcurrentRecordings: 3 })
  const entries = [{ included: true, label: 'talk', sourceChannelIndex: 2 }]
  const assignment = { targetId: 'node_1', targetType: 'node' }
  w.link.channelMapAssignments = async () => [{ assignment, template: { channelMode: 'mono', entries } }] as never
  w.runner.accept(w.link.add(job('a')))
  // One after the other: takes that share a device begin where it is, not with its first sample.
  await w.runner.idle()
  w.runner.accept(w.link.add(job('b', { channelMode: 'stereo' })))
  await w.runner.idle()
  const sent = (id: string) => wav(w.link.uploads.find((u) => u.jobId === id)!.bytes)
  assert.equal(sent('a').channels, 1)
  assert.equal(sent('a').pcm.readInt16LE(200 * 2), tones(201).readInt16LE(200 * 4 + 2))
  assert.equal(sent('b').channels, 2)
  w.link.channelMapAssignments = () => Promise.reject(new LinkError('no answer'))
  w.runner.accept(w.link.add(job('c')))
  await w.runner.idle()
  assert.equal(sent('c').channels, 2)
  assert.deepEqual(w.names().at(-1), 'channel_map_lookup_failed')
})
