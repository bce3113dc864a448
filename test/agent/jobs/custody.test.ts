import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Happening } from '../../../src/agent/health/report.ts'
import { KeptTakes } from '../../../src/agent/jobs/custody.ts'
import type { JobRunner } from '../../../src/agent/jobs/runner.ts'
import { LinkError } from '../../../src/agent/link/link.ts'
import { type Disk, openDisk } from '../../../src/agent/spool/disk.ts'
import type { TakeState } from '../../../src/agent/spool/state.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { job, quiet, status, tempDir, tones, until, type World, wav, world } from './kit.ts'

const RATE = 48_000
const HOUR = 3_600_000
/** Heartbeats between two questions. */
const BEATS = 6

interface Kept {
  /** The recordings of the next question. */
  asked(): string[] | undefined
  disk: Disk
  kept: KeptTakes
  /** Of another process over the same directory. */
  reopened(): Kept
  w: World
}

/** A recorder with its disk, whose controller answers by hand. */
function recorder(t: TestContext, workDir = tempDir(t), settings: Parameters<typeof world>[1] = {}): Kept {
  const events: Happening[] = []
  const report = (h: Happening) => void events.push(h)
  const disk = openDisk({ keepUploaded: false, log: quiet, report, surely: systemClock.now, workDir })
  const w = world(t, settings, workDir, { disk })
  const kept = new KeptTakes({ cache: disk.cache, clock: systemClock, runner: w.runner })
  const asked = () => Array.from({ length: BEATS }, () => kept.next()).find((ids) => ids !== undefined)
  return { asked, disk, kept, reopened: () => recorder(t, workDir), w }
}

const copies = ({ w }: Kept): string[] => fs.readdirSync(path.join(w.workDir, 'cache'))
const takes = ({ w }: Kept): string[] => fs.readdirSync(path.join(w.workDir, 'takes'))

async function recorded(r: Kept, command: Parameters<typeof job>[1] = {}, id = 'a'): Promise<void> {
  await r.w.runner.accept(r.w.link.add(job(id, { custody: `note of ${id}`, ...command })))
  await r.w.runner.idle()
  await r.disk.cache.settled()
}

test('a delivered take stays until the controller lets it go, also over a restart', async (t) => {
  const r = recorder(t)
  await recorded(r)
  assert.deepEqual([r.w.link.uploads.length, copies(r), takes(r)], [1, ['a'], []])
  assert.deepEqual(r.asked(), ['rec_a'])
  await r.kept.heard({ rec_a: 'hold', rec_b: 'let_go' })
  assert.deepEqual(copies(r), ['a'])
  const later = r.reopened()
  await until(() => later.disk.cache.held().length > 0)
  assert.deepEqual(later.asked(), ['rec_a'])
  await later.kept.heard({ rec_a: 'let_go' })
  assert.deepEqual([copies(later), later.disk.cache.held()], [[], []])
})

test('a take that the controller has no longer is delivered again, byte for byte, and kept again', async (t) => {
  const r = recorder(t)
  await recorded(r)
  const order: string[] = []
  r.w.link.onUpload = async () => void order.push(`upload after ${r.w.link.offers}`)
  await r.kept.heard({ rec_a: 'offer' })
  await r.w.runner.idle()
  await r.disk.cache.settled()
  const [first, second] = r.w.link.uploads
  assert.ok(second?.bytes.equals(first!.bytes))
  assert.deepEqual([second?.jobId, second?.recordingId], ['a', 'rec_a'])
  assert.deepEqual(order, ['upload after note of a'])
  assert.deepEqual([copies(r), takes(r), r.disk.cache.held()], [['a'], [], ['rec_a']])
  // Whatever the controller says, it is not sent on and on.
  await r.kept.heard({ rec_a: 'offer' })
  await r.w.runner.idle()
  assert.equal(r.w.link.uploads.length, 2)
})

test('a take in chunks is kept whole, and its chunks are made anew', async (t) => {
  const r = recorder(t)
  await recorded(r, { captureDevice: 'test:speed=4', chunkSeconds: 1, durationSeconds: 3 })
  assert.equal(r.w.link.uploads.length, 3)
  const raw = wav(fs.readFileSync(path.join(r.w.workDir, 'cache/a/take.wav')))
  assert.ok(raw.pcm.equals(tones(3 * RATE)))
  await r.kept.heard({ rec_a: 'offer' })
  await r.w.runner.idle()
  const again = r.w.link.uploads.slice(3)
  assert.deepEqual(
    again.map(({ chunk, chunkTotal }) => [chunk, chunkTotal]),
    [
      [0, undefined],
      [1, undefined],
      [2, 3],
    ],
  )
  for (const [n, { bytes }] of again.entries()) assert.ok(bytes.equals(r.w.link.uploads[n]!.bytes))
})

test('a power cut between the question and the second delivery costs nothing', async (t) => {
  const r = recorder(t)
  await recorded(r)
  // Moved and no more; moved and written down; the offer refused for a while.
  const [state] = await r.disk.cache.takeBack('rec_a')
  assert.equal(status(r.w.workDir), 'uploaded')
  let next = r.reopened()
  await next.w.runner.recover()
  await next.w.runner.idle()
  await next.disk.cache.settled()
  assert.deepEqual([copies(next), next.disk.cache.held(), next.w.link.uploads.length], [['a'], ['rec_a'], 0])
  await next.disk.cache.takeBack('rec_a')
  const written: TakeState = { ...state!, offered: true, status: 'uploading' }
  await next.disk.spool.save({ ...written, outputs: written.outputs.map(({ uploaded: _, ...one }) => one) })
  next = next.reopened()
  const refusals = [new LinkError('away', 503), new LinkError('no answer')]
  next.w.link.onOffer = async () => {
    const refusal = refusals.shift()
    if (refusal) throw refusal
  }
  next.w.link.add(job('a'))
  await next.w.runner.recover()
  await next.w.runner.idle()
  assert.deepEqual([next.w.link.offers.length, next.w.link.uploads.length], [3, 1])
  assert.deepEqual(copies(next), ['a'])
})

