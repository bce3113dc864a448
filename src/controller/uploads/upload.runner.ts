import { type Clock, iso, isoPlus } from '../../kernel/clock.ts'
import type { Ids } from '../../kernel/ids.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import type { UploadItem, UploadRunItem, UploadRunnerStatus, UploadRunSummary } from '../../wire/uploads.ts'
import type { Events } from '../events.ts'
import type { Runner } from '../scheduler/ticker.ts'
import type { Db } from '../store/db.ts'
import type { Condition } from '../store/filter.ts'
import { type AttemptParts, attempt } from './attempt.ts'
import { DriverError } from './driver.ts'
import { summaryOf } from './queue.rules.ts'
import type { Settlement } from './settle.ts'
import type { UploadWorkStore } from './work.store.ts'

interface Parts extends AttemptParts {
  /** Attempts that one pass begins. */
  batchSize: number
  clock: Clock
  db: Db
  enabled: boolean
  events: Pick<Events, 'emit'>
  ids: Ids
  intervalSeconds: number
  leaseSeconds: number
  log: Log
  /** How long a pass waits for the attempts it started, ms; longer ones continue in the background. */
  patienceMs: number
  settlement: Settlement
  work: UploadWorkStore
}

/** Enough for a slow destination, and few enough that a dead one does not starve the others. */
const PER_DESTINATION = 2

/** A watched upload need not be told of more often. */
const TOLD_EVERY_MS = 5000

const STOPPING = new DriverError('controller_stopping')

interface Attempt {
  abort: AbortController
  claim: string
  destinationId: string
  ended: Promise<void>
  item: UploadItem
  /** As it was claimed, until the attempt has ended. */
  result: UploadRunItem
  renewedAt: number
  /** When people were told how far it is. */
  toldAt?: number
}

/**
 * Sends due uploads. A pass starts attempts and waits a while for them; one that takes longer continues in the background
 * under its lease, until `stop` aborts it. So neither a large take nor a dead destination delays the others.
 */
export class Uploader {
  private readonly parts: Parts
  private readonly underWay = new Map<string, Attempt>()
  private lastRunAt: string | undefined
  private lastSummary: UploadRunSummary | undefined
  private recovered = false
  private running = false
  private stopped = false
  private turn = 0

  constructor(parts: Parts) {
    this.parts = parts
  }

  /** What `GET /upload-runner` shows; the last summary lists every recording. */
  status(): UploadRunnerStatus {
    const { batchSize, enabled, intervalSeconds } = this.parts
    return {
      batchSize,
      intervalSeconds,
      running: this.running,
      started: enabled && !this.stopped,
      ...(this.lastRunAt ? { lastRunAt: this.lastRunAt } : {}),
      ...(this.lastSummary ? { lastSummary: this.lastSummary } : {}),
    }
  }

  /** One pass over the due items that match `within`; all counts are zero while another pass runs. */
  async pass(within: Condition[] = []): Promise<UploadRunSummary> {
    if (this.running || this.stopped) return summaryOf([])
    this.running = true
    try {
      this.lastRunAt = iso(this.parts.clock.now())
      this.recover()
      await this.parts.settlement.releasePostponed(this.parts.batchSize)
      const began = await this.rounds(within)
      this.lastSummary = summaryOf(began.map(({ result }) => result))
      this.parts.settlement.completed(this.lastSummary, this.parts.batchSize)
      return this.lastSummary
    } finally {
      this.running = false
    }
  }

  /** The uploader as a background runner; its result leaves out the items, which not everybody may see. */
  runner(): Runner {
    const { enabled, intervalSeconds } = this.parts
    const tick = async () => {
      const { items: _, ...counts } = await this.pass()
      return counts
    }
    return { name: 'upload', enabled, intervalSeconds, tick }
  }

  /** Aborts the attempts under way; they are due again, and none of them is counted. */
  async stop(): Promise<void> {
    this.stopped = true
    const open = [...this.underWay.values()]
    for (const { abort } of open) abort.abort(STOPPING)
    await Promise.all(open.map(({ ended }) => ended))
  }

  // There is one controller: whatever was claimed before the first pass belongs to a process that has ended.
  private recover(): void {
    if (this.recovered) return
    this.parts.db.tx(() => this.parts.work.recover(iso(this.parts.clock.now())))
    this.recovered = true
  }

