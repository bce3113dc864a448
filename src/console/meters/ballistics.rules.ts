// How a meter moves (after IEC 60268-18: up at once, down 20 dB in 1.7 s). No conformity is claimed.

export interface Needle {
  /** Latched until somebody taps the meter. */
  clipped: boolean
  /** dBFS, as drawn. */
  level: number
  /** The highest peak of the last moments, dBFS. */
  hold: number
  heldFor: number
}

const FLOOR_DB = -60
const FALL_DB_PER_MS = 20 / 1700
const HOLD_MS = 1500

export const still = (): Needle => ({ clipped: false, heldFor: 0, hold: FLOOR_DB, level: FLOOR_DB })

/** `target`: the newest peak, dBFS; undefined when no frame came for a while. `ms` since the last call. */
export function moved(needle: Needle, target: number | undefined, ms: number): Needle {
  const aim = Math.max(FLOOR_DB, target ?? FLOOR_DB)
  const level = Math.max(aim, needle.level - FALL_DB_PER_MS * ms, FLOOR_DB)
  const heldFor = needle.heldFor + ms
  if (level >= needle.hold || heldFor > HOLD_MS) return { ...needle, heldFor: 0, hold: level, level }
  return { ...needle, heldFor, level }
}

/** Place of a level on the scale, 0..1 from -60 to 0 dBFS. */
export const placeOf = (db: number): number => Math.min(1, Math.max(0, 1 - db / FLOOR_DB))
