import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { MARKED_HEADER, slotAt } from '../../../src/agent/audio/marks.rules.ts'
import { markBytes } from '../../../src/agent/audio/marks.ts'
import { parseWav, wavHeader } from '../../../src/agent/audio/wav.rules.ts'
import { readWav, repairTake, WavFile } from '../../../src/agent/audio/wav.ts'
import { tempDir } from '../jobs/kit.ts'
import { calm } from '../spool/kit.ts'

const FORMATS = ['S16_LE', 'S24_3LE', 'S32_LE', 'FLOAT_LE'] as const

for (const format of FORMATS)
  for (const channels of [1, 32])
    test(`a header of ${channels} channels ${format} reads back as it was meant, here and in ffmpeg`, async (t) => {
      const file = path.join(tempDir(t), 'x.wav')
      const out = await WavFile.create(file, { channels, format, rate: 44_100 })
      await out.appendSilence(441)
      await out.finish()
      const layout = await readWav(file)
      const frameBytes = channels * { S16_LE: 2, S24_3LE: 3, S32_LE: 4, FLOAT_LE: 4 }[format]
      const dataOffset = layout!.dataOffset
      assert.deepEqual(layout, { channels, dataBytes: 441 * frameBytes, dataOffset, format, rate: 44_100 })
      assert.equal(dataOffset, format === 'S16_LE' && channels <= 2 ? 80 : 104)
      const show = [
        '-v',
        'error',
        '-show_entries',
        'stream=codec_name,channels,sample_rate,duration_ts',
        '-of',
        'csv=p=0',
      ]
      const codec = { S16_LE: 'pcm_s16le', S24_3LE: 'pcm_s24le', S32_LE: 'pcm_s32le', FLOAT_LE: 'pcm_f32le' }[format]
      assert.equal(
        execFileSync('ffprobe', [...show, file], { encoding: 'utf8' }).trim(),
        `${codec},44100,${channels},441`,
      )
      assert.equal(fs.statSync(file).size, dataOffset + layout!.dataBytes + (layout!.dataBytes % 2))
    })

test('over 4 GiB the same header becomes RF64 in place', () => {
  const shape = { channels: 2, format: 'S16_LE', rate: 48_000 } as const
  const small = wavHeader({ ...shape, dataBytes: 4 * 1000 })
  const dataBytes = 5 * 2 ** 30
  const big = wavHeader({ ...shape, dataBytes })
  assert.equal(big.length, small.length)
  assert.deepEqual([small.toString('latin1', 0, 4), big.toString('latin1', 0, 4)], ['RIFF', 'RF64'])
  assert.equal(big.readBigUInt64LE(20), BigInt(dataBytes + big.length - 8))
  assert.equal(big.readBigUInt64LE(36), BigInt(dataBytes / 4))
  assert.deepEqual(parseWav(big), { ...shape, dataBytes, dataOffset: 80 })
})

test('a take over 4 GiB is repaired to RF64, and ffmpeg knows its length', async (t) => {
  const file = path.join(tempDir(t), 'big.wav')
  const out = await WavFile.create(file, { channels: 2, format: 'S16_LE', rate: 48_000 }, calm)
  await out.finish()
  const bytes = 5 * 2 ** 30
  const fd = fs.openSync(file, 'r+')
  const mark = { base: bytes / 4, boot: 0, crc: 0, frames: bytes / 4, upMs: 0, wallMs: 0 }
  fs.writeSync(fd, markBytes(mark), 0, null, slotAt(2))
  fs.closeSync(fd)
  // Sparse: takes no room on the disk. One byte too many stands for a frame cut by a crash.
  fs.truncateSync(file, MARKED_HEADER + bytes + 1)
  assert.equal((await repairTake(file))!.layout.dataBytes, bytes)
  assert.equal(fs.statSync(file).size, MARKED_HEADER + bytes)
  const show = ['-v', 'error', '-show_entries', 'stream=duration_ts', '-of', 'csv=p=0', file]
  assert.equal(execFileSync('ffprobe', show, { encoding: 'utf8' }).trim(), String((5 * 2 ** 30) / 4))
})

test('repairing a finished file changes no byte, also with an odd length', async (t) => {
  const file = path.join(tempDir(t), 'x.wav')
  const out = await WavFile.create(file, { channels: 1, format: 'S24_3LE', rate: 8000 }, calm)
  await out.append(Buffer.from('abcdefghi'))
  await out.finish()
  const before = fs.readFileSync(file)
  assert.equal((await repairTake(file))!.layout.dataBytes, 9)
  assert.ok(fs.readFileSync(file).equals(before))
})

test('a file without a whole header holds no audio', async (t) => {
  const file = path.join(tempDir(t), 'x.wav')
  for (const content of ['', 'RIFF', 'something else altogether']) {
    fs.writeFileSync(file, content)
    assert.equal(await repairTake(file), undefined)
  }
})

test('an existing take is never overwritten', async (t) => {
  const file = path.join(tempDir(t), 'x.wav')
  fs.writeFileSync(file, 'audio')
  await assert.rejects(WavFile.create(file, { channels: 1, format: 'S16_LE', rate: 8000 }), /EEXIST/)
  assert.equal(fs.readFileSync(file, 'utf8'), 'audio')
})
