// Whether age by the wall clock may be used to delete things: after a large leap forward everything looks old.

import { iso } from '../../../kernel/clock.ts'

const DAY_MS = 86_400_000

/** A stretch of time that the wall clock showed too early: what has its stamps is as old as its end. Unix ms, both included. */
export interface Doubted {
  /** When the clock was set right, by the right time. */
  at: number
  from: number
  to: number
}

/** What is known of the wall clock: since when it has shown its time without a leap of a day, and what it showed wrongly before. */
export interface Course {
  /** It began by going back: a leap forward sets it right. */
  behind: boolean
  doubted: Doubted[]
  since: number
}

// So many corrections are remembered; the oldest are of takes and rows that are gone.
const REMEMBERED = 16

/** The course after a jump from `before` to `before + by`; `live`: seen as it happened, so it was no time without power. */
export function afterJump(course: Course | undefined, before: number, by: number, live: boolean): Course | undefined {
  if (Math.abs(by) < DAY_MS) return course
  const now = before + by
  const { behind = false, doubted = [], since = 0 } = course ?? {}
  if (by > 0) {
    const wrong = live || behind ? [{ at: now, from: since, to: before }] : []
    return { behind: false, doubted: [...wrong, ...doubted].slice(0, REMEMBERED), since: now }
  }
  // A correction in what is the future again was none.
  const [undone] = doubted.filter(({ at }) => at > now)
  return {
    behind: undone === undefined,
    doubted: doubted.filter(({ at }) => at <= now),
    since: undone?.from ?? now,
  }
}

/** From when the age of what has this stamp counts. */
export const countsFrom = (stamp: string, doubted: readonly Doubted[]): string => {
  const at = Date.parse(stamp)
  const found = doubted.find(({ from, to }) => from <= at && at <= to)
  return found ? iso(found.at) : stamp
}

/** Unix ms; `before` is excluded. */
export interface Stretch {
  before: number
  from: number
}

/** Stretches before `cutoff` (Unix ms) whose stamps are all as old as they say, or were set right before it. */
export function certainlyBefore(cutoff: number, doubted: readonly Doubted[]): Stretch[] {
  const open = doubted.filter(({ at, from }) => at > cutoff && from < cutoff).toSorted((a, b) => a.from - b.from)
  const out: Stretch[] = []
  let from = 0
  for (const each of open) {
    if (each.from > from) out.push({ before: each.from, from })
    from = Math.max(from, each.to + 1)
  }
  return from < cutoff ? [...out, { before: cutoff, from }] : out
}

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
