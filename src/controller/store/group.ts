import type { Clock } from '../../kernel/clock.ts'
import type { Db } from './db.ts'

interface Member {
  durable: boolean
  run: () => void
  done: () => void
  fail: (e: unknown) => void
}

// One flush may hold the loop this long before it commits and lets others speak.
const SLICE_MS = 8

/**
 * Group commit: what asks to be written in one turn of the event loop shares one BEGIN IMMEDIATE..COMMIT, and is
 * answered after the commit. Each member is its own savepoint: one that throws undoes only itself. The commit is
 * synced to disk when any member asked for it.
 */
export class CommitGroup {
  private readonly db: Db
  private readonly clock: Clock
  private queue: Member[] = []
  private flushing: NodeJS.Immediate | undefined

  constructor(db: Db, clock: Clock) {
    this.db = db
    this.clock = clock
  }

  /**
   * Runs `fn` in the next shared transaction; settles after its commit. When `fn` throws, what it wrote is undone and
   * `told` writes what is to be kept of the failure, in the same transaction.
   */
  submit<T>(fn: () => T, durable = true, told: (e: unknown) => void = () => {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let settle: () => void = () => {}
      const run = () => {
        // The outcome is held back until the commit has spoken.
        settle = this.outcome(fn, told, resolve, reject)
      }
      this.queue.push({ durable, run, done: () => settle(), fail: reject })
      this.flushing ??= setImmediate(() => this.flush())
    })
  }

  private outcome<T>(
    fn: () => T,
    told: (e: unknown) => void,
    resolve: (value: T) => void,
    reject: (e: unknown) => void,
  ) {
    try {
      const value = this.db.tx(fn)
      return () => resolve(value)
    } catch (e) {
      return this.afterFailure(e, told, reject)
    }
  }

  private afterFailure(e: unknown, told: (e: unknown) => void, reject: (e: unknown) => void) {
    try {
      this.db.tx(() => told(e))
      return () => reject(e)
    } catch (worse) {
      // The failure could not be written down: that is what the caller has to hear, and nobody else in this slice.
      return () => reject(worse)
    }
  }

  /** Commits what is queued, slice by slice; resolves when nothing is left. */
  async drain(): Promise<void> {
    while (this.queue.length > 0) await this.submit(() => undefined, false)
  }

  private flush(): void {
    this.flushing = undefined
    const batch = this.queue
    this.queue = []
    let taken = 0
    try {
      this.db.tx(
        () => {
          const until = this.clock.monotonic() + SLICE_MS
          do batch[taken++]?.run()
          while (taken < batch.length && this.clock.monotonic() < until)
        },
        batch.some((member) => member.durable),
      )
    } catch (e) {
      // BEGIN or COMMIT failed: nobody in this slice was written.
      for (const member of batch.slice(0, Math.max(taken, 1))) member.fail(e)
      this.requeue(batch.slice(Math.max(taken, 1)))
      return
    }
    for (const member of batch.slice(0, taken)) member.done()
    this.requeue(batch.slice(taken))
  }

  private requeue(rest: Member[]): void {
    this.queue = [...rest, ...this.queue]
    if (this.queue.length > 0) this.flushing ??= setImmediate(() => this.flush())
  }
}
