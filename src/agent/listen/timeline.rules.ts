/** Tells when the samples of a stream were captured from when its blocks came, without the jitter of the latter. */
interface Timeline {
  /** Unix ms of the sample with that index. */
  at(index: number): number
  /** A block that ends before sample `index` came at `ms` (Unix). */
  came(index: number, ms: number): void
}

/** A device that was away, or a clock that was set: the time jumps. */
const JUMP_MS = 1000
/** Follows the drift of the device's clock; a block that is late by a hundred ms moves it by this much at most. */
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
