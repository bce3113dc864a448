// What each channel sounds like, from moment to moment: level, octave bands, mains hum, likeness to other channels.
import { BANDS_HZ } from '../../wire/bands.ts'
import type { PcmFormat } from '../audio/format.rules.ts'
import { createRealFft } from '../enhance/fft.rules.ts'

/** A moment of one channel. Levels in dBFS, without the constant offset. */
export interface ChannelSlice {
  bands: number[]
  clipped: boolean
  /** Every sample had the same value. */
  flat: boolean
  hum50: number
  hum60: number
  /** The channel it resembles most (from 0), if any does. */
  likeness?: { peer: number; score: number }
  offset: number
  peak: number
  rms: number
}
/** A moment of all channels of a device: short enough to fall between two words. */
export interface Slice {
  channels: ChannelSlice[]
  seconds: number
}

export const SILENT_DBFS = -160
const LOUDEST_DBFS = 24
/** Bins are 5 Hz apart, so that 50 and 60 Hz and their multiples fall into the middle of one. */
const BIN_HZ = 5
/** Spectra of a second, over all channels, and slices of a second at the most: it is beside the takes that they are made. */
const SPECTRA_PER_SECOND = 32
const SLICES_PER_SECOND = 4
const HUM_LINES = 8
/** Where channels are compared: below, a room sounds alike at every microphone of it. */
const COMPARED_HZ = [200, 3000] as const
const LEAST_LIKENESS = 0.8
/** Fainter channels are not compared. */
const COMPARED_DBFS = -115

const dbOf = (power: number): number =>
  power > 0 ? Math.min(LOUDEST_DBFS, Math.max(SILENT_DBFS, 10 * Math.log10(power))) : SILENT_DBFS

/** Samples of a spectrum: a fifth of a second, or the next size there is a transform for. */
function spectrumSize(rate: number): number {
  for (let half = Math.ceil(rate / BIN_HZ / 2); ; half++) {
    let left = half
    for (const p of [2, 3, 5]) while (left % p === 0) left /= p
    if (left === 1) return 2 * half
  }
}

interface Tally {
  greatest: number
  least: number
  squares: number
  sum: number
}

const fresh = (): Tally => ({
  greatest: Number.NEGATIVE_INFINITY,
  least: Number.POSITIVE_INFINITY,
  squares: 0,
  sum: 0,
})

function count(tally: Tally, row: Float32Array, from: number, to: number): void {
  let { greatest, least, squares, sum } = tally
  for (let i = from; i < to; i++) {
    const x = row[i]!
    if (x > greatest) greatest = x
    if (x < least) least = x
    squares += x * x
    sum += x
  }
  Object.assign(tally, { greatest, least, squares, sum })
}

/** Makes slices of the samples of one opening, whose format does not change. Each begins with its one spectrum. */
export class Slicer {
  readonly #blocks: Float32Array[]
  readonly #clip: number
  readonly #frames: number
  readonly #rate: number
  readonly #spectra: Spectra
  #counted = 0
  #tallies: Tally[]

  constructor({ channels, rate }: PcmFormat, clipDbfs: number) {
    const size = spectrumSize(rate)
    const perSecond = Math.min(SLICES_PER_SECOND, Math.max(1, Math.floor(SPECTRA_PER_SECOND / channels)))
    this.#rate = rate
    this.#clip = 10 ** (clipDbfs / 20)
    this.#frames = Math.max(size, Math.round(rate / perSecond))
    this.#blocks = Array.from({ length: channels }, () => new Float32Array(size))
    this.#spectra = new Spectra(channels, rate, size)
    this.#tallies = this.#blocks.map(fresh)
  }

