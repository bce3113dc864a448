import type { Clock } from '../../kernel/clock.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import type { Severity } from '../../wire/health.ts'
import type { AgentJob } from '../../wire/recordings.ts'
import type { Report } from '../health/report.ts'
import type { Link } from '../link/link.ts'
import type { Spool } from '../spool/spool.ts'
import type { TakeState } from '../spool/state.ts'
import { Frontier } from './frontier.ts'
import { Lease } from './lease.ts'
import type { JobSettings } from './settings.ts'

/** What every part of a job's way needs. */
export interface JobContext {
  childEnv: NodeJS.ProcessEnv
  clock: Clock
  link: Link
  /** Where the device of a job is now; undefined when that cannot be told. */
  locate: (command: AgentJob['command']) => Promise<string | undefined>
  log: Log
  report: Report
  settings: JobSettings
  spool: Spool
  /** Aborted when the agent ends: what is not done waits on disk for the next start. */
  signal: AbortSignal
}

/** One job this agent owns: its durable state, its lease, its voice. */
export class OwnedJob {
  /** Other members still capture into the same file. */
  growing = false
  /** How far the take can be read; ends with the job's last frame. */
  readonly frontier = new Frontier()
  readonly lease: Lease
  /** What an earlier process left of a take that goes on: its frames, and when (monotonic ms) the last was written. */
  left: { frames: number; lastAt: number } | undefined
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
    this.#state = { ...this.#state, ...patch }
    // One after the other: they share the temporary file. Each writes the latest state.
    const write = this.#writing.then(() => this.#ctx.spool.save(this.#state))
    this.#writing = write.catch(() => undefined)
    try {
      await write
      return true
    } catch (e) {
      this.#ctx.log.error('job state not written', { jobId: this.id, status: this.#state.status, ...errorFields(e) })
      return false
    }
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
