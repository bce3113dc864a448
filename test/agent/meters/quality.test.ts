import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PcmFormat, SAMPLE_FORMATS, streamFrameBytes } from '../../../src/agent/audio/format.rules.ts'
import { Accumulator } from '../../../src/agent/meters/accumulator.ts'
import { strideFor } from '../../../src/agent/meters/likeness.rules.ts'
import { syntheticLevels } from '../../../src/agent/meters/synthetic.rules.ts'
import { type AudioLevel, MeterFrame } from '../../../src/wire/meters.ts'
import { noise, pcm, silence, sine, speech, type Wave } from './sound.ts'

const S16 = (channels: number, rate = 48_000): PcmFormat => ({ channels, format: 'S16_LE', rate })
const OPTIONS = { clipDbfs: -1, seconds: 1 }

/** One frame of these waves; the whole of it is the sample. */
function levels(waves: Wave[], frames = 48_000, f: PcmFormat = S16(waves.length)): AudioLevel[] {
  const [measured, ...more] = new Accumulator(f, { ...OPTIONS, seconds: frames / f.rate }).add(pcm(f, frames, waves), 0)
  assert.ok(measured && more.length === 0)
  return measured.levels
}

test('the contract: 60 Hz sine of amplitude 12000', () => {
  assert.deepEqual(levels([sine(60, 12_000 / 32_768)]), [
    {
      channelIndex: 1,
      clipping: false,
      label: 'Input 1',
      peakDbfs: -8.7,
      quality: {
        broadbandNoiseScore: 0.01,
        crestFactorDb: 3.01,
        estimatedSnrDb: 0,
        humScore: 1,
        intelligibilityScore: 0.12,
        noiseScore: 0.85,
        speechLike: false,
        speechScore: 0.54,
        staticScore: 0,
        zeroCrossingRate: 0,
      },
      rmsDbfs: -11.7,
    },
  ])
})

test('the contract: alternating samples of +-10000', () => {
  const [level] = levels([(i) => (i % 2 ? -1 : 1) * (10_000 / 32_768)])
  assert.deepEqual([level?.peakDbfs, level?.rmsDbfs], [-10.3, -10.3])
  const { broadbandNoiseScore, noiseScore, speechScore, staticScore, zeroCrossingRate } = level!.quality!
  assert.deepEqual(
    { broadbandNoiseScore, noiseScore, speechScore, staticScore, zeroCrossingRate },
    { broadbandNoiseScore: 0.18, noiseScore: 1, speechScore: 0.2, staticScore: 1, zeroCrossingRate: 1 },
  )
})

test('the contract: all zero', () => {
  const { quality, ...level } = levels([silence])[0]!
  assert.deepEqual(level, { channelIndex: 1, clipping: false, label: 'Input 1', peakDbfs: -160, rmsDbfs: -160 })
  assert.ok(Object.values(quality!).every((value) => value === 0 || value === false))
})

test('the contract: a 1 kHz sine looks much like speech', () => {
  assert.equal(levels([sine(1000, 0.25)])[0]?.quality?.speechScore, 0.91)
})

test('a voice scores as speech, a faint one does not, and its copy is found', () => {
  const voice = speech()
  const clean: Wave = (i) => voice[i]! * 10 ** (-4.3 / 20)
  const low: Wave = (i) => clean(i) * 10 ** (-38 / 20)
  const [a, faint, copy, other] = levels([clean, low, clean, noise(7, 0.1)], voice.length)
  assert.equal(a?.peakDbfs, -4.3)
  const q = a!.quality!
  assert.ok(q.speechLike && q.speechScore >= 0.95 && q.noiseScore <= 0.1, JSON.stringify(q))
  assert.ok(q.estimatedSnrDb! > 25 && q.intelligibilityScore! > 0.9, JSON.stringify(q))
  assert.ok(q.zeroCrossingRate > 0.02 && q.zeroCrossingRate < 0.12 && q.crestFactorDb > 12, JSON.stringify(q))
  assert.ok(faint!.rmsDbfs < -55 && faint!.quality!.speechScore < 0.3 && !faint!.quality!.speechLike)
  assert.deepEqual(q.channelCorrelation, { peerChannelIndex: 3, phase: 'same', score: 1 })
  assert.deepEqual(copy?.quality?.channelCorrelation, { peerChannelIndex: 1, phase: 'same', score: 1 })
  assert.equal(other?.quality?.channelCorrelation, undefined)
})

