import { setImmediate as nextTurn } from 'node:timers/promises'

/** Repeats a step, one turn of the event loop each, while it says that there may be more to do. */
export async function inBatches(step: () => boolean): Promise<void> {
  while (step()) await nextTurn()
}
