import { setImmediate as nextTurn } from 'node:timers/promises'

/** Repeats a step, one turn of the event loop each, while it says that there may be more to do. */
export async function inBatches(step: () => boolean): Promise<void> {
  while (step()) await nextTurn()
}

/** Held for longer, other requests wait noticeably, ms. */
const HOLD_MS = 10

/** To be awaited between the steps of a long computation: others have a turn when it has held the event loop for a while. */
export function sharing(): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < HOLD_MS) return
    await nextTurn()
    since = performance.now()
  }
}
