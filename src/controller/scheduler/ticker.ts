import { Cron } from 'croner'
import { type Clock, iso, systemClock } from '../../kernel/clock.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import { faultWords } from '../../kernel/words.ts'

/** A background runner: one pass, repeated. */
export interface Runner {
  /** When there will be something to do, if known: a pass is made then, before the interval is over. */
  due?(): string | undefined
  enabled: boolean
  intervalSeconds: number
  /** The wall clock jumped by so many ms: shifts the times the runner holds in memory. */
  clockJumped?(by: number): void
  name: string
  /** One pass, until `signal` aborts: the controller stops then. What it returns is shown as the last result. */
  tick(now: string, signal: AbortSignal): unknown
}

interface RunnerStatus {
  enabled: boolean
  intervalSeconds: number
  lastDurationMs?: number
  lastError?: string
  lastResult?: unknown
  lastRunAt?: string
  name: string
  passes: number
  running: boolean
}

// Passes of a runner that always has something due are at least this far apart.
const MIN_DELAY_MS = 50
// A timer may fire a moment before its time.
const TIMER_SLACK_MS = 3

interface Entry {
  job?: Cron
  /** When its next pass is due, by the monotonic clock; ms. */
  nextAt: number
  runner: Runner
  status: RunnerStatus
}

/**
 * Runs the table of runners: at start, then each at its interval, never overlapping itself; a throwing pass is logged.
 * Intervals follow the monotonic clock. Croner is given one instant at a time, close to now: what it has to count never
 * depends on how far the wall clock jumped, and `clockJumped` arms every runner again.
 */
export class Ticker {
  private readonly clock: Clock
  private readonly ending = new AbortController()
  private readonly log: Log
  private readonly timers = new Map<string, NodeJS.Timeout>()
  private readonly passes = new Set<Promise<void>>()
  private table: Entry[] = []
  private started = false

  constructor(clock: Clock, log: Log) {
    this.clock = clock
    this.log = log
  }

  /** Takes runners into the table; before the start. */
  add(runners: readonly Runner[]): this {
    const entries = runners.map((runner) => ({
      nextAt: 0,
      runner,
      status: {
        enabled: runner.enabled,
        intervalSeconds: runner.intervalSeconds,
        name: runner.name,
        passes: 0,
        running: false,
      },
    }))
    this.table = [...this.table, ...entries]
    return this
  }

  start(): void {
    this.started = true
    for (const entry of this.enabled()) {
      void this.run(entry.runner.name)
      entry.nextAt = this.clock.monotonic() + entry.runner.intervalSeconds * 1000
      this.arm(entry)
    }
  }

  /** The wall clock jumped by so many ms: every runner is told, keeps its interval, and is asked again what is due. */
  clockJumped(by: number): void {
    for (const { runner } of this.table) runner.clockJumped?.(by)
    if (!this.started) return
    for (const entry of this.enabled()) {
      this.arm(entry)
      if (entry.runner.due && !entry.status.running) this.reschedule(entry.runner.name)
    }
  }

  /** One pass now; does nothing while the previous one still runs. Never throws: see the status. */
  run(name: string): Promise<void> {
    const entry = this.table.find(({ runner }) => runner.name === name)
    if (!entry || entry.status.running) return Promise.resolve()
    const pass = this.pass(entry.runner, entry.status).finally(() => this.passes.delete(pass))
    this.passes.add(pass)
    return pass
  }

  /** What a runner has to do may have changed: asks again when that is due. Does nothing before the start. */
  reschedule(name: string): void {
    const runner = this.table.find((entry) => entry.runner.name === name)?.runner
    clearTimeout(this.timers.get(name))
    this.timers.delete(name)
    const due = this.started && runner?.enabled ? this.dueOf(runner) : undefined
    if (!runner || due === undefined) return
    const wait = Math.max(Date.parse(due) - this.clock.now(), MIN_DELAY_MS)
    if (wait < runner.intervalSeconds * 1000)
      this.timers.set(
        name,
        setTimeout(() => void this.run(name), wait + TIMER_SLACK_MS),
      )
  }

  status(): RunnerStatus[] {
    return this.table.map(({ status }) => ({ ...status }))
  }

  /** No pass begins by itself any more, and the running ones are asked to end. */
  end(): void {
    this.ending.abort()
    this.started = false
    for (const { job } of this.table) job?.stop()
    for (const alarm of this.timers.values()) clearTimeout(alarm)
  }

  /** Resolves when the running passes are done, too. */
  async stop(): Promise<void> {
    this.end()
    await Promise.all(this.passes)
  }

  private dueOf(runner: Runner): string | undefined {
    try {
      return runner.due?.()
    } catch (e) {
      // For example, the database is unavailable: the next regular pass asks again.
      this.log.error('could not determine when a background runner is next due', {
        runner: runner.name,
        ...errorFields(e),
      })
      return undefined
    }
  }

  private enabled = (): Entry[] => this.table.filter(({ runner }) => runner.enabled)

  private arm(entry: Entry): void {
    entry.job?.stop()
    const wait = Math.max(entry.nextAt - this.clock.monotonic(), 0)
    // Croner reads the machine's own clock.
    entry.job = new Cron(new Date(systemClock.now() + wait), { allowPast: true }, () => this.wake(entry))
  }

  private wake(entry: Entry): void {
    if (!this.started) return
    const now = this.clock.monotonic()
    // Otherwise the wall clock was set forward while croner waited: it is too early.
    if (now >= entry.nextAt - TIMER_SLACK_MS) {
      const interval = entry.runner.intervalSeconds * 1000
      entry.nextAt = Math.max(entry.nextAt + interval, now + interval / 2)
      void this.run(entry.runner.name)
    }
    this.arm(entry)
  }

  private async pass(runner: Runner, status: RunnerStatus): Promise<void> {
    const began = this.clock.monotonic()
    status.running = true
    status.lastRunAt = iso(this.clock.now())
    try {
      status.lastResult = await runner.tick(status.lastRunAt, this.ending.signal)
      status.lastError = undefined
    } catch (e) {
      // One bad pass must not end the process or the passes after it.
      status.lastError = faultWords(e)
      this.log.error('a pass of a background runner failed; the next one tries again', {
        runner: runner.name,
        ...errorFields(e),
      })
    }
    status.running = false
    status.passes++
    status.lastDurationMs = Math.round(this.clock.monotonic() - began)
    if (runner.due) this.reschedule(runner.name)
  }
}
