import type { Clock } from '../../kernel/clock.ts'

/** The topics long polls wait on. */
export const topics = {
  /** Live audio of a node: its listeners wait. */
  audio: (nodeId: string): string => `audio ${nodeId}`,
  /** The config of a node: its agent waits. */
  config: (nodeId: string): string => `config ${nodeId}`,
  /** What the doctor found on a node: whoever asked waits. */
  doctor: (nodeId: string): string => `doctor ${nodeId}`,
  /** Jobs of a node, to be claimed or stopped: its agent waits. */
  jobs: (nodeId: string): string => `jobs ${nodeId}`,
  /** The joined file of a take that came in chunks: players wait. */
  joined: (recordingId: string): string => `joined ${recordingId}`,
}

/** Wakes long polls when what they wait for may have happened; each then checks for itself. */
export class Notifier {
  private readonly clock: Clock
  private readonly waiting = new Map<string, Set<() => void>>()
  private closed = false

  constructor(clock: Clock) {
    this.clock = clock
  }

  notify(topic: string): void {
    for (const wake of this.waiting.get(topic) ?? []) wake()
  }

  /** Wakes every waiter of a topic with this prefix. */
  notifyAll(prefix: string): void {
    for (const id of this.waiting.keys()) if (id.startsWith(prefix)) this.notify(id)
  }

  /** What `look` returns, called again at each notification; undefined after `seconds`, when the client has gone, or at close. */
  async until<T>(
    topic: string,
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
      await this.wait(topic, left, signal)
    }
  }

  /** How many long polls wait for it. */
  listeners(topic: string): number {
    return this.waiting.get(topic)?.size ?? 0
  }

  /** Ends every wait, later ones at once: the controller is stopping. */
  close(): void {
    this.closed = true
    for (const waiters of this.waiting.values()) for (const wake of waiters) wake()
  }

  private async wait(topic: string, ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = () => resolve()
    const waiters = this.waiting.get(topic) ?? new Set()
    this.waiting.set(topic, waiters.add(wake))
    const timer = setTimeout(wake, ms)
    signal.addEventListener('abort', wake, { once: true })
    await promise
    clearTimeout(timer)
    signal.removeEventListener('abort', wake)
    waiters.delete(wake)
    if (waiters.size === 0 && this.waiting.get(topic) === waiters) this.waiting.delete(topic)
  }
}
