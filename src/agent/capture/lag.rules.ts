// Audio that a source lost without saying so, found by the clock.

/** Shorter steps are the unrest of buffers, not lost audio. */
const LEAST_MS = 50
/** A window has to be long and full enough that its best arrival was delayed by nothing but the source. */
const WINDOW_MS = 1500
const WINDOW_ARRIVALS = 6
/**
 * A rise from one window to the next up to this is followed, for it is a clock's. CLOCK_MONOTONIC is turned along with the
 * time of day: 500 ppm at most where only its frequency is set (0.75 ms per window), several times that while the kernel
 * works off an offset, a share of the rest each second. A card's crystal is off by 200 ppm.
 */
const SLEW_MS = 20
/** Windows after the words of a source that lost something, in which the clock says whether it was more than that. */
const WINDOWS_TOLD = 4

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
 * would be worse than late. What rises slower than a step is the clocks' drift; it is followed, however long it lasts.
 *
 * A source that tells of its losses is asked by the clock only when it told: its words say how long it stood still, not
 * that the device's full buffer was thrown away with it (half a second of arecord's). Until then any step is the
 * machine's. Others (PipeWire, JACK, templates, an ALSA name that may be a plugin) are watched all the time.
 */
export class Lag {
  /** Smallest lag of the window before this one. */
  #before: number | undefined
  readonly #rate: number
  #reference: number | undefined
  /** What the window before this one would have called lost, ms. */
  #suspected = 0
  readonly #tells: boolean
  #window: Window | undefined
  #windowsTold = 0

  /** `rate`: frames per second; `tells`: the source says itself when it lost something. */
  constructor(rate: number, tells = false) {
    this.#rate = rate
    this.#tells = tells
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
    return this.#judge(window.least)
  }

  /** What arrives now was held up here: it says nothing about the source. */
  restart(): void {
    this.#window = undefined
  }

  /** The source said that it lost something. */
  told(): void {
    this.#windowsTold = WINDOWS_TOLD
  }

  #judge(least: number): number {
    const rise = least - (this.#before ?? least)
    this.#before = least
    if (this.#tells && this.#windowsTold-- <= 0) {
      this.#windowsTold = 0
      this.#suspected = 0
      this.#reference = least
      return 0
    }
    const slewed = rise > 0 && rise <= SLEW_MS ? rise : 0
    this.#reference = Math.min(least, (this.#reference ?? least) + slewed)
    const lost = least - this.#reference
    if (lost > LEAST_MS) return this.#confirmed(lost)
    this.#suspected = 0
    return 0
  }

  #confirmed(lost: number): number {
    const both = Math.min(lost, this.#suspected)
    this.#suspected = both > 0 ? 0 : lost
    return Math.round((both / 1000) * this.#rate)
  }
}
