// A room that is always on: nothing may stay of a frame, or of a take, but what the disk and the controller have.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queryObjects } from 'node:v8'
import { createBus } from '../../../src/agent/capture/bus.ts'
import { captureDevice } from '../../../src/agent/capture/devices.ts'
import { Feed, type Taker } from '../../../src/agent/capture/feed.ts'
import { Feeds } from '../../../src/agent/capture/feeds.ts'
import { Recorder } from '../../../src/agent/capture/recorder.ts'
import { Slot } from '../../../src/agent/capture/slot.ts'
import { TakeWriter } from '../../../src/agent/capture/writer.ts'
import { Delivery } from '../../../src/agent/jobs/delivery.ts'
import { Lease } from '../../../src/agent/jobs/lease.ts'
import { OwnedJob } from '../../../src/agent/jobs/owned.ts'
import { CaptureSession } from '../../../src/agent/jobs/session.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { job, quick, tempDir, until, world } from './kit.ts'

const OWN = { CaptureSession, Delivery, Feed, Lease, OwnedJob, Recorder, Slot, TakeWriter }
const BASE = { AbortSignal, Promise, Uint8Array }

/** How many of each are alive, after a collection of garbage. */
async function alive(kinds: Record<string, abstract new (...args: never[]) => unknown>) {
  // What the last turns let go of is let go by finalizers of the next ones.
  for (let turn = 0; turn < 3; turn++) {
    queryObjects(Promise as never, { format: 'count' })
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return Object.fromEntries(
    Object.entries(kinds).map(([name, kind]) => [name, Number(queryObjects(kind as never, { format: 'count' }))]),
  )
}

/** What is under way at the moment differs by a few; anything of each take or frame would be more. */
function within(now: Record<string, number>, before: Record<string, number>, few: number): void {
  for (const [name, count] of Object.entries(now))
    assert.ok(count < before[name]! + few, `${name}: ${count} after ${before[name]}`)
}

test('takes one after the other of a device that stays open leave nothing in memory', async (t) => {
  const feeds = new Feeds({ bus: createBus(), clock: systemClock, settings: quick })
  t.after(() => feeds.stop())
  const name = 'test:speed=20'
  const request = { backend: 'alsa', command: 'arecord', device: name, env: {}, seconds: 60 } as const
  const asked = { channels: 2, format: 'S16_LE', rate: 48_000 } as const
  const device = captureDevice(request, systemClock)
  feeds.standby({ asked, device, hardware: name, how: 'alsa arecord ', interfaceRef: name })
  const w = world(t, {}, tempDir(t), { feeds })
  const takes = async (from: number, to: number) => {
    for (let n = from; n < to; n++) {
      const id = `t${n}`
      w.runner.accept(w.link.add(job(id, { durationSeconds: 0.2 })))
      await w.runner.idle()
      // The test's own memory.
      w.link.jobs.delete(id)
      for (const list of [w.link.uploads, w.link.progress, w.link.heartbeats, w.events]) list.length = 0
    }
  }
  await takes(0, 3)
  const [own, base] = [await alive(OWN), await alive(BASE)]
  await takes(3, 15)
  assert.deepEqual(await alive(OWN), own)
  assert.deepEqual([own.CaptureSession, own.Recorder, own.OwnedJob, own.Feed], [0, 0, 0, 1])
  within(await alive(BASE), base, 12)
})

test('frames and gaps of a long take leave nothing in memory', async (t) => {
  const taken = Promise.withResolvers<Taker>()
  const feeds = {
    hardware: async () => 'test',
    stop: async () => {},
    take: (_: unknown, taker: Taker) => {
      taken.resolve(taker)
      return { drained: () => {}, release: async () => {} }
    },
  }
  const w = world(t, {}, tempDir(t), { feeds: feeds as unknown as Feeds })
  const shape = { captureChannels: 1, captureDevice: 'test:endless', captureSampleRate: 8000 }
  w.runner.accept(w.link.add(job('a', { ...shape, durationSeconds: 3600 })))
  const taker = await taken.promise
  const stream = { channels: 1, format: 'S16_LE', rate: 8000 } as const
  let due = 0
  const give = async (blocks: number) => {
    for (let n = 0; n < blocks; n++) {
      taker.block(Buffer.alloc(160), stream, 0)
      if (n % 20 === 0) taker.hole({ cause: 'device', device: 'test', frames: 10 })
      due += n % 20 === 0 ? 90 : 80
      if (n % 100 === 0) await until(() => w.runner.activity().capturing[0]?.frames === due)
    }
    await until(() => w.runner.activity().capturing[0]?.frames === due)
    w.link.progress.length = w.link.heartbeats.length = w.events.length = 0
  }
  await give(1000)
  const before = await alive(BASE)
  await give(4000)
  within(await alive(BASE), before, 100)
  w.link.set('a', { status: 'stop_requested' })
  await w.runner.idle()
})
