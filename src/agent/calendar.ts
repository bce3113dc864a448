import type { Clock } from '../kernel/clock.ts'

/**
 * The time of day by two clocks: this machine's, and the controller's as last reported. Either may be off by years (a
 * machine without a clock battery is, until its time is set), so neither alone decides that a copy is too old.
 */
export interface Calendar {
  /** `now` is the later of the two; `monotonic` is the machine's own. */
  clock: Clock
  /** Records the controller's time, Unix ms. */
  heard(theirs: number): void
  /** The controller's time as last reported, Unix ms; before that this machine's. */
  theirs(): number
  /** Unix ms, the earlier of the two; undefined until the controller has reported its time. */
  surely(): number | undefined
}

export function createCalendar(clock: Clock): Calendar {
  let offset: number | undefined
  // Counted on from there by the monotonic clock, which nobody can set.
  const theirs = () => (offset === undefined ? undefined : clock.monotonic() + offset)
  return {
    clock: { monotonic: clock.monotonic, now: () => Math.max(clock.now(), theirs() ?? 0) },
    heard: (at) => {
      offset = at - clock.monotonic()
    },
    theirs: () => theirs() ?? clock.now(),
    surely: () => {
      const other = theirs()
      return other === undefined ? undefined : Math.min(clock.now(), other)
    },
  }
}