  /** Begins attempts as slots become free, until nothing is due, the batch is full, or `patienceMs` is over. */
  private async rounds(within: Condition[]): Promise<Attempt[]> {
    const began: Attempt[] = []
    const patience = Promise.withResolvers<void>()
    const timer = setTimeout(patience.resolve, this.parts.patienceMs)
    let waiting = true
    void patience.promise.then(() => {
      waiting = false
    })
    try {
      while (waiting && !this.stopped) {
        const fresh = this.fill(this.parts.batchSize - began.length, within)
        began.push(...fresh)
        // An item that was started over while it was sent is begun twice.
        const open = began.filter((one) => this.underWay.get(one.item.id) === one)
        if (open.length === 0 && fresh.length === 0) break
        await Promise.race([patience.promise, ...open.map(({ ended }) => ended)])
      }
    } finally {
      clearTimeout(timer)
    }
    return began
  }

  /** Takes items from the destinations in turn, starting with a different destination each time. */
  private fill(room: number, within: Condition[]): Attempt[] {
    const queued = this.parts.work.destinations()
    const first = queued.length > 0 ? this.turn++ % queued.length : 0
    const order = [...queued.slice(first), ...queued.slice(0, first)]
    const ready = order.map((id) => this.startable(id, Math.min(room, PER_DESTINATION), within))
    const began: Attempt[] = []
    for (let round = 0; round < PER_DESTINATION; round++)
      for (const ids of ready) {
        const id = ids[round]
        const fresh = id !== undefined && began.length < room ? this.begin(id) : undefined
        if (fresh) began.push(fresh)
      }
    return began
  }

  private startable(destinationId: string, room: number, within: Condition[]): string[] {
    const busy = [...this.underWay.values()].filter((one) => one.destinationId === destinationId)
    const free = Math.min(PER_DESTINATION - busy.length, room)
    if (free <= 0) return []
    const now = iso(this.parts.clock.now())
    // An attempt under way here is not due, even when its lease has run out.
    const due = this.parts.work.due(destinationId, within, free + busy.length, now)
    return due.filter((id) => !this.underWay.has(id)).slice(0, free)
  }

  private begin(id: string): Attempt | undefined {
    const { clock, db, ids, settlement, work } = this.parts
    const now = iso(clock.now())
    const claim = ids.uuid()
    const item = db.tx(() => work.claim(id, claim, this.leaseEnd(), now))
    if (!item) {
      settlement.exhausted(id)
      return undefined
    }
    const result: UploadRunItem = {
      itemId: id,
      provider: item.provider,
      recordingId: item.recordingId,
      status: item.status,
    }
    const one: Attempt = {
      abort: new AbortController(),
      claim,
      destinationId: item.destinationId ?? '',
      ended: Promise.resolve(),
      item,
      renewedAt: clock.monotonic(),
      result: { ...result, reason: 'upload_in_progress' },
    }
    this.underWay.set(id, one)
    one.ended = this.run(one).finally(() => this.underWay.delete(id))
    return one
  }

  /** Never rejects: a result that cannot be stored is logged, and the item is due again when its lease runs out. */
  private async run(one: Attempt): Promise<void> {
    const { log, settlement } = this.parts
    try {
      const progress = (percent?: number) => {
        this.renew(one)
        if (percent !== undefined) this.tell(one, percent)
      }
      const outcome = await attempt(this.parts, one.item, { progress, signal: one.abort.signal }).catch(
        (e: unknown) => e,
      )
      if (outcome === STOPPING) settlement.abandon(one.item, one.claim)
      else if (outcome instanceof Error) one.result = settlement.failed(one.item, one.claim, outcome)
      else one.result = await settlement.succeeded(one.item, one.claim, outcome as never)
      if (one.toldAt !== undefined) this.announce(one)
    } catch (e) {
      log.error('upload result could not be recorded', { uploadQueueItemId: one.item.id, ...errorFields(e) })
    }
  }

  private renew(one: Attempt): void {
    const now = this.parts.clock.monotonic()
    if (now - one.renewedAt < (this.parts.leaseSeconds * 1000) / 3) return
    one.renewedAt = now
    this.parts.db.tx(() => this.parts.work.renew(one.item.id, one.claim, this.leaseEnd()), false)
  }

  /** People who watch are told now and then how far it is. */
  private tell(one: Attempt, percent: number): void {
    const now = this.parts.clock.monotonic()
    if (one.toldAt !== undefined && now - one.toldAt < TOLD_EVERY_MS) return
    one.toldAt = now
    this.announce(one, percent)
  }

  /** Without `percent` it has ended. */
  private announce({ item: { recordingId } }: Attempt, percent?: number): void {
    const told = percent === undefined ? { recordingId } : { percent, recordingId }
    this.parts.db.tx(() => this.parts.events.emit('upload.progressed', told), false)
  }

  private leaseEnd = (): string => isoPlus(iso(this.parts.clock.now()), this.parts.leaseSeconds)
}
