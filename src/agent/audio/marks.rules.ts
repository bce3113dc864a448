// What a take's file says about its own audio: records in the free room of its header. A power cut may leave a file that
// is longer than its data, or holds zeros or old blocks at its end; only what a record vouches for is audio.

/** When a frame was captured, by each clock there is. */
export interface Moment {
  /** Tells one start of the machine from another; `upMs` compares within one only. */
  boot: number
  /** Milliseconds since the machine was started. */
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

/** A whole block of any file system: the samples begin behind it. */
export const MARKED_HEADER = 4096
/** A sector is written whole or not at all. The first has what players read. */
export const SECTOR = 512
/** One holds what the last sync made safe, one what is being synced, one what was written since. */
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
 * Milliseconds between two moments. Within one start of the machine its own clock counts, which nobody sets. After
 * another start the time of day does; but the machine has been up for a while at least, also when its clock went back.
 */
export function msBetween(then: Moment, now: Moment): number {
  if (then.boot === now.boot) return Math.max(0, now.upMs - then.upMs)
  return Math.max(now.upMs, now.wallMs - then.wallMs)
}
