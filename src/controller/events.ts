import { errorFields, type Log } from '../kernel/log.ts'
import type { Outcome } from '../wire/audit.ts'
import type { JobStatus } from '../wire/recordings.ts'
import type { Db } from './store/db.ts'

/** What a listener adds to what the emitter answers or audits: it is empty when the event is emitted. */
type Collected<T> = T[]

/** A piece of a take that came in chunks; `index` counts from 1. */
export interface CachedChunk {
  checksum: string
  id: string
  index: number
  path: string
}

/**
 * Everything that parts of the controller tell each other: ids, scope keys and small states, never a secret. A new event is
 * a new line here, an `emit` where it happens, and an `on` in the module that wants to hear of it.
 */
export interface EventMap {
  /** A chunk of a take was stored; its set may be complete. */
  'chunk.stored': { recordingId: string }
  /** The set of retention rules for recorders, or anything else every node's config is made of. */
  'config.changed': { nodeId?: string | undefined }
  'health.opened': { id: string; recordingId?: string | undefined; severity: string; status: string; type: string }
  /** Acknowledged, suppressed, resolved, or graver than before. */
  'health.changed': { id: string; recordingId?: string | undefined; severity: string; status: string; type: string }
  'job.changed': { id?: string | undefined; nodeId: string; recordingId: string; status: JobStatus }
  /** A node came online, or said that it is not well. */
  'node.status': { nodeId: string; status: string }
  /** Channels of a node, or the node, are in another room; `moved` are the schedules that follow. */
  'node.moved': { moved: Collected<string>; nodeId: string; now: string }
  /** What a node needs to record is there. */
  'node.ready': { nodeId: string; now: string }
  'node.retired': { disabledScheduleIds: readonly string[]; nodeId: string; now: string }
  /** A file that can be sent was stored: what is played, a chunk of it, or the raw master; `queued` are the uploads made. */
  'recording.cached': {
    now: string
    piece?: CachedChunk | 'master' | undefined
    queued: Collected<object>
    recordingId: string
  }
  'recording.deleted': { id: string }
  'recording.joined': { id: string }
  /**
   * Anything that leaves an audit row was done or failed: what a change stream or a notification hangs on. `type` and `id` are
   * the target's, `correlation` names what else it concerns.
   */
  'resource.changed': {
    action: string
    correlation?: Record<string, string> | undefined
    id?: string | undefined
    outcome: Outcome
    type: string
  }
  'schedule.changed': { id?: string | undefined }
  /** A schedule's time has come: its recording and job were made. */
  'schedule.materialized': { recordingId: string; scheduleId: string }
  /** Programs of the system that were missing are there now. */
  'tools.found': object
}

type EventType = keyof EventMap
type Listener<T extends EventType> = (event: EventMap[T]) => void
/** `within` the transaction that emits, or `after` its commit. */
type When = 'within' | 'after'

/**
 * How modules hear of each other without knowing each other. A listener `within` is part of the emitter's transaction: what it
 * throws undoes the whole. A listener `after` runs once the commit is made, and never when it is undone; what it throws is
 * logged and harms nobody.
 */
export class Events {
  private readonly db: Pick<Db, 'afterCommit'>
  private readonly listeners = new Map<string, Listener<never>[]>()
  private readonly log: Log

  constructor(db: Pick<Db, 'afterCommit'>, log: Log) {
    this.db = db
    this.log = log
  }

  on<T extends EventType>(type: T, when: When, listener: Listener<T>): void {
    const key = `${type} ${when}`
    this.listeners.set(key, [...(this.listeners.get(key) ?? []), listener])
  }

  emit<T extends EventType>(type: T, event: EventMap[T]): void {
    for (const listener of this.of(type, 'within')) listener(event)
    const after = this.of(type, 'after')
    if (after.length > 0) this.db.afterCommit(() => after.forEach((listener) => void this.tell(type, listener, event)))
  }

  private of<T extends EventType>(type: T, when: When): Listener<T>[] {
    return (this.listeners.get(`${type} ${when}`) ?? []) as Listener<T>[]
  }

  private tell<T extends EventType>(type: T, listener: Listener<T>, event: EventMap[T]): void {
    try {
      listener(event)
    } catch (e) {
      // The write is committed and acknowledged: one listener's fault must not reach the others, or the caller.
      this.log.error('event listener failed', { event: type, ...errorFields(e) })
    }
  }
}
