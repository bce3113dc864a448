import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { LEAD_SECONDS, TAIL_SECONDS } from '../../../src/agent/enhance/chain.rules.ts'
import type { Space } from '../../../src/agent/proc/disk.ts'
import { createDiskGuard, type PlannedTake } from '../../../src/agent/spool/guard.ts'
import { neededBytes } from '../../../src/agent/spool/room.rules.ts'
import { Enhancement } from '../../../src/wire/profiles.ts'
import { job, quiet, until } from '../jobs/kit.ts'
import { cacheWorld, policy } from './kit.ts'

const MIB = 1024 * 1024
const RESERVE = 16 * MIB

function world(t: TestContext, freeBytes: number) {
  const space: Space = { freeBytes, usedPercent: 50 }
  const w = cacheWorld(t)
  const guard = createDiskGuard({ cache: w.cache, everyMs: 5, gauge: async () => ({ ...space }), log: quiet })
  t.after(() => guard.stop())
  const told: [string, string][] = []
  const take = (rawBytes: number, moreBytes = 0, name = 'a'): PlannedTake => ({
    file: path.join(w.workDir, `${name}.wav`),
    moreBytes,
    rawBytes,
    tell: (severity, event) => void told.push([event, severity]),
  })
  return { ...w, guard, space, take, told }
}

test('a take that fits whole begins silently; one that only fits raw begins with a warning', async (t) => {
  const w = world(t, 100)
  assert.ok(await w.guard.admit(w.take(60, 40)))
  assert.deepEqual(w.told, [])
  const v = world(t, 100)
  assert.ok(await v.guard.admit(v.take(60, 41)))
  assert.deepEqual(v.told, [['disk_space_low', 'warning']])
})

test('a take whose capture does not fit is refused, and that is told', async (t) => {
  const w = world(t, 100)
  assert.equal(await w.guard.admit(w.take(101)), undefined)
  assert.deepEqual(w.told, [['disk_space_insufficient', 'critical']])
})

test('what running takes still need is not free for another, and is again when they end', async (t) => {
  const w = world(t, 100_000)
  const room = await w.guard.admit(w.take(60_000))
  assert.equal(await w.guard.admit(w.take(50_000, 0, 'b')), undefined)
  // Written by now, and gone from what is free.
  fs.writeFileSync(path.join(w.workDir, 'a.wav'), Buffer.alloc(57_344))
  w.space.freeBytes -= 57_344
  assert.ok(await w.guard.admit(w.take(40_000, 0, 'b')))
  room?.leave()
})

test('takes to come may have what is free and the copies that may go, less what running takes need', async (t) => {
  const w = world(t, 100_000)
  assert.equal(await w.guard.room(), 100_000)
  await w.released('kept', { bytes: 20_480, policy: policy({ maxAgeDays: 7 }) })
  const copies = await w.cache.bytes()
  assert.ok(copies >= 20_480)
  assert.equal(await w.guard.room(), 100_000 + copies)
  const running = await w.guard.admit(w.take(60_000))
  assert.equal(await w.guard.room(), 40_000 + copies)
  running?.leave()
  const unknown = createDiskGuard({ cache: w.cache, gauge: async () => undefined, log: quiet })
  assert.equal(await unknown.room(), undefined)
})

test('of two takes that begin at the same moment only those that fit do', async (t) => {
  const w = world(t, 100_000)
  const rooms = await Promise.all([w.guard.admit(w.take(60_000)), w.guard.admit(w.take(60_000, 0, 'b'))])
  assert.deepEqual(
    rooms.map((room) => room !== undefined),
    [true, false],
  )
  assert.deepEqual(w.told, [['disk_space_insufficient', 'critical']])
})

test('a take that gets longer needs more, and what it has written counts also when its first name is gone', async (t) => {
  const w = world(t, 100_000)
  const room = await w.guard.admit(w.take(60_000))
  fs.writeFileSync(path.join(w.workDir, 'a.wav'), Buffer.alloc(57_344))
  w.space.freeBytes -= 57_344
  room?.grow(90_000)
  assert.equal(await w.guard.admit(w.take(12_000, 0, 'b')), undefined)
  fs.rmSync(path.join(w.workDir, 'a.wav'))
  assert.ok(await w.guard.admit(w.take(9000, 0, 'b')))
})

test('copies of other takes make way for a new one', async (t) => {
  const w = world(t, 10_000)
  await w.released('old', { bytes: 30_000, daysAgo: 1, policy: policy({ maxAgeDays: 9 }) })
  const cache = {
    ...w.cache,
    makeRoom: async (bytes: number) => {
      const cleanup = await w.cache.makeRoom(bytes)
      w.space.freeBytes += cleanup.freedBytes
      return cleanup
    },
  }
  const guard = createDiskGuard({ cache, gauge: async () => w.space, log: quiet })
  assert.ok(await guard.admit(w.take(25_000)))
  assert.deepEqual(
    [w.copies(), w.told.map(([name]) => name)],
    [[], ['disk_space_cleanup_attempted', 'disk_space_recovered']],
  )
})

