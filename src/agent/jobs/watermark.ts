// A take's file while it is written: up to where it can be read, and reading it that far.
import * as fs from 'node:fs/promises'
import { type WavLayout, wavFrameBytes } from '../audio/wav.rules.ts'

/** How far a take is readable in its file while it is captured: who encodes along follows it. */
export class WriteWatermark {
  #ended = false
  #frames = 0
  #growing = false
  #news = Promise.withResolvers<void>()
  #secure: () => Promise<void> = async () => {}

  /** Frames of the take's file that can be read, counted from the file's first. */
  get frames(): number {
    return this.#frames
  }

  /** Whether no more will come for this job: `frames` is then the frame after its last. */
  get ended(): boolean {
    return this.#ended
  }

  /** Whether other members of the capture write on behind the last frame of this job. */
  get growing(): boolean {
    return this.#growing
  }

  /** `secure`: makes what is written outlive a power cut. */
  writtenBy(secure: () => Promise<void>): void {
    this.#secure = secure
  }

  /** Makes what can be read outlive a power cut; throws what the disk throws. */
  secure(): Promise<void> {
    return this.#secure()
  }

  advance(frames: number): void {
    if (this.#ended || frames <= this.#frames) return
    this.#frames = frames
    this.#wake()
  }

  /** `toFrame`: the frame after the last one of this job. */
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

/** Frames of a take's file, `to` exclusive. */
interface Stretch {
  file: string
  from: number
  layout: WavLayout
  to: number
}

/** Read at once: little enough to hold in memory for every job, enough to be rare. */
const BLOCK_BYTES = 256 * 1024

/**
 * The frames of a stretch as far as the watermark lets read, interleaved as in the file, until its end or the take's:
 * a take that has ended is one whose watermark has. Reads no further than it is asked. Throws when the file is shorter.
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
