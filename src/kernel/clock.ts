/** Wall clock for what is stored and shown, monotonic clock for what is measured. */
export interface Clock {
  /** Unix time in ms. */
  now(): number
  /** Milliseconds since an arbitrary point; never jumps with the wall clock. */
  monotonic(): number
}

export const systemClock: Clock = { now: Date.now, monotonic: () => performance.now() }

/** Fixed-width ISO-8601 UTC text with milliseconds: sorts like the instant it names. */
export const iso = (ms: number): string => new Date(ms).toISOString()

/** `iso` of an instant some seconds away from `nowIso`. */
export const isoPlus = (nowIso: string, seconds: number): string => iso(Date.parse(nowIso) + seconds * 1000)
