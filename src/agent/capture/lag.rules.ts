// Audio that a source lost without saying so, found by the clock.

/** Shorter steps are jitter of the buffers, not lost audio. */
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
/**
 * A step shows in one window. What rises by as much as this in several short windows in a row is a clock that is far behind and
 * is being set right: the kernel works off up to 0.4 s, chrony a twelfth of each second.
 */
const CLIMB_MS = { least: 15, most: 150 }
const CLIMBS = 3
const CLIMB_WINDOW_MS = 3000
/** Windows after the words of a source that lost something, in which the clock says whether it was more than that. */
const WINDOWS_TOLD = 4
/** Windows in a row that have to agree on a step ... */
const AGREEING = 2
/** ... of a source that would have told of what the machine was too slow for: only its card can have stood still. */
const AGREEING_UNTOLD = 8
/** No buffer that is being read holds back more: arecord asks ALSA for half a second. */
const STALL_MS = 600
/** How long nothing may have caught up with such a step; what is found then has its place within a second. */
const STALL_SEEN_MS = 750
const STALL_ARRIVALS = 4
/** Of a source that says nothing what swings by more than this is a deep buffer that is read in bursts. */
const SWING_MS = 150

interface Window {
  arrivals: number
  /** Smallest lag seen in it, ms. */
  least: number
  since: number
}

/** Arrivals in a row that came later than any buffer explains. */
interface Stall {
  arrivals: number
  /** Lag of the first, and the smallest of all, ms. */
  first: number
  least: number
  since: number
}

/**
 * Watches the lag of a stream, `now - frames / rate`, of one opening. A late arrival raises it for a moment, a backlog
 * for as long as it lasts; what was never delivered raises it for good. So each window's smallest lag is compared with
 * the smallest before: a step upwards that two windows agree on is lost audio, because silence that is put in wrongly
 * would be worse than late. What rises slower than a step is the clocks' drift; it is followed, however long it lasts.
 * A step that is larger than what waits anywhere, and stays while everything is read, needs no window.
 *
 * A source that tells of its losses is doubted longer: a machine that reads late for a while is most of what shows, and
 * its words say when it was too late. They say how long it stood still, not that the device's full buffer was thrown
 * away with it (half a second of arecord's): then the clock is asked as with any other. What it never says is that the
 * card itself gave nothing for a while. Others (PipeWire, JACK, templates, an ALSA name that may be a plugin) say nothing.
 */
export class Lag {
  /** Windows in a row that found something lost. */
  #agreed = 0
  /** Smallest lag of the window before this one. */
  #before: number | undefined
  /** Rises in a row that a clock may be. */
  #climbs = 0
  /** When a window was judged last. */
  #judgedAt: number | undefined
  readonly #rate: number
  #reference: number | undefined
  #stall: Stall | undefined
  /** The least that the agreeing windows would have called lost, ms. */
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
    const lost = this.#stood(now, lag) || this.#seen(now, lag)
    if (lost > 0) this.#forget()
    return Math.round((lost / 1000) * this.#rate)
  }

  /** What arrives now was held up here: it says nothing about the source. */
  restart(): void {
    this.#window = this.#stall = undefined
  }

  /** The source said that it lost something. */
  told(): void {
    this.#windowsTold = WINDOWS_TOLD
  }

  /**
   * Of `ms` that the source says it lost, those that are missing: what the clock has found already is in the frames. All of
   * them while too little was heard to know.
   */
  missing(now: number, frames: number, ms: number): number {
    if (this.#reference === undefined) return ms
    const lag = now - (frames / this.#rate) * 1000
    return Math.max(0, Math.min(ms, lag - this.#reference))
  }

  /** Ms for which the source stood still a moment ago, mostly 0. */
  #stood(now: number, lag: number): number {
    const usual = Math.min(this.#reference ?? Number.POSITIVE_INFINITY, this.#window?.least ?? Number.POSITIVE_INFINITY)
    if (lag - usual <= STALL_MS) {
      this.#stall = undefined
      return 0
    }
    if (this.#stall && this.#isBuffered(this.#stall, lag)) this.#stall = undefined
    this.#stall ??= { arrivals: 0, first: lag, least: lag, since: now }
    const stall = this.#stall
    stall.arrivals++
    stall.least = Math.min(stall.least, lag)
    return now - stall.since >= STALL_SEEN_MS && stall.arrivals >= STALL_ARRIVALS ? stall.least - usual : 0
  }

  /** What falls is a backlog that is being read. */
  #isBuffered(stall: Stall, lag: number): boolean {
    return lag < stall.first - LEAST_MS || (!this.#tells && lag > stall.least + SWING_MS)
  }

  /** Ms that windows agree on to be lost. */
  #seen(now: number, lag: number): number {
    this.#window ??= { arrivals: 0, least: lag, since: now }
    const window = this.#window
    window.arrivals++
    window.least = Math.min(window.least, lag)
    if (now - window.since < WINDOW_MS || window.arrivals < WINDOW_ARRIVALS) return 0
    this.#window = undefined
    const rise = window.least - (this.#before ?? window.least)
    this.#before = window.least
    this.#follow(window.least, rise, now - (this.#judgedAt ?? window.since))
    this.#judgedAt = now
    return this.#judge(window.least, rise)
  }

  /** Moves the reference with the clocks; a loss that is being judged does not move it. */
  #follow(least: number, rise: number, sinceMs: number): void {
    const climbs = rise >= CLIMB_MS.least && rise <= CLIMB_MS.most && sinceMs < CLIMB_WINDOW_MS
    this.#climbs = climbs ? this.#climbs + 1 : 0
    const slewed = this.#agreed === 0 && rise > 0 && rise <= SLEW_MS ? rise : 0
    const followed = (this.#reference ?? least) + slewed
    this.#reference = this.#climbs >= CLIMBS ? least : Math.min(least, followed)
  }

  #judge(least: number, rise: number): number {
    const isTold = this.#windowsTold > 0
    if (isTold) this.#windowsTold--
    const lost = least - (this.#reference ?? least)
    if (lost <= LEAST_MS) {
      this.#agreed = 0
      return 0
    }
    // Windows that differ do not agree.
    if (Math.abs(rise) > SLEW_MS) this.#agreed = 0
    this.#suspected = this.#agreed === 0 ? lost : Math.min(lost, this.#suspected)
    this.#agreed++
    return this.#agreed >= (this.#tells && !isTold ? AGREEING_UNTOLD : AGREEING) ? this.#suspected : 0
  }

  #forget(): void {
    this.restart()
    this.#agreed = 0
  }
}