  /** Takes a row of samples per channel, which it does not change. Returns the slices that are complete. */
  add(rows: Float32Array[]): Slice[] {
    const done: Slice[] = []
    const length = rows[0]!.length
    for (let at = 0; at < length; ) {
      const n = Math.min(length - at, this.#frames - this.#counted)
      for (const [c, row] of rows.entries()) {
        count(this.#tallies[c]!, row, at, at + n)
        const room = this.#blocks[c]!.length - this.#counted
        if (room > 0) this.#blocks[c]!.set(row.subarray(at, at + Math.min(n, room)), this.#counted)
      }
      this.#counted += n
      at += n
      if (this.#counted === this.#frames) done.push(this.#take())
    }
    return done
  }

  #take(): Slice {
    const seen = this.#spectra.of(this.#blocks)
    const channels = this.#tallies.map((tally, c) => ({ ...this.#levels(tally), ...seen[c]! }))
    this.#counted = 0
    this.#tallies = this.#blocks.map(fresh)
    const audible = channels.map(({ rms }) => rms > COMPARED_DBFS)
    for (const [c, channel] of channels.entries()) {
      const likeness = audible[c] ? this.#spectra.likenessOf(c, audible) : undefined
      if (likeness) Object.assign(channel, { likeness })
    }
    return { channels, seconds: this.#frames / this.#rate }
  }

  #levels({
    greatest,
    least,
    squares,
    sum,
  }: Tally): Pick<ChannelSlice, 'clipped' | 'flat' | 'offset' | 'peak' | 'rms'> {
    const offset = sum / this.#frames
    const peak = Math.max(Math.abs(greatest), Math.abs(least))
    const flat = greatest === least
    const rms = flat ? SILENT_DBFS : dbOf(Math.max(0, squares / this.#frames - offset ** 2))
    return { clipped: !flat && peak >= this.#clip, flat, offset, peak: dbOf(peak ** 2), rms }
  }
}

/** Spectra of all channels at the same time, and how alike they are. */
class Spectra {
  readonly #bins: Float64Array
  readonly #compared: Float64Array[]
  readonly #edges: number[]
  readonly #energies: number[] = []
  readonly #fft: ReturnType<typeof createRealFft>
  readonly #first: number
  readonly #hz: number
  readonly #scale: number
  readonly #window: Float64Array
  readonly #windowed: Float64Array

  constructor(channels: number, rate: number, size: number) {
    this.#fft = createRealFft(size)
    this.#bins = new Float64Array(size + 2)
    this.#windowed = new Float64Array(size)
    // Hann's window leaves nothing of a constant offset beyond the second bin.
    this.#window = Float64Array.from({ length: size }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / size))
    // Twice for the mirrored half: the powers of all bins add up to the mean square of the samples.
    this.#scale = 2 / (size * this.#window.reduce((sum, w) => sum + w * w, 0))
    this.#hz = rate / size
    const binOf = (hz: number) => Math.min(size / 2, Math.round(hz / this.#hz))
    this.#edges = [BANDS_HZ[0] / Math.SQRT2, ...BANDS_HZ.map((hz) => hz * Math.SQRT2)].map(binOf)
    this.#first = binOf(COMPARED_HZ[0])
    const compared = Math.max(0, binOf(COMPARED_HZ[1]) - this.#first)
    this.#compared = Array.from({ length: channels }, () => new Float64Array(2 * compared))
  }

  of(blocks: Float32Array[]): Pick<ChannelSlice, 'bands' | 'hum50' | 'hum60'>[] {
    return blocks.map((block, c) => {
      const compared = this.#compared[c]!
      for (let i = 0; i < block.length; i++) this.#windowed[i] = block[i]! * this.#window[i]!
      this.#fft.forward(this.#windowed, this.#bins)
      compared.set(this.#bins.subarray(2 * this.#first, 2 * this.#first + compared.length))
      this.#energies[c] = product(compared, compared)
      const bands = BANDS_HZ.map((_, band) => dbOf(this.#power(this.#edges[band]!, this.#edges[band + 1]!)))
      return { bands, hum50: dbOf(this.#hum(50)), hum60: dbOf(this.#hum(60)) }
    })
  }

  /** Power of the bins from..to. */
  #power(from: number, to: number): number {
    let sum = 0
    for (let k = from; k < to; k++) sum += this.#bins[2 * k]! ** 2 + this.#bins[2 * k + 1]! ** 2
    return sum * this.#scale
  }

  /** What the multiples of a mains frequency have more than the bins beside them. */
  #hum(hz: number): number {
    let sum = 0
    for (let line = 1; line <= HUM_LINES; line++) {
      const k = Math.round((line * hz) / this.#hz)
      const beside = (this.#power(k - 4, k - 2) + this.#power(k + 3, k + 5)) / 4
      sum += Math.max(0, this.#power(k - 1, k + 2) - 3 * beside)
    }
    return sum
  }

  /** What a channel resembles most of those that are audible. */
  likenessOf(channel: number, audible: boolean[]): ChannelSlice['likeness'] {
    let best: ChannelSlice['likeness']
    for (const [peer, counts] of audible.entries()) {
      if (peer === channel || !counts) continue
      const both = Math.sqrt(this.#energies[channel]! * this.#energies[peer]!)
      const score = both > 0 ? product(this.#compared[channel]!, this.#compared[peer]!) / both : 0
      if (Math.abs(score) >= Math.max(LEAST_LIKENESS, Math.abs(best?.score ?? 0)))
        best = { peer, score: Math.min(1, Math.max(-1, score)) }
    }
    return best
  }
}

function product(a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
  return sum
}
