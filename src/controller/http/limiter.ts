/** Counts events per key in a sliding window: failures, mostly. Times are milliseconds of one clock that does not jump back. */
export interface Limiter {
  /** Whole seconds until the next try is admitted; undefined while the key is under its limit. */
  blocked(key: string, now: number): number | undefined
  clear(key: string): void
  count(key: string, now: number): void
  /** Takes back an event counted at that time. */
  undo(key: string, time: number): void
}

// Times held over all keys: strangers choose the keys, so memory must not follow their number.
const CAPACITY = 100_000

/**
 * `limit` events of one key within `windowSeconds` block it until the oldest of them has left the window.
 * Above `capacity` remembered events the key that was counted longest ago is forgotten first.
 */
export function limiter(limit: number, windowSeconds: number, capacity = CAPACITY): Limiter {
  // In the order of the last event: a Map keeps insertion order, and `count` reinserts.
  const failures = new Map<string, number[]>()
  const windowMs = windowSeconds * 1000
  let held = 0

  const clear = (key: string): void => {
    held -= failures.get(key)?.length ?? 0
    failures.delete(key)
  }
  const recent = (key: string, now: number): number[] =>
    (failures.get(key) ?? []).filter((at) => at > now - windowMs).slice(-limit)

  return {
    clear,
    blocked(key, now) {
      const times = recent(key, now)
      const [oldest] = times
      if (oldest === undefined || times.length < limit) return undefined
      return Math.max(1, Math.ceil((oldest + windowMs - now) / 1000))
    },
    count(key, now) {
      const times = [...recent(key, now), now].slice(-limit)
      clear(key)
      failures.set(key, times)
      held += times.length
      for (const oldest of failures.keys()) {
        if (held <= capacity || oldest === key) break
        clear(oldest)
      }
    },
    undo(key, at) {
      const times = failures.get(key)
      const place = times?.indexOf(at) ?? -1
      if (!times || place < 0) return
      held--
      times.splice(place, 1)
      if (times.length === 0) failures.delete(key)
    },
  }
}
