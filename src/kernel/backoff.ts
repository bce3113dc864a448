/**
 * Pause before a retry, doubling from `least` to `most`; `random` (0 to 1) shortens it by up to half, to spread many
 * clients.
 */
export const backoff = (failures: number, least: number, most: number, random = 0): number =>
  Math.min(most, least * 2 ** Math.min(failures, 30)) * (1 - random / 2)
