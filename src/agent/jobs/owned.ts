import type { Clock } from '../../kernel/clock.ts'
import { isDiskFull } from '../../kernel/durable.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import type { Semaphore } from '../../kernel/semaphore.ts'
import type { Severity } from '../../wire/health.ts'
import type { AgentJob, JobProgress } from '../../wire/recordings.ts'
import type { Feeds } from '../capture/feeds.ts'
import type { Enhancer } from '../enhance/enhance.ts'
import type { Report } from '../health/report.ts'
import type { Link } from '../link/link.ts'
import type { RecorderCache } from '../spool/cache.ts'
import type { DiskGuard } from '../spool/guard.ts'
import type { Spool } from '../spool/spool.ts'
import type { TakeState } from '../spool/state.ts'
import type { Delivery } from './delivery.ts'
import { Frontier } from './frontier.ts'
import { Lease } from './lease.ts'
import { Progress } from './progress.ts'
import type { JobSettings } from './settings.ts'

/** What every part of a job's way needs. */
export interface JobContext {
  /** Takes over when the controller has a take: `release`. */
  cache: RecorderCache
  childEnv: NodeJS.ProcessEnv
  clock: Clock
  /** Encoders of takes that have ended; one that follows a capture needs no turn. */
  encoders: Semaphore
  enhancer: Enhancer
  /** Every open device. */
  feeds: Feeds
  guard: DiskGuard
  link: Link
  /** Where the device of a job is now; undefined when that cannot be told. */
  locate: (command: AgentJob['command']) => Promise<string | undefined>
  log: Log
  /** Every job this agent owns now. */
  owned: () => Iterable<OwnedJob>
  /** How many wait before they try something again. */
  pauses: { now: number }
  report: Report
  settings: JobSettings
  spool: Spool
  /** Aborted when the agent ends: what is not done waits on disk for the next start. */
  signal: AbortSignal
  /** Who may send now. */
  uploads: Semaphore
}

/** One job this agent owns: its durable state, its lease, its voice. */
export class OwnedJob {
  /** Its way to the controller, once it has begun. */
  delivery: Delivery | undefined
  /** Byte of the take's file up to which the disk has its blocks back. */
  givenBack = 0
  /** Other members still capture into the same file. */
  growing = false
  /** How far the take can be read; ends with the job's last frame. */
  readonly frontier = new Frontier()
  readonly lease: Lease
  /** What an earlier process left of a take that goes on: its frames, and when (monotonic ms) the last was written. */
  left: { frames: number; lastAt: number } | undefined
  readonly progress = new Progress()
  /** Makes what is captured so far outlive a power cut; throws what the disk throws. */
  secure: () => Promise<void> = async () => {}
  /** What the controller said last. */
  remote: AgentJob | undefined
  readonly #ctx: JobContext
  #state: TakeState
  #writing: Promise<unknown> = Promise.resolve()

  constructor(ctx: JobContext, state: TakeState) {
    this.#ctx = ctx
    this.#state = state
    this.lease = new Lease({
      link: ctx.link,
      jobId: state.job.id,
      pollSeconds: ctx.settings.pollSeconds,
      progress: () => this.#whereItIs(),
      tell: (severity, name, details) => this.tell(severity, name, details),
    })
  }

  get id(): string {
    return this.#state.job.id
  }

  get command(): AgentJob['command'] {
    return this.#state.job.command
  }

  get state(): Readonly<TakeState> {
    return this.#state
  }

  get takeFile(): string {
    return this.#ctx.spool.takeFile(this.id)
  }

  /** Changes the state and writes it. False when it could not be written: work goes on, the audio comes first. */
  async update(patch: Partial<TakeState>): Promise<boolean> {
    try {
      await this.#write(patch)
      return true
    } catch (e) {
      this.#logNotWritten(e)
      return false
    }
  }

  /** As `update`, but throws where the disk is full: there will be room again. */
  async note(patch: Partial<TakeState>): Promise<void> {
    try {
      await this.#write(patch)
    } catch (e) {
      if (isDiskFull(e)) throw e
      this.#logNotWritten(e)
    }
  }

  #logNotWritten(e: unknown): void {
    this.#ctx.log.error('job state not written', { jobId: this.id, status: this.#state.status, ...errorFields(e) })
  }

  #write(patch: Partial<TakeState>): Promise<void> {
    this.#state = { ...this.#state, ...patch }
    // One after the other: they share the temporary file. Each writes the latest state.
    const write = this.#writing.then(() => this.#ctx.spool.save(this.#state))
    this.#writing = write.catch(() => undefined)
    return write
  }

  #whereItIs(): JobProgress {
    const { format, fromFrame, toFrame } = this.#state
    const planned = this.command.durationSeconds * (format?.rate ?? 1)
    if (toFrame === undefined) this.progress.at('capturing', (100 * (this.frontier.frames - fromFrame)) / planned)
    return this.progress.now
  }

  /** Reports `agent.recording_job.<name>` about this job. */
  tell(severity: Severity, name: string, details: Record<string, unknown> = {}): void {
    const { id, recordingId } = this.#state.job
    const test = this.#state.test ? { source: 'test' } : {}
    this.#ctx.report({
      details: { ...details, ...test, jobId: id, recordingId },
      recordingId,
      severity,
      type: `agent.recording_job.${name}`,
    })
  }
}
