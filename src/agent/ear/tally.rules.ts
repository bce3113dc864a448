// Many slices to one print per channel: what it sounds like in its quiet moments.
import { BANDS_HZ } from '../../wire/bands.ts'
import type { SoundPrint } from '../../wire/soundreadings.ts'
import { type ChannelSlice, SILENT_DBFS, type Slice } from './slices.rules.ts'

/** A print is of the quietest tenth: speech and doors come and go, a room stays. */
const QUIET = 0.1
const STEP_DB = 0.5
const STEPS = 1 + (24 - SILENT_DBFS) / STEP_DB
const LIKENESS_STEPS = 1000

const rounded = (value: number, digits: number): number => Math.round(value * 10 ** digits) / 10 ** digits + 0

/** Counts values in steps: its size does not grow with a take. */
class Histogram {
  readonly #counts: Uint32Array
  #total = 0

  constructor(steps: number) {
    this.#counts = new Uint32Array(steps)
  }

  add(step: number): void {
    this.#counts[Math.min(this.#counts.length - 1, Math.max(0, Math.round(step)))]!++
    this.#total++
  }

  /** The step at this part of all values, from the lowest. */
  at(part: number): number {
    const rank = Math.max(1, Math.ceil(this.#total * part))
    let seen = 0
    for (let step = 0; step < this.#counts.length; step++) {
      seen += this.#counts[step]!
      if (seen >= rank) return step
    }
    return 0
  }
}

class Levels extends Histogram {
  constructor() {
    super(STEPS)
  }

  override add(dbfs: number): void {
    super.add((dbfs - SILENT_DBFS) / STEP_DB)
  }

  get quiet(): number {
    return SILENT_DBFS + this.at(QUIET) * STEP_DB
  }
}

/** What is known of one channel. */
class ChannelTally {
  readonly #bands = BANDS_HZ.map(() => new Levels())
  readonly #hum50 = new Levels()
  readonly #hum60 = new Levels()
  readonly #likeness = new Histogram(LIKENESS_STEPS + 1)
  readonly #rms = new Levels()
  #clipped = 0
  #flat = true
  #latest: { peer: number; score: number } | undefined
  #offset = 0
  #peak = SILENT_DBFS
  #slices = 0

  add(slice: ChannelSlice, seconds: number): void {
    this.#slices++
    for (const [band, level] of slice.bands.entries()) this.#bands[band]!.add(level)
    this.#hum50.add(slice.hum50)
    this.#hum60.add(slice.hum60)
    this.#rms.add(slice.rms)
    this.#likeness.add(Math.abs(slice.likeness?.score ?? 0) * LIKENESS_STEPS)
    if (slice.clipped) this.#clipped += seconds
    this.#flat &&= slice.flat
    this.#latest = slice.likeness ?? this.#latest
    this.#offset += slice.offset
    this.#peak = Math.max(this.#peak, slice.peak)
  }

  print(channelIndex: number): SoundPrint {
    const [hum50, hum60] = [this.#hum50.quiet, this.#hum60.quiet]
    const alike = this.#likeness.at(QUIET) / LIKENESS_STEPS
    const likeness = this.#latest &&
      alike > 0 && {
        likeness: { peerChannelIndex: this.#latest.peer + 1, score: alike * Math.sign(this.#latest.score) },
      }
    return {
      bandsDbfs: this.#bands.map((band) => band.quiet),
      channelIndex,
      clippedSeconds: rounded(this.#clipped, 2),
      flat: this.#flat,
      floorDbfs: this.#rms.quiet,
      humDbfs: Math.max(hum50, hum60),
      humHz: hum60 > hum50 ? 60 : 50,
      ...likeness,
      offset: rounded(this.#offset / Math.max(1, this.#slices), 5),
      peakDbfs: rounded(this.#peak, 1),
    }
  }
}

/** Adds up the slices of one device, and says what its channels sound like. */
export class PrintTally {
  readonly #channels = new Map<number, ChannelTally>()
  #seconds = 0

  get seconds(): number {
    return this.#seconds
  }

  add({ channels, seconds }: Slice): void {
    this.#seconds += seconds
    for (const [c, one] of channels.entries()) {
      let tally = this.#channels.get(c)
      if (!tally) {
        tally = new ChannelTally()
        this.#channels.set(c, tally)
      }
      tally.add(one, seconds)
    }
  }

  /** Of these channels (from 1), in their order; those that were not heard are left out. */
  prints(channels: readonly number[]): SoundPrint[] {
    return channels.flatMap((index) => this.#channels.get(index - 1)?.print(index) ?? [])
  }
}
