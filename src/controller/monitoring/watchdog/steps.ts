import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../../kernel/clock.ts'
import type { Db } from '../../store/db.ts'

/** A write of a pass. */
export interface Step {
  /** A reading alone need not be synced to disk. */
  changesAlarm: boolean
  run: () => void
}

/** Writes of one transaction at the most. */
export const SLICE = 50
/** How long a pass occupies the event loop before it yields, ms. */
export const TURN_MS = 8
/** After this many missed passes the controller itself was absent. */
const MISSED = 3

/** Writes in transactions of at most a turn each. */
export const stepWriter = (clock: Clock, db: Db) => async (steps: readonly Step[]) => {
  for (let next = 0; next < steps.length; ) {
    const until = clock.monotonic() + TURN_MS
    const durable = steps.slice(next, next + SLICE).some((step) => step.changesAlarm)
    const limit = next + SLICE
    db.tx(() => {
      do (steps[next++] as Step).run()
      while (next < Math.min(steps.length, limit) && clock.monotonic() < until)
    }, durable)
    await nextTurn()
  }
}

/**
 * Since when the controller has run without a break: after one, nodes get time to report again before they count as silent.
 * `at` is the time of each pass, monotonic ms.
 */
export function presence(intervalSeconds: number) {
  let since: number | undefined
  let lastPass = 0
  return {
    note(at: number): void {
      if (since === undefined || at - lastPass > MISSED * intervalSeconds * 1000) since = at
      lastPass = at
    },
    lasts: (seconds: number): boolean => lastPass - (since ?? lastPass) > seconds * 1000,
  }
}