for (const format of SAMPLE_FORMATS)
  test(`every channel is read at its place and level: ${format}`, () => {
    const waves = Array.from({ length: 7 }, (_, c) => sine(100 * (c + 1), 10 ** (-(c + 1) / 20)))
    const f = { channels: 7, format, rate: 48_000 }
    const got = levels(waves, 48_000, f)
    for (const [c, level] of got.entries()) {
      assert.equal(level.peakDbfs, -(c + 1))
      assert.ok(Math.abs(level.rmsDbfs - (-(c + 1) - 3.01)) <= 0.06, `${level.rmsDbfs}`)
      assert.ok(Math.abs(level.quality!.zeroCrossingRate - (200 * (c + 1)) / 48_000) <= 0.006)
    }
    // Not at a multiple of the sample's size, and in blocks that end anywhere: the same.
    const bytes = pcm(f, 48_000, waves)
    const moved = Buffer.concat([Buffer.alloc(1), bytes]).subarray(1)
    const accumulator = new Accumulator(f, OPTIONS)
    const pieces: AudioLevel[][] = []
    const frameBytes = streamFrameBytes(f)
    for (let at = 0, size = 1; at < moved.length; at += size * frameBytes, size = (size * 7) % 2011)
      for (const { levels } of accumulator.add(moved.subarray(at, at + size * frameBytes), 0)) pieces.push(levels)
    assert.deepEqual(pieces, [got])
  })

test('what stands in the spare byte of S24_LE does not count', () => {
  const f = { channels: 1, format: 'S24_LE', rate: 48_000 } as const
  const clean = pcm(f, 48_000, [sine(300, 0.5)])
  const dirty = Buffer.from(clean)
  for (let at = 3; at < dirty.length; at += 4) dirty[at] = at & 0xff
  const measure = (bytes: Buffer) => new Accumulator(f, OPTIONS).add(bytes, 0)
  assert.deepEqual(measure(dirty), measure(clean))
})

test('full scale is 0 dBFS and clips, floats may go beyond it, what is no number is nothing', () => {
  const [full, under] = levels([sine(100, 1), sine(100, 10 ** (-1.2 / 20))])
  assert.deepEqual([full?.peakDbfs, full?.clipping, under?.peakDbfs, under?.clipping], [0, true, -1.2, false])
  const f = { channels: 3, format: 'FLOAT_LE', rate: 8000 } as const
  const hot = levels([sine(100, 4, 8000), (i) => (i % 9 ? 1e30 : 0), (i) => [Number.NaN, Infinity][i % 2]!], 8000, f)
  assert.deepEqual(
    hot.map(({ clipping, peakDbfs }) => [clipping, peakDbfs]),
    [
      [true, 12],
      [true, 24],
      [false, -160],
    ],
  )
  assert.ok(
    MeterFrame.safeParse({ capturedAt: new Date(0).toISOString(), interfaceId: 'x', levels: hot, nodeId: 'n' }).success,
  )
})

test('a frame for each second of sound, dated by its last sample', () => {
  const f = S16(1, 8000)
  const accumulator = new Accumulator(f, OPTIONS)
  const silent = (frames: number) => pcm(f, frames, [silence])
  assert.deepEqual(accumulator.add(silent(7999), 0), [])
  // The block ends 1000 ms after its begin; the first second ends with its first sample.
  const times = accumulator.add(silent(8000 * 2 + 1), 10_000).map(({ capturedAt }) => capturedAt)
  assert.deepEqual(times, [8000, 9000, 10_000])
})

