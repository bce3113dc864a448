// How many rows or requests each caller gets in a minute; what exceeds that is only counted.

/** What was counted of one caller in one window. */
export interface Counted<T> {
  /** Who the caller is, taken at the first event; absent where several callers share a count. */
  about?: T
  count: number
  /** How long ago the window began, ms. */
  sinceMs: number
}

/** `row`: within the budget. `count`: the shared budget is spent. `limit`: the caller's own budget is spent. */
export type Verdict = 'count' | 'limit' | 'row'

/** Times are milliseconds of one clock that does not jump back. */
export interface Budget<T> {
  /** Takes one of the key's budget; what is not a `row` is counted. */
  take(key: string, now: number, about: () => T): Verdict
  /** Whole seconds until there is a new budget; undefined while something is left of this one. */
  retryAfter(key: string, now: number): number | undefined
  /** The same of the budget that all callers share. */
  allRetryAfter(now: number): number | undefined
  /** What was counted in windows that are over; each is returned once. */
  drain(now: number): Counted<T>[]
  /** Ends every window early. */
  end(): void
}

interface Bounds {
  /** Callers remembered at once; further ones share a budget. */
  capacity?: number
  /** Of one caller in a window. */
  limit: number
  /** Of all callers together. */
  overall?: number
}

interface Window<T> {
  about?: T
  counted: number
  since: number
  taken: number
}

const WINDOW_MS = 60_000
const CAPACITY = 4096
/** Callers that get a count of their own in one drain; what is counted of the others is added up. */
const MAX_REPORTED = 20
const SHARED = ''

const secondsLeft = ({ since }: { since: number }, now: number): number =>
  Math.max(1, Math.ceil((since + WINDOW_MS - now) / 1000))

export function budget<T>({ capacity = CAPACITY, limit, overall = Number.POSITIVE_INFINITY }: Bounds): Budget<T> {
  // In the order in which the windows began: a Map keeps insertion order.
  const windows = new Map<string, Window<T>>()
  const due: Window<T>[] = []
  let overflow: Window<T> | undefined
  let all = { since: Number.NEGATIVE_INFINITY, taken: 0 }

  const isOver = (window: { since: number }, now: number): boolean => now - window.since >= WINDOW_MS
  const close = (key: string, window: Window<T>): void => {
    windows.delete(key)
    if (window.counted === 0) return
    if (due.length < MAX_REPORTED) due.push(window)
    else {
      overflow ??= { counted: 0, since: window.since, taken: 0 }
      overflow.counted += window.counted
    }
  }
  const sweep = (now: number): void => {
    for (const [key, window] of windows) {
      if (!isOver(window, now)) return
      close(key, window)
    }
  }
  const current = (key: string, now: number): Window<T> => {
    const known = windows.get(key)
    if (known && !isOver(known, now)) return known
    if (known) close(key, known)
    if (windows.size >= capacity) sweep(now)
    if (windows.size >= capacity && key !== SHARED) return current(SHARED, now)
    const fresh: Window<T> = { counted: 0, since: now, taken: 0 }
    windows.set(key, fresh)
    return fresh
  }
  const verdict = (window: Window<T>, now: number): Verdict => {
    if (window.taken >= limit) return 'limit'
    if (isOver(all, now)) all = { since: now, taken: 0 }
    if (all.taken >= overall) return 'count'
    all.taken++
    window.taken++
    return 'row'
  }

  return {
    take(key, now, about) {
      const window = current(key, now)
      const outcome = verdict(window, now)
      if (outcome === 'row') return outcome
      window.counted++
      if (key !== SHARED && windows.has(key)) window.about ??= about()
      return outcome
    },
    retryAfter(key, now) {
      const window = windows.get(key)
      if (!window || isOver(window, now) || window.taken < limit) return undefined
      return secondsLeft(window, now)
    },
    allRetryAfter: (now) => (all.taken < overall || isOver(all, now) ? undefined : secondsLeft(all, now)),
    end() {
      for (const [key, window] of windows) close(key, window)
    },
    drain(now) {
      sweep(now)
      const over = [...due.splice(0), ...(overflow ? [overflow] : [])]
      overflow = undefined
      return over.map(({ about, counted, since }) => ({
        ...(about === undefined ? {} : { about }),
        count: counted,
        sinceMs: now - since,
      }))
    },
  }
}
