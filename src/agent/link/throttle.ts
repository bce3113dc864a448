import { setTimeout as sleep } from 'node:timers/promises'

/** Longest time per piece, so that neither the controller nor timeouts take a slow sender for a silent one. */
const PIECE_SECONDS = 0.25
const LARGEST = 256 * 1024

/**
 * Limits the total rate of several streams: a token bucket that holds one piece, so that a pause is not followed by a
 * burst.
 */
export class Throttle {
  readonly #rate: number
  /** Monotonic ms at which everything let through so far is within the limit. */
  #paid = 0

  /** `kbps`: kilobits per second, all streams together; 0 = no limit. */
  constructor(kbps: number) {
    this.#rate = (kbps * 1000) / 8
  }

  /** Bytes to send at once. */
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
