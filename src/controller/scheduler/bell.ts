import type { Clock } from '../../kernel/clock.ts'

/** Wakes long polls of a node when a job may be waiting, or is to end. Rung inside a transaction it is heard after the commit. */
export class Bell {
  private readonly clock: Clock
  private readonly waiting = new Map<string, Set<() => void>>()
  private closed = false

  constructor(clock: Clock) {
    this.clock = clock
  }

  ring(nodeId: string): void {
    for (const wake of this.waiting.get(nodeId) ?? []) wake()
  }

  /** Rings every bell whose name begins so. */
  ringAll(prefix: string): void {
    for (const id of this.waiting.keys()) if (id.startsWith(prefix)) this.ring(id)
  }

  /** What `look` finds, asked again at each ring; undefined after `seconds`, when the client has gone, or at close. */
  async until<T>(
    nodeId: string,
    seconds: number,
    signal: AbortSignal,
    look: () => T | undefined,
  ): Promise<T | undefined> {
    const end = this.clock.monotonic() + seconds * 1000
    for (;;) {
      if (signal.aborted) return undefined
      const seen = look()
      const left = end - this.clock.monotonic()
      if (seen !== undefined || left <= 0 || this.closed) return seen
      await this.wait(nodeId, left, signal)
    }
  }

  /** How many long polls of a node are waiting. */
  listeners(nodeId: string): number {
    return this.waiting.get(nodeId)?.size ?? 0
  }

  /** Lets every waiter go, and later ones at once: the controller is stopping. */
  close(): void {
    this.closed = true
    for (const waiters of this.waiting.values()) for (const wake of waiters) wake()
  }

  private async wait(nodeId: string, ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = () => resolve()
    const waiters = this.waiting.get(nodeId) ?? new Set()
    this.waiting.set(nodeId, waiters.add(wake))
    const timer = setTimeout(wake, ms)
    signal.addEventListener('abort', wake, { once: true })
    await promise
    clearTimeout(timer)
    signal.removeEventListener('abort', wake)
    waiters.delete(wake)
    if (waiters.size === 0 && this.waiting.get(nodeId) === waiters) this.waiting.delete(nodeId)
  }
}
