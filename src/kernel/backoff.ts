/** Pause before another try, doubling from `least` to `most`; of `random` (0 to 1) half is drawn off, so that many spread. */
export const backoff = (failures: number, least: number, most: number, random = 0): number =>
  Math.min(most, least * 2 ** Math.min(failures, 30)) * (1 - random / 2)
