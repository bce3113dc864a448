import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Taker } from '../../../src/agent/capture/feed.ts'
import { type Gap, Recorder } from '../../../src/agent/capture/recorder.ts'
import type { Severity } from '../../../src/wire/health.ts'
import { smallDisk } from '../../kit/disk.ts'
import { quick, until, wav } from '../jobs/kit.ts'

const RATE = 8000
const asked = { channels: 1, format: 'S16_LE', rate: RATE } as const

/** Sample n of the source is n: every sample says where it belongs. */
function samples(from: number, count: number): Buffer {
  const out = Buffer.alloc(count * 2)
  for (let n = 0; n < count; n++) out.writeUInt16LE((from + n + 1) & 0xffff, n * 2)
  return out
}

/** A take of eight seconds on a disk of 256 KiB that somebody else fills, all but 32 KiB. Memory holds one second. */
function bench(t: TestContext, dir: string, makeRoom: (filler: string) => Promise<void> = async () => {}) {
  const filler = path.join(dir, 'filler')
  fs.writeFileSync(filler, Buffer.alloc((256 - 36) << 10))
  const events: { details: Record<string, unknown>; name: string; severity: Severity }[] = []
  const gaps: Gap[] = []
  /** Frames in the file when a gap was told that begins before them. */
  const early: number[] = []
  let taker: Taker | undefined
  const recorder = new Recorder({
    asked,
    attach: (it) => {
      taker = it
      return { drained: () => {}, release: async () => {} }
    },
    bufferBytes: 0,
    clock: { monotonic: () => 0, now: () => 0 },
    file: path.join(dir, 'take.wav'),
    gapsNoted: async () => {},
    makeRoom: () => makeRoom(filler),
    onFrames: () => {},
    onGap: (gap) => {
      gaps.push(gap)
      if (recorder.frames > gap.atFrame) early.push(recorder.frames)
    },
    onStart: async () => {},
    seconds: 8,
    settings: quick,
    tell: (severity, name, details) => void events.push({ details, name, severity }),
  })
  t.after(() => recorder.stop())
  recorder.start()
  let given = 0
  return {
    early: () => early,
    end: recorder.done,
    events,
    filler,
    gaps,
    give: async (seconds: number) => {
      await until(() => taker !== undefined)
      for (const end = given + seconds * RATE; given < end; given += 400) taker!.block(samples(given, 400), asked, 0)
    },
    names: () => events.map((e) => e.name),
    recorder,
    taker: () => taker!,
    take: () => wav(fs.readFileSync(path.join(dir, 'take.wav'))),
  }
}

test('a disk that has room again: what memory held is written, what it could not hold is silence of true length', async (t) => {
  const dir = smallDisk(t, 256 << 10)
  if (!dir) return
  const b = bench(t, dir)
  await b.give(3)
  await until(() => b.names().includes('disk_space_exhausted'))
  await b.give(3)
  fs.rmSync(b.filler)
  await until(() => b.names().includes('disk_space_runtime_recovered'))
  await b.give(2)
  const { frames, reason } = await b.end
  assert.deepEqual([frames, reason, b.gaps.length], [8 * RATE, undefined, 1])
  assert.deepEqual(b.names(), ['disk_space_exhausted', 'disk_space_runtime_recovered', 'capture_overrun'])
  assert.deepEqual(
    b.events.map((e) => [e.severity, e.details.willRetry]),
    [
      ['warning', true],
      ['info', undefined],
      ['warning', undefined],
    ],
  )
  const [{ atFrame, seconds } = { atFrame: 0, seconds: 0 }] = b.gaps
  const lost = seconds * RATE
  assert.ok(atFrame > 2 * RATE && lost > RATE && atFrame + lost === 6 * RATE, `${lost} frames at ${atFrame}`)
  const { pcm } = b.take()
  const whole = samples(0, 8 * RATE)
  whole.fill(0, atFrame * 2, (atFrame + lost) * 2)
  assert.ok(pcm.equals(whole))
})

test('copies that make way at once leave no trace in the take', async (t) => {
  const dir = smallDisk(t, 256 << 10)
  if (!dir) return
  const b = bench(t, dir, async (filler) => fs.rmSync(filler, { force: true }))
  await b.give(2.8)
  await until(() => b.names().includes('disk_space_runtime_recovered'))
  await b.give(5.2)
  assert.deepEqual([await b.end, b.gaps], [{ frames: 8 * RATE }, []])
  assert.ok(b.take().pcm.equals(samples(0, 8 * RATE)))
})

test('a disk that stays full ends the take with what it has, soon after its planned end', async (t) => {
  const dir = smallDisk(t, 256 << 10)
  if (!dir) return
  const b = bench(t, dir)
  await b.give(8)
  const { frames, reason } = await b.end
  assert.deepEqual([b.gaps, reason], [[], 'capture_disk_space_exhausted'])
  assert.deepEqual(
    b.events.map((e) => [e.name, e.severity, e.details.willRetry]),
    [
      ['disk_space_exhausted', 'warning', true],
      ['disk_space_exhausted', 'critical', false],
    ],
  )
  assert.ok(frames > RATE && frames < 4 * RATE)
  assert.ok(b.take().pcm.equals(samples(0, frames)))
})

test('a stop while the disk is full is no stop of the tries: what is held is written when there is room', async (t) => {
  const dir = smallDisk(t, 256 << 10)
  if (!dir) return
  let tries = 0
  const b = bench(t, dir, async (filler) => {
    if (++tries === 3) fs.rmSync(filler)
  })
  await b.give(2.5)
  await until(() => b.names().includes('disk_space_exhausted'))
  b.recorder.stop()
  assert.deepEqual([await b.end, b.gaps], [{ frames: 2.5 * RATE }, []])
  assert.ok(b.take().pcm.equals(samples(0, 2.5 * RATE)))
})

test('silence is never in the file before its gap is told', async (t) => {
  const dir = smallDisk(t, 256 << 10)
  if (!dir) return
  const b = bench(t, dir)
  await b.give(1)
  await until(() => b.recorder.frames === RATE)
  const rest = path.join(dir, 'rest')
  assert.throws(() => fs.writeFileSync(rest, Buffer.alloc(256 << 10)), { code: 'ENOSPC' })
  const taker = b.taker()
  taker.hole({ cause: 'reopened', device: 'x', frames: 2 * RATE })
  await until(() => b.names().includes('disk_space_exhausted'))
  // More than memory holds, in one block: its silence waits in one piece with that of the hole.
  taker.block(samples(0, 5 * RATE), asked, 0)
  fs.rmSync(rest)
  fs.rmSync(b.filler)
  const { frames } = await b.end
  assert.deepEqual(b.gaps, [
    { atFrame: RATE, seconds: 2 },
    { atFrame: 3 * RATE, seconds: 5 },
  ])
  assert.deepEqual([frames, b.early()], [8 * RATE, []])
})
