// A disk that failed to take something says so once; after that the system counts it as written.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { MARKED_HEADER } from '../../../src/agent/audio/marks.rules.ts'
import type { TakeOwner } from '../../../src/agent/audio/marks.ts'
import { WavFile } from '../../../src/agent/audio/wav.ts'
import type { Taker } from '../../../src/agent/capture/feed.ts'
import { type Gap, Recorder } from '../../../src/agent/capture/recorder.ts'
import { cannotMount, FailingDisk } from '../../e2e/disks.ts'
import { vouched } from '../../kit/take.ts'
import { quick, until } from '../jobs/kit.ts'

const SHAPE = { channels: 2, format: 'S16_LE', rate: 48_000 } as const
const FRAME = 4

/** No sample is zero, and none is like its neighbours. */
function sound(from: number, frames: number): Buffer {
  const out = Buffer.alloc(frames * FRAME)
  for (let i = 0; i < frames; i++) out.writeUInt32LE(((from + i) * 2_654_435_761 + 1) >>> 0 || 1, i * FRAME)
  return out
}

/** Undefined where none can be mounted. */
function failingDisk(t: TestContext): { disk: FailingDisk; file: string } | undefined {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-failing-'))
  const why = cannotMount(dir)
  const disk = why ? undefined : new FailingDisk(dir)
  t.after(() => {
    disk?.unmount()
    fs.rmSync(dir, { recursive: true })
  })
  if (why) t.skip(why)
  return disk && { disk, file: path.join(dir, 'at', 'take.wav') }
}

/** A take with 10,000 safe frames, whose disk fails with the next 40,000. */
async function failed(t: TestContext) {
  const made = failingDisk(t)
  if (!made) return
  const { disk, file } = made
  const doubts: [from: number, to: number][] = []
  const note = { fault: undefined as Error | undefined }
  const owner: TakeOwner = {
    ageOf: () => 0,
    doubtsNoted: async () => {
      if (note.fault) throw note.fault
    },
    inDoubt: (from, to) => void doubts.push([from, to]),
  }
  const out = await WavFile.create(file, SHAPE, owner)
  await out.append(sound(0, 10_000))
  await out.sync()
  disk.fail()
  await out.append(sound(10_000, 40_000))
  await assert.rejects(out.sync(), { syscall: 'fdatasync' })
  disk.work()
  /** How many frames the disk itself vouches for; those nobody doubts are as they were captured. */
  const sure = (): number => {
    const left = disk.onDisk('take.wav')
    const frames = vouched(left, FRAME)
    const [data, want] = [left.subarray(MARKED_HEADER, MARKED_HEADER + frames * FRAME), sound(0, frames)]
    for (const [from, to] of doubts)
      if (from < frames) for (const bytes of [data, want]) bytes.fill(0, from * FRAME, Math.min(to, frames) * FRAME)
    assert.ok(data.equals(want), `${frames} frames are vouched for`)
    return frames
  }
  return { disk, doubts, note, out, sure }
}

/** Where the blocks of the first failure end. */
const END = (4 * 65_536 - MARKED_HEADER) / FRAME

test('what a failed sync left behind is told before anything behind it counts as safe', async (t) => {
  const take = await failed(t)
  if (!take) return
  const { doubts, out, sure } = take
  assert.deepEqual([doubts, sure()], [[[10_000, END]], 10_000])
  await out.append(sound(50_000, 30_000))
  await out.secure()
  await out.append(sound(80_000, 1000))
  await out.finish()
  assert.deepEqual([doubts, sure()], [[[10_000, END]], 81_000])
})

test('a doubt that is not noted yet: nothing behind it is safe', async (t) => {
  const take = await failed(t)
  if (!take) return
  const { note, out, sure } = take
  note.fault = new Error('no room for the note')
  await assert.rejects(out.secure(), note.fault)
  assert.equal(sure(), 10_000)
  note.fault = undefined
  await out.secure()
  assert.equal(sure(), 50_000)
})

test('a sync that fails again tells only of what came in between', async (t) => {
  const take = await failed(t)
  if (!take) return
  const { disk, doubts, out } = take
  disk.fail()
  await out.append(sound(50_000, 40_000))
  await assert.rejects(out.sync())
  assert.deepEqual(doubts, [
    [10_000, END],
    [END, END + 2 * 16_384],
  ])
})

test('a take on such a disk goes on, and its gaps say what may be missing', async (t) => {
  const made = failingDisk(t)
  if (!made) return
  const { disk, file } = made
  const events: string[] = []
  const gaps: Gap[] = []
  const asked = { channels: 2, format: 'S16_LE', rate: 48_000 } as const
  let taker: Taker | undefined
  const recorder = new Recorder({
    asked,
    attach: (it) => {
      taker = it
      return { drained: () => {}, release: async () => {} }
    },
    clock: { monotonic: () => 0, now: () => 0 },
    file,
    gapsNoted: async () => {},
    makeRoom: async () => disk.work(),
    onFrames: () => {},
    onGap: (gap) => void gaps.push(gap),
    onStart: async () => {},
    seconds: 3,
    settings: quick,
    tell: (_, name) => void events.push(name),
  })
  recorder.start()
  await until(() => taker !== undefined)
  taker!.block(sound(0, 48_000), asked, 0)
  await until(() => recorder.frames === 48_000)
  await recorder.secure()
  disk.fail()
  taker!.block(sound(48_000, 48_000), asked, 0)
  await until(() => events.length > 0)
  taker!.block(sound(96_000, 48_000), asked, 0)
  assert.deepEqual(await recorder.done, { frames: 3 * 48_000 })
  assert.deepEqual(gaps, [{ atFrame: 48_000, seconds: (97_280 - 48_000) / 48_000 }])
  assert.deepEqual(events, ['capture_overrun', 'disk_space_exhausted', 'disk_space_runtime_recovered'])
  const left = disk.onDisk('take.wav')
  const second = (n: number) =>
    left.subarray(MARKED_HEADER + n * 48_000 * FRAME, MARKED_HEADER + (n + 1) * 48_000 * FRAME)
  assert.ok(second(0).equals(sound(0, 48_000)) && second(2).equals(sound(96_000, 48_000)))
})
