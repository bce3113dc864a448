import type { Opening } from '../capture/bus.ts'
import type { Slice } from './slices.rules.ts'
import { PrintTally } from './tally.rules.ts'

type Listener = (opening: Opening, slice: Slice) => void

/** A take is judged for the first time after so many seconds. */
const BEGUN_SECONDS = 60

/** Between the meters' thread, which listens closer while somebody wants it, and whoever that is. */
export class Ear {
  readonly #listeners = new Set<Listener>()
  #onDemand: (wanted: boolean) => void = () => undefined

  /** Called with whether anybody listens, now and at every change. */
  onDemand(listener: (wanted: boolean) => void): void {
    this.#onDemand = listener
    listener(this.#listeners.size > 0)
  }

  /** A moment of an open device. */
  heard(opening: Opening, slice: Slice): void {
    for (const listener of this.#listeners) listener(opening, slice)
  }

  /** Calls for every moment of every open device; returns the way to stop. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    if (this.#listeners.size === 1) this.#onDemand(true)
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#onDemand(false)
    }
  }

  /**
   * Adds up what a take hears of its device until `stop`. `opening`: what the bus calls the device now, which may be reopened
   * meanwhile; `begun`: called after its first minute.
   */
  during(opening: () => Opening | undefined, begun: (tally: PrintTally) => void): { stop(): void; tally: PrintTally } {
    const tally = new PrintTally()
    const stop = this.listen((heard, slice) => {
      if (heard !== opening()) return
      const before = tally.seconds
      tally.add(slice)
      if (before < BEGUN_SECONDS && tally.seconds >= BEGUN_SECONDS) begun(tally)
    })
    return { stop, tally }
  }
}
