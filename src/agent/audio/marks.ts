import * as fs from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { systemClock } from '../../kernel/clock.ts'
import { earlier, type Mark, type Moment, SECTOR, SLOTS, type Slot, slotAt } from './marks.rules.ts'

const MAGIC = Buffer.from('RTmk', 'latin1')
const BYTES = 52

export function markBytes({ base, boot, crc, frames, upMs, wallMs }: Mark): Buffer {
  const out = Buffer.alloc(BYTES)
  MAGIC.copy(out)
  out.writeUInt32LE(crc, 4)
  out.writeBigUInt64LE(BigInt(base), 8)
  out.writeBigUInt64LE(BigInt(frames), 16)
  out.writeDoubleLE(wallMs, 24)
  out.writeDoubleLE(upMs, 32)
  out.writeUInt32LE(boot, 40)
  out.writeUInt32LE(crc32(out.subarray(0, BYTES - 4)), BYTES - 4)
  return out
}

/** The record of a slot, from the first bytes of a file; undefined when there is none, or half of one. */
export function markIn(head: Buffer, slot: Slot): Mark | undefined {
  const at = head.subarray(slotAt(slot), slotAt(slot) + BYTES)
  if (at.length < BYTES || !at.subarray(0, MAGIC.length).equals(MAGIC)) return undefined
  if (at.readUInt32LE(BYTES - 4) !== crc32(at.subarray(0, BYTES - 4))) return undefined
  const [base, frames] = [Number(at.readBigUInt64LE(8)), Number(at.readBigUInt64LE(16))]
  if (base > frames) return undefined
  const moment = { boot: at.readUInt32LE(40), upMs: at.readDoubleLE(32), wallMs: at.readDoubleLE(24) }
  return { base, crc: at.readUInt32LE(4), frames, ...moment }
}

/** Whether no record was ever written to a file that begins so. */
export const neverMarked = (head: Buffer): boolean => head.subarray(SECTOR, slotAt(2) + BYTES).every((b) => b === 0)

/** The current moment, on all clocks. */
export const moment = (boot = bootNumber()): Moment => ({ boot, upMs: upMs(), wallMs: systemClock.now() })

/** What the writer of a take is asked and told. */
export interface TakeOwner {
  /** Milliseconds since a frame was captured. */
  ageOf(frame: number): number
  /** A sync failed: these frames can be read but may never reach the disk. */
  inDoubt(from: number, to: number): void
  /** Resolves when that is noted where it outlives a power cut; throws what the disk throws. */
  doubtsNoted(): Promise<void>
}

interface MarksDeps extends TakeOwner {
  /** Frames that are on the disk already. */
  from: number
  /** Slot of the record that says so. */
  kept: Slot
  /** Frames that are written, or about to be, to the end of their last block. */
  reach(): number
  write(bytes: Buffer, at: number): Promise<void>
}

