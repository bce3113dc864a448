// Which channels carry the same sound: Pearson's correlation of every pair (docs/contract/health.md: Meter values).

/** The strongest correlation of a channel; `peer` counts from 0, `score` is -1..1. */
export interface Likeness {
  peer: number
  score: number
}

/**
 * Most products of samples per second: 64 channels at 48 kHz. Beyond that only every n-th frame is used.
 */
const MAX_PRODUCTS_PER_SECOND = 64 * 64 * 48_000
const FEWEST_FRAMES = 8
const LEAST_SCORE = 0.8

/** Every how many frames are compared: 1 up to 64 channels at 48 kHz or 32 at 192 kHz. */
export const strideFor = (channels: number, rate: number): number =>
  Math.max(1, Math.ceil((channels * channels * rate) / MAX_PRODUCTS_PER_SECOND))

/**
 * Sums of products of two rows with two rows: each sample is loaded once for two products. Destructured arrays would make
 * it several times slower.
 */
function addTile(sums: Float64Array, size: number, a: number, b: number, rows: Float32Array[], count: number): void {
  const a0 = rows[a]!
  const a1 = rows[a + 1]!
  const b0 = rows[b]!
  const b1 = rows[b + 1]!
  let s00 = 0
  let s01 = 0
  let s10 = 0
  let s11 = 0
  for (let i = 0; i < count; i++) {
    const w = a0[i]!
    const x = a1[i]!
    const y = b0[i]!
    const z = b1[i]!
    s00 += w * y
    s01 += w * z
    s10 += x * y
    s11 += x * z
  }
  sums[a * size + b]! += s00
  sums[a * size + b + 1]! += s01
  sums[(a + 1) * size + b]! += s10
  sums[(a + 1) * size + b + 1]! += s11
}

/** Sums for the correlation of all pairs, taken piece by piece. */
export class Likenesses {
  readonly #channels: number
  readonly #stride: number
  /** Channels, rounded up to an even number: the sums are made in tiles of two by two. */
  readonly #size: number
  readonly #products: Float64Array
  readonly #totals: Float64Array
  /** First sample of each channel: taken off all, so that a constant offset leaves exactly nothing. */
  readonly #pivots: Float32Array
  readonly #none: Float32Array
  #frames = 0
  #seen = 0

  /** `most`: frames of the longest piece. */
  constructor(channels: number, rate: number, most: number) {
    this.#channels = channels
    this.#stride = strideFor(channels, rate)
    this.#size = channels + (channels % 2)
    this.#products = new Float64Array(this.#size ** 2)
    this.#totals = new Float64Array(channels)
    this.#pivots = new Float32Array(channels)
    this.#none = new Float32Array(most)
  }

  /** Adds one row per channel. The rows are used up: their samples are moved and changed. */
  add(rows: Float32Array[]): void {
    const length = rows[0]!.length
    if (this.#seen === 0) for (const [c, row] of rows.entries()) this.#pivots[c] = row[0]!
    const first = (this.#stride - (this.#seen % this.#stride)) % this.#stride
    const count = Math.max(0, Math.ceil((length - first) / this.#stride))
    for (const [c, row] of rows.entries()) this.#totals[c]! += this.#thin(row, this.#pivots[c]!, first, count)
    const even = this.#size === this.#channels ? rows : [...rows, this.#none]
    for (let a = 0; a < this.#size; a += 2)
      for (let b = a; b < this.#size; b += 2) addTile(this.#products, this.#size, a, b, even, count)
    this.#seen += length
    this.#frames += count
  }

  /** Keeps the compared samples, without the pivot, at the beginning of the row; returns their sum. */
  #thin(row: Float32Array, pivot: number, first: number, count: number): number {
    let total = 0
    for (let i = 0, at = first; i < count; i++, at += this.#stride) {
      row[i] = row[at]! - pivot
      total += row[i]!
    }
    return total
  }

  /** The strongest correlation of every audible channel, where it is 0.80 or more; then starts over. */
  take(heard: boolean[]): (Likeness | undefined)[] {
    const strongest: (Likeness | undefined)[] = Array(this.#channels).fill(undefined)
    const keep = (channel: number, peer: number, score: number): void => {
      if (Math.abs(score) > Math.abs(strongest[channel]?.score ?? 0)) strongest[channel] = { peer, score }
    }
    for (let a = 0; a < this.#channels; a++)
      for (let b = a + 1; b < this.#channels; b++) {
        const score = heard[a] && heard[b] ? this.#pearson(a, b) : 0
        if (Math.abs(score) < LEAST_SCORE) continue
        keep(a, b, score)
        keep(b, a, score)
      }
    this.#products.fill(0)
    this.#totals.fill(0)
    this.#frames = this.#seen = 0
    return strongest
  }

  #covariance(a: number, b: number): number {
    const n = this.#frames
    return (this.#products[a * this.#size + b]! - (this.#totals[a]! * this.#totals[b]!) / n) / n
  }

  #pearson(a: number, b: number): number {
    const [own, other] = [this.#covariance(a, a), this.#covariance(b, b)]
    if (this.#frames < FEWEST_FRAMES || own <= Number.EPSILON || other <= Number.EPSILON) return 0
    return Math.min(1, Math.max(-1, this.#covariance(a, b) / Math.sqrt(own * other)))
  }
}
