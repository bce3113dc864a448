// Writes a take to its file, and holds what cannot be written while the disk is slow or full.
import { setTimeout as sleep } from 'node:timers/promises'
import { isDiskFull } from '../../kernel/durable.ts'
import { type PcmFormat, streamFrameBytes, toFileFrames } from '../audio/format.rules.ts'
import type { WavFile } from '../audio/wav.ts'

export type Piece = { frames: Buffer; stream: PcmFormat } | { silence: number }

/** Frames that came while neither disk nor memory had room; the take has silence in their place. */
export interface Dropped {
  atFrame: number
  frames: number
}

interface WriterDeps {
  /** Saves the gaps first: silence without a saved gap would pass for recorded silence. Throws what the disk throws. */
  beforeSilence(): Promise<void>
  /** Bytes held in memory while the disk is slow or full; a second of audio in any case. Default: 32 MiB. */
  bufferBytes?: number | undefined
  /** Creates the file, before the first write. */
  create(): Promise<WavFile>
  /** The file of a take that is continued. */
  file: WavFile | undefined
  /** Frames already in the take before the first that is pushed. */
  from: number
  /** Frees space on the disk at the expense of others; resolves when done. */
  makeRoom(bytes: number): Promise<void>
  /** Called once the disk has room again, before the silence in their place is written. */
  onDropped(dropped: Dropped): void
  /** Writing has stopped for good: the disk failed, or stayed full until after the end. */
  onFault(error: unknown): void
  /** The disk is full: frames are held and written later. Called once until `onRoom`. */
  onFull(error: unknown): void
  onRoom(): void
  /** After each write, with the frames in the file. */
  onWritten(frames: number): void
}

type Batch = { blocks: Buffer[]; stream: PcmFormat } | { silence: number }

const BUFFER_BYTES = 32 << 20
/** Largest single write. */
const WRITE_BYTES = 1 << 20
const RETRY_MS = 250
/** Attempts after the end of a take (two seconds in all), because minutes of audio may still be held. */
const LAST_TRIES = 8
/** Half the promised second: what just missed one sync is covered by the next. */
const SYNC_MS = 500

/** Converts and writes the frames of a take, and syncs them at least once a second (ADR-0012). */
export class TakeWriter {
  readonly #deps: WriterDeps
  #dead = false
  #dropped: Dropped | undefined
  #ended = false
  #file: WavFile | undefined
  #finished: Promise<void> | undefined
  #lastTries = LAST_TRIES
  #limitBytes: number
  /** Frames pushed so far, including those already in the take. */
  #pushed: number
  #queue: Piece[] = []
  #queued = 0
  /** The disk is full. */
  #starving = false
  /** Failure of the latest sync, thrown with the next block: delayed allocation reports a full disk here first. */
  #syncFault: unknown
  #synced = 0
  #syncing = false
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined

  constructor(deps: WriterDeps) {
    this.#deps = deps
    this.#limitBytes = deps.bufferBytes ?? BUFFER_BYTES
    this.#pushed = deps.from
    if (deps.file) this.#use(deps.file)
  }

  /** Frames in the file. */
  get frames(): number {
    return this.#file?.frames ?? this.#deps.from
  }

  /** Whether the device should wait. Not while the disk is full, which may last: others take from the device too. */
  get full(): boolean {
    return !this.#starving && this.#queued > this.#limitBytes
  }