/** Writes the records of a growing take, one with every write, so that even unsynced audio can be told from garbage. */
export class Marks {
  readonly #deps: MarksDeps
  readonly #boot = bootNumber()
  #base: number
  #crc = 0
  /** Frames that were said to be in doubt, where the last sync failed. */
  #doubted: number | undefined
  #frames: number
  /** The slot of the last sync: not overwritten until another sync has ended. */
  #kept: Slot
  #slot: Slot
  /** Of what is written while a sync is under way. */
  #since: number | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(deps: MarksDeps) {
    this.#deps = deps
    this.#base = deps.from
    this.#frames = deps.from
    this.#kept = deps.kept
    this.#slot = another(deps.kept)
  }

  /** Notes what was appended; throws what the disk throws. */
  added(bytes: Buffer, frames: number): Promise<void> {
    this.#crc = crc32(bytes, this.#crc)
    if (this.#since !== undefined) this.#since = crc32(bytes, this.#since)
    this.#frames += frames
    return this.#write()
  }

  /**
   * Runs a sync of the file, one at a time; when it has ended, all that was noted before it is on the disk, or is known
   * to be in doubt.
   */
  async during(sync: (frames: number) => Promise<void>): Promise<void> {
    const [frames, slot] = [this.#frames, this.#slot]
    const written = this.#write()
    // Writes during the sync must overwrite neither the last safe record nor the one being synced.
    this.#slot = SLOTS.find((other) => other !== slot && other !== this.#kept)!
    this.#since = 0
    try {
      await written
      if (this.#doubted !== undefined) await this.#deps.doubtsNoted()
      await sync(frames)
      this.#doubted = undefined
      this.#base = frames
      this.#crc = this.#since
      this.#kept = slot
    } finally {
      this.#since = undefined
    }
  }

  /**
   * A sync failed. The kernel reports this once and then counts the data as written; further writes to the same blocks may
   * be lost as well (ext4).
   */
  failed(): void {
    const from = this.#doubted ?? this.#base
    this.#doubted = this.#deps.reach()
    if (this.#doubted > from) this.#deps.inDoubt(from, this.#doubted)
  }

  #write(): Promise<void> {
    const at = earlier(moment(this.#boot), this.#deps.ageOf(this.#frames))
    const bytes = markBytes({ ...at, base: this.#base, crc: this.#crc, frames: this.#frames })
    const slot = this.#slot
    this.#writing = this.#writing.catch(() => undefined).then(() => this.#deps.write(bytes, slotAt(slot)))
    return this.#writing
  }
}

const another = (slot: Slot): Slot => SLOTS.find((other) => other !== slot)!

/** The part of a take that is known to be good. */
export interface Sound extends Moment {
  frames: number
  /** Whether that is known without reading it. */
  safe: boolean
  slot: Slot
}

const BLOCK = 256 * 1024

/**
 * The longest good stretch of a file from its first frame, according to its records; undefined when there is none. `head`:
 * its first bytes; `size`: its length, bytes. Reads only what was not synced, at most some seconds.
 */
export async function soundIn(
  handle: FileHandle,
  head: Buffer,
  size: number,
  shape: { dataOffset: number; frameBytes: number; rate: number },
): Promise<Sound | undefined> {
  const inFile = Math.floor((size - shape.dataOffset) / shape.frameBytes)
  let best: Sound | undefined
  for (const slot of SLOTS) {
    const mark = markIn(head, slot)
    if (!mark) continue
    const whole = mark.frames <= inFile && (await matches(handle, mark, shape))
    const frames = whole ? mark.frames : Math.min(mark.base, inFile)
    const at = earlier(mark, ((mark.frames - frames) / shape.rate) * 1000)
    const safe = mark.base === frames
    if (!best || frames > best.frames || (frames === best.frames && safe)) best = { ...at, frames, safe, slot }
  }
  return best
}

async function matches(
  handle: FileHandle,
  { base, crc, frames }: Mark,
  { dataOffset, frameBytes }: { dataOffset: number; frameBytes: number },
): Promise<boolean> {
  const block = Buffer.allocUnsafe(BLOCK)
  let found = 0
  for (let at = dataOffset + base * frameBytes, end = dataOffset + frames * frameBytes; at < end; ) {
    const { bytesRead } = await handle.read(block, 0, Math.min(BLOCK, end - at), at)
    if (bytesRead === 0) return false
    found = crc32(block.subarray(0, bytesRead), found)
    at += bytesRead
  }
  return found === crc
}

/** A number that is another one after every start of the machine. */
function bootNumber(): number {
  try {
    return crc32(fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'))
  } catch {
    // No such file: every process counts as a start of its own.
    return crc32(`${process.pid} ${performance.timeOrigin}`)
  }
}

/** Milliseconds since the machine was started, the same for all its processes; never jumps with the wall clock. */
const upMs = (): number => Number(process.hrtime.bigint()) / 1e6
