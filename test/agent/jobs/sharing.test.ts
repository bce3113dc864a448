import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { createBus, type Opening } from '../../../src/agent/capture/bus.ts'
import { Feeds } from '../../../src/agent/capture/feeds.ts'
import type { Want } from '../../../src/agent/capture/slot.ts'
import { toneOptions, tonePeriod, toneSource } from '../../../src/agent/capture/tones.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import type { AgentJob } from '../../../src/wire/recordings.ts'
import { job, quick, tempDir, until, type World, wav, world } from './kit.ts'

const RATE = 48_000

/** What the test source gives on some channels (from 0), from a frame on. */
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

interface Shared extends World {
  /** Channels of every opening so far. */
  openings: number[]
  feeds: Feeds
}

/** Runs jobs on feeds whose openings are counted. */
function shared(t: TestContext, settings: Partial<typeof quick> = {}): Shared {
  const openings: number[] = []
  const bus = createBus()
  bus.subscribe({ block: () => {}, opened: ({ format }: Opening) => void openings.push(format.channels) })
  const feeds = new Feeds({ bus, clock: systemClock, settings: { ...quick, ...settings } })
  t.after(() => feeds.stop())
  return { ...world(t, { maxConcurrentRecordings: 8, ...settings }, tempDir(t), { feeds }), feeds, openings }
}

const size = (w: World, id: string): number => {
  const file = path.join(w.workDir, 'takes', id, 'take.wav')
  return fs.existsSync(file) ? fs.statSync(file).size : 0
}

const sent = (w: World, id: string) => wav(w.link.uploads.find((u) => u.jobId === id)!.bytes)

/** Where in the endless tone of a channel these samples begin; fails when they are not of it, one after the other. */
function begins(pcm: Buffer, channels: number, wanted: number[]): number {
  const frames = pcm.length / 2 / wanted.length
  const all = tone(channels, wanted, 0, frames + 480)
  for (let from = 0; from < 480; from++) {
    const part = all.subarray(from * 2 * wanted.length, (from + frames) * 2 * wanted.length)
    if (part.equals(pcm)) return from
  }
  return assert.fail('the samples are not the tone of those channels')
}

/** Takes that last until they are stopped: nothing here may depend on how fast this machine is today. */
const long = { captureDevice: 'test:speed=4', durationSeconds: 600 }

/** Accepts jobs together, as the controller hands them out, and waits until their takes grow. */
async function begin(w: World, ...jobs: AgentJob[]): Promise<void> {
  w.runner.accept(w.link.add(...jobs))
  await until(() => jobs.every((one) => size(w, one.id) > 6000))
}

const stop = (w: World, ...ids: string[]): void => {
  for (const id of ids) w.link.set(id, { status: 'stop_requested' })
}

const uploaded = (w: World, id: string) => until(() => w.link.uploads.some((u) => u.jobId === id))

test('four jobs of two groups and a late one: the device is opened once, and each take is right to the sample', async (t) => {
  const w = shared(t)
  const of = (id: string, captureGroupId: string, captureChannelSelection: number[], durationSeconds = 600) =>
    job(id, { ...long, captureChannelSelection, captureGroupId, durationSeconds })
  await begin(w, of('a', 'one', [1, 2]), of('b', 'one', [8]))
  await begin(w, of('c', 'two', [3]), of('d', 'two', [5, 4]))
  await begin(w, job('e', { ...long, captureChannels: 2 }))
  assert.equal(w.runner.freeCapacity(), 5)
  assert.equal(fs.statSync(path.join(w.workDir, 'takes/c/take.wav')).nlink, 2, 'one file for a group')
  w.runner.accept(w.link.add(job('f', { ...long, captureChannels: 8, durationSeconds: 1 })))
  await uploaded(w, 'f')
  stop(w, 'a', 'b', 'c', 'd', 'e')
  await w.runner.idle()
  const first = begins(sent(w, 'a').pcm, 8, [0, 1])
  assert.equal(first, 0)
  begins(sent(w, 'b').pcm, 8, [7])
  begins(sent(w, 'c').pcm, 8, [2])
  begins(sent(w, 'd').pcm, 8, [4, 3])
  begins(sent(w, 'e').pcm, 8, [0, 1])
  begins(sent(w, 'f').pcm, 8, [0, 1, 2, 3, 4, 5, 6, 7])
  assert.equal(sent(w, 'f').dataBytes, RATE * 16)
  assert.deepEqual([w.openings, w.link.failed], [[8], []])
})

