import { type PcmFormat, streamFrameBytes } from '../audio/format.rules.ts'

/** Audio sent to the analyst at once, and the most that may be in flight. Seconds. */
const BATCH_SECONDS = 0.1
const BACKLOG_SECONDS = 2
/** The same in bytes, for the widest and fastest devices: 64 channels at 192 kHz are 49 MB a second. */
const BACKLOG_BYTES = 16 * 1024 * 1024
const FEWEST_BATCHES = 3

interface Batch {
  bytes: number
  /** Unix ms of the last frame. */
  capturedAt: number
  memory: ArrayBuffer
}

/**
 * Copies blocks of any size into batches of whole frames. `reuse` returns the memory of a batch: there are never more than
 * the backlog, and audio that finds none free is dropped and counted.
 */
export class Batches {
  /** Seconds of audio that were dropped; reset by whoever reports it. */
  dropped = 0
  readonly #frameBytes: number
  readonly #most: number
  readonly #rate: number
  readonly #size: number
  #filled = 0
  #free: ArrayBuffer[] = []
  #made = 0

  constructor(format: PcmFormat) {
    this.#rate = format.rate
    this.#frameBytes = streamFrameBytes(format)
    this.#size = Math.max(1, Math.round(format.rate * BATCH_SECONDS)) * this.#frameBytes
    const most = Math.min(BACKLOG_SECONDS / BATCH_SECONDS, BACKLOG_BYTES / this.#size)
    this.#most = Math.max(FEWEST_BATCHES, Math.floor(most))
  }

  /** Adds whole frames, the last captured at that time; hands over every full batch. */
  add(frames: Buffer, capturedAt: number, send: (batch: Batch) => void): void {
    for (let at = 0; at < frames.length; ) {
      const memory = this.#current()
      if (!memory) {
        this.dropped += this.#seconds(frames.length - at)
        return
      }
      const bytes = Math.min(this.#size - this.#filled, frames.length - at)
      new Uint8Array(memory, this.#filled, bytes).set(frames.subarray(at, at + bytes))
      at += bytes
      this.#filled += bytes
      if (this.#filled < this.#size) continue
      this.#free.pop()
      this.#filled = 0
      send({ bytes: this.#size, capturedAt: capturedAt - this.#seconds(frames.length - at) * 1000, memory })
    }
  }

  /** Whether every batch handed over has come back. */
  get settled(): boolean {
    return this.#free.length === this.#made
  }

  reuse(memory: ArrayBuffer): void {
    this.#free.unshift(memory)
  }

  /** Starts over, because what was handed over will not come back. */
  forget(): void {
    this.#free = []
    this.#filled = this.#made = 0
  }

  /** The memory under way is the last of the free ones. */
  #current(): ArrayBuffer | undefined {
    if (this.#free.length === 0 && this.#made < this.#most) {
      this.#made++
      this.#free.push(new ArrayBuffer(this.#size))
    }
    return this.#free.at(-1)
  }

  #seconds(bytes: number): number {
    return bytes / this.#frameBytes / this.#rate
  }
}
