// Resampling: polyphase windowed sinc, block by block.

/** Resamples one mono stream; the remainder of a block is used with the next one. */
export interface Resampler {
  /** The samples that are ready: sample n lies exactly at the time of input sample n * from / to. */
  push(input: Float32Array): Float32Array
  /** The rest, as if silence followed: ceil(inputs * to / from) samples in all. */
  end(): Float32Array
}

/** Flat to 7/8 of the lower Nyquist frequency, this far down above it. dB */
const STOP_DB = 80
const EDGE = 7 / 8
/** Kaiser's rules for window and length (Oppenheim and Schafer, Discrete-Time Signal Processing, 7.6). */
const BETA = 0.1102 * (STOP_DB - 8.7)
/** Samples of the lower rate on either side of the centre. */
const HALF = Math.ceil((STOP_DB - 7.95) / (2.285 * Math.PI * (1 - EDGE)) / 2)
/** Exact filters for all usual rates; beyond that many, two neighbours are blended (error below -100 dB). */
const MAX_PHASES = 1024

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))

/** Modified Bessel function of the first kind, order 0, by its power series. */
function bessel0(x: number): number {
  let [sum, term] = [1, 1]
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= (x / 2 / k) ** 2
    sum += term
  }
  return sum
}

const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x))

/** Taps for one fraction (0..1) of an input sample; their sum is 1, so that no phase is louder than another. */
function phase(fraction: number, half: number, cutoff: number): Float32Array {
  const taps = Float64Array.from({ length: 2 * half }, (_, j) => {
    const t = j - half + 1 - fraction
    const window = bessel0(BETA * Math.sqrt(Math.max(0, 1 - (t / half) ** 2)))
    return sinc(cutoff * t) * window
  })
  const sum = taps.reduce((a, b) => a + b)
  return Float32Array.from(taps, (tap) => tap / sum)
}

function dot(taps: Float32Array, samples: Float32Array, from: number): number {
  let sum = 0
  for (let i = 0; i < taps.length; i++) sum += taps[i]! * samples[from + i]!
  return sum
}

function joined(a: Float32Array, b: Float32Array): Float32Array {
  const out = new Float32Array(a.length + b.length)
  out.set(a)
  out.set(b, a.length)
  return out
}

/** Rates in Hz, whole numbers. The same rate passes through untouched. */
export function createResampler(from: number, to: number): Resampler {
  if (from === to) return { end: () => new Float32Array(0), push: (input) => input }
  const [up, down] = [to / gcd(from, to), from / gcd(from, to)]
  const half = Math.ceil(HALF * Math.max(1, from / to))
  const phases = Math.min(up, MAX_PHASES)
  // Middle of the slope, in input samples.
  const cutoff = ((1 + EDGE) / 2) * Math.min(1, to / from)
  const bank = Array.from({ length: phases + 1 }, (_, p) => phase(p / phases, half, cutoff))
  // Before the first sample there was silence.
  let held: Float32Array = new Float32Array(half - 1)
  let at = half - 1
  let fraction = 0

  const value = (): number => {
    const place = (fraction * phases) / up
    const row = Math.floor(place)
    const first = dot(bank[row]!, held, at - half + 1)
    if (place === row) return first
    return first + (place - row) * (dot(bank[row + 1]!, held, at - half + 1) - first)
  }
  const push = (input: Float32Array): Float32Array => {
    held = joined(held, input)
    const ready = held.length - half - at
    const out = new Float32Array(ready > 0 ? Math.ceil((ready * up - fraction) / down) : 0)
    for (let n = 0; n < out.length; n++) {
      out[n] = value()
      fraction += down
      at += Math.floor(fraction / up)
      fraction %= up
    }
    const spent = Math.min(held.length, at - half + 1)
    held = held.slice(spent)
    at -= spent
    return out
  }
  return { end: () => push(new Float32Array(half)), push }
}
