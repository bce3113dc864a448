// A take's file while it is written: up to where it can be read, and reading it that far.
import * as fs from 'node:fs/promises'
import { type WavLayout, wavFrameBytes } from '../audio/wav.rules.ts'

/** How far a take's file can be read while it is captured; encoders follow it. */
export class WriteWatermark {
  #ended = false
  #frames = 0
  #growing = false
  #news = Promise.withResolvers<void>()
  #secure: () => Promise<void> = async () => {}

  /** Readable frames, counted from the first of the file. */
  get frames(): number {
    return this.#frames
  }

  /** Whether this job gets no more frames: `frames` is then the frame after its last. */
  get ended(): boolean {
    return this.#ended
  }

  /** Whether the file still grows behind this job's last frame, because other members go on. */
  get growing(): boolean {
    return this.#growing
  }

  /** `secure`: makes the written frames survive a power cut. */
  writtenBy(secure: () => Promise<void>): void {
    this.#secure = secure
  }

  /** Makes the readable frames survive a power cut; throws what the disk throws. */
  secure(): Promise<void> {
    return this.#secure()
  }

  advance(frames: number): void {
    if (this.#ended || frames <= this.#frames) return
    this.#frames = frames
    this.#wake()
  }

  /** `toFrame`: the frame after this job's last one. */
  end(toFrame: number, growing = false): void {
    if (this.#ended) return
    this.#frames = toFrame
    this.#growing = growing
    this.#ended = true
    this.#wake()
  }

  /** Resolves when there is more than `frames`, or when it has ended. Rejects with the signal's reason. */
  async beyond(frames: number, signal: AbortSignal): Promise<void> {
    while (!this.#ended && this.#frames <= frames) {
      signal.throwIfAborted()
      const aborted = Promise.withResolvers<void>()
      const stop = () => aborted.resolve()
      signal.addEventListener('abort', stop, { once: true })
      await Promise.race([this.#news.promise, aborted.promise])
      signal.removeEventListener('abort', stop)
    }
    signal.throwIfAborted()
  }

  #wake(): void {
    this.#news.resolve()
    this.#news = Promise.withResolvers()
  }
}

/** A range of frames in a take's file, `to` exclusive. */
interface Stretch {
  file: string
  from: number
  layout: WavLayout
  to: number
}

/** Small enough to hold in memory for every job, large enough to read rarely. */
const BLOCK_BYTES = 256 * 1024

/**
 * Yields the frames of a range, interleaved as in the file, as the watermark makes them readable, until the range or the
 * take ends. Reads no further than the consumer asks. Throws if the file is shorter.
 */
export async function* follow(
  { file, from, layout, to }: Stretch,
  watermark: WriteWatermark,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const frameBytes = wavFrameBytes(layout)
  const most = Math.max(1, Math.floor(BLOCK_BYTES / frameBytes))
  const handle = await fs.open(file, 'r')
  try {
    for (let at = from; at < to; ) {
      await watermark.beyond(Math.min(to, at + most) - 1, signal)
      const until = Math.min(to, at + most, watermark.frames)
      if (until <= at) return
      yield await readExactly(handle, layout.dataOffset + at * frameBytes, (until - at) * frameBytes)
      at = until
    }
  } finally {
    await handle.close()
  }
}

async function readExactly(handle: fs.FileHandle, position: number, length: number): Promise<Buffer> {
  const block = Buffer.allocUnsafe(length)
  for (let done = 0; done < length; ) {
    const { bytesRead } = await handle.read(block, done, length - done, position + done)
    if (bytesRead === 0) throw new Error('the take ended before its expected frame count')
    done += bytesRead
  }
  return block
}
