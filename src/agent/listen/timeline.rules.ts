/** Estimates the capture time of samples from the arrival of blocks, without their jitter. */
interface Timeline {
  /** Unix ms of the sample with that index. */
  at(index: number): number
  /** A block that ends before sample `index` arrived at `ms` (Unix). */
  came(index: number, ms: number): void
}

/** Beyond this the time jumps: the device was away, or the clock was set. ms */
const JUMP_MS = 1000
/** Share of the error corrected per block: enough for clock drift, little for a late block. */
const STEP_MS = 1

/** `rate` in Hz. */
export function createTimeline(rate: number): Timeline {
  let origin: number | undefined
  const at = (index: number): number => (origin ?? 0) + (index / rate) * 1000
  return {
    at,
    came: (index, ms) => {
      const late = ms - at(index)
      if (origin === undefined || Math.abs(late) > JUMP_MS) origin = ms - (index / rate) * 1000
      else origin += Math.max(-STEP_MS, Math.min(STEP_MS, late / 16))
    },
  }
}
