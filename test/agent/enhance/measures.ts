// Objective measures of sound, for samples of 48 kHz mono in -1..1.
import { createRealFft } from '../../../src/agent/enhance/fft.rules.ts'

export type Samples = Float32Array

export const RATE = 48_000

export const energy = (x: Samples): number => x.reduce((sum, v) => sum + v * v, 0)
export const rmsDb = (x: Samples): number => 10 * Math.log10(energy(x) / x.length + 1e-20)
export const peakDb = (x: Samples): number => 20 * Math.log10(x.reduce((m, v) => Math.max(m, Math.abs(v)), 0) + 1e-20)

/** Level of one frequency (Goertzel), dB of its amplitude. */
export function toneDb(x: Samples, hz: number): number {
  let [re, im] = [0, 0]
  for (let i = 0; i < x.length; i++) {
    re += x[i]! * Math.cos((2 * Math.PI * hz * i) / RATE)
    im += x[i]! * Math.sin((2 * Math.PI * hz * i) / RATE)
  }
  return 20 * Math.log10((2 * Math.hypot(re, im)) / x.length + 1e-12)
}

/** Level of a band, dB: mean over windows of 1024. */
export function bandDb(x: Samples, fromHz: number, toHz: number): number {
  const size = 1024
  const power = spectra(x, size, size)
  const [from, to] = [fromHz, toHz].map((hz) => Math.round((hz * size) / RATE)) as [number, number]
  const sum = power.reduce((all, bins) => all + bins.slice(from, to).reduce((s, v) => s + v, 0), 0)
  return 10 * Math.log10(sum / Math.max(1, power.length) / size ** 2 + 1e-20)
}

const hann = (size: number): Float64Array =>
  Float64Array.from({ length: size }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 1)) / (size + 1)))

/** Power of the bins of windows of `size` samples, `hop` apart, transformed with `fftSize` points. */
function spectra(x: ArrayLike<number>, size: number, hop: number, fftSize = size): Float64Array[] {
  const [fft, window] = [createRealFft(fftSize), hann(size)]
  const [padded, bins] = [new Float64Array(fftSize), new Float64Array(fftSize + 2)]
  const found: Float64Array[] = []
  for (let at = 0; at + size <= x.length; at += hop) {
    for (let i = 0; i < size; i++) padded[i] = x[at + i]! * window[i]!
    fft.forward(padded, bins)
    found.push(Float64Array.from({ length: fftSize / 2 + 1 }, (_, k) => bins[2 * k]! ** 2 + bins[2 * k + 1]! ** 2))
  }
  return found
}

/** Scale-invariant signal-to-distortion ratio, dB (Le Roux et al., 2019). */
export function siSdr(clean: Samples, got: Samples): number {
  const scale = clean.reduce((sum, v, i) => sum + v * got[i]!, 0) / energy(clean)
  const noise = clean.reduce((sum, v, i) => sum + (got[i]! - scale * v) ** 2, 0)
  return 10 * Math.log10((scale ** 2 * energy(clean)) / (noise + 1e-20))
}

/** Samples `got` is behind `ref`, of at most `most` either way: the maximum of their correlation. */
export function lagOf(ref: Samples, got: Samples, most = 3000): number {
  let [best, lag] = [Number.NEGATIVE_INFINITY, 0]
  for (let d = -most; d <= most; d++) {
    let sum = 0
    // Every third sample is enough to tell.
    for (let i = most; i < ref.length - most; i += 3) sum += ref[i]! * got[i + d]!
    if (sum > best) [best, lag] = [sum, d]
  }
  return lag
}

/** dB by which the pauses of `clean` (45 dB below its loudest 20 ms) are quieter in `got` than in `noisy`. */
export function pauseReduction(clean: Samples, noisy: Samples, got: Samples): number {
  const frame = 960
  const starts = Array.from({ length: Math.floor(clean.length / frame) }, (_, i) => i * frame)
  const of = (x: Samples, at: number) => energy(x.subarray(at, at + frame))
  const loudest = Math.max(...starts.map((at) => of(clean, at)))
  const pauses = starts.filter((at) => of(clean, at) < loudest * 10 ** -4.5)
  const sum = (x: Samples) => pauses.reduce((all, at) => all + of(x, at), 0)
  return 10 * Math.log10(sum(noisy) / (sum(got) + 1e-12))
}

