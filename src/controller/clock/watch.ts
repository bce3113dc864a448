import { type Clock, iso } from '../../kernel/clock.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import type { SteadyClock } from '../background/steady.ts'
import type { Audit } from '../edge/audit.ts'
import { systemActor } from '../edge/who.ts'
import type { ScheduleJumps } from '../schedules/jumps.store.ts'
import type { Db } from '../store/db.ts'
import type { Jump, JumpStore } from './jumps.store.ts'
import { isTrusted, kept, known, type Leap, leapOf, leapt } from './trust.rules.ts'

interface Parts {
  audit: Audit
  clock: Clock & Pick<SteadyClock, 'follow' | 'jump'>
  db: Db
  jumps: JumpStore
  log: Log
  schedules: ScheduleJumps
}

const EVERY_MS = 1000

/**
 * Watches the wall clock against the monotonic one. When it jumps, everything that stands for a span of time is moved along
 * in one transaction, before anything is judged by the new time; then whoever listens hears of it.
 */
export class ClockWatch {
  private readonly parts: Parts
  private readonly ending = new AbortController()
  private readonly listeners: ((by: number) => void)[] = []
  private leap: Leap | undefined
  private moving: Promise<void> = Promise.resolve()
  private timer: NodeJS.Timeout | undefined

  constructor(parts: Parts) {
    this.parts = parts
  }

  /** Hears of every jump, in ms, once the clock has followed it. */
  onJump(listener: (by: number) => void): void {
    this.listeners.push(listener)
  }

  /** Whether what is too old by the wall clock may be deleted. */
  trusted = (): boolean => isTrusted(this.leap, this.parts.clock.monotonic())

  /** At start: a clock that stands before the last thing that was written was put back while nobody watched. */
  begin(): void {
    const { clock, jumps } = this.parts
    const [now, monotonic, last] = [clock.now(), clock.monotonic(), jumps.lastKnown()]
    const before = jumps.leap()
    this.leap = before && known(before, now, monotonic)
    const by = last === undefined ? 0 : leapOf(now - last)
    if (by === 0 || last === undefined) return
    if (by < 0) this.carry({ before: iso(last), by, now: iso(now) })
    else this.remember(by, iso(now))
  }

  start(): void {
    this.timer = setInterval(() => void this.look(), EVERY_MS)
  }

  /** Follows a jump if there was one. Resolves when everything is moved; never rejects. */
  look(): Promise<void> {
    const { clock, log } = this.parts
    const by = clock.jump()
    if (by === 0) return this.moving
    const before = clock.now()
    try {
      this.carry({ before: iso(before), by, now: iso(before + by) })
    } catch (e) {
      // A full disk, say: the time stays as it was, and the next look tries again.
      log.error('The clock jumped, but the database could not be brought along.', { by, ...errorFields(e) })
      return this.moving
    }
    clock.follow(by)
    for (const listener of this.listeners) listener(by)
    return this.moving
  }

  async stop(): Promise<void> {
    clearInterval(this.timer)
    this.ending.abort()
    await this.moving
  }

  private carry(jump: Jump): void {
    const { audit, db, jumps, log, schedules } = this.parts
    const bySeconds = Math.round(jump.by / 1000)
    db.tx(() => {
      const moved = { ...jumps.moveNow(jump), schedules: schedules.move(jump) }
      this.remember(jump.by, jump.now)
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
    })
    log.warn('The clock of this machine jumped; leases, retries and sessions were moved along.', {
      before: jump.before,
      bySeconds,
      now: jump.now,
    })
    this.moving = this.moving.then(() => this.rest(jump))
  }

  private async rest(jump: Jump): Promise<void> {
    const { jumps, log } = this.parts
    await jumps
      .moveRest(jump, this.ending.signal)
      .catch((e: unknown) => log.error('Not everything was moved along with the clock.', errorFields(e)))
  }

  private remember(by: number, now: string): void {
    const { clock, jumps, log } = this.parts
    const monotonic = clock.monotonic()
    const trusted = this.trusted()
    this.leap = leapt(this.leap, by, monotonic)
    jumps.keepLeap(kept(this.leap, Date.parse(now), monotonic), now)
    if (trusted && !this.trusted())
      log.warn('The clock went forward by a day or more: nothing is deleted for its age in the next 24 hours.')
  }
}
