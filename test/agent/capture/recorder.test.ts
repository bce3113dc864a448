import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { WavFile } from '../../../src/agent/audio/wav.ts'
import { createBus } from '../../../src/agent/capture/bus.ts'
import { Feeds } from '../../../src/agent/capture/feeds.ts'
import { type Gap, Recorder } from '../../../src/agent/capture/recorder.ts'
import type { Device, Source } from '../../../src/agent/capture/source.ts'
import { tempDir } from '../jobs/kit.ts'

const asked = { channels: 1, format: 'S16_LE', rate: 8000 } as const

/** One opening that gives so much audio, the first 50 ms of it alone, then ends with these words. */
function opening(seconds: number, stderr: string): Source {
  const pcm = Readable.from(seconds > 0 ? [Buffer.alloc(800, 1), Buffer.alloc(seconds * 16_000 - 800, 1)] : [])
  const ended = new Promise<void>((resolve) => pcm.once('close', resolve))
  return {
    ended: ended.then(() => ({ code: 1, stderr, stopped: false })),
    kill: () => pcm.destroy(),
    pcm,
    stderr: () => stderr,
    stop: () => {},
  }
}

/** Records from openings that each take a second of the clock. */
async function record(dir: string, openings: [seconds: number, stderr: string][], seconds: number) {
  let now = 0
  const device: Device = {
    name: 'hw:1',
    open: () => {
      now += 1000
      return opening(...(openings.shift() ?? [0, 'No such device']))
    },
    test: false,
  }
  const gaps: Gap[] = []
  const names: string[] = []
  const clock = { monotonic: () => now, now: () => 0 }
  const settings = { growthGraceSeconds: 10, retryPauseSeconds: 0.001, retryWindowSeconds: 3.5, stalledSeconds: 30 }
  const feeds = new Feeds({ bus: createBus(), clock, settings })
  const want = { asked, device, hardware: 'alsa:hw:1,0', how: '', interfaceRef: 'hw:1' }
  const recorder = new Recorder({
    asked,
    attach: (taker) => feeds.take(want, taker),
    clock,
    file: path.join(dir, 'take.wav'),
    gapsNoted: async () => {},
    makeRoom: async () => {},
    onFrames: () => {},
    onGap: (gap) => void gaps.push(gap),
    onStart: async () => {},
    seconds,
    settings,
    tell: (_, name) => void names.push(name),
  })
  recorder.start()
  return { end: { ...(await recorder.done), gaps }, left: openings.length, names }
}

const BUSY = 'audio open error: Device or resource busy'
const LOST = 'read error: Input/output error'

test('each outage has its own time, also after a device that came late', async (t) => {
  const openings: [number, string][] = [
    [0, BUSY],
    [0, BUSY],
    [5, LOST],
    [0, BUSY],
    [0, BUSY],
    [20, ''],
  ]
  const { end, names } = await record(tempDir(t), openings, 20)
  assert.deepEqual(end, { frames: 160_000, gaps: [{ atFrame: 40_000, seconds: 2.95 }] })
  assert.deepEqual(names, [
    'capture_device_unavailable',
    'capture_device_lost',
    'capture_device_recovered',
    'capture_runtime_restarted',
  ])
})

test('a device that is away for long is waited for, said aloud, and the take goes on', async (t) => {
  const openings: [number, string][] = [
    [5, LOST],
    [0, BUSY],
    [0, BUSY],
    [0, BUSY],
    [0, BUSY],
    [0, BUSY],
    [60, ''],
  ]
  const { end, names, left } = await record(tempDir(t), openings, 60)
  assert.deepEqual(end, { frames: 480_000, gaps: [{ atFrame: 40_000, seconds: 5.95 }] })
  assert.deepEqual(names, [
    'capture_device_lost',
    'capture_device_lost',
    'capture_device_recovered',
    'capture_runtime_restarted',
  ])
  assert.equal(left, 0)
})

test('a device that never gave a sample is given up after its time, and not opened again', async (t) => {
  const openings: [number, string][] = [
    [0, BUSY],
    [0, BUSY],
    [0, BUSY],
    [0, BUSY],
    [0, BUSY],
    [9, ''],
  ]
  const { end, names, left } = await record(tempDir(t), openings, 60)
  assert.deepEqual(end, {
    frames: 0,
    gaps: [],
    reason: 'capture_start_failed: audio open error: Device or resource busy',
  })
  assert.deepEqual(names, ['capture_device_unavailable', 'capture_start_failed'])
  assert.equal(left, 1)
})

test('a device that comes back after the end of the take is not waited for', async (t) => {
  const { end, left } = await record(
    tempDir(t),
    [
      [5, LOST],
      [0, BUSY],
      [0, BUSY],
      [9, ''],
    ],
    6.5,
  )
  assert.deepEqual(end, { frames: 40_000, gaps: [], reason: 'capture_device_lost' })
  assert.equal(left, 1)
})

test('a refusal that time does not heal is final at once', async (t) => {
  const { end, left } = await record(
    tempDir(t),
    [
      [0, 'arecord: invalid option'],
      [9, ''],
    ],
    5,
  )
  assert.deepEqual(end, { frames: 0, gaps: [], reason: 'capture_start_failed: arecord: invalid option' })
  assert.equal(left, 1)
})

test('a take that is stopped while its file is being opened again leaves nothing open', async (t) => {
  const dir = tempDir(t)
  const file = path.join(dir, 'take.wav')
  const owner = { ageOf: () => 0, doubtsNoted: async () => {}, inDoubt: () => {} }
  const left = await WavFile.create(file, asked, owner)
  await left.append(Buffer.alloc(16_000, 1))
  await left.finish()
  const clock = { monotonic: () => 0, now: () => 0 }
  const recorder = new Recorder({
    asked,
    attach: () => assert.fail('no device is opened for it'),
    clock,
    file,
    gapsNoted: async () => {},
    makeRoom: async () => {},
    onFrames: () => {},
    onGap: () => {},
    onStart: async () => {},
    resume: { ...asked, frames: 8000, lastAt: 0 },
    seconds: 60,
    settings: { retryWindowSeconds: 3, stalledSeconds: 30 },
    tell: () => {},
  })
  recorder.start()
  recorder.stop()
  assert.deepEqual(await recorder.done, { frames: 8000 })
  // What is opened comes in a later turn than the end, if it comes at all.
  await fs.promises.open(file).then((handle) => handle.close())
  await fs.promises.open(file).then((handle) => handle.close())
  const targets = fs.readdirSync('/proc/self/fd').map((fd) => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  assert.ok(!targets.includes(file))
})
