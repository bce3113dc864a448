import type { Clock } from '../../kernel/clock.ts'
import { isDiskFull } from '../../kernel/durable.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import type { Semaphore } from '../../kernel/semaphore.ts'
import type { Severity } from '../../wire/health.ts'
import type { AgentJob, JobProgress } from '../../wire/recordings.ts'
import type { SoundPrint } from '../../wire/soundreadings.ts'
import type { Feeds } from '../capture/feeds.ts'
import type { Ear } from '../ear/ear.ts'
import type { SoundPoster } from '../ear/poster.ts'
import type { Enhancer } from '../enhance/enhance.ts'
import type { Report } from '../health/report.ts'
import type { Link } from '../link/link.ts'
import type { RecorderCache } from '../spool/cache.ts'
import type { DiskGuard } from '../spool/guard.ts'
import type { Spool } from '../spool/spool.ts'
import type { TakeState } from '../spool/state.ts'
import { advance, type JobEvent } from './job.rules.ts'
import { Lease, Progress } from './lease.ts'
import type { JobSettings } from './settings.ts'
import { WriteWatermark } from './watermark.ts'

/** What all steps of handling a job need. */
export interface JobContext {
  /** Takes over delivered takes: `release`. */
  cache: RecorderCache
  childEnv: NodeJS.ProcessEnv
  clock: Clock
  /** Hears what open devices sound like; undefined when nobody measures them. */
  ear?: Ear | undefined
  /** Limits the encoders of finished takes; an encoder that follows a capture does not count. */
  encoders: Semaphore
  enhancer: Enhancer
  /** All open devices. */
  feeds: Feeds
  guard: DiskGuard
  link: Link
  /** The current name of a job's device; undefined when unknown. */
  locate: (command: Pick<AgentJob['command'], 'captureDevice' | 'captureSystemRef'>) => Promise<string | undefined>
  log: Log
  /** All jobs this agent owns now. */
  owned: () => Iterable<OwnedJob>
  /** How many are pausing before a retry. */
  pauses: { now: number }
  report: Report
  settings: JobSettings
  /** Tells the controller what takes sound like. */
  sounds?: Pick<SoundPoster, 'post'> | undefined
  spool: Spool
  /** Aborted when the agent stops: unfinished work waits on disk for the next start. */
  signal: AbortSignal
  /** Limits the uploads that run at once. */
  uploads: Semaphore
}

/** What the channels of a take sound like. */
export interface JobSound {
  prints: SoundPrint[]
  seconds: number
}

/** One job this agent owns: keeps its state on disk as events change it, holds its lease and reports about it. */
export class OwnedJob {
  readonly lease: Lease
  readonly progress = new Progress(() => this.lease.hurry())
  /** What its take sounded like, once it has ended; not kept over a restart. */
  sound: JobSound | undefined
  /** How far its take can be read. */
  readonly watermark = new WriteWatermark()
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

  /** Applies an event and saves the state. False if saving failed: work goes on, because the audio comes first. */
  async advance(event: JobEvent): Promise<boolean> {
    this.#state = advance(this.#state, event)
    try {
      await this.#write()
      return true
    } catch (e) {
      this.#logNotWritten(e)
      return false
    }
  }

  /** Like `advance`, but throws when the disk is full, so that the caller can try again once there is room. */
  async advanceOnDisk(event: JobEvent): Promise<void> {
    this.#state = advance(this.#state, event)
    try {
      await this.#write()
    } catch (e) {
      if (isDiskFull(e)) throw e
      this.#logNotWritten(e)
    }
  }

  #logNotWritten(e: unknown): void {
    this.#ctx.log.error('recording job state not written', {
      jobId: this.id,
      status: this.#state.status,
      ...errorFields(e),
    })
  }

  #write(): Promise<void> {
    // One write at a time, because they share the temporary file. Each writes the latest state.
    const write = this.#writing.then(() => this.#ctx.spool.save(this.#state))
    this.#writing = write.catch(() => undefined)
    return write
  }

  #whereItIs(): JobProgress {
    const { format, fromFrame, toFrame } = this.#state
    const planned = this.command.durationSeconds * (format?.rate ?? 1)
    if (toFrame === undefined) this.progress.at('capturing', (100 * (this.watermark.frames - fromFrame)) / planned)
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
