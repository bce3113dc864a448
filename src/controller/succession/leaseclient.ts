import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, iso } from '../../kernel/clock.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import { version } from '../../kernel/version.ts'
import type { Box, Lease, StandbyStatus } from '../../wire/lease.ts'
import { judge, renewed, spansOf, taken } from './lease.rules.ts'
import { type LeaseStore, refuseUnconditional, type Seen, StoreUnreachable } from './lease.s3.ts'
import type { LeaseFile } from './leasefile.ts'
import { type Away, statusOf } from './status.rules.ts'

interface Parts {
  /** Whether the other box may take over by itself. */
  automatic: boolean
  clock: Clock
  log: Log
  leaseFile: LeaseFile
  self: Box
  store: LeaseStore
  ttlMs: number
}

/** How often a conditional write is tried while others write too. */
const TRIES = 5

/** What a look at the lease found: it is ours, nobody's, another's, prepared for another, or could not be seen. */
type Standing = 'free' | 'others' | 'ours' | 'prepared' | 'unreachable'

/** Why this box serves no longer. */
type Lost = 'asked' | 'fenced' | 'lapsed'

/**
 * The lease as this box sees it. Every decision is a conditional write; spans are measured by the monotonic clock. What is
 * served is asked for with `mayServe`, at the beginning of an answer and at its end.
 */
export class LeaseClient {
  readonly #parts: Parts
  readonly #spans: ReturnType<typeof spansOf>
  #seen: Seen | undefined
  /** When the lease was last seen to change; monotonic ms. */
  #changedAt: number
  /** Until when the lease is surely ours; monotonic ms. */
  #heldUntil = Number.NEGATIVE_INFINITY
  #lost = Promise.withResolvers<Lost>()
  #over: Lost | undefined
  /** Since when the store gives no answer, monotonic ms, and why. */
  #silence: { since: number; why: string } | undefined
  #holding = new AbortController()
  #renewing: Promise<void> = Promise.resolve()

  constructor(parts: Parts) {
    this.#parts = parts
    this.#spans = spansOf(parts.ttlMs)
    this.#changedAt = parts.clock.monotonic()
    this.#holding.abort()
  }

  get self(): Box {
    return this.#parts.self
  }

  /** The lease as it was last seen; where the store was never reached, the one that shut this box out. */
  get lease(): Lease | undefined {
    return this.#seen?.lease ?? this.#parts.leaseFile.now.fencedBy
  }

