// Turns blocks of any size into one set of levels per measured interval.
import type { AudioLevel } from '../../wire/meters.ts'
import type { PcmFormat } from '../audio/format.rules.ts'
import { deinterleave, framesIn } from '../audio/samples.rules.ts'
import { type Slice, Slicer } from '../ear/slices.rules.ts'
import { Likenesses } from './likeness.rules.ts'
import { isHeard, levelOf, quickLevelOf } from './quality.rules.ts'

/** Frames processed at once: the rows of 64 channels fit the processor's cache. */
const PIECE = 1024

export interface MeterOptions {
  /** Peak that counts as clipping, dBFS. */
  clipDbfs: number
  /** Audio per set of levels, seconds. */
  seconds: number
}

export interface Measurement {
  /** Unix ms of the last sample. */
  capturedAt: number
  levels: AudioLevel[]
  /** Levels of a part of the interval, without quality. */
  quick?: true
}

/** Every sample counts once. One per opening, because the format must not change. */
export class Accumulator {
  readonly #format: PcmFormat
  readonly #likenesses: Likenesses
  readonly #options: MeterOptions
  /** Samples of the present piece, a row per channel. */
  readonly #rows: Float32Array[]
  readonly #wanted: number
  #counted = 0
  /** Frames a quick measurement covers; 0 for none. */
  #quick = 0
  /** Frames since the last one. */
  #sinceQuick = 0
  #slicer: Slicer | undefined
  #slices: Slice[] = []
  #tallies: Tally[]

  constructor(format: PcmFormat, options: MeterOptions) {
    const { channels, rate } = format
    this.#format = format
    this.#options = options
    this.#wanted = Math.max(1, Math.round(rate * options.seconds))
    this.#rows = Array.from({ length: channels }, () => new Float32Array(PIECE))
    this.#likenesses = new Likenesses(channels, rate, PIECE)
    this.#tallies = this.#rows.map(freshTally)
  }

  /** Quick measurements beside the whole ones, so many a second; 0 for none. An interval ends with a quick one. */
  pace(perSecond: number): void {
    this.#quick = perSecond > 0 ? Math.ceil(this.#format.rate / perSecond) : 0
    for (const tally of this.#tallies) part(tally)
    this.#sinceQuick = 0
  }

  /** Whether slices are wanted as well; they begin anew when they are. */
  listen(on: boolean): void {
    this.#slicer = on ? new Slicer(this.#format, this.#options.clipDbfs) : undefined
  }

  /** The slices that were completed since the last call. */
  slices(): Slice[] {
    const done = this.#slices
    if (done.length > 0) this.#slices = []
    return done
  }

  /** Takes whole interleaved frames; `capturedAt` is the time of the last. Returns completed sets of levels. */
  add(bytes: Uint8Array, capturedAt: number): Measurement[] {
    const frames = framesIn(bytes, this.#format)
    const done: Measurement[] = []
    for (let at = 0; at < frames; ) {
      const untilQuick = this.#quick > 0 ? this.#quick - this.#sinceQuick : PIECE
      const length = Math.min(PIECE, frames - at, this.#wanted - this.#counted, untilQuick)
      this.#addPiece(bytes, at, length)
      at += length
      const whole = this.#counted >= this.#wanted
      const time = capturedAt - ((frames - at) / this.#format.rate) * 1000
      if (this.#quick > 0 && (whole || this.#sinceQuick >= this.#quick))
        done.push({ capturedAt: time, levels: this.#takeQuick(), quick: true })
      if (whole) done.push({ capturedAt: time, levels: this.#take() })
    }
    return done
  }

  #addPiece(bytes: Uint8Array, from: number, length: number): void {
    const rows = length === PIECE ? this.#rows : this.#rows.map((row) => row.subarray(0, length))
    deinterleave(bytes, this.#format, from, rows)
    rows.forEach((row, c) => void count(this.#tallies[c]!, row))
    if (this.#slicer) this.#slices.push(...this.#slicer.add(rows))
    this.#likenesses.add(rows)
    this.#counted += length
    this.#sinceQuick += length
  }

  #takeQuick(): AudioLevel[] {
    const frames = this.#sinceQuick
    this.#sinceQuick = 0
    return this.#tallies.map((tally, c) => {
      const { energy, peak } = part(tally)
      return quickLevelOf(c + 1, { peak, rms: Math.sqrt(energy / frames) }, this.#options.clipDbfs)
    })
  }

  #take(): AudioLevel[] {
    const frames = this.#counted
    const measured = this.#tallies.map(({ crossings, earlierPeak, energy, peak }) => ({
      peak: Math.max(peak, earlierPeak),
      rms: Math.sqrt(energy / frames),
      zcr: crossings / Math.max(1, frames - 1),
    }))
    const likenesses = this.#likenesses.take(measured.map(({ rms }) => isHeard(rms)))
    this.#tallies = this.#rows.map(freshTally)
    this.#counted = this.#sinceQuick = 0
    return measured.map((m, c) => levelOf(c + 1, m, this.#options.clipDbfs, likenesses[c]))
  }
}

/** Running counts of one channel. */
interface Tally {
  /** Sign changes between consecutive non-zero samples. */
  crossings: number
  /** The same as `energy` and `peak`, up to the last quick measurement. */
  earlierEnergy: number
  earlierPeak: number
  /** Sum of squares, full scale = 1. */
  energy: number
  /** Since the last quick measurement. */
  peak: number
  /** Sign of the last non-zero sample; 0 before the first. */
  sign: number
}

const freshTally = (): Tally => ({
  crossings: 0,
  earlierEnergy: 0,
  earlierPeak: 0,
  energy: 0,
  peak: 0,
  sign: 0,
})

/** Energy and peak since the last part, which ends here. */
function part(tally: Tally): { energy: number; peak: number } {
  const { earlierEnergy, energy, peak } = tally
  tally.earlierEnergy = energy
  tally.earlierPeak = Math.max(tally.earlierPeak, peak)
  tally.peak = 0
  return { energy: energy - earlierEnergy, peak }
}

/** Adds a row of samples to the tally. */
function count(tally: Tally, row: Float32Array): void {
  let { crossings, energy, peak, sign } = tally
  for (let i = 0; i < row.length; i++) {
    const x = row[i]!
    const size = Math.abs(x)
    if (size > peak) peak = size
    energy += x * x
    if (x * sign < 0) {
      crossings++
      sign = -sign
    } else if (sign === 0) sign = Math.sign(x)
  }
  tally.crossings = crossings
  tally.energy = energy
  tally.peak = peak
  tally.sign = sign
}
