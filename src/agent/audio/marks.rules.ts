// Records about a take's audio, in unused space of its file's header. After a power cut a file may be longer than its data,
// or end in zeros or old blocks; only what a record covers is audio.

/** When a frame was captured, by each clock there is. */
export interface Moment {
  /** ID of the boot; `upMs` can only be compared within one. */
  boot: number
  /** Milliseconds since boot. */
  upMs: number
  /** Unix ms. */
  wallMs: number
}

export interface Mark extends Moment {
  /** Frames that were on the disk before this record was written. */
  base: number
  /** Check value (CRC-32) of the bytes of the frames `base`..`frames`. */
  crc: number
  frames: number
}

/** A whole block of any file system; the samples start after it. */
export const MARKED_HEADER = 4096
/** A sector is written atomically. The first holds the WAV header. */
export const SECTOR = 512
/** One for the last sync, one for the sync under way, one for what was written since. */
export const SLOTS = [0, 1, 2] as const
export type Slot = (typeof SLOTS)[number]

/** Where a slot is in the file. */
export const slotAt = (slot: Slot): number => (slot + 1) * SECTOR

/** Moves a moment by milliseconds. */
export const earlier = ({ boot, upMs, wallMs }: Moment, ms: number): Moment => ({
  boot,
  upMs: upMs - ms,
  wallMs: wallMs - ms,
})

/**
 * Milliseconds between two moments: by uptime within one boot, else by the wall clock, but at least the uptime of the later
 * boot, in case the clock was set back.
 */
export function msBetween(then: Moment, now: Moment): number {
  if (then.boot === now.boot) return Math.max(0, now.upMs - then.upMs)
  return Math.max(now.upMs, now.wallMs - then.wallMs)
}
