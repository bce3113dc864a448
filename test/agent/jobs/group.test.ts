import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { tonePeriod } from '../../../src/agent/capture/tones.ts'
import type { AgentJob } from '../../../src/wire/recordings.ts'
import { job, until, wav, world } from './kit.ts'

const RATE = 48_000
const member = (id: string, command: Partial<AgentJob['command']>) =>
  job(id, { captureDevice: 'test:speed=20', captureGroupId: 'cap_1', ...command })

/** What the test source gives on some channels, from a frame on. */
function tone(channels: number, wanted: number[], from: number, frames: number): Buffer {
  const period = tonePeriod({ channels, format: 'S16_LE', rate: RATE })
  const out = Buffer.alloc(frames * wanted.length * 2)
  for (let i = 0; i < frames; i++)
    wanted.forEach((c, k) => {
      const at = (((from + i) % (RATE / 100)) * channels + c) * 2
      out.writeInt16LE(period.readInt16LE(at), (i * wanted.length + k) * 2)
    })
  return out
}

test('one capture serves a group: each member gets its channels and its length, and nothing else', async (t) => {
  const w = world(t)
  const a = member('a', { captureChannelSelection: [1, 2], durationSeconds: 1 })
  const b = member('b', { captureChannelSelection: [5, 4], durationSeconds: 3 })
  w.runner.accept(w.link.add(a, b))
  assert.equal(w.runner.freeCapacity(), 0)
  await w.runner.idle()
  const sent = (id: string) => wav(w.link.uploads.find((u) => u.jobId === id)!.bytes)
  assert.ok(sent('a').pcm.equals(tone(5, [0, 1], 0, RATE)))
  assert.ok(sent('b').pcm.equals(tone(5, [4, 3], 0, 3 * RATE)))
  assert.deepEqual(new Set(w.link.heartbeats), new Set(['a', 'b']))
  assert.deepEqual(fs.readdirSync(path.join(w.workDir, 'takes')), [])
})

test('a member is stopped alone, the others go on', async (t) => {
  const w = world(t)
  const real = { captureDevice: 'test:speed=3', durationSeconds: 4 }
  w.runner.accept(
    w.link.add(
      member('a', { ...real, captureChannelSelection: [1] }),
      member('b', { ...real, captureChannelSelection: [2] }),
    ),
  )
  const file = path.join(w.workDir, 'takes/b/take.wav')
  await until(() => fs.existsSync(file) && fs.statSync(file).size > 30_000)
  w.link.set('a', { status: 'stop_requested' })
  await w.runner.idle()
  const sent = (id: string) => wav(w.link.uploads.find((u) => u.jobId === id)!.bytes)
  assert.deepEqual(w.link.uploads.map((u) => u.jobId).sort(), ['a', 'b'])
  const frames = sent('a').dataBytes / 2
  assert.ok(frames > 0 && frames < 4 * RATE)
  assert.ok(sent('a').pcm.equals(tone(2, [0], 0, frames)))
  assert.ok(sent('b').pcm.equals(tone(2, [1], 0, 4 * RATE)))
})

test('a member stopped before the first sample is cancelled, the others record', async (t) => {
  const w = world(t)
  const stopped: AgentJob = { ...member('a', { captureChannelSelection: [1] }), status: 'stop_requested' }
  w.runner.accept(w.link.add(stopped, member('b', { captureChannelSelection: [2] })))
  await w.runner.idle()
  assert.deepEqual(w.link.cancelled, [['a', 'controller_stop_requested']])
  assert.ok(wav(w.link.uploads[0]!.bytes).pcm.equals(tone(2, [1], 0, 2 * RATE)))
})

test('a job claimed later joins the running capture of its group', async (t) => {
  const w = world(t)
  const slow = { captureDevice: 'test:speed=3' }
  w.runner.accept(w.link.add(member('a', { ...slow, captureChannels: 4, durationSeconds: 6 })))
  const file = path.join(w.workDir, 'takes/a/take.wav')
  await until(() => fs.existsSync(file) && fs.statSync(file).size > 60_000)
  w.runner.accept(w.link.add(member('b', { ...slow, captureChannelSelection: [3], durationSeconds: 3 })))
  await w.runner.idle()
  const sent = (id: string) => wav(w.link.uploads.find((u) => u.jobId === id)!.bytes)
  assert.ok(sent('a').pcm.equals(tone(4, [0, 1, 2, 3], 0, 6 * RATE)))
  assert.equal(sent('b').dataBytes, 3 * RATE * 2)
  const starts = Array.from({ length: 480 }, (_, i) => tone(4, [2], i, 480))
  assert.ok(starts.some((s) => s.equals(sent('b').pcm.subarray(0, 960))))
})

test('when rendering fails a member still gets no channel of another', async (t) => {
  const w = world(t, { renderCommand: 'false' })
  const a = member('a', { captureChannelSelection: [1], durationSeconds: 1 })
  const b = member('b', { captureChannelSelection: [3], durationSeconds: 1 })
  w.runner.accept(w.link.add(a, b))
  await w.runner.idle()
  const sent = (id: string) => wav(w.link.uploads.find((u) => u.jobId === id)!.bytes)
  assert.ok(sent('a').pcm.equals(tone(3, [0], 0, RATE)))
  assert.ok(sent('b').pcm.equals(tone(3, [2], 0, RATE)))
})

test('a member that comes while the device is being opened waits and joins: it is never opened twice', async (t) => {
  const w = world(t, {}, undefined, { locate: () => new Promise((resolve) => setTimeout(resolve, 50, undefined)) })
  const slow = { captureDevice: 'test:speed=3' }
  w.runner.accept(w.link.add(member('a', { ...slow, captureChannels: 4, durationSeconds: 4 })))
  await until(() => w.runner.recording())
  w.runner.accept(w.link.add(member('b', { ...slow, captureChannelSelection: [3], durationSeconds: 1 })))
  assert.equal(w.runner.freeCapacity(), 0)
  await w.runner.idle()
  const sent = (id: string) => wav(w.link.uploads.find((u) => u.jobId === id)!.bytes)
  // Had it a capture of its own, that would begin with the first sample and have three channels.
  assert.equal(sent('b').dataBytes, RATE * 2)
  assert.deepEqual(w.link.failed, [])
})

test('a member that is wider than the running capture waits for its end', async (t) => {
  const w = world(t)
  const slow = { captureDevice: 'test:speed=10' }
  w.runner.accept(w.link.add(member('a', { ...slow, captureChannels: 2, durationSeconds: 2 })))
  const file = path.join(w.workDir, 'takes/a/take.wav')
  await until(() => fs.existsSync(file) && fs.statSync(file).size > 10_000)
  w.runner.accept(w.link.add(member('b', { ...slow, captureChannelSelection: [4], durationSeconds: 1 })))
  await until(() => w.link.heartbeats.includes('b'))
  assert.equal(fs.existsSync(path.join(w.workDir, 'takes/b/take.wav')), false)
  await w.runner.idle()
  const sent = wav(w.link.uploads.find((u) => u.jobId === 'b')!.bytes)
  assert.ok(sent.pcm.equals(tone(4, [3], 0, RATE)))
})
