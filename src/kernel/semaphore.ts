/** Limits concurrency; waiters with the lowest rank go first. */
export class Semaphore {
  readonly #waiting: { begin: () => void; rank: number }[] = []
  #free: number

  constructor(places: number) {
    this.#free = places
  }

  /** Resolves with the function that releases the slot. Rejects with the signal's reason. */
  async take(rank: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#free > 0) this.#free--
    else await this.#wait(rank, signal)
    let held = true
    return () => {
      if (held) this.#next()
      held = false
    }
  }

  async #wait(rank: number, signal: AbortSignal): Promise<void> {
    const { promise, reject, resolve } = Promise.withResolvers<void>()
    const entry = { begin: resolve, rank }
    const behind = this.#waiting.findIndex((other) => other.rank > rank)
    this.#waiting.splice(behind < 0 ? this.#waiting.length : behind, 0, entry)
    const leave = () => {
      const at = this.#waiting.indexOf(entry)
      // Not there any more: it has its place, and will give it back.
      if (at >= 0) this.#waiting.splice(at, 1)
      if (at >= 0) reject(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    await promise.finally(() => signal.removeEventListener('abort', leave))
  }

  #next(): void {
    const next = this.#waiting.shift()
    if (next) next.begin()
    else this.#free++
  }
}
