import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, iso } from '../../../kernel/clock.ts'
import { errorFields, type Log } from '../../../kernel/log.ts'
import type { Audit } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import type { Jump, SteadyClock } from '../../scheduler/steady.ts'
import type { Db } from '../../store/db.ts'
import type { JumpStore } from './jumps.store.ts'
import {
  addJump,
  afterJump,
  type Course,
  type Doubted,
  fromStored,
  isTrusted,
  type Leap,
  leapSince,
  toStored,
} from './trust.rules.ts'

interface Parts {
  audit: Audit
  clock: Clock & Pick<SteadyClock, 'follow' | 'jump'>
  db: Db
  jumps: JumpStore
  log: Log
}

/** Stored times of another module. */
export interface Mover {
  /** Shifts what must be shifted at once. @returns counts for the audit */
  move(jump: Jump): unknown
  /** Shifts the rest, in steps of a few milliseconds. */
  moveRest(jump: Jump): Iterable<() => void>
  name: string
}

const EVERY_MS = 1000
// Steps done at once, before any request sees the new time: a thousand rows, or what the event loop can spare.
const AT_ONCE = { ms: 20, steps: 10 }

/**
 * Compares the wall clock with the monotonic one. When it jumps, the stored times that mean a duration are shifted before
 * anything is judged by the new time; then the listeners are called.
 */
export class ClockWatch {
  private readonly parts: Parts
  private readonly ending = new AbortController()
  private readonly listeners: ((by: number) => void)[] = []
  private readonly movers: Mover[] = []
  private course: Course | undefined
  private leap: Leap | undefined
  private moving: Promise<void> | undefined
  private timer: NodeJS.Timeout | undefined

  constructor(parts: Parts) {
    this.parts = parts
  }

  /** `listener` gets every jump, in ms, once the clock has followed it. */
  onJump(listener: (by: number) => void): void {
    this.listeners.push(listener)
  }

  /** Registers further stored times, shifted in the same transaction; the audit lists the counts under the mover's name. */
  include(mover: Mover): void {
    this.movers.push(mover)
  }

  trusted = (): boolean => isTrusted(this.leap, this.parts.clock.monotonic())
  doubted = (): readonly Doubted[] => this.course?.doubted ?? []

  /** At start: a clock that is behind the last write was set back while no controller ran. */
  begin(): void {
    const { clock, jumps } = this.parts
    const [now, monotonic, last] = [clock.now(), clock.monotonic(), jumps.lastKnown()]
    const before = jumps.leap()
    this.leap = before && fromStored(before, now, monotonic)
    this.course = jumps.course()
    if (last === undefined) {
      this.course = { behind: false, doubted: [], since: now }
      jumps.keepCourse(this.course, iso(now))
      return
    }
    const by = leapSince(now - last)
    if (by < 0) this.applyJump({ before: iso(last), by, now: iso(now) }, false)
    if (by <= 0) return
    this.setLeap(this.storeLeap(by, iso(now)))
    this.course = this.storeCourse(last, by, false)
  }

  start(): void {
    this.timer = setInterval(() => void this.check(), EVERY_MS)
  }

  /** Follows a jump if there was one. Resolves when everything is shifted; never rejects. */
  async check(): Promise<void> {
    const { clock, log } = this.parts
    // The last jump is finished first; until then the time stays steady.
    const by = this.moving ? 0 : clock.jump()
    if (by === 0) return this.moving
    const before = clock.now()
    try {
      this.applyJump({ before: iso(before), by, now: iso(before + by) }, true)
    } catch (e) {
      // For example, the disk is full: the time stays as it was, and the next check tries again.
      log.error('clock jump: database times could not be adjusted; retrying', { by, ...errorFields(e) })
      return this.moving
    }
    clock.follow(by)
    for (const listener of this.listeners) this.tell(listener, by)
    return this.moving
  }

  async stop(): Promise<void> {
    clearInterval(this.timer)
    this.ending.abort()
    await this.moving
  }

  private tell(listener: (by: number) => void, by: number): void {
    try {
      listener(by)
    } catch (e) {
      this.parts.log.error('clock jump: times held in memory could not be adjusted', errorFields(e))
    }
  }

  /** `live`: seen as it happened, not at a start. */
  private applyJump(jump: Jump, live: boolean): void {
    const { audit, db, jumps, log } = this.parts
    const bySeconds = Math.round(jump.by / 1000)
    const steps = concatenated(jumps.moveRest(jump), ...this.movers.map((mover) => mover.moveRest(jump)))
    const { course, leap, more } = db.tx(() => {
      const others = this.movers.map((mover) => [mover.name, mover.move(jump)])
      const moved = { ...jumps.moveNow(jump), ...Object.fromEntries(others) }
      const done = this.runSteps(steps)
      const leap = this.storeLeap(jump.by, jump.now)
      const course = this.storeCourse(Date.parse(jump.before), jump.by, live)
      audit.write(
        {
          action: 'controller.clock.jumped',
          actor: systemActor('clock'),
          details: { before: jump.before, bySeconds, moved },
          outcome: 'succeeded',
          target: { type: 'controller' },
        },
        jump.now,
      )
      return { course, leap, more: !done }
    })
    // Only after the commit: a jump that could not be written is tried again, and counts once.
    this.course = course
    this.setLeap(leap)
    log.warn('clock jump: leases, retries and sessions adjusted', {
      before: jump.before,
      bySeconds,
      now: jump.now,
    })
    if (!more) return
    this.moving = this.runRemaining(steps).finally(() => {
      this.moving = undefined
    })
  }

  /** Runs as many steps as fit into one turn. @returns whether all are done */
  private runSteps(steps: Iterator<() => void>): boolean {
    const until = this.parts.clock.monotonic() + AT_ONCE.ms
    for (let n = 0; n < AT_ONCE.steps && this.parts.clock.monotonic() < until; n++) {
      const { done, value } = steps.next()
      if (done) return true
      value()
    }
    return false
  }

  private async runRemaining(steps: Iterable<() => void>): Promise<void> {
    const { db, log } = this.parts
    try {
      for (const step of steps) {
        if (this.ending.signal.aborted) return
        db.tx(step, false)
        await nextTurn()
      }
    } catch (e) {
      log.error(
        'clock jump: some sessions, retries or pauses could not be adjusted and may end too early or too late',
        errorFields(e),
      )
    }
  }

  /** Stores the leap after a jump of so many ms, for the next process as well. */
  private storeLeap(by: number, now: string): Leap {
    const { clock, jumps } = this.parts
    const monotonic = clock.monotonic()
    const leap = addJump(this.leap, by, monotonic)
    jumps.keepLeap(toStored(leap, Date.parse(now), monotonic), now)
    return leap
  }

  private storeCourse(before: number, by: number, live: boolean): Course | undefined {
    const course = afterJump(this.course, before, by, live)
    if (course && course !== this.course) this.parts.jumps.keepCourse(course, iso(before + by))
    return course
  }

  private setLeap(leap: Leap): void {
    const trusted = this.trusted()
    this.leap = leap
    if (trusted && !this.trusted())
      this.parts.log.warn('clock jumped forward by a day or more: no age-based deletion for the next 24 hours')
  }
}

function* concatenated<T>(...all: Iterable<T>[]): Generator<T> {
  for (const each of all) yield* each
}
