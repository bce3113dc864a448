import type { Clock } from '../../kernel/clock.ts'
import type { Db } from './db.ts'

interface Member {
  durable: boolean
  run: () => void
  done: () => void
  fail: (e: unknown) => void
}

// One flush may occupy the event loop this long before it commits and yields.
const SLICE_MS = 8

/**
 * Group commit: the writes submitted in one turn of the event loop share one BEGIN IMMEDIATE..COMMIT and settle after it.
 * Each has its own savepoint: one that throws undoes only itself. A durable one settles when the WAL is on disk;
 * meanwhile further commits are made, and share the next sync.
 */
export class CommitGroup {
  private readonly db: Db
  private readonly clock: Clock
  private readonly lines = new FairQueue<Member>()
  /** Committed, and settled after the next sync. */
  private unsynced: Member[] = []
  private syncing = false
  private lastFailed = false
  private flushing: NodeJS.Immediate | undefined

  constructor(db: Db, clock: Clock) {
    this.db = db
    this.clock = clock
  }

  /**
   * Runs `fn` in the next shared transaction; settles after its commit. When `fn` throws, what it wrote is undone and
   * `onFailure` records the failure, in the same transaction. Callers take turns: one that submits a
   * thousand writes does not make the others wait for all of them.
   */
  submit<T>(fn: () => T, durable = true, onFailure: (e: unknown) => void = () => {}, caller = ''): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let settle: () => void = () => {}
      const run = () => {
        // The outcome is held back until after the commit.
        settle = this.outcome(fn, onFailure, resolve, reject)
      }
      this.lines.add(caller, { durable, run, done: () => settle(), fail: reject })
      this.flushing ??= setImmediate(() => this.flush())
    })
  }

  private outcome<T>(
    fn: () => T,
    onFailure: (e: unknown) => void,
    resolve: (value: T) => void,
    reject: (e: unknown) => void,
  ) {
    try {
      const value = this.db.tx(fn)
      return () => resolve(value)
    } catch (e) {
      return this.afterFailure(e, onFailure, reject)
    }
  }

  private afterFailure(e: unknown, onFailure: (e: unknown) => void, reject: (e: unknown) => void) {
    try {
      this.db.tx(() => onFailure(e))
      return () => reject(e)
    } catch (worse) {
      // The failure could not be recorded: this caller gets that error, and nobody else in this slice.
      return () => reject(worse)
    }
  }

  /** Commits what is queued, slice by slice; resolves when nothing is left, also when the disk refuses it: who asked is told. */
  async drain(): Promise<void> {
    while (this.lines.size > 0 || this.syncing) await this.submit(() => undefined).catch(() => undefined)
  }

  /** Whether the last transaction failed: the database, or its disk, refuses writes. */
  failing(): boolean {
    return this.lastFailed
  }

  private flush(): void {
    this.flushing = undefined
    const taken: Member[] = []
    try {
      this.db.tx(() => this.slice(taken), false)
      this.committed(taken)
    } catch (e) {
      // BEGIN or COMMIT failed: nothing of this slice was written. After a failed BEGIN nobody was taken yet: the first in
      // line gets the error, so that the queue drains while the database refuses writes.
      if (taken.length === 0) this.take(taken)
      this.failAll(taken, e)
    }
    if (this.lines.size > 0) this.flushing ??= setImmediate(() => this.flush())
  }

  private committed(taken: Member[]): void {
    this.lastFailed = false
    for (const member of taken)
      if (member.durable) this.unsynced.push(member)
      else member.done()
    if (!this.syncing) void this.sync()
  }

  private failAll(members: Member[], e: unknown): void {
    this.lastFailed = true
    for (const member of members) member.fail(e)
  }

  private async sync(): Promise<void> {
    this.syncing = true
    while (this.unsynced.length > 0) {
      const members = this.unsynced.splice(0)
      try {
        await this.db.synced()
        for (const member of members) member.done()
      } catch (e) {
        this.failAll(members, e)
      }
    }
    this.syncing = false
  }

  private slice(taken: Member[]): void {
    const until = this.clock.monotonic() + SLICE_MS
    do {
      const member = this.take(taken)
      if (!member) return
      member.run()
    } while (this.clock.monotonic() < until)
  }

  private take(taken: Member[]): Member | undefined {
    const member = this.lines.next()
    if (member) taken.push(member)
    return member
  }
}

/**
 * One queue per caller, served round robin; callers without a recent turn go first, so that a heartbeat does not wait
 * behind a busy caller (the sparse flows of RFC 8290).
 */
class FairQueue<T extends object> {
  private readonly fresh = new Map<string, T[]>()
  /** Served at least once. An empty queue keeps its place until its turn comes. */
  private readonly served = new Map<string, T[]>()
  private waiting = 0

  /** How many wait. */
  get size(): number {
    return this.waiting
  }

  add(caller: string, one: T): void {
    const line = this.fresh.get(caller) ?? this.served.get(caller)
    if (line) line.push(one)
    else this.fresh.set(caller, [one])
    this.waiting++
  }

  /** The next in turn; undefined when nobody waits. */
  next(): T | undefined {
    for (const lines of [this.fresh, this.served])
      for (const [caller, line] of lines) {
        lines.delete(caller)
        const one = line.shift()
        if (!one) continue
        this.served.set(caller, line)
        this.waiting--
        return one
      }
    return undefined
  }
}
