import { fileFormat, type PcmFormat, toFileFrames } from '../audio/format.rules.ts'
import type { TakeOwner } from '../audio/marks.ts'
import { WavFile } from '../audio/wav.ts'

/** Half the promised second: a write that just missed one sync is covered by the next. */
const SYNC_MS = 500

/** The file a capture goes to: converted frames, on the disk at least once a second (decision 16). */
export class TakeFile {
  readonly #keep: number
  readonly #timer: NodeJS.Timeout
  readonly #wav: WavFile
  #fault: unknown
  #ended: Promise<void> | undefined
  #synced = 0
  #syncing = false

  private constructor(wav: WavFile, keep: number) {
    this.#wav = wav
    this.#keep = keep
    this.#timer = setInterval(() => this.#tick(), SYNC_MS)
  }

  /** `keep`: how many of the stream's channels, from the first, go to the file. */
  static async create(path: string, stream: PcmFormat, keep: number, owner: TakeOwner): Promise<TakeFile> {
    const shape = { channels: keep, format: fileFormat(stream.format), rate: stream.rate }
    return new TakeFile(await WavFile.create(path, shape, owner), keep)
  }

  /** Goes on with a take that an earlier process left behind, already repaired. `shape`: the file's own. */
  static async reopen(path: string, shape: PcmFormat, owner: TakeOwner): Promise<TakeFile> {
    const file = await WavFile.reopen(path, { ...shape, format: fileFormat(shape.format) }, owner)
    return new TakeFile(file, shape.channels)
  }

  get frames(): number {
    return this.#wav.frames
  }

  /** Writes whole frames of the stream, those that fit when it throws. Throws what the disk throws, also what a sync met. */
  async append(frames: Buffer[], stream: PcmFormat): Promise<void> {
    const fault = this.#fault
    this.#fault = undefined
    if (fault) throw fault
    const ready = frames.map((block) => toFileFrames(block, stream, this.#keep))
    await this.#wav.append(ready.length === 1 ? ready[0]! : Buffer.concat(ready))
  }

  async appendSilence(frames: number): Promise<void> {
    await this.#wav.appendSilence(frames)
  }

  /** After this every frame written so far outlives a power cut. */
  async secure(): Promise<void> {
    if (this.#ended) return this.#ended
    await this.#wav.secure()
  }

  finish(): Promise<void> {
    clearInterval(this.#timer)
    this.#ended = this.#wav.finish()
    return this.#ended
  }

  #tick(): void {
    const frames = this.#wav.frames
    // A slow disk must not be given one sync upon the other.
    if (this.#syncing || frames === this.#synced) return
    this.#syncing = true
    this.#wav
      .sync()
      .then(() => {
        this.#synced = frames
      })
      .catch((e) => {
        // Thrown to the writer with its next block: a delayed allocation reports a full disk here first.
        this.#fault = e
      })
      .finally(() => {
        this.#syncing = false
      })
  }
}
