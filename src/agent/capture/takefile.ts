import { WavFile } from '../spool/wav.ts'
import { fileFormat, type PcmFormat, toFileFrames } from './format.rules.ts'

/** Half the promised second: a write that just missed one sync is covered by the next. */
const SYNC_MS = 500

/** The file a capture goes to: converted frames, on the disk at least once a second (decision 16). */
export class TakeFile {
  #stream: PcmFormat
  readonly #keep: number
  readonly #timer: NodeJS.Timeout
  readonly #wav: WavFile
  #fault: unknown
  #synced = 0
  #syncing: Promise<void> = Promise.resolve()

  private constructor(wav: WavFile, stream: PcmFormat, keep: number) {
    this.#wav = wav
    this.#stream = stream
    this.#keep = keep
    this.#timer = setInterval(() => this.#tick(), SYNC_MS)
  }

  /** `keep`: how many of the stream's channels, from the first, go to the file. */
  static async create(path: string, stream: PcmFormat, keep: number): Promise<TakeFile> {
    const shape = { channels: keep, format: fileFormat(stream.format), rate: stream.rate }
    return new TakeFile(await WavFile.create(path, shape), stream, keep)
  }

  /** Goes on with a take that an earlier process left behind, already repaired. */
  static async reopen(path: string, stream: PcmFormat, keep: number): Promise<TakeFile> {
    const shape = { channels: keep, format: fileFormat(stream.format), rate: stream.rate }
    return new TakeFile(await WavFile.reopen(path, shape), stream, keep)
  }

  get frames(): number {
    return this.#wav.frames
  }

  /** The stream's shape when it changed before its first frame. */
  retune(stream: PcmFormat): void {
    this.#stream = stream
  }

  /** Writes whole frames of the stream. Throws what the disk throws, also what a sync in between met. */
  async append(frames: Buffer): Promise<void> {
    if (this.#fault) throw this.#fault
    await this.#wav.append(toFileFrames(frames, this.#stream, this.#keep))
  }

  async appendSilence(frames: number): Promise<void> {
    await this.#wav.appendSilence(frames)
  }

  /** After this the file can be read up to `frames`. */
  async sync(): Promise<void> {
    await this.#syncing
    await this.#wav.sync()
  }

  async finish(): Promise<void> {
    clearInterval(this.#timer)
    await this.#syncing
    await this.#wav.finish()
  }

  #tick(): void {
    const frames = this.#wav.frames
    if (frames === this.#synced) return
    this.#syncing = this.#syncing.then(async () => {
      try {
        await this.#wav.sync()
        this.#synced = frames
      } catch (e) {
        // Thrown to the writer with its next block: a delayed allocation reports a full disk here first.
        this.#fault = e
      }
    })
  }
}
