import { Cron } from 'croner'
import { type Clock, iso } from '../../kernel/clock.ts'
import { errorFields, type Log } from '../../kernel/log.ts'

/** A background runner: one pass, made again and again. */
export interface Runner {
  /** When there will be something to do, if that is known: a pass is made then, though the interval is not over. */
  due?(): string | undefined
  enabled: boolean
  intervalSeconds: number
  name: string
  /** One pass; what it returns is shown as the last result. */
  tick(now: string): unknown
}

export interface RunnerStatus {
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

// A pass that leaves work behind is followed by the next one, but not in a circle without breath.
const SOONEST_MS = 50
// A timer may fire a moment before its time.
const LATE_MS = 3

/** Runs the table of runners: at start, then each at its interval, never overlapping itself; a throwing pass is logged. */
export class Ticker {
  private readonly clock: Clock
  private readonly log: Log
  private readonly jobs: Cron[] = []
  private readonly alarms = new Map<string, NodeJS.Timeout>()
  private readonly passes = new Set<Promise<void>>()
  private readonly table: { runner: Runner; status: RunnerStatus }[]

  constructor(clock: Clock, log: Log, runners: readonly Runner[]) {
    this.clock = clock
    this.log = log
    this.table = runners.map((runner) => ({
      runner,
      status: {
        enabled: runner.enabled,
        intervalSeconds: runner.intervalSeconds,
        name: runner.name,
        passes: 0,
        running: false,
      },
    }))
  }

  start(): void {
    for (const { runner } of this.table.filter((entry) => entry.runner.enabled)) {
      void this.run(runner.name)
      const { intervalSeconds: interval } = runner
      // The pass of now is the first: without a start the second would come with the next second.
      const startAt = new Date(this.clock.now() + interval * 1000)
      this.jobs.push(new Cron('* * * * * *', { interval, protect: true, startAt }, () => this.run(runner.name)))
    }
  }

  /** One pass now; does nothing while the previous one still runs. Throws nothing: the status tells. */
  run(name: string): Promise<void> {
    const entry = this.table.find(({ runner }) => runner.name === name)
    if (!entry || entry.status.running) return Promise.resolve()
    const pass = this.pass(entry.runner, entry.status).finally(() => this.passes.delete(pass))
    this.passes.add(pass)
    return pass
  }

  /** What a runner has to do may have changed: asks again when that is due. Does nothing before the start. */
  heed(name: string): void {
    const runner = this.table.find((entry) => entry.runner.name === name)?.runner
    clearTimeout(this.alarms.get(name))
    this.alarms.delete(name)
    const due = this.jobs.length > 0 && runner?.enabled ? runner.due?.() : undefined
    if (!runner || due === undefined) return
    const wait = Math.max(Date.parse(due) - this.clock.now(), SOONEST_MS)
    if (wait < runner.intervalSeconds * 1000)
      this.alarms.set(
        name,
        setTimeout(() => void this.run(name), wait + LATE_MS),
      )
  }

  status(): RunnerStatus[] {
    return this.table.map(({ status }) => ({ ...status }))
  }

  /** No new pass begins; resolves when the running ones are done. */
  async stop(): Promise<void> {
    for (const job of this.jobs.splice(0)) job.stop()
    for (const alarm of this.alarms.values()) clearTimeout(alarm)
    await Promise.all(this.passes)
  }

  private async pass(runner: Runner, status: RunnerStatus): Promise<void> {
    const began = this.clock.monotonic()
    status.running = true
    status.lastRunAt = iso(this.clock.now())
    try {
      status.lastResult = await runner.tick(status.lastRunAt)
      status.lastError = undefined
    } catch (e) {
      // One bad pass must not end the process or the passes after it.
      status.lastError = e instanceof Error ? e.message : String(e)
      this.log.error('background runner failed', { runner: runner.name, ...errorFields(e) })
    }
    status.running = false
    status.passes++
    status.lastDurationMs = Math.round(this.clock.monotonic() - began)
    if (runner.due) this.heed(runner.name)
  }
}
