import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, iso } from '../../kernel/clock.ts'
import { Fail } from '../../kernel/fail.ts'
import type { Ids } from '../../kernel/ids.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import { DAY_MS } from '../../kernel/zones.ts'
import type { Runner } from '../scheduler/ticker.ts'
import type { Db } from '../store/db.ts'
import type { AttemptStore, Head, Waiting } from './attempts.store.ts'
import type { Reporter } from './reporter.ts'
import type { Sending } from './sender.ts'
import type { Settlement } from './settlement.ts'
import type { Telling } from './telling.ts'
import { type Message, type Receipt, TransportError } from './transports/transport.ts'

interface Parts {
  /** Where a person's own mail goes; undefined when nothing may be told to them any more. */
  addressOf: (userId: string, eventId: string) => string | undefined
  clock: Clock
  db: Db
  enabled: boolean
  ids: Ids
  log: Log
  attempts: AttemptStore
  reporter: Reporter
  reschedule: () => void
  sending: Sending
  settlement: Settlement
  telling: Telling
}

export const NOTIFICATION_RUNNER = 'notifications'
const INTERVAL_SECONDS = 30
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
/** Messages that go singly within a minute; the rest waits for one digest a minute. */
const SINGLY = 15
const KEPT_MS = 90 * DAY_MS
const STOPPING = new Error('the controller is stopping')

/**
 * Sends what is queued: for each channel one message at a time, in order. A pass only begins attempts; they end on their own, with
 * their own time limits, and what they bring is settled in a transaction.
 */
export class Deliveries {
  private readonly parts: Parts
  /** What is under way, by channel. */
  private readonly underWay = new Map<string, { abort: AbortController; ended: Promise<void> }>()
  private nextAt: number | undefined = 0
  private stopped = false
  private upkeptAt = Number.NEGATIVE_INFINITY

  constructor(parts: Parts) {
    this.parts = parts
  }

  runner(): Runner {
    const { enabled } = this.parts
    return {
      clockJumped: () => this.wake(),
      due: () => (this.nextAt === undefined ? undefined : iso(this.nextAt)),
      enabled,
      intervalSeconds: INTERVAL_SECONDS,
      name: NOTIFICATION_RUNNER,
      tick: (now) => this.pass(now),
    }
  }

  /** What an earlier process had begun is sent again: the receiver knows it by its id. */
  start(): void {
    const { attempts, clock, db } = this.parts
    db.tx(() => [attempts.resume([]), attempts.outlived(iso(clock.now() - DAY_MS))])
  }

  /** Something was queued, or its time has come. */
  wake(): void {
    this.nextAt = 0
    this.parts.reschedule()
  }

  /** Breaks off what is under way; it is sent again by the next process. */
  async stop(): Promise<void> {
    this.stopped = true
    const ends = [...this.underWay.values()]
    for (const { abort } of ends) abort.abort(STOPPING)
    await Promise.all(ends.map(({ ended }) => ended))
  }

  private async pass(now: string): Promise<{ begun: number }> {
    const { attempts, reporter } = this.parts
    this.nextAt = undefined
    this.tellPeople(now)
    await reporter.queueDue(now)
    this.upkeep(now)
    let begun = 0
    for (const { id, releasedAt } of attempts.waiting()) {
      if (releasedAt !== null && releasedAt > now) this.notAfter(Date.parse(releasedAt))
      if (this.stopped || this.underWay.has(id)) continue
      if (this.begin(id, now)) begun++
      await nextTurn()
    }
    this.notAfter(reporter.nextAt(now))
    return { begun }
  }

  /** One slice of people: what rules tell does not wait until everybody has been told. */
  private tellPeople(now: string): void {
    const { db, log, telling } = this.parts
    try {
      if (db.tx(() => telling.tellPeople(now))) this.notAfter(Date.parse(now))
    } catch (e) {
      log.error('internal error: people could not be told of an alert. Please report this', errorFields(e))
      // Otherwise the others would never be told of anything again.
      db.tx(() => telling.skipPeople())
    }
  }

  private upkeep(now: string): void {
    const { attempts, clock, db } = this.parts
    const before = (ms: number) => iso(Date.parse(now) - ms)
    db.tx(() => attempts.resume(this.underWay.keys()), false)
    if (clock.monotonic() < this.upkeptAt + HOUR_MS) return
    this.upkeptAt = clock.monotonic()
    db.tx(() => [attempts.expire(before(DAY_MS)), attempts.prune(before(KEPT_MS))], false)
  }