test('a disk that cannot be measured refuses nothing', async (t) => {
  const w = world(t, 0)
  const guard = createDiskGuard({ cache: w.cache, gauge: async () => undefined, log: quiet })
  assert.ok(await guard.admit(w.take(1e12)))
})

test('while a take runs, too little room is told once, and its end too; without takes nothing is', async (t) => {
  const w = world(t, RESERVE + 1000)
  let looks = 0
  const gauge = async () => {
    looks++
    return { ...w.space }
  }
  const guard = createDiskGuard({ cache: w.cache, everyMs: 5, gauge, log: quiet })
  t.after(() => guard.stop())
  const room = await guard.admit(w.take(1000))
  guard.start()
  const seen = async () => {
    const from = looks
    await until(() => looks > from + 4)
  }
  await seen()
  assert.deepEqual(w.told, [])
  w.space.freeBytes = RESERVE
  await seen()
  assert.deepEqual(w.told, [['disk_space_cleanup_skipped', 'warning']])
  w.space.freeBytes = RESERVE + 1000
  await until(() => w.told.length > 1)
  await seen()
  assert.deepEqual(w.told[1], ['disk_space_runtime_recovered', 'info'])
  assert.equal(w.told.length, 2)
  room?.leave()
})

test('a started guard sweeps the copies', async (t) => {
  const w = world(t, RESERVE)
  await w.released('old', { daysAgo: 9, policy: policy({ maxAgeDays: 1 }) })
  w.guard.start()
  await until(() => w.copies().length === 0)
})

const stereo = { channels: 2, format: 'S16_LE', rate: 48_000 } as const
const hour = 3600
const raw = 2 * 2 * 48_000 * hour

test('a take needs its capture, and what is made of it', () => {
  const need = (command: Parameters<typeof job>[1]) =>
    neededBytes([job('a', { durationSeconds: hour, ...command }).command], stereo, hour)
  assert.deepEqual(need({}), { moreBytes: 0, rawBytes: raw + 4096 })
  assert.equal(need({ outputCodec: 'mp3', outputBitrateKbps: 128 }).moreBytes, 16_000 * hour)
  assert.equal(need({ outputCodec: 'flac' }).moreBytes, raw)
  // Mono out of the mix, 16 bit at 48 kHz, and the denoiser's samples in 24 bit.
  const heard = hour + LEAD_SECONDS + TAIL_SECONDS
  assert.equal(need({ enhancement: Enhancement.parse({}) }).moreBytes, (2 * hour + 3 * heard) * 48_000)
})

test('chunks give back what the controller has: four of them are on the disk at once', () => {
  const chunked = job('a', { chunkSeconds: 60, durationSeconds: hour, outputCodec: 'flac' }).command
  const quarter = (raw * 240) / hour
  assert.deepEqual(neededBytes([chunked], stereo, hour), { moreBytes: quarter, rawBytes: quarter + 4096 })
  // What the agent was started with counts for a job that names none.
  const { chunkSeconds, ...plain } = chunked
  assert.deepEqual(neededBytes([plain], stereo, hour, chunkSeconds), neededBytes([chunked], stereo, hour))
  assert.deepEqual(neededBytes([chunked], stereo, hour, 600), neededBytes([chunked], stereo, hour))
  assert.equal(neededBytes([plain], stereo, hour, 0).rawBytes, raw + 4096)
  // A copy that is to stay is whole, and so is what another job still needs.
  const kept = { ...chunked, recorderCacheRetention: policy({ maxAgeDays: 1 }) }
  assert.equal(neededBytes([kept], stereo, hour).rawBytes, raw + 4096)
  const whole = job('b', { durationSeconds: hour }).command
  assert.equal(neededBytes([chunked, whole], stereo, hour).rawBytes, raw + 4096)
})

test('a stop waits until what a new policy lets go is gone and told', async (t) => {
  const w = cacheWorld(t)
  await w.released('a', { policy: policy({ maxAgeDays: 7 }) })
  const guard = createDiskGuard({ cache: w.cache, gauge: async () => undefined, log: quiet })
  w.cache.setPolicies([policy({ maxBytes: 1 })])
  await guard.stop()
  assert.deepEqual(w.copies(), [])
  assert.equal(w.events.at(-1)?.type, 'agent.recorder_cache.sweep_completed')
})
