// What is left of a take after a power cut: its length may be on the disk and its samples not.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { MARKED_HEADER, SECTOR, SLOTS, slotAt } from '../../../src/agent/audio/marks.rules.ts'
import { markIn } from '../../../src/agent/audio/marks.ts'
import { repairTake, WavFile } from '../../../src/agent/audio/wav.ts'
import { cannotMount, PowerDisk } from '../../e2e/disks.ts'
import { vouched } from '../../kit/take.ts'
import { tempDir } from '../jobs/kit.ts'
import { calm } from '../spool/kit.ts'

const SHAPE = { channels: 2, format: 'S16_LE', rate: 48_000 } as const
const FRAME = 4

/** No sample is zero, and none is like its neighbours. */
function sound(from: number, frames: number): Buffer {
  const out = Buffer.alloc(frames * FRAME)
  for (let i = 0; i < frames; i++) out.writeUInt32LE(((from + i) * 2_654_435_761 + 1) >>> 0 || 1, i * FRAME)
  return out
}

const SAFE = 10_000
const MORE = 3000

interface Left {
  /** The file when it was last synced. */
  then: Buffer
  /** The file as its writer saw it. */
  now: Buffer
}

/** A take that was synced once, and got more after that; twice. */
async function growing(t: TestContext): Promise<Left> {
  const file = path.join(tempDir(t), 'take.wav')
  const out = await WavFile.create(file, SHAPE, calm)
  await out.append(sound(0, 4000))
  await out.sync()
  await out.append(sound(4000, SAFE - 4000))
  await out.sync()
  const then = fs.readFileSync(file)
  await out.append(sound(SAFE, MORE))
  const now = fs.readFileSync(file)
  await out.finish()
  return { now, then }
}

const dataOf = (file: Buffer, from: number, to: number) =>
  file.subarray(MARKED_HEADER + from * FRAME, MARKED_HEADER + to * FRAME)
const headOf = (file: Buffer) => file.subarray(0, MARKED_HEADER)
const zeros = Buffer.alloc(MORE * FRAME)
const rubbish = Buffer.alloc(MORE * FRAME, 'riddle')

/** What the disk may hold after the cut, and how many frames of it are audio. */
const LEFT: Record<string, (left: Left) => [file: Buffer, frames: number]> = {
  'nothing is missing': ({ now }) => [now, SAFE + MORE],
  'the length is there, the samples are zeros': ({ now, then }) => [
    Buffer.concat([headOf(now), dataOf(then, 0, SAFE), zeros]),
    SAFE,
  ],
  'the length is there, the records are not': ({ then }) => [Buffer.concat([then, zeros]), SAFE],
  'old blocks of another file': ({ now, then }) => [Buffer.concat([headOf(now), dataOf(then, 0, SAFE), rubbish]), SAFE],
  'samples of an earlier place': ({ now, then }) => [
    Buffer.concat([headOf(now), dataOf(then, 0, SAFE), dataOf(then, 0, MORE)]),
    SAFE,
  ],
  'the last block is torn': ({ now }) => [Buffer.concat([now.subarray(0, -512), Buffer.alloc(512)]), SAFE],
  'one bit is another': ({ now }) => {
    const file = Buffer.from(now)
    file[file.length - 7]! ^= 1
    return [file, SAFE]
  },
  'the samples came, the length did not': ({ now }) => [now.subarray(0, -MORE * FRAME + 10), SAFE],
  'the newest record is torn': ({ now }) => {
    const file = Buffer.from(now)
    file.fill(0xff, slotAt(newest(now)) + 20, slotAt(newest(now)) + SECTOR)
    return [file, SAFE]
  },
  'the sizes of the header are wrong': ({ now }) => {
    const file = Buffer.from(now)
    file.writeUInt32LE(0x7fffffff, MARKED_HEADER - 4)
    return [file, SAFE + MORE]
  },
}

const newest = (file: Buffer) =>
  SLOTS.reduce((a, b) => ((markIn(file, b)?.frames ?? -1) > (markIn(file, a)?.frames ?? -1) ? b : a))

