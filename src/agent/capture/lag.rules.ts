// Audio that a source lost without saying so, found by the clock.

/** Shorter steps are the unrest of buffers, not lost audio. */
const LEAST_MS = 50
/** A window has to be long and full enough that its best arrival was delayed by nothing but the source. */
const WINDOW_MS = 1500
const WINDOW_ARRIVALS = 6
/** How far a card's own clock may be off the machine's: that is drift, and no loss. */
const DRIFT = 500e-6

interface Window {
  arrivals: number
  /** Smallest lag seen in it, ms. */
  least: number
  since: number
}

/**
 * Watches the lag of a stream, `now - frames / rate`, of one opening. A late arrival raises it for a moment, a backlog
 * for as long as it lasts; what was never delivered raises it for good. So each window's smallest lag is compared with
 * the smallest before: a step upwards that two windows agree on is lost audio, because silence that is put in wrongly
 * would be worse than late. The card's drift is followed slowly.
 */
export class Lag {
  readonly #rate: number
  #reference: number | undefined
  /** What the window before this one would have called lost, ms. */
  #suspected = 0
  #window: Window | undefined

  /** `rate`: frames per second. */
  constructor(rate: number) {
    this.#rate = rate
  }

  /**
   * A block arrived at `now` (monotonic ms) and all that was waiting was read; `frames`: the opening's frames so far,
   * inserted silence included. Returns the frames to insert now, mostly 0.
   */
  arrived(now: number, frames: number): number {
    const lag = now - (frames / this.#rate) * 1000
    this.#window ??= { arrivals: 0, least: lag, since: now }
    const window = this.#window
    window.arrivals++
    window.least = Math.min(window.least, lag)
    if (now - window.since < WINDOW_MS || window.arrivals < WINDOW_ARRIVALS) return 0
    this.#window = undefined
    return this.#judge(window.least, now - window.since)
  }

  /** What arrives now was held up here: it says nothing about the source. */
  restart(): void {
    this.#window = undefined
  }

  #judge(least: number, elapsedMs: number): number {
    const reference = this.#reference ?? least
    const lost = least - reference
    if (lost > LEAST_MS) return this.#confirmed(lost)
    this.#suspected = 0
    this.#reference = Math.min(least, reference + elapsedMs * DRIFT)
    return 0
  }

  #confirmed(lost: number): number {
    const both = Math.min(lost, this.#suspected)
    this.#suspected = both > 0 ? 0 : lost
    return Math.round((both / 1000) * this.#rate)
  }
}