  /** The highest term this box knows; recorders refuse a controller with a lower one. */
  get term(): number {
    return Math.max(this.lease?.term ?? 0, this.#parts.leaseFile.now.term)
  }

  /** Why the store gives no answer, and for how long, ms. */
  get silence(): { ms: number; why: string } | undefined {
    return this.#silence && { ms: this.#parts.clock.monotonic() - this.#silence.since, why: this.#silence.why }
  }

  /** What this box says of itself while it is not the controller. */
  status = (away: Away): StandbyStatus =>
    statusOf(
      { lease: this.lease, selfId: this.self.id, selfName: this.self.name, version },
      away,
      this.#parts.clock.now(),
    )

  /** Whether the lease allows an answer now. */
  mayServe(): boolean {
    if (this.#holding.signal.aborted || this.#over) return false
    return !this.#parts.automatic || this.#parts.clock.monotonic() < this.#heldUntil
  }

  /** How long the lease was not seen to change, ms. */
  unchangedMs(): number {
    return this.#parts.clock.monotonic() - this.#changedAt
  }

  /** Whether the holder lets another box take the lease by itself, and had its time. */
  hasRunOut(): boolean {
    return this.lease?.automatic === true && !this.#silence && this.unchangedMs() >= this.#spans.waitMs
  }

  /** Looks who holds the lease. One that is ours is renewed; a free one is taken where `mayTake`. */
  async claim(mayTake: boolean): Promise<Standing> {
    try {
      const verdict = judge(await this.#read(), this.self)
      if (verdict === 'others') return await this.#shutOut()
      // Of a lease that was removed only its last holder makes a new one.
      if (verdict === 'free' && this.#parts.leaseFile.now.fencedBy) return 'others'
      if (verdict === 'prepared' || (verdict === 'free' && !mayTake)) return verdict
      if (verdict !== 'free' && this.#seen) await refuseUnconditional(this.#parts.store, this.#seen)
      return (await this.#take(verdict === 'free')) ? 'ours' : 'unreachable'
    } catch (e) {
      if (!(e instanceof StoreUnreachable)) throw e
      this.#unanswered(e)
      return this.#unseen()
    }
  }

  /**
   * Without the store: a person decides whether the other box takes over, unless that may happen by itself. What was decided
   * while this box was off it cannot know: it asks for as long as a lease lasts before it goes by its lease file.
   */
  #unseen(): Standing {
    const { automatic, leaseFile, ttlMs } = this.#parts
    if (leaseFile.now.fencedBy) return 'others'
    const asked = this.#seen !== undefined || (this.silence?.ms ?? 0) >= ttlMs
    return leaseFile.now.term > 0 && !automatic && asked ? 'ours' : 'unreachable'
  }

  /** A disk that does not take it must not keep this box from being shut out. */
  async #shutOut(): Promise<Standing> {
    const { log, leaseFile } = this.#parts
    const fencedBy = this.#seen?.lease
    if (fencedBy && leaseFile.now.term > 0 && leaseFile.now.fencedBy?.term !== fencedBy.term)
      await leaseFile
        .save({ fencedBy, term: leaseFile.now.term })
        .catch((e) =>
          log.error('could not record that another box took over: check the disk of SVC_DATA_DIR', errorFields(e)),
        )
    return 'others'
  }

  async #take(isFree: boolean): Promise<boolean> {
    const { automatic, clock, leaseFile } = this.#parts
    const now = iso(clock.now())
    const own = this.#seen?.lease
    // A lease that was removed by hand is put back, not begun anew: recorders refuse a lower term.
    // A term that jumped was not written by a box: recorders would never accept a lower one again.
    const jumped = own !== undefined && leaseFile.now.term > 0 && Math.abs(own.term - leaseFile.now.term) > 1
    const before = own && !jumped ? own : leaseFile.now.term > 0 ? { term: leaseFile.now.term } : undefined
    const next = before
      ? renewed({ term: before.term } as Lease, this.self, automatic, now)
      : taken(undefined, this.self, automatic, now)
    if (!(await this.#write(next))) return false
    if (isFree && this.#seen) await refuseUnconditional(this.#parts.store, this.#seen)
    await leaseFile.save({ term: next.term })
    return true
  }

  /** Which state of the lease was seen last. */
  get version(): string | undefined {
    return this.#seen?.etag
  }

  /**
   * Takes the lease away from whoever holds it, with the next term. `may` is asked of the very state that is overwritten; false
   * when it says no. @throws StoreUnreachable
   */
  async takeOverIf(may: (lease: Lease, version: string) => boolean): Promise<boolean> {
    const { automatic, clock, leaseFile } = this.#parts
    for (let i = 0; i < TRIES; i++) {
      await this.#read()
      if (!this.#seen || !may(this.#seen.lease, this.#seen.etag)) return false
      const next = taken(this.#seen.lease, this.self, automatic, iso(clock.now()))
      if (!(await this.#write(next))) continue
      await leaseFile.save({ term: next.term })
      return true
    }
    return false
  }

  /** Asks the holder to hand over. False when the lease changed meanwhile: look again. @throws StoreUnreachable */
  ask(): Promise<boolean> {
    return this.#change({ state: 'asked', to: this.self })
  }

  /** Says, as the holder, that all is written; `mark` is the last of it. @throws StoreUnreachable */
  prepare(mark: string): Promise<boolean> {
    const to = this.#seen?.lease.handover?.to
    return to ? this.#change({ mark, state: 'ready', to }) : Promise.resolve(false)
  }

  /** Ends a hand-over that comes to nothing; the holder goes on. @throws StoreUnreachable */
  withdraw(): Promise<boolean> {
    const { handover, holder } = this.#seen?.lease ?? {}
    // That of a third box is its own.
    const isOurs = holder?.id === this.self.id || handover?.to.id === this.self.id
    return isOurs ? this.#change(undefined) : Promise.resolve(true)
  }

  async #change(handover: Lease['handover']): Promise<boolean> {
    const { handover: _, ...lease } = this.#seen?.lease ?? {}
    if (!this.#seen) return false
    return this.#write({ ...(lease as Lease), ...(handover ? { handover } : {}) })
  }

  /** Renews the lease from now on. Resolves when this box may no longer serve. */
  hold(): Promise<Lost> {
    this.#over = undefined
    this.#lost = Promise.withResolvers()
    this.#holding = new AbortController()
    this.#renewing = this.#run(this.#holding.signal)
    return this.#lost.promise
  }

  /** Ends renewing; the lease stays as it is. */
  async stopRenewing(): Promise<void> {
    this.#holding.abort()
    await this.#renewing
  }

  async #run(signal: AbortSignal): Promise<void> {
    const pause = (ms: number) => sleep(Math.max(0, ms), undefined, { signal }).catch(() => undefined)
    while (!signal.aborted && !this.#over) {
      const { askMs, renewMs } = this.#spans
      const left = this.#parts.automatic ? this.#heldUntil - this.#parts.clock.monotonic() : Number.POSITIVE_INFINITY
      await pause(Math.min(this.#silence ? askMs : renewMs, left))
      if (!signal.aborted) await this.renew()
    }
  }

  /** One renewal, as `hold` makes them. */
  async renew(): Promise<void> {
    const { automatic, clock } = this.#parts
    if (automatic && clock.monotonic() >= this.#heldUntil) return this.#end('lapsed')
    try {
      const lease = this.#seen?.lease
      const isOurs = lease && judge(lease, this.self) === 'mine' && lease.term === this.#parts.leaseFile.now.term
      const next = isOurs && renewed(lease, this.self, automatic, iso(clock.now()))
      if (next && (await this.#write(next))) return
      await this.#look()
    } catch (e) {
      if (!(e instanceof StoreUnreachable)) this.#parts.log.error('the lease could not be renewed', errorFields(e))
      this.#unanswered(e as Error)
    }
  }

  /** The lease is not what it was: somebody else wrote it, or a write of ours arrived without an answer. */
  async #look(): Promise<void> {
    const verdict = judge(await this.#read(), this.self)
    if (verdict === 'others') {
      this.#end('fenced')
      await this.#shutOut()
      return
    }
    if (verdict === 'asked') return this.#end('asked')
    await this.#take(verdict === 'free')
  }

  #end(how: Lost): void {
    this.#over = how
    this.#lost.resolve(how)
  }

  async #read(): Promise<Lease | undefined> {
    const seen = await this.#parts.store.read()
    if (seen?.etag !== this.#seen?.etag) this.#changedAt = this.#parts.clock.monotonic()
    this.#seen = seen
    this.#answered()
    return seen?.lease
  }

  /** Writes over what was seen. The time of a lease of ours counts from before the request. */
  async #write(next: Lease): Promise<boolean> {
    const began = this.#parts.clock.monotonic()
    const written = await this.#parts.store.write(next, this.#seen)
    this.#answered()
    if (!written) return false
    this.#seen = written
    this.#changedAt = began
    if (next.holder.id === this.self.id) this.#heldUntil = began + this.#spans.serveMs
    return true
  }

  #answered(): void {
    if (this.#silence) this.#parts.log.info('the store of the lease answers again')
    this.#silence = undefined
  }

  #unanswered({ message: why }: Error): void {
    if (!this.#silence) this.#parts.log.warn('could not read the lease; retrying', { why })
    this.#silence = { since: this.#silence?.since ?? this.#parts.clock.monotonic(), why }
  }
}