test('likeness: inverted, through an offset, and only of what is heard', () => {
  const voice = noise(1, 0.3)
  const offset: Wave = (i) => 0.4 - voice(i) / 2
  const [a, b, dc, otherDc, faint, faintToo] = levels([
    voice,
    offset,
    () => 0.3,
    () => 0.3,
    (i) => voice(i) / 1000,
    (i) => voice(i) / 1000,
  ])
  assert.deepEqual(a?.quality?.channelCorrelation, { peerChannelIndex: 2, phase: 'inverted', score: -1 })
  assert.deepEqual(b?.quality?.channelCorrelation, { peerChannelIndex: 1, phase: 'inverted', score: -1 })
  for (const level of [dc, otherDc, faint, faintToo]) assert.equal(level?.quality?.channelCorrelation, undefined)
})

test('likeness is Pearson over the whole second, to two decimals, from 0.80', () => {
  const [x, y] = [noise(1, 0.3), noise(2, 0.3)]
  const mixed =
    (part: number): Wave =>
    (i) =>
      part * x(i) + (1 - part) * y(i)
  const wave = mixed(0.6)
  const all = levels([x, wave, mixed(0.5)])
  const at = Array.from({ length: 48_000 }, (_, i) => [x(i), wave(i)] as const)
  const sum = (of: (pair: readonly [number, number]) => number) => at.reduce((total, pair) => total + of(pair), 0)
  const n = at.length
  const covariance = sum(([a, b]) => a * b) - (sum(([a]) => a) * sum(([, b]) => b)) / n
  const spread = (k: 0 | 1) => sum((pair) => pair[k] ** 2) - sum((pair) => pair[k]) ** 2 / n
  const pearson = covariance / Math.sqrt(spread(0) * spread(1))
  assert.ok(pearson > 0.8 && pearson < 0.86)
  const { channelCorrelation } = all[0]!.quality!
  assert.deepEqual(channelCorrelation, { peerChannelIndex: 2, phase: 'same', score: Math.round(pearson * 100) / 100 })
})

test('an odd number of channels, one channel, and more than exact sums are made for', () => {
  assert.equal(levels([sine(100, 0.5)])[0]?.quality?.channelCorrelation, undefined)
  assert.deepEqual([strideFor(64, 48_000), strideFor(32, 192_000), strideFor(64, 192_000)], [1, 1, 4])
  const f = S16(65, 8000)
  const wide = { ...f, rate: 192_000 }
  assert.ok(strideFor(65, wide.rate) > 1)
  const waves = Array.from({ length: 65 }, (_, c) => noise(c, 0.2))
  waves[64] = (i) => -waves[3]!(i)
  for (const format of [f, wide]) {
    const got = levels(waves, 5000, format)
    assert.equal(got.length, 65)
    assert.deepEqual(got[3]?.quality?.channelCorrelation, { peerChannelIndex: 65, phase: 'inverted', score: -1 })
    assert.deepEqual(got[64]?.quality?.channelCorrelation, { peerChannelIndex: 4, phase: 'inverted', score: -1 })
    assert.equal(got.filter(({ quality }) => quality?.channelCorrelation).length, 2)
  }
})

test('nothing of a second is left in the next', () => {
  const f = S16(2, 8000)
  const accumulator = new Accumulator(f, OPTIONS)
  const loud = pcm(f, 8000, [noise(1, 0.9), noise(1, 0.9)])
  const quiet = pcm(f, 8000, [sine(100, 0.01, 8000), silence])
  const [, second] = accumulator.add(Buffer.concat([loud, quiet]), 0)
  assert.deepEqual(second, new Accumulator(f, OPTIONS).add(quiet, 0)[0])
})

test('made-up levels follow the contract and fit the wire', () => {
  const phase = 7 / 3 + 2 * 0.72
  const rms = -42 + 12 * Math.sin(phase)
  const level = syntheticLevels(7, 2)[1]!
  assert.equal(level.rmsDbfs, Math.round(rms * 10) / 10)
  assert.equal(level.peakDbfs, Math.round((rms + 14 + 4 * Math.abs(Math.cos(phase))) * 10) / 10)
  for (let tick = 0; tick < 100; tick++) {
    const frame = {
      capturedAt: new Date(0).toISOString(),
      interfaceId: 'x',
      levels: syntheticLevels(tick, 64),
      nodeId: 'n',
    }
    assert.deepEqual(MeterFrame.parse(frame), frame)
  }
})