  private notAfter(at: number | undefined): void {
    if (at !== undefined) this.nextAt = Math.min(this.nextAt ?? at, at)
  }

  /** Begins with what is first in a channel, and due; false when nothing is. */
  private begin(channelId: string, now: string): boolean {
    for (const head of this.parts.attempts.heads(channelId, now)) {
      const at = Math.max(Date.parse(head.nextAttemptAt), this.turnOf(head, now))
      if (at > Date.parse(now)) {
        this.notAfter(at)
        continue
      }
      const rows = this.parts.db.tx(() => this.claim(head, now))
      if (rows.length === 0) {
        // It may not be told any more: what comes after it is looked at next.
        this.notAfter(Date.parse(now))
        continue
      }
      this.launch(channelId, rows)
      return true
    }
    return false
  }

  /** When the next message may go to this recipient: at once, or with the digest of the minute. Unix ms. */
  private turnOf(head: Head, now: string): number {
    const { digestAt, messages } = this.parts.attempts.sentSince(head, iso(Date.parse(now) - MINUTE_MS), now)
    return messages >= SINGLY && digestAt !== null ? Date.parse(digestAt) + MINUTE_MS : 0
  }

  /** Marks what is sent now; in a transaction. */
  private claim(head: Head, now: string): Waiting[] {
    const { attempts, ids } = this.parts
    const isBusy = attempts.sentSince(head, iso(Date.parse(now) - MINUTE_MS), now).messages >= SINGLY
    const batch = head.batch ?? (isBusy && head.kind !== 'report' ? ids.make('notification') : undefined)
    if (batch !== undefined && head.batch === null) attempts.gather(batch, head, now)
    const rows = batch === undefined ? attempts.whole(head.id) : attempts.ofBatch(batch)
    return rows.filter((row) => this.mayStillHear(row) && attempts.begin(row, now))
  }

  /** What may not be told to a person any more is dropped. */
  private mayStillHear({ content, id, userId }: Waiting): boolean {
    const { addressOf, attempts } = this.parts
    const mayHear = userId === null || addressOf(userId, eventOf(content)) !== undefined
    if (!mayHear) attempts.drop(id)
    return mayHear
  }

  private launch(channelId: string, rows: Waiting[]): void {
    const abort = new AbortController()
    const ended = this.attempt(channelId, rows, abort.signal).then((isSettled) => {
      this.underWay.delete(channelId)
      if (isSettled && !this.stopped) this.wake()
    })
    this.underWay.set(channelId, { abort, ended })
  }

  /** Never rejects. False when how it ended could not be noted: it is sent again by a later pass. */
  private async attempt(channelId: string, rows: Waiting[], signal: AbortSignal): Promise<boolean> {
    const { log, settlement } = this.parts
    const outcome = await this.send(channelId, rows, signal).then(
      ({ warning }) =>
        () =>
          settlement.sent(channelId, rows, warning),
      (e: unknown) => () => settlement.failed(channelId, rows, this.faultOf(e, channelId)),
    )
    if (signal.aborted) return false
    try {
      outcome()
      return true
    } catch (e) {
      // For example, the disk is full: the receiver knows the message by its id when it comes again.
      log.error('how a notification ended could not be stored; it is sent again', { channelId, ...errorFields(e) })
      return false
    }
  }

  private faultOf(e: unknown, channelId: string): Error {
    if (e instanceof TransportError || e instanceof Fail) return e
    const message = 'internal error: a notification failed and will be tried again. Please report this'
    this.parts.log.error(message, { channelId, ...errorFields(e) })
    return new TransportError('internal error: see the log of the controller')
  }

  /** A person's own mail goes to them, everything else to the recipients of the channel. */
  private async send(channelId: string, rows: Waiting[], signal: AbortSignal): Promise<Receipt> {
    const { addressOf, sending } = this.parts
    const [{ content, userId }] = rows as [Waiting]
    const to = userId === null ? undefined : addressOf(userId, eventOf(content))
    return sending.send(channelId, this.compose(channelId, rows), to, signal)
  }

  /** What cannot be put into words now never will be, and must not stop what comes after it. */
  private compose(channelId: string, rows: Waiting[]): Message {
    const { log, sending } = this.parts
    try {
      return sending.compose(rows)
    } catch (e) {
      log.error('internal error: a notification cannot be put into words and is given up. Please report this', {
        channelId,
        notificationIds: rows.map(({ id }) => id),
        ...errorFields(e),
      })
      throw new TransportError('internal error: see the log of the controller', { final: true })
    }
  }
}

const eventOf = (content: string): string => (JSON.parse(content) as { event: { id: string } }).event.id
