import { setImmediate as nextTurn } from 'node:timers/promises'

/** Repeats a step that takes at most `most` things, one turn of the event loop each, until it takes fewer. */
export async function untilFew(most: number, step: (most: number) => number): Promise<void> {
  while (step(most) === most) await nextTurn()
}
