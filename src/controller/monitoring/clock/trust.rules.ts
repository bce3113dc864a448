// Whether what is old by the wall clock may be deleted: after a great leap forward everything looks old.

const DAY_MS = 86_400_000

/** What the wall clock did of late. */
export interface Leap {
  /** By how much it went forward, all in all; ms. */
  ahead: number
  /** How long that is remembered, by the monotonic clock; ms. */
  until: number
}

/** What is remembered after one more jump. A clock that comes back has made no leap. */
export function addJump(before: Leap | undefined, by: number, monotonic: number): Leap {
  const known = before && monotonic < before.until ? before : undefined
  return {
    ahead: (known?.ahead ?? 0) + by,
    until: known && by < DAY_MS ? known.until : monotonic + DAY_MS,
  }
}

/** False for a day after the clock went forward by a day or more, and did not come back. */
export const isTrusted = (leap: Leap | undefined, monotonic: number): boolean =>
  leap === undefined || leap.ahead < DAY_MS || monotonic >= leap.until

/** A clock that has gone `gap` ms since the last sign of life of an earlier process: did it leap? */
export const leapSince = (gap: number): number => (gap < 0 || gap >= DAY_MS ? gap : 0)

/** As it is stored for the next process: `until` by the wall clock. */
export const toStored = ({ ahead, until }: Leap, now: number, monotonic: number): Leap => ({
  ahead,
  until: now + until - monotonic,
})

/** From what is stored: `until` by the monotonic clock again, and never longer than a day, whatever the clock says. */
export const fromStored = ({ ahead, until }: Leap, now: number, monotonic: number): Leap => ({
  ahead,
  until: monotonic + Math.min(Math.max(until - now, 0), DAY_MS),
})
