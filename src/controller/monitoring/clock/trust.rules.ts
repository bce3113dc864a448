// Whether age by the wall clock may be used to delete things: after a large leap forward everything looks old.

const DAY_MS = 86_400_000

/** Recent jumps of the wall clock. */
export interface Leap {
  /** Sum of the jumps, ms; positive is forward. */
  ahead: number
  /** When this is forgotten, by the monotonic clock; ms. */
  until: number
}

/** The leap after one more jump; a jump back cancels an earlier one forward. */
export function addJump(before: Leap | undefined, by: number, monotonic: number): Leap {
  const known = before && monotonic < before.until ? before : undefined
  return {
    ahead: (known?.ahead ?? 0) + by,
    until: known && by < DAY_MS ? known.until : monotonic + DAY_MS,
  }
}

/** False for a day after the clock went forward by a day or more and did not come back. */
export const isTrusted = (leap: Leap | undefined, monotonic: number): boolean =>
  leap === undefined || leap.ahead < DAY_MS || monotonic >= leap.until

/** The leap at start, ms, when the clock is `gap` ms after the last write of an earlier process; 0 when that is plausible. */
export const leapSince = (gap: number): number => (gap < 0 || gap >= DAY_MS ? gap : 0)

/** For storage: `until` by the wall clock. */
export const toStored = ({ ahead, until }: Leap, now: number, monotonic: number): Leap => ({
  ahead,
  until: now + until - monotonic,
})

/** From storage: `until` by the monotonic clock again, at most a day from now. */
export const fromStored = ({ ahead, until }: Leap, now: number, monotonic: number): Leap => ({
  ahead,
  until: monotonic + Math.min(Math.max(until - now, 0), DAY_MS),
})
