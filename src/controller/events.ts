import { errorFields, type Log } from '../kernel/log.ts'
import type { Outcome } from '../wire/audit.ts'
import type { JobStatus } from '../wire/recordings.ts'
import type { Pair } from './http/principal.ts'
import type { Db } from './store/db.ts'

/** Empty when the event is emitted; listeners add to it, and the emitter answers or audits the result. */
type Collected<T> = T[]

/** A piece of a take that came in chunks; `index` counts from 1. */
export interface CachedChunk {
  checksum: string
  id: string
  index: number
  path: string
}

/**
 * Every event between modules of the controller: ids, scope keys and small states, never a secret. A new event is
 * a line here, an `emit` where it happens, and an `on` in each module that listens.
 */
export interface EventMap {
  /** A chunk of a take was stored; its set may be complete. */
  'chunk.stored': { recordingId: string }
  /** Retention rules for recorders changed, or anything else the config of a node (without `nodeId`: of all) is made of. */
  'config.changed': { nodeId?: string | undefined }
  /** A recorder sent what its doctor found. */
  'doctor.reported': { nodeId: string; requestId: string }
  'health.opened': { id: string; recordingId?: string | undefined; severity: string; status: string; type: string }
  /** Acknowledged, suppressed, resolved, or more severe; `was`: before. */
  'health.changed': {
    id: string
    recordingId?: string | undefined
    severity: string
    status: string
    type: string
    was: { severity: string; status: string }
  }
  'job.changed': { id?: string | undefined; nodeId: string; recordingId: string; status: JobStatus }
  /** A heartbeat told how far a running job has come. */
  'job.progressed': { id: string }
  /** How much of the file of an upload was sent; without `percent` the attempt has ended. */
  'upload.progressed': { percent?: number; recordingId: string }
  /** An action on a node began, or has said more; how it ended is audited. */
  'lifecycle.progressed': { nodeId: string }
  /** A node came online, went offline, or reported that it is degraded. */
  'node.status': { nodeId: string; status: string }
  /** A node or some of its channels moved to another room; `moved` are the schedules that follow. */
  'node.moved': { moved: Collected<string>; nodeId: string; now: string }
  /** A node has everything it needs to record. */
  'node.ready': { nodeId: string; now: string }
  'node.retired': { disabledScheduleIds: readonly string[]; nodeId: string; now: string }
  /**
   * A file that can be uploaded was stored: the playable one, a chunk of it, the one joined of all chunks, or the raw master;
   * `queued` are the new uploads.
   */
  'recording.cached': {
    now: string
    piece?: CachedChunk | 'joined' | 'master' | undefined
    queued: Collected<object>
    recordingId: string
  }
  /** Recorders that keep its take are to let go of it. */
  'recording.deleted': { id: string }
  /** A join of the chunks of a take was made, failed or was broken off. */
  'recording.join_ended': { id: string }
  /**
   * Something audited was done or failed: for change streams and notifications. `type` and `id` are the target's,
   * `correlation` names what else it concerns.
   */
  'resource.changed': {
    action: string
    correlation?: Record<string, string> | undefined
    id?: string | undefined
    op: 'created' | 'deleted' | 'updated'
    outcome: Outcome
    /** Where it was before it was changed or deleted; read it within the transaction. */
    placesBefore?: (() => readonly Pair[]) | undefined
    type: string
  }
  'schedule.changed': { id?: string | undefined }
  /** A schedule's run is due: its recording and job were created. */
  'schedule.materialized': { recordingId: string; scheduleId: string }
  /** Programs of the system that were missing are installed now. */
  'tools.found': object
}

type EventType = keyof EventMap
type Listener<T extends EventType> = (event: EventMap[T]) => void
/** `within` the transaction that emits, or `after` its commit. */
type When = 'within' | 'after'

/**
 * Events between modules that do not import each other. A listener `within` runs in the emitter's transaction: when it
 * throws, all is rolled back. A listener `after` runs after the commit, never after a rollback; what it throws is only
 * logged.
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
    for (const listener of after) this.afterCommit(() => listener(event), type)
  }

  /**
   * Runs `fn` once the current transaction is committed. What it throws is only logged: the write is committed and
   * acknowledged, and one fault must not reach the others who wait for the commit, or the caller.
   */
  afterCommit(fn: () => void, event?: EventType): void {
    this.db.afterCommit(() => {
      try {
        fn()
      } catch (e) {
        const message =
          'internal error: something failed after a commit; the change itself is stored. Please report this'
        this.log.error(message, { event, ...errorFields(e) })
      }
    })
  }

  private of<T extends EventType>(type: T, when: When): Listener<T>[] {
    return (this.listeners.get(`${type} ${when}`) ?? []) as Listener<T>[]
  }
}
