const FIRST_MS = 1000
const LONGEST_MS = 30_000

/** Pause before reconnecting for the `attempt`-th time, from 1: 1, 2, 4 ... 30 s; `random` (0..1) takes up to a quarter off. */
export const reconnectMs = (attempt: number, random: number): number =>
  Math.min(LONGEST_MS, FIRST_MS * 2 ** (attempt - 1)) * (1 - random / 4)