/** 48 to 10 kHz by a windowed sinc: every 24th sample of five times as many. */
function to10k(x: Samples): Float64Array {
  const [up, down, reach] = [5, 24, 240]
  const cut = (0.5 / down) * 0.95
  const taps = Float64Array.from({ length: 2 * reach + 1 }, (_, i) => {
    const t = i - reach
    const sinc = t === 0 ? 2 * cut : Math.sin(2 * Math.PI * cut * t) / (Math.PI * t)
    return sinc * up * (0.5 + 0.5 * Math.cos((Math.PI * t) / (reach + 1)))
  })
  return Float64Array.from({ length: Math.floor((x.length * up) / down) }, (_, m) => {
    const centre = m * down
    let sum = 0
    const last = Math.min(x.length - 1, Math.floor((centre + reach) / up))
    for (let k = Math.max(0, Math.ceil((centre - reach) / up)); k <= last; k++)
      sum += x[k]! * taps[centre - k * up + reach]!
    return sum
  })
}

const [WINDOW, HOP, FFT, BANDS, SEGMENT] = [256, 128, 512, 15, 30]

/** Drops the frames in which `clean` is 40 dB below its loudest, from both, and puts the rest together again. */
function withoutSilence(clean: Float64Array, got: Float64Array): [Float64Array, Float64Array] {
  const window = hann(WINDOW)
  const starts: number[] = []
  for (let at = 0; at + WINDOW <= clean.length; at += HOP) starts.push(at)
  const level = (at: number) => window.reduce((sum, w, i) => sum + (clean[at + i]! * w) ** 2, 1e-30)
  const loudest = Math.max(...starts.map(level))
  const kept = starts.filter((at) => level(at) > loudest * 1e-4)
  const joined = (x: Float64Array) => {
    const out = new Float64Array((kept.length - 1) * HOP + WINDOW)
    kept.forEach((at, j) => {
      for (let i = 0; i < WINDOW; i++) out[j * HOP + i]! += x[at + i]! * window[i]!
    })
    return out
  }
  return [joined(clean), joined(got)]
}

/** Amplitudes of one-third octave bands from 150 Hz. */
function bands(x: Float64Array): number[][] {
  const edge = (exponent: number) => Math.round((150 * 2 ** exponent * FFT) / 10_000)
  return spectra(x, WINDOW, HOP, FFT).map((power) =>
    Array.from({ length: BANDS }, (_, j) =>
      Math.sqrt(power.slice(edge((2 * j - 1) / 6), edge((2 * j + 1) / 6)).reduce((s, v) => s + v, 0)),
    ),
  )
}

function correlation(a: number[], b: number[]): number {
  const mean = (x: number[]) => x.reduce((s, v) => s + v, 0) / x.length
  const [ma, mb] = [mean(a), mean(b)]
  const dot = a.reduce((s, v, i) => s + (v - ma) * (b[i]! - mb), 0)
  const norm = (x: number[], m: number) => x.reduce((s, v) => s + (v - m) ** 2, 0)
  return dot / (Math.sqrt(norm(a, ma) * norm(b, mb)) + 1e-20)
}

/** Short-time objective intelligibility, 0..1 (Taal et al., 2011). */
export function stoi(clean: Samples, got: Samples): number {
  const [x, y] = withoutSilence(to10k(clean), to10k(got)).map(bands) as [number[][], number[][]]
  const clip = 1 + 10 ** (15 / 20)
  let [sum, count] = [0, 0]
  for (let end = SEGMENT; end <= x.length; end++)
    for (let j = 0; j < BANDS; j++) {
      const of = (all: number[][]) => all.slice(end - SEGMENT, end).map((frame) => frame[j]!)
      const [a, b] = [of(x), of(y)]
      const power = (v: number[]) => v.reduce((s, n) => s + n * n, 0)
      const scale = Math.sqrt(power(a) / (power(b) + 1e-20))
      sum += correlation(
        a,
        b.map((v, i) => Math.min(v * scale, a[i]! * clip)),
      )
      count++
    }
  return sum / count
}
