import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, iso } from '../../kernel/clock.ts'
import { Fail } from '../../kernel/fail.ts'
import type { Ids } from '../../kernel/ids.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import { DAY_MS } from '../../kernel/zones.ts'
import type { Runner } from '../scheduler/ticker.ts'
import type { Db } from '../store/db.ts'
import type { AttemptStore, Waiting } from './attempts.store.ts'
import type { Reporter } from './reporter.ts'
import type { Sending } from './sender.ts'
import type { Settlement } from './settlement.ts'
import type { Telling } from './telling.ts'
import { type Receipt, TransportError } from './transports/transport.ts'

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
    this.parts.db.tx(() => this.parts.attempts.resume())
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
    const { attempts, db, reporter, telling } = this.parts
    this.nextAt = undefined
    while (db.tx(() => telling.tellPeople(now))) await nextTurn()
    await reporter.queueDue(now)
    const before = (ms: number) => iso(Date.parse(now) - ms)
    db.tx(() => [attempts.expire(before(DAY_MS)), attempts.prune(before(KEPT_MS))], false)
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
      if (rows.length > 0) this.launch(channelId, rows)
      return true
    }
    return false
  }

  /** When the next message may go to this recipient: at once, or with the digest of the minute. Unix ms. */
  private turnOf(head: Waiting, now: string): number {
    const since = iso(Date.parse(now) - MINUTE_MS)
    const { digestAt, messages } = this.parts.attempts.sentSince(head.channelId, head.userId, since)
    return messages >= SINGLY && digestAt !== null ? Date.parse(digestAt) + MINUTE_MS : 0
  }

  /** Marks what is sent now; in a transaction. */
  private claim(head: Waiting, now: string): Waiting[] {
    const { attempts, ids } = this.parts
    const since = iso(Date.parse(now) - MINUTE_MS)
    const isBusy = attempts.sentSince(head.channelId, head.userId, since).messages >= SINGLY
    const batch = head.batch ?? (isBusy && head.kind !== 'report' ? ids.make('notification') : undefined)
    if (batch !== undefined && head.batch === null) attempts.gather(batch, head, now)
    const rows = batch === undefined ? [head] : attempts.ofBatch(batch)
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
    const ended = this.attempt(channelId, rows, abort.signal).finally(() => {
      this.underWay.delete(channelId)
      if (!this.stopped) this.wake()
    })
    this.underWay.set(channelId, { abort, ended })
  }

  /** Never rejects: what cannot be settled is logged, and sent again after the next start. */
  private async attempt(channelId: string, rows: Waiting[], signal: AbortSignal): Promise<void> {
    const { log, settlement } = this.parts
    try {
      const { warning } = await this.send(channelId, rows, signal)
      settlement.sent(channelId, rows, warning)
    } catch (e) {
      if (signal.aborted) return
      if (e instanceof TransportError || e instanceof Fail) return settlement.failed(channelId, rows, e)
      log.error('internal error: a notification failed and will be tried again. Please report this', {
        channelId,
        notificationId: rows[0]?.id,
        ...errorFields(e),
      })
      settlement.failed(channelId, rows, new TransportError('internal error: see the log of the controller'))
    }
  }

  /** A person's own mail goes to them, everything else to the recipients of the channel. */
  private send(channelId: string, rows: Waiting[], signal: AbortSignal): Promise<Receipt> {
    const { addressOf, sending } = this.parts
    const [{ content, userId }] = rows as [Waiting]
    const to = userId === null ? undefined : addressOf(userId, eventOf(content))
    return sending.send(channelId, sending.compose(rows), to, signal)
  }
}

const eventOf = (content: string): string => (JSON.parse(content) as { event: { id: string } }).event.id
