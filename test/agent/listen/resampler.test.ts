import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createResampler } from '../../../src/agent/listen/resampler.rules.ts'

const tone = (hz: number, rate: number, count: number): Float32Array =>
  Float32Array.from({ length: count }, (_, n) => Math.sin((2 * Math.PI * hz * n) / rate))

/** Cuts that no power of two and no period fits. */
function* odd(samples: Float32Array): Generator<Float32Array> {
  for (let at = 0, size = 1; at < samples.length; at += size, size = (size * 31 + 7) % 1999)
    yield samples.subarray(at, at + size)
}

function whole(from: number, to: number, blocks: Iterable<Float32Array>): number[] {
  const resampler = createResampler(from, to)
  const out = [...blocks].flatMap((block) => [...resampler.push(block)])
  return [...out, ...resampler.end()]
}

/** Level against a full tone, dB, away from both ends. */
function level(from: number, to: number, hz: number): number {
  const out = whole(from, to, [tone(hz, from, from)])
  const middle = out.slice(out.length / 4, (out.length * 3) / 4)
  return 10 * Math.log10((2 * middle.reduce((sum, x) => sum + x * x, 0)) / middle.length)
}

const RATES = [8000, 11_025, 16_000, 22_050, 32_000, 44_100, 96_000, 176_400, 192_000, 22_254]

describe('resampler', () => {
  test('48 to 16 kHz is flat to 7 kHz, and what would fold back is gone', () => {
    for (const hz of [50, 1000, 3000, 5000, 6500, 7000]) assert.ok(Math.abs(level(48_000, 16_000, hz)) < 0.1, `${hz}`)
    for (const hz of [8500, 9500, 12_000, 15_000, 23_000]) assert.ok(level(48_000, 16_000, hz) < -75, `${hz}`)
  })

  test('every rate comes to 48 kHz with its speech band as it was', () => {
    for (const rate of RATES)
      for (const hz of [100, 1000, Math.min(6500, 0.42 * rate)])
        assert.ok(Math.abs(level(rate, 48_000, hz)) < 0.1, `${hz} Hz from ${rate}`)
  })

  test('no image of a tone appears beside it', () => {
    for (const rate of RATES) {
      const out = whole(rate, 48_000, [tone(1000, rate, rate / 2)]).slice(4000, -4000)
      // Where a tone is right at its instants nothing else is there: sample n lies at n / 48000 s, from the very first.
      const error = out.map((x, n) => x - Math.sin((2 * Math.PI * 1000 * (n + 4000)) / 48_000))
      const noise = 10 * Math.log10((2 * error.reduce((sum, x) => sum + x * x, 0)) / error.length)
      assert.ok(noise < -75, `${rate}: ${noise.toFixed(1)} dB`)
    }
  })

  test('counts are exact and blocks leave no trace, whatever their size', () => {
    for (const rate of RATES)
      for (const [from, to] of [
        [rate, 48_000],
        [rate, 16_000],
      ] as const) {
        const input = tone(440, from, 12_347)
        const inOne = whole(from, to, [input])
        assert.equal(inOne.length, Math.ceil((input.length * to) / from), `${from} to ${to}`)
        assert.deepEqual(whole(from, to, odd(input)), inOne, `${from} to ${to}`)
      }
  })

  test('the same rate passes through as it is', () => {
    const input = tone(440, 48_000, 480)
    assert.deepEqual(whole(48_000, 48_000, odd(input)), [...input])
  })
})
