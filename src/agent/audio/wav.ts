import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { syncDir } from '../../kernel/durable.ts'
import { MARKED_HEADER, type Moment, SECTOR, SLOTS, type Slot, slotAt } from './marks.rules.ts'
import { Marks, markBytes, neverMarked, type Sound, soundIn, type TakeOwner } from './marks.ts'
import { parseWav, type WavLayout, wavFrameBytes, wavHeader } from './wav.rules.ts'

type Shape = Pick<WavLayout, 'channels' | 'format' | 'rate'>

/** A block of any file system. */
const BLOCK = 65_536

/** A WAV file being written; playable up to its last `sync` at any moment. */
export class WavFile {
  readonly #handle: fs.FileHandle
  readonly #headerBytes: number
  readonly #marks: Marks | undefined
  readonly #shape: Shape
  #dataBytes = 0
  /** Frames the file will have when what is being appended is written. */
  #reach = 0
  #syncing: Promise<void> = Promise.resolve()

  private constructor(handle: fs.FileHandle, shape: Shape, headerBytes: number, take?: Going) {
    this.#handle = handle
    this.#shape = shape
    this.#headerBytes = headerBytes
    if (!take) return
    const { from, kept, owner } = take
    this.#marks = new Marks({
      ageOf: (frame) => owner.ageOf(frame),
      doubtsNoted: () => owner.doubtsNoted(),
      from,
      inDoubt: (first, to) => owner.inDoubt(first, to),
      kept,
      reach: () => this.#blockEnd(Math.max(this.frames, this.#reach)),
      write: (bytes, at) => writeAt(handle, bytes, at),
    })
  }

  /**
   * Creates the file, header first; an existing one is never overwritten. The name is as safe as the file. `owner`: of a
   * take, which says at any moment what of it is audio.
   */
  static async create(file: string, shape: Shape, owner?: TakeOwner): Promise<WavFile> {
    const handle = await fs.open(file, 'wx', 0o640)
    const header = wavHeader({ ...shape, dataBytes: 0 }, owner !== undefined)
    const wav = new WavFile(handle, shape, header.length, owner && { from: 0, kept: 2, owner })
    try {
      await writeAt(handle, header, 0)
      await handle.sync()
      await syncDir(path.dirname(file))
    } catch (e) {
      await handle.close()
      throw e
    }
    return wav
  }

  /** Opens a repaired take to go on behind its last frame. Throws when it is not of that shape. */
  static async reopen(file: string, shape: Shape, owner: TakeOwner): Promise<WavFile> {
    const handle = await fs.open(file, 'r+')
    try {
      const found = await look(handle)
      const same = found?.channels === shape.channels && found.format === shape.format && found.rate === shape.rate
      if (!found?.sound || !same) throw new Error(`${file} does not hold the expected audio`)
      const { frames: from, slot: kept } = found.sound
      const wav = new WavFile(handle, shape, found.dataOffset, { from, kept, owner })
      wav.#dataBytes = from * wavFrameBytes(shape)
      return wav
    } catch (e) {
      await handle.close()
      throw e
    }
  }

  get channels(): number {
    return this.#shape.channels
  }

  get frames(): number {
    return Math.floor(this.#dataBytes / wavFrameBytes(this.#shape))
  }

  /** Appends whole frames. Throws ENOSPC after having kept the frames that fitted: `frames` says how many. */
  async append(frames: Buffer): Promise<void> {
    const before = this.frames
    this.#reach = before + frames.length / wavFrameBytes(this.#shape)
    let done = 0
    try {
      while (done < frames.length) {
        const at = this.#headerBytes + this.#dataBytes
        const { bytesWritten } = await this.#handle.write(frames, done, frames.length - done, at)
        done += bytesWritten
        this.#dataBytes += bytesWritten
      }
    } finally {
      const count = this.frames - before
      // The next write overwrites a partial frame.
      this.#dataBytes = this.frames * wavFrameBytes(this.#shape)
      this.#reach = this.frames
      await this.#marks?.added(frames.subarray(0, count * wavFrameBytes(this.#shape)), count)
    }
  }

  async appendSilence(frames: number): Promise<void> {
    const frameBytes = wavFrameBytes(this.#shape)
    const block = Buffer.alloc(frameBytes * Math.min(frames, 16_384))
    for (let left = frames * frameBytes; left > 0; left -= block.length)
      await this.append(block.subarray(0, Math.min(left, block.length)))
  }

  /** What was appended before survives a power cut, and the header says so. */
  sync(): Promise<void> {
    const run = async (frames: number) => {
      await this.#writeHeader(frames)
      try {
        await this.#handle.datasync()
      } catch (e) {
        this.#marks?.failed()
        throw e
      }
    }
    const next = this.#syncing.catch(() => undefined).then(() => this.#marks?.during(run) ?? run(this.frames))
    this.#syncing = next
    return next
  }

  /** As `sync`, and afterwards that is known without reading it: also where the disk gets its blocks back. */
  async secure(): Promise<void> {
    await this.sync()
    await this.sync()
  }

  /** Removes a partial frame, completes the header and closes the file. */
  async finish(): Promise<void> {
    try {
      await this.#syncing.catch(() => undefined)
      this.#dataBytes = this.frames * wavFrameBytes(this.#shape)
      await this.#handle.truncate(this.#headerBytes + this.#dataBytes + (this.#dataBytes % 2))
      await (this.#marks ? this.secure() : this.sync())
    } finally {
      await this.#handle.close()
    }
  }

  /** The frame that begins behind the block of the one before it. */
  #blockEnd(frames: number): number {
    const frameBytes = wavFrameBytes(this.#shape)
    const end = Math.ceil((this.#headerBytes + frames * frameBytes) / BLOCK) * BLOCK
    return Math.ceil((end - this.#headerBytes) / frameBytes)
  }

  #writeHeader(frames: number): Promise<void> {
    return writeHeader(
      this.#handle,
      { ...this.#shape, dataBytes: frames * wavFrameBytes(this.#shape) },
      this.#headerBytes,
    )
  }
}

interface Going {
  from: number
  kept: Slot
  owner: TakeOwner
}

async function writeAt(handle: fs.FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; )
    done += (await handle.write(bytes, done, bytes.length - done, at + done)).bytesWritten
}

/** Writes the sizes without touching the records of a take. */
async function writeHeader(
  handle: fs.FileHandle,
  w: Omit<WavLayout, 'dataOffset'>,
  headerBytes: number,
): Promise<void> {
  const marked = headerBytes === MARKED_HEADER
  const header = wavHeader(w, marked)
  await writeAt(handle, marked ? header.subarray(0, SECTOR) : header, 0)
  if (marked) await writeAt(handle, header.subarray(-8), header.length - 8)
}

const readHead = async (handle: fs.FileHandle): Promise<Buffer> => {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(MARKED_HEADER), 0, MARKED_HEADER, 0)
  return buffer.subarray(0, bytesRead)
}

interface Looked extends WavLayout {
  /** Undefined when no record vouches for any. */
  sound: Sound | undefined
}

/** `known`: the shape of a take whose header cannot be read. */
async function look(handle: fs.FileHandle, known?: Shape): Promise<Looked | undefined> {
  const head = await readHead(handle)
  const layout = parseWav(head) ?? (known && { ...known, dataBytes: 0, dataOffset: MARKED_HEADER })
  if (layout?.dataOffset !== MARKED_HEADER) return undefined
  const { size } = await handle.stat()
  const shape = { dataOffset: MARKED_HEADER, frameBytes: wavFrameBytes(layout), rate: layout.rate }
  const sound = await soundIn(handle, head, size, shape)
  // Without any record nothing was ever synced; with a broken one there may be hours of audio.
  return sound || neverMarked(head) ? { ...layout, sound } : undefined
}

/** Layout of a WAV file on disk; undefined when it is none. */
export async function readWav(file: string): Promise<WavLayout | undefined> {
  const handle = await fs.open(file, 'r')
  try {
    return parseWav(await readHead(handle))
  } finally {
    await handle.close()
  }
}

interface Repaired {
  layout: WavLayout
  /** When its last frame was captured; undefined when it has none. */
  lastAt: Moment | undefined
}

/**
 * Truncates an unfinished take after its last good frame: neither the file's length nor its header tell what reached the
 * disk before a power cut. `known`: its format, for a damaged header. Undefined when the file is not a take, or its format
 * is unknown.
 */
export async function repairTake(file: string, known?: Shape): Promise<Repaired | undefined> {
  const handle = await fs.open(file, 'r+')
  try {
    const found = await look(handle, known)
    if (!found) return undefined
    const { channels, dataOffset, format, rate, sound } = found
    const dataBytes = (sound?.frames ?? 0) * wavFrameBytes(found)
    const layout = { channels, dataBytes, dataOffset, format, rate }
    await handle.truncate(dataOffset + dataBytes + (dataBytes % 2))
    // Writes of a killed process may still be in the page cache only.
    await handle.datasync()
    await writeHeader(handle, layout, dataOffset)
    if (sound && !sound.safe) await vouch(handle, sound)
    await handle.sync()
    return { lastAt: sound && { boot: sound.boot, upMs: sound.upMs, wallMs: sound.wallMs }, layout }
  } finally {
    await handle.close()
  }
}

/** Beside the record that says so until then. */
async function vouch(handle: fs.FileHandle, { boot, frames, slot, upMs, wallMs }: Sound): Promise<void> {
  const bytes = markBytes({ base: frames, boot, crc: 0, frames, upMs, wallMs })
  await writeAt(handle, bytes, slotAt(SLOTS.find((other) => other !== slot)!))
}