describe('a power cut leaves of a take', () => {
  for (const [what, after] of Object.entries(LEFT))
    test(what, async (t) => {
      const [left, frames] = after(await growing(t))
      const file = path.join(tempDir(t), 'take.wav')
      fs.writeFileSync(file, left)
      const repaired = await repairTake(file)
      assert.equal(repaired!.layout.dataBytes, frames * FRAME)
      const whole = fs.readFileSync(file)
      assert.equal(whole.length, MARKED_HEADER + frames * FRAME)
      assert.ok(dataOf(whole, 0, frames).equals(sound(0, frames)), 'every sample is the one that was captured')
      // Again, as after another power cut at once; and it goes on from there.
      assert.equal((await repairTake(file))!.layout.dataBytes, frames * FRAME)
      const out = await WavFile.reopen(file, SHAPE, calm)
      await out.append(sound(frames, 500))
      assert.equal(vouched(fs.readFileSync(file), FRAME), frames + 500)
      await out.finish()
      assert.ok(dataOf(fs.readFileSync(file), 0, frames + 500).equals(sound(0, frames + 500)))
    })

  test('a header that cannot be read: the state of the job knows the shape', async (t) => {
    const { now } = await growing(t)
    const file = path.join(tempDir(t), 'take.wav')
    fs.writeFileSync(file, Buffer.from(now).fill(0, 0, SECTOR))
    assert.equal(await repairTake(file), undefined)
    assert.equal((await repairTake(file, SHAPE))!.layout.dataBytes, (SAFE + MORE) * FRAME)
    assert.ok(dataOf(fs.readFileSync(file), 0, SAFE).equals(sound(0, SAFE)))
  })

  test('records that are all broken: nothing is cut off, a person has to look', async (t) => {
    const { now } = await growing(t)
    const file = path.join(tempDir(t), 'take.wav')
    const broken = Buffer.from(now)
    for (const slot of SLOTS) broken.fill(1, slotAt(slot), slotAt(slot) + SECTOR)
    fs.writeFileSync(file, broken)
    assert.equal(await repairTake(file, SHAPE), undefined)
    assert.ok(fs.readFileSync(file).equals(broken))
  })

  test('a file of samples without any record: nothing was ever synced', async (t) => {
    const file = path.join(tempDir(t), 'take.wav')
    const out = await WavFile.create(file, SHAPE, calm)
    const head = fs.readFileSync(file)
    await out.finish()
    fs.writeFileSync(file, Buffer.concat([head, rubbish]))
    assert.deepEqual(await repairTake(file).then((r) => [r!.layout.dataBytes, r!.lastAt]), [0, undefined])
  })
})

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-mount-'))
const why = cannotMount(scratch)
fs.rmSync(scratch, { recursive: true })

test('on a real disk, cut at every step of writing: never a sample that was not captured', { skip: why }, async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-cut-'))
  const [at, again] = ['disk', 'again'].map((name) => path.join(dir, name)) as [string, string]
  for (const one of [at, again]) fs.mkdirSync(one)
  const disk = new PowerDisk(path.join(dir, 'disk.img'), at, 8 << 20)
  t.after(() => {
    disk.unmount()
    fs.rmSync(dir, { recursive: true })
  })
  const out = await WavFile.create(path.join(at, 'take.wav'), SHAPE, calm)
  let [frames, safe, short] = [0, 0, 0]
  const cut = async (what: string) => {
    const left = disk.remembered(again)
    try {
      const file = path.join(again, 'take.wav')
      const inFile = (fs.statSync(file).size - MARKED_HEADER) / FRAME
      const before = fs.readFileSync(file)
      // The trap itself: the file is longer than what reached the disk.
      const length = Math.floor(Math.max(0, inFile))
      if (!dataOf(before, 0, length).equals(sound(0, length))) short++
      const repaired = await repairTake(file)
      const found = repaired!.layout.dataBytes / FRAME
      assert.ok(
        dataOf(fs.readFileSync(file), 0, found).equals(sound(0, found)),
        `${what}: ${found} of ${frames} frames`,
      )
      assert.ok(found >= safe, `${what}: ${found} frames, ${safe} were synced`)
    } finally {
      left.unmount()
    }
  }
  const append = async (count: number) => {
    await out.append(sound(frames, count))
    frames += count
  }
  for (let n = 0; n < 8; n++) {
    await append(1000 + 37 * n)
    await cut(`${n}, written`)
    await out.sync()
    safe = frames
    await cut(`${n}, synced`)
    await append(200 + 11 * n)
    // The state of the job: it takes the length of the take to the disk, but not its samples.
    const state = path.join(at, 'state.json')
    const fd = fs.openSync(`${state}.tmp`, 'w')
    fs.writeSync(fd, `${n}`)
    fs.fsyncSync(fd)
    fs.closeSync(fd)
    await cut(`${n}, the state is written`)
    fs.renameSync(`${state}.tmp`, state)
    await cut(`${n}, the state is renamed`)
    const parent = fs.openSync(at, 'r')
    fs.fsyncSync(parent)
    fs.closeSync(parent)
    await cut(`${n}, the name is synced`)
  }
  await out.secure()
  safe = frames
  await cut('secured')
  await out.finish()
  await cut('finished')
  assert.ok(short > 0, 'this disk never had a length without its samples: the test tests nothing')
})