  push(piece: Piece): void {
    if (this.#dead) return
    if ('silence' in piece) this.#pushSilence(piece.silence)
    else this.#pushFrames(piece)
    this.#writing ??= this.#drain()
  }

  /** Makes every frame written so far survive a power cut. */
  async secure(): Promise<void> {
    await (this.#finished ?? this.#file?.secure())
  }

  /** No more frames will come. Resolves when everything is written or given up. */
  async end(): Promise<void> {
    this.#ended = true
    await this.#writing
  }

  /** Closes the file. */
  async finish(): Promise<void> {
    clearInterval(this.#timer)
    this.#finished = this.#file?.finish()
    await this.#finished
  }

  #use(file: WavFile): WavFile {
    this.#timer = setInterval(() => this.#sync(file), SYNC_MS)
    this.#file = file
    return file
  }

  #sync(file: WavFile): void {
    const { frames } = file
    // Syncs must not pile up on a slow disk.
    if (this.#syncing || frames === this.#synced) return
    this.#syncing = true
    file
      .sync()
      .then(() => {
        this.#synced = frames
      })
      .catch((e) => {
        this.#syncFault = e
      })
      .finally(() => {
        this.#syncing = false
      })
  }

  #pushFrames(piece: { frames: Buffer; stream: PcmFormat }): void {
    const frameBytes = streamFrameBytes(piece.stream)
    const bytes = piece.frames.length
    this.#limitBytes = Math.max(this.#limitBytes, frameBytes * piece.stream.rate)
    const over = this.#dropped !== undefined || this.#queued + bytes > this.#limitBytes
    if (this.#starving && over) this.#drop(bytes / frameBytes)
    else {
      this.#queue.push(piece)
      this.#queued += bytes
      this.#pushed += bytes / frameBytes
    }
  }

  /** Replaces frames without room by silence, so that what follows stays at its true time. */
  #drop(frames: number): void {
    this.#dropped ??= { atFrame: this.#pushed, frames: 0 }
    this.#dropped.frames += frames
    this.#pushSilence(frames)
  }

  /** Merges consecutive silence into one piece, however long the disk is full. */
  #pushSilence(silence: number): void {
    this.#pushed += silence
    const last = this.#queue.at(-1)
    if (last && 'silence' in last) last.silence += silence
    else this.#queue.push({ silence })
  }

  async #drain(): Promise<void> {
    // After the current push: a gap at the very first frame must not be written before the file exists.
    await Promise.resolve()
    try {
      while (this.#queue.length > 0) await this.#insist()
    } catch (e) {
      this.#dead = true
      this.#queue = []
      this.#queued = 0
      this.#deps.onFault(e)
    }
    this.#writing = undefined
  }

  /** Writes the next batch, waiting while the disk is full and the take not over. Throws on a final failure. */
  async #insist(): Promise<void> {
    try {
      await this.#write()
    } catch (e) {
      if (!isDiskFull(e)) throw e
      return this.#starve(e)
    }
    if (this.#starving) this.#relieved()
  }

  async #starve(error: unknown): Promise<void> {
    if (this.#ended && this.#lastTries-- <= 0) throw error
    if (!this.#starving) {
      this.#starving = true
      this.#deps.onFull(error)
    }
    await this.#deps.makeRoom(this.#queued + WRITE_BYTES)
    await sleep(RETRY_MS)
  }

  #relieved(): void {
    this.#starving = false
    this.#deps.onRoom()
    this.#tellDropped()
  }

  #tellDropped(): void {
    const dropped = this.#dropped
    this.#dropped = undefined
    if (dropped) this.#deps.onDropped(dropped)
  }

  /** When it throws, what was not written is back in the queue. */
  async #write(): Promise<void> {
    const batch = this.#next()
    const before = this.frames
    try {
      const file = this.#file ?? this.#use(await this.#deps.create())
      if ('silence' in batch) {
        this.#tellDropped()
        await this.#deps.beforeSilence()
        await file.appendSilence(batch.silence)
      } else await this.#append(file, batch.blocks, batch.stream)
    } finally {
      this.#written(batch, this.frames - before)
    }
    this.#deps.onWritten(this.frames)
  }

  async #append(file: WavFile, blocks: Buffer[], stream: PcmFormat): Promise<void> {
    const fault = this.#syncFault
    this.#syncFault = undefined
    if (fault) throw fault
    const ready = blocks.map((block) => toFileFrames(block, stream, file.channels))
    await file.append(ready.length === 1 ? ready[0]! : Buffer.concat(ready))
  }

  /** The next silence, or the next run of blocks. */
  #next(): Batch {
    const first = this.#queue.shift()!
    if ('silence' in first) return first
    const blocks = [first.frames]
    let bytes = first.frames.length
    for (let next = this.#queue[0]; next && 'frames' in next && bytes < WRITE_BYTES; next = this.#queue[0]) {
      if (next.stream !== first.stream) break
      blocks.push(next.frames)
      bytes += next.frames.length
      this.#queue.shift()
    }
    return { blocks, stream: first.stream }
  }

  /** Puts the part of a batch that was not written back to the front of the queue. */
  #written(batch: Batch, frames: number): void {
    if ('silence' in batch) {
      if (frames < batch.silence) this.#queue.unshift({ silence: batch.silence - frames })
      return
    }
    const { blocks, stream } = batch
    let skip = frames * streamFrameBytes(stream)
    this.#queued -= skip
    const rest: Piece[] = []
    for (const block of blocks) {
      const from = Math.min(skip, block.length)
      skip -= from
      if (from < block.length) rest.push({ frames: block.subarray(from), stream })
    }
    this.#queue.unshift(...rest)
  }
}