test('a controller that refuses the take for good leaves it to a person', async (t) => {
  const r = recorder(t)
  await recorded(r)
  r.w.link.onOffer = async () => {
    throw new LinkError('deleted', 409, 'recording_deleted')
  }
  r.w.link.refusals = [new LinkError('not found', 404)]
  await r.kept.heard({ rec_a: 'offer' })
  await r.w.runner.idle()
  assert.deepEqual(fs.readdirSync(path.join(r.w.workDir, 'kept')), ['a'])
})

test('a kept take stays whole, whatever else its device recorded, and gave back', async (t) => {
  const r = recorder(t)
  const command = { captureDevice: 'test:speed=4', captureGroupId: 'g', chunkSeconds: 2, durationSeconds: 16 }
  const jobs = [...r.w.link.add(job('a', { ...command, custody: 'note of a' })), ...r.w.link.add(job('b', command))]
  await r.w.runner.accept(jobs)
  await r.w.runner.idle()
  await r.disk.cache.settled()
  const kept = wav(fs.readFileSync(path.join(r.w.workDir, 'cache/a/take.wav')))
  assert.ok(kept.pcm.equals(tones(16 * RATE)))
})

test('a copy that a delivered take left behind stays whole while another one goes on', async (t) => {
  const r = recorder(t)
  const common = { captureDevice: 'test:speed=4', captureGroupId: 'g' }
  const short = job('a', { ...common, custody: 'note of a', durationSeconds: 8 })
  const long = job('b', { ...common, chunkSeconds: 2, durationSeconds: 24 })
  await r.w.runner.accept([...r.w.link.add(short), ...r.w.link.add(long)])
  await r.w.runner.idle()
  await r.disk.cache.settled()
  const kept = wav(fs.readFileSync(path.join(r.w.workDir, 'cache/a/take.wav')))
  assert.ok(kept.pcm.subarray(0, 8 * RATE * 4).equals(tones(8 * RATE)))
})

test('a take in chunks is delivered again in the same chunks, whatever the settings say by then', async (t) => {
  const workDir = tempDir(t)
  const r = recorder(t, workDir, { chunkSeconds: 2 })
  await recorded(r, { captureDevice: 'test:speed=4', durationSeconds: 6 })
  const later = recorder(t, workDir, { chunkSeconds: 0 })
  later.w.link.add(job('a', { durationSeconds: 6 }))
  await until(() => later.disk.cache.held().length > 0)
  await later.kept.heard({ rec_a: 'offer' })
  await later.w.runner.idle()
  await later.disk.cache.settled()
  assert.deepEqual(
    later.w.link.uploads.map(({ chunk, chunkTotal }) => [chunk, chunkTotal]),
    r.w.link.uploads.map(({ chunk, chunkTotal }) => [chunk, chunkTotal]),
  )
  assert.deepEqual(copies(later), ['a'])
})

test('however many takes are kept, a heartbeat asks about few of them, each in its turn', () => {
  const held = Array.from({ length: 1000 }, (_, n) => `rec_${n}`)
  let monotonic = 0
  const offered: string[] = []
  const kept = new KeptTakes({
    cache: {
      held: () => held,
      letGo: async () => {},
      takeBack: async (id) => {
        offered.push(id)
        return []
      },
    },
    clock: { monotonic: () => monotonic },
    runner: { activity: () => ({ capturing: [], delivering: 0 }) } as unknown as JobRunner,
  })
  const asked = Array.from({ length: 63 * BEATS }, () => kept.next()).filter((ids) => ids !== undefined)
  assert.equal(asked.length, 63)
  assert.ok(asked.every((ids) => ids.length <= 16))
  assert.deepEqual(new Set(asked.flat()), new Set(held))
  const hear = () => kept.heard({ rec_1: 'offer' })
  return hear()
    .then(hear)
    .then(() => {
      monotonic = HOUR
      return hear()
    })
    .then(() => assert.deepEqual(offered, ['rec_1', 'rec_1']))
})

test('takes that are let go of leave the others their turn; no more are taken back than can be sent', async () => {
  const held = Array.from({ length: 100 }, (_, n) => `rec_${n}`)
  const taken: string[] = []
  let delivering = 0
  const kept = new KeptTakes({
    cache: {
      held: () => held,
      letGo: async (id) => void held.splice(held.indexOf(id), 1),
      takeBack: async (id) => {
        held.splice(held.indexOf(id), 1)
        taken.push(id)
        delivering++
        return []
      },
    },
    clock: { monotonic: () => 0 },
    runner: { activity: () => ({ capturing: [], delivering }) } as unknown as JobRunner,
  })
  const next = (): string[] => Array.from({ length: BEATS }, () => kept.next()).find((ids) => ids) ?? []
  const asked = next()
  await kept.heard({ [asked.at(-1)!]: 'let_go' })
  assert.deepEqual(next(), held.slice(15, 31), 'it goes on where it was')
  await kept.heard(Object.fromEntries(held.slice(0, 16).map((id) => [id, 'offer'])))
  assert.equal(taken.length, 4)
  delivering = 0
  await kept.heard(Object.fromEntries(held.slice(0, 16).map((id) => [id, 'offer'])))
  assert.equal(taken.length, 8)
})
