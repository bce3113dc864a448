import * as fs from 'node:fs/promises'
import { parseWav, type WavLayout, wavFrameBytes, wavHeader } from './wav.rules.ts'

type Shape = Pick<WavLayout, 'channels' | 'format' | 'rate'>

/** A WAV file being written; playable up to its last `sync` at any moment. */
export class WavFile {
  readonly #handle: fs.FileHandle
  readonly #headerBytes: number
  readonly #shape: Shape
  #dataBytes = 0

  private constructor(handle: fs.FileHandle, shape: Shape, headerBytes: number) {
    this.#handle = handle
    this.#shape = shape
    this.#headerBytes = headerBytes
  }

  /** Creates the file, header first; an existing one is never overwritten. */
  static async create(file: string, shape: Shape): Promise<WavFile> {
    const handle = await fs.open(file, 'wx', 0o640)
    const header = wavHeader({ ...shape, dataBytes: 0 })
    const wav = new WavFile(handle, shape, header.length)
    try {
      await wav.#writeAt(header, 0)
      await handle.sync()
    } catch (e) {
      await handle.close()
      throw e
    }
    return wav
  }

  /** Opens a repaired file to go on behind its last frame. Throws when it is not of that shape. */
  static async reopen(file: string, shape: Shape): Promise<WavFile> {
    const found = await readWav(file)
    const same = found?.channels === shape.channels && found.format === shape.format && found.rate === shape.rate
    if (!found || !same) throw new Error(`${file} does not hold the audio it should`)
    const wav = new WavFile(await fs.open(file, 'r+'), shape, found.dataOffset)
    wav.#dataBytes = found.dataBytes
    return wav
  }

  get frames(): number {
    return Math.floor(this.#dataBytes / wavFrameBytes(this.#shape))
  }

  /** Appends whole frames. Throws ENOSPC after having kept the frames that fitted: `frames` says how many. */
  async append(frames: Buffer): Promise<void> {
    let done = 0
    try {
      while (done < frames.length) {
        const at = this.#headerBytes + this.#dataBytes
        const { bytesWritten } = await this.#handle.write(frames, done, frames.length - done, at)
        done += bytesWritten
        this.#dataBytes += bytesWritten
      }
    } finally {
      // The next write goes over half a frame.
      this.#dataBytes = this.frames * wavFrameBytes(this.#shape)
    }
  }

  async appendSilence(frames: number): Promise<void> {
    const frameBytes = wavFrameBytes(this.#shape)
    const block = Buffer.alloc(frameBytes * Math.min(frames, 16_384))
    for (let left = frames * frameBytes; left > 0; left -= block.length)
      await this.append(block.subarray(0, Math.min(left, block.length)))
  }

  /** What was appended before survives a power cut, and the header says so. */
  async sync(): Promise<void> {
    await this.#writeHeader()
    await this.#handle.datasync()
  }

  /** Cuts a partial frame, closes the header and the file. */
  async finish(): Promise<void> {
    try {
      this.#dataBytes = this.frames * wavFrameBytes(this.#shape)
      await this.#handle.truncate(this.#headerBytes + this.#dataBytes + (this.#dataBytes % 2))
      await this.#writeHeader()
      await this.#handle.sync()
    } finally {
      await this.#handle.close()
    }
  }

  async #writeHeader(): Promise<void> {
    const dataBytes = this.frames * wavFrameBytes(this.#shape)
    await this.#writeAt(wavHeader({ ...this.#shape, dataBytes }), 0)
  }

  async #writeAt(bytes: Buffer, at: number): Promise<void> {
    for (let done = 0; done < bytes.length; )
      done += (await this.#handle.write(bytes, done, bytes.length - done, at + done)).bytesWritten
  }
}

const readHead = async (handle: fs.FileHandle): Promise<Buffer> => {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(4096), 0, 4096, 0)
  return buffer.subarray(0, bytesRead)
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

/**
 * Gives a file that was never finished its true length: the file's size decides, not its header; a partial last
 * frame is cut. For files of `WavFile` only. Undefined when it holds no header yet, thus no audio.
 */
export async function repairWav(file: string): Promise<WavLayout | undefined> {
  const handle = await fs.open(file, 'r+')
  try {
    const found = parseWav(await readHead(handle))
    if (!found) return undefined
    const frameBytes = wavFrameBytes(found)
    const dataBytes = Math.floor(((await handle.stat()).size - found.dataOffset) / frameBytes) * frameBytes
    const header = wavHeader({ ...found, dataBytes })
    if (header.length !== found.dataOffset) throw new Error(`${file} was not written by this program`)
    await handle.truncate(found.dataOffset + dataBytes + (dataBytes % 2))
    await handle.write(header, 0, header.length, 0)
    await handle.sync()
    return { ...found, dataBytes }
  } finally {
    await handle.close()
  }
}
