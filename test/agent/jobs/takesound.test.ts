import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { createBus } from '../../../src/agent/capture/bus.ts'
import { Feeds } from '../../../src/agent/capture/feeds.ts'
import { Ear } from '../../../src/agent/ear/ear.ts'
import { Accumulator } from '../../../src/agent/meters/accumulator.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import type { SoundReading } from '../../../src/wire/soundreadings.ts'
import { noise, pcm } from '../meters/sound.ts'
import { job, quick, tempDir, world } from './kit.ts'

test('a take tells what it sounds like after its first minute, and all of it once the controller has it', async (t) => {
  const dir = tempDir(t)
  const format = { channels: 2, format: 'S16_LE', rate: 8000 } as const
  fs.writeFileSync(path.join(dir, 'room.raw'), pcm(format, 90 * format.rate, [noise(1, 0.01), noise(2, 0.001)]))
  const captureCommand = path.join(dir, 'arecord')
  fs.writeFileSync(captureCommand, `#!/bin/sh\nexec cat ${dir}/room.raw\n`, { mode: 0o755 })
  // A busy machine is no stalled device: reopened, the program would begin anew.
  const patient = { ...quick, stalledSeconds: 60 }
  const bus = createBus()
  const ear = new Ear()
  const accumulator = new Accumulator(format, { clipDbfs: -1, seconds: 1 })
  accumulator.listen(true)
  bus.subscribe({
    block: (opening, frames, capturedAt) => {
      accumulator.add(frames, capturedAt)
      for (const slice of accumulator.slices()) ear.heard(opening, slice)
    },
  })
  const feeds = new Feeds({ bus, clock: systemClock, settings: patient })
  t.after(() => feeds.stop())
  const posted: SoundReading[] = []
  const delivered: number[] = []
  const sounds = {
    post: (reading: SoundReading) => {
      posted.push(reading)
      delivered.push(w.link.uploads.length)
    },
  }
  const w = world(t, { ...patient, captureCommand }, tempDir(t), { ear, feeds, sounds })
  const command = { captureChannelSelection: [2], captureDevice: 'hw:1', captureSampleRate: 8000, durationSeconds: 80 }
  w.runner.accept(w.link.add(job('a', command)))
  await w.runner.idle()
  assert.deepEqual(
    posted.map(({ kind }) => kind),
    ['begun', 'take'],
  )
  assert.deepEqual(delivered, [0, 1])
  for (const reading of posted) {
    assert.ok(reading.kind === 'begun' || reading.kind === 'take')
    assert.equal(reading.recordingId, 'rec_a')
    assert.deepEqual(
      reading.prints.map(({ channelIndex }) => channelIndex),
      [2],
    )
    assert.ok(Math.abs(reading.prints[0]!.floorDbfs + 65) < 1, String(reading.prints[0]!.floorDbfs))
  }
  // The block that ends a take is not heard any more: up to 64 KiB of a pipe, which are two seconds here.
  const { seconds } = posted[1] as { seconds: number }
  assert.ok(seconds >= 77.5, String(seconds))
})
