import { setTimeout as sleep } from 'node:timers/promises'

/** Longest a piece may take: the controller, and the time-outs, must not take a slow sender for a silent one. */
const PIECE_SECONDS = 0.25
const LARGEST = 256 * 1024

/**
 * Holds several streams together to a number of bytes per second: a bucket that fills at that rate and holds one
 * piece, so that a pause is not made up for by a burst.
 */
export class Throttle {
  readonly #rate: number
  /** Monotonic ms at which all that was let through is paid for. */
  #paid = 0

  /** `kbps`: kilobits per second, all streams together; 0 = no limit. */
  constructor(kbps: number) {
    this.#rate = (kbps * 1000) / 8
  }

  /** Bytes to hand over at once. */
  get pieceBytes(): number {
    return this.#rate === 0 ? LARGEST : Math.max(512, Math.min(LARGEST, Math.floor(this.#rate * PIECE_SECONDS)))
  }

  /** Resolves when so many bytes may go. Rejects with the signal's reason. */
  async pass(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#rate === 0) return
    const now = performance.now()
    const from = Math.max(now, this.#paid)
    this.#paid = from + (bytes / this.#rate) * 1000
    if (from > now) await sleep(from - now, undefined, { signal })
  }
}
