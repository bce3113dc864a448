// When the next piece of live audio begins, so that pieces follow without a seam and the delay stays short.

/** Seconds of audio kept ahead: aimed at, the least before it waits, and the most before it skips forward. */
const AIM = 0.4
const MIN = 0.1
const MAX = 1

interface Placed {
  /** When the piece begins on the clock of the audio context, seconds. */
  at: number
  buffering: boolean
  /** Seconds that were left out to come back to the present. */
  skipped: number
}

/** `now`: the context's clock; `end`: where the piece before ends, 0 for the first. */
export function place(now: number, end: number): Placed {
  // A stream begins with a second of audio at once: that is the cushion.
  if (end === 0) return { at: now + MIN, buffering: true, skipped: 0 }
  if (end - now < MIN) return { at: now + AIM, buffering: true, skipped: 0 }
  if (end - now > MAX) return { at: now + AIM, buffering: false, skipped: end - now - AIM }
  return { at: end, buffering: false, skipped: 0 }
}
