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
  /** What waits, by who asked: each caller has a line of its own. */
  private lines = new Map<string, Member[]>()
  private lastFailed = false
  private flushing: NodeJS.Immediate | undefined

  constructor(db: Db, clock: Clock) {
    this.db = db
    this.clock = clock
  }

  /**
   * Runs `fn` in the next shared transaction; settles after its commit. When `fn` throws, what it wrote is undone and
   * `told` writes what is to be kept of the failure, in the same transaction. Of each `caller` one is run after the other,
   * and of the callers one of each: who asks a thousand times is no reason for others to wait.
   */
  submit<T>(fn: () => T, durable = true, told: (e: unknown) => void = () => {}, caller = ''): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let settle: () => void = () => {}
      const run = () => {
        // The outcome is held back until the commit has spoken.
        settle = this.outcome(fn, told, resolve, reject)
      }
      const member = { durable, run, done: () => settle(), fail: reject }
      const line = this.lines.get(caller)
      if (line) line.push(member)
      else this.lines.set(caller, [member])
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
    while (this.lines.size > 0) await this.submit(() => undefined, false)
  }

  /** Whether the last transaction was not written: the database, or its disk, refuses. */
  failing(): boolean {
    return this.lastFailed
  }

  private flush(): void {
    this.flushing = undefined
    const lines = this.lines
    this.lines = new Map()
    const taken: Member[] = []
    try {
      this.db.tx(() => this.slice(lines, taken), someDurable(lines))
      this.lastFailed = false
    } catch (e) {
      this.lastFailed = true
      // BEGIN or COMMIT failed: nobody in this slice was written. Where it was BEGIN, one of them is told so.
      if (taken.length === 0) taken.push(...nextOf(lines))
      for (const member of taken) member.fail(e)
      this.requeue(lines)
      return
    }
    for (const member of taken) member.done()
    this.requeue(lines)
  }

  private slice(lines: Map<string, Member[]>, taken: Member[]): void {
    const until = this.clock.monotonic() + SLICE_MS
    do {
      const [member] = nextOf(lines)
      if (!member) return
      taken.push(member)
      member.run()
    } while (this.clock.monotonic() < until)
  }

  /** What was left goes before what has come since, in each line and among them. */
  private requeue(rest: Map<string, Member[]>): void {
    for (const [caller, line] of this.lines) rest.set(caller, [...(rest.get(caller) ?? []), ...line])
    this.lines = rest
    if (rest.size > 0) this.flushing ??= setImmediate(() => this.flush())
  }
}

const someDurable = (lines: Map<string, Member[]>): boolean => {
  for (const line of lines.values()) if (line.some((member) => member.durable)) return true
  return false
}

/** The first of the first line, which then stands last; none when nobody waits. */
function nextOf(lines: Map<string, Member[]>): Member[] {
  for (const [caller, line] of lines) {
    lines.delete(caller)
    const member = line.shift()
    if (line.length > 0) lines.set(caller, line)
    return member ? [member] : []
  }
  return []
}