test('takes of different groups have files of their own, as wide as each asked', async (t) => {
  const w = shared(t)
  await begin(w, job('a', { ...long, captureChannels: 4 }))
  await begin(w, job('b', { ...long, captureChannels: 1 }))
  const [a, b] = ['a', 'b'].map((id) => fs.statSync(path.join(w.workDir, 'takes', id, 'take.wav')))
  assert.notEqual(a!.ino, b!.ino)
  stop(w, 'a', 'b')
  await w.runner.idle()
  assert.deepEqual([sent(w, 'a').channels, sent(w, 'b').channels], [4, 1])
  begins(sent(w, 'b').pcm, 4, [0])
})

test('a job that wants another rate waits for the device, and says why', async (t) => {
  const w = shared(t, { retryWindowSeconds: 600 })
  await begin(w, job('a', long))
  w.runner.accept(w.link.add(job('b', { ...long, captureSampleRate: 44_100, durationSeconds: 1 })))
  await until(() => w.names().includes('capture_device_unavailable'))
  stop(w, 'a')
  await w.runner.idle()
  assert.deepEqual([sent(w, 'b').rate, sent(w, 'b').dataBytes], [44_100, 44_100 * 4])
  const { details } = w.events.find((e) => e.type.endsWith('capture_device_unavailable'))!
  assert.equal(details!.jobId, 'b')
  assert.match(String(details!.error), /open for another take: 2 channels, S16_LE, 48000 Hz/)
  assert.equal(w.openings.length, 2)
})

test('the chain of takes of an always-on room: one opening, a file for each', async (t) => {
  const w = shared(t)
  await begin(w, job('a', long))
  await begin(w, job('b', long))
  stop(w, 'a')
  await uploaded(w, 'a')
  await begin(w, job('c', long))
  stop(w, 'b', 'c')
  await w.runner.idle()
  for (const id of ['a', 'b', 'c']) begins(sent(w, id).pcm, 2, [0, 1])
  assert.equal(w.openings.length, 1)
})

/** The metering device, as Standby wants it. */
function meters(device: string, channels: number, rate = RATE): Want {
  const open: Want['device']['open'] = (f) => toneSource(f, toneOptions(device), systemClock)
  return {
    asked: { channels, format: 'S16_LE', rate },
    device: { name: device, open, test: true },
    hardware: device,
    how: 'alsa arecord ',
    interfaceRef: 'test:tone',
  }
}

test('a take joins the device that is open for the meters, and leaves it open', async (t) => {
  const w = shared(t)
  w.feeds.standby(meters('test:speed=4', 8))
  await until(() => w.openings.length === 1)
  w.runner.accept(w.link.add(job('a', { ...long, captureChannelSelection: [3], durationSeconds: 1 })))
  await w.runner.idle()
  begins(sent(w, 'a').pcm, 8, [2])
  assert.deepEqual(w.openings, [8])
})

test('a take of another rate gets the device at once; the meters get it back', async (t) => {
  const w = shared(t)
  w.feeds.standby(meters('test:speed=4', 8))
  await until(() => w.openings.length === 1)
  w.runner.accept(w.link.add(job('a', { ...long, captureSampleRate: 44_100, durationSeconds: 1 })))
  await w.runner.idle()
  assert.equal(sent(w, 'a').dataBytes, 44_100 * 4)
  await until(() => w.openings.length === 3)
  assert.deepEqual(w.openings, [8, 2, 8])
  assert.deepEqual(w.names(), [])
})
