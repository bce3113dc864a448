import type { Clock } from '../kernel/clock.ts'

/**
 * The time of day by two clocks: this machine's, and the controller's as it was last heard. Either may be wrong by years, a
 * box without a clock battery is until somebody tells it the time: neither alone makes a copy old.
 */
export interface Calendar {
  /** The later of both; intervals are the machine's as ever. */
  clock: Clock
  /** The controller said what time it is, Unix ms. */
  heard(theirs: number): void
  /** Unix ms it is at least by both; undefined as long as the controller was not heard. */
  surely(): number | undefined
}

export function createCalendar(clock: Clock): Calendar {
  let offset: number | undefined
  // From their time on the monotonic clock counts, which nobody sets.
  const theirs = () => (offset === undefined ? undefined : clock.monotonic() + offset)
  return {
    clock: { monotonic: clock.monotonic, now: () => Math.max(clock.now(), theirs() ?? 0) },
    heard: (at) => {
      offset = at - clock.monotonic()
    },
    surely: () => {
      const other = theirs()
      return other === undefined ? undefined : Math.min(clock.now(), other)
    },
  }
}
