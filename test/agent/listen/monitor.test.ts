import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type PcmFormat, SAMPLE_FORMATS, streamFrameBytes } from '../../../src/agent/audio/format.rules.ts'
import { mixedDown } from '../../../src/agent/audio/samples.rules.ts'
import type { Opening } from '../../../src/agent/capture/bus.ts'
import { tonePeriod } from '../../../src/agent/capture/tones.ts'
import { createMonitor, FULL_RATE } from '../../../src/agent/listen/monitor.ts'
import { createCutter, LIVE_RATE, type Piece, wavOf } from '../../../src/agent/listen/pieces.rules.ts'
import { createResampler } from '../../../src/agent/listen/resampler.rules.ts'
import { createTimeline } from '../../../src/agent/listen/timeline.rules.ts'
import { readWav } from '../../e2e/sound.ts'

const opening = (format: PcmFormat): Opening => ({ device: 'test:', format, interfaceRef: 'test:', test: true })
const at44: PcmFormat = { channels: 2, format: 'S16_LE', rate: 44_100 }

/** Seconds of the test tones: channel n carries 100 n Hz at -12 dBFS. */
const sound = (f: PcmFormat, seconds: number): Buffer => {
  const period = tonePeriod(f)
  return Buffer.concat(Array(Math.ceil((seconds * f.rate * streamFrameBytes(f)) / period.length)).fill(period))
}

/** All pieces of what is pushed in blocks of so many frames that come exactly when they were captured. */
function pieces(f: PcmFormat, bytes: Buffer, frames: number, pieceMs = 250, gapAfter = -1, gap = 0): Piece[] {
  const out: Piece[] = []
  const monitor = createMonitor(opening(f), pieceMs, { full: () => undefined, piece: (piece) => out.push(piece) })
  let ms = 1_000_000
  const size = frames * streamFrameBytes(f)
  for (let from = 0, n = 0; from < bytes.length; from += size, n++) {
    const block = bytes.subarray(from, from + size)
    ms += (block.length / streamFrameBytes(f) / f.rate) * 1000
    if (n === gapAfter) {
      ms += gap * 1000
      monitor.gap(gap)
    }
    monitor.block(block, ms)
  }
  monitor.end()
  return out
}

const samples = (all: Piece[]): number[] => all.flatMap(({ pcm }) => [...pcm])

describe('monitor mix', () => {
  test('is the average of all channels, in every format of the device, however the memory lies', () => {
    for (const format of SAMPLE_FORMATS) {
      const f: PcmFormat = { channels: 5, format, rate: 48_000 }
      const tones = tonePeriod(f)
      const shifted = Buffer.concat([Buffer.from([1]), tones]).subarray(1)
      const wanted = Array.from({ length: 480 }, (_, n) => {
        const channels = [1, 2, 3, 4, 5].map((c) => Math.sin((2 * Math.PI * 100 * c * n) / 48_000))
        return (channels.reduce((a, b) => a + b) / 5) * 10 ** (-12 / 20)
      })
      for (const memory of [tones, shifted])
        for (const [n, x] of mixedDown(memory, f).entries())
          assert.ok(Math.abs(x - wanted[n]!) < 1e-4, `${format} sample ${n}: ${x} instead of ${wanted[n]}`)
    }
  })

  test('what is no number is silence, and the next sample sounds', () => {
    const frames = Buffer.from(new Float32Array([Number.NaN, 0.5, 0.25, Number.POSITIVE_INFINITY, 0.5, 0.5]).buffer)
    assert.deepEqual([...mixedDown(frames, { channels: 2, format: 'FLOAT_LE', rate: 48_000 })], [0, 0, 0.5])
  })

  test('all pieces together are the continuous signal, sample for sample, whatever the blocks are', () => {
    const bytes = sound(at44, 3)
    const mono = createResampler(44_100, FULL_RATE)
    const down = createResampler(FULL_RATE, LIVE_RATE)
    const full = [mono.push(mixedDown(bytes, at44)), mono.end()]
    const continuous = [...full.map((x) => down.push(x)), down.end()].flatMap((x) => [...x])
    const wanted = continuous.map((x) => Math.round(x * 32_768) + 0)
    for (const frames of [1, 441, 1023, 50_000]) assert.deepEqual(samples(pieces(at44, bytes, frames)), wanted)
  })

  test('pieces are of one length and stamped one behind the other with the time of their first sample', () => {
    const all = pieces(at44, sound(at44, 3), 1023)
    assert.deepEqual(new Set(all.slice(0, -1).map(({ pcm }) => pcm.length)), new Set([4000]))
    for (const [n, { capturedAt }] of all.entries())
      assert.ok(Math.abs(capturedAt - 1_000_000 - n * 250) < 0.001, `piece ${n} at ${capturedAt}`)
  })

  test('a hole of the device is silence of its length; after a long one the sound goes on at once, at its time', () => {
    const bytes = sound(at44, 2)
    const whole = samples(pieces(at44, bytes, 4410)).length
    const holed = pieces(at44, bytes, 4410, 250, 10, 0.5)
    assert.equal(samples(holed).length, whole + 8000)
    assert.ok(
      samples(holed)
        .slice(16_200, 23_800)
        .every((x) => x === 0),
    )
    const away = pieces(at44, bytes, 4410, 250, 10, 600)
    assert.equal(samples(away).length, whole)
    assert.ok(Math.abs(away.at(-1)!.capturedAt - 1_000_000 - 600_000 - 1750) < 1)
  })
})

describe('pieces', () => {
  test('a stream that begins elsewhere is cut at the same places', () => {
    const cutter = createCutter(100, 250)
    const cuts = [...cutter.push(new Float32Array(120)), cutter.rest()!]
    assert.deepEqual(
      cuts.map(({ index, pcm }) => [index, pcm.length]),
      [
        [250, 50],
        [300, 70],
      ],
    )
  })

  test('a piece is a WAV file with a header of 44 bytes', () => {
    const wav = Buffer.from(wavOf(Int16Array.of(1, -2, 32_767)))
    assert.equal(wav.length, 50)
    const { channels, data, rate } = readWav(wav)
    assert.deepEqual([channels, rate, data.toString('hex')], [1, 16_000, '0100feffff7f'])
  })

  test('what is too loud is cut off, not turned over', () => {
    assert.deepEqual(
      [...createCutter(4).push(Float32Array.of(1, 2, -1, -2))[0]!.pcm],
      [32_767, 32_767, -32_768, -32_768],
    )
  })
})

describe('timeline', () => {
  test('blocks that come late now and then do not shake it; a clock that was set is followed', () => {
    const timeline = createTimeline(48_000)
    let before = 0
    for (let n = 1; n <= 400; n++) {
      // Every seventh block is 80 ms late.
      timeline.came(n * 960, 5000 + n * 20 + (n % 7 === 0 ? 80 : 0))
      const now = timeline.at(n * 960)
      if (n > 1) assert.ok(Math.abs(now - before - 20) <= 1, `step of ${now - before} ms`)
      before = now
    }
    assert.ok(Math.abs(before - 13_000) < 20, `${before}`)
    timeline.came(401 * 960, 3_600_000)
    assert.equal(timeline.at(401 * 960), 3_600_000)
  })
})
