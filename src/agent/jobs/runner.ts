import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../kernel/clock.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import type { AgentJob } from '../../wire/recordings.ts'
import type { Report } from '../health/report.ts'
import type { Link } from '../link/link.ts'
import { isDiskFull } from '../spool/durable.ts'
import { openSpool, type Spool } from '../spool/spool.ts'
import type { TakeState } from '../spool/state.ts'
import { finishTake, reportEnd } from './finish.ts'
import { type JobContext, OwnedJob } from './owned.ts'
import { recoverJob, stillWanted } from './recover.ts'
import { CaptureSession } from './session.ts'
import type { JobSettings } from './settings.ts'

const BARE_ENV = { LC_ALL: 'C', PATH: '/usr/local/bin:/usr/bin:/bin' }
const LONGEST_STOP_MS = 24_000
const LAST_MOMENTS_MS = 4000

export interface JobRunnerDeps {
  /** Environment of capture and render programs: C locale, none of the agent's secrets. Default: a bare one. */
  childEnv?: NodeJS.ProcessEnv
  clock: Clock
  link: Link
  /**
   * Where the device of a job is now, from `captureSystemRef`; asked before every opening, also after a loss.
   * Undefined: as the job says. Default: never known.
   */
  locate?: (command: AgentJob['command']) => Promise<string | undefined>
  log: Log
  report: Report
  /** Read anew for every take: may be changed while it runs. */
  settings: JobSettings
  /** Everything is kept below: `takes/<jobId>/` while owned, `kept/<jobId>/` when nobody took the audio. */
  workDir: string
}

/** Owner of every take on this machine, from the claim to the accepted upload. */
export interface JobRunner {
  /** Takes up again what an earlier process left behind. Call once, before the first claim; resolves when all is held. */
  recover(): Promise<void>
  /** The jobs of one claim: one capture. Returns at once; jobs already held are ignored. */
  accept(jobs: AgentJob[]): void
  /** Captures that may still start; uploads do not count. */
  freeCapacity(): number
  setCapacity(maxConcurrentRecordings: number): void
  /** Ids of the jobs still owned, for the claim. */
  holding(): string[]
  /** Whether a capture runs now. */
  recording(): boolean
  /** Resolves when nothing is owned any more. */
  idle(): Promise<void>
  /** Finalizes running takes, gives render and upload `stopGraceSeconds`, leaves the rest on disk. Within 30 s. */
  stop(): Promise<void>
}

/** Makes the directories; throws what the disk throws. */
export function createJobRunner(deps: JobRunnerDeps): JobRunner {
  return new Runner(deps, openSpool(deps.workDir))
}

class Runner implements JobRunner {
  readonly #abort = new AbortController()
  readonly #ctx: JobContext
  readonly #jobs = new Map<string, OwnedJob>()
  readonly #sessions = new Set<CaptureSession>()
  readonly #work = new Set<Promise<void>>()
  #capacity: number
  #starting = 0
  #stopping = false

  constructor({ workDir: _, ...deps }: JobRunnerDeps, spool: Spool) {
    const defaults = { childEnv: BARE_ENV, locate: async () => undefined }
    this.#ctx = { ...defaults, ...deps, signal: this.#abort.signal, spool }
    this.#capacity = deps.settings.maxConcurrentRecordings
  }

  accept(jobs: AgentJob[]): void {
    if (this.#stopping) return
    const fresh = jobs.filter((job) => !this.#jobs.has(job.id)).map((job) => this.#own(claimed(job, this.#ctx.clock)))
    if (fresh.length > 0) this.#track(this.#begin(fresh))
  }

  freeCapacity(): number {
    return this.#stopping ? 0 : Math.max(0, this.#capacity - this.#starting - this.#sessions.size)
  }

  setCapacity(maxConcurrentRecordings: number): void {
    this.#capacity = maxConcurrentRecordings
  }

  holding(): string[] {
    return [...this.#jobs.keys()]
  }

  recording(): boolean {
    return this.#sessions.size > 0
  }

  async idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work)
  }

  async recover(): Promise<void> {
    const { report, spool } = this.#ctx
    const found = await spool.load()
    for (const path of found.kept)
      report({ details: { path }, severity: 'critical', type: 'agent.recording_job.state_unreadable' })
    const waiting: OwnedJob[] = []
    for (const state of found.states) {
      const job = this.#own(state)
      const next = await recoverJob(this.#ctx, job)
      if (next === 'capture') waiting.push(job)
      else if (next === 'kept') this.#jobs.delete(job.id)
      else this.#track(this.#finish(job))
    }
    for (const group of byGroup(waiting)) this.#track(this.#resume(group))
  }

  async stop(): Promise<void> {
    this.#stopping = true
    for (const session of this.#sessions) session.stop()
    const { stopGraceSeconds } = this.#ctx.settings
    const ended = new AbortController()
    const limit = sleep(Math.min(LONGEST_STOP_MS, stopGraceSeconds * 1000), undefined, { signal: ended.signal })
    await Promise.race([this.idle(), limit])
    ended.abort()
    limit.catch(() => undefined)
    this.#abort.abort()
    for (const job of this.#jobs.values()) job.lease.stop()
    await this.#settled()
  }

  /** What the abort ends, ends within moments; a disk that hangs must not hang the stop. */
  async #settled(): Promise<void> {
    const ended = new AbortController()
    const limit = sleep(LAST_MOMENTS_MS, undefined, { signal: ended.signal }).catch(() => undefined)
    await Promise.race([Promise.all([this.idle(), ...[...this.#sessions].map((s) => s.done)]), limit])
    ended.abort()
  }

  #own(state: TakeState): OwnedJob {
    const job = new OwnedJob(this.#ctx, state)
    this.#jobs.set(job.id, job)
    return job
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((e) => {
        if (!this.#abort.signal.aborted) this.#ctx.log.error('recording job', errorFields(e))
      })
      .finally(() => this.#work.delete(tracked))
    this.#work.add(tracked)
  }

  /** State first, heartbeat after: a job that is confirmed is a job that survives a crash. */
  async #begin(jobs: OwnedJob[]): Promise<void> {
    this.#starting++
    const ready: OwnedJob[] = []
    try {
      for (const job of jobs) if (await this.#persist(job)) ready.push(job)
    } finally {
      this.#starting--
      if (ready.length > 0) this.#capture(ready)
    }
  }

  async #persist(job: OwnedJob): Promise<boolean> {
    try {
      if (await this.#ctx.spool.create(job.state)) return true
      this.#ctx.log.error('job is on disk already', { jobId: job.id })
      this.#jobs.delete(job.id)
      return false
    } catch (e) {
      job.tell('critical', isDiskFull(e) ? 'disk_space_insufficient' : 'capture_start_failed', { error: String(e) })
      await job.update({
        reason: isDiskFull(e) ? 'insufficient_capture_disk_space' : 'job_state_not_written',
        status: 'failed',
      })
      this.#track(this.#finish(job))
      return false
    }
  }

  #capture(jobs: OwnedJob[]): void {
    for (const job of jobs) job.lease.start()
    const kin = [...this.#sessions].find((s) => jobs.some((job) => s.shares(job.command)))
    if (kin) {
      if (jobs.every((job) => kin.canJoin(job.command))) for (const job of jobs) kin.join(job)
      // Its device is open, or about to be: opened twice it would be lost to both.
      else this.#track(kin.settled().then(() => this.#capture(jobs)))
      return
    }
    const session = new CaptureSession(this.#ctx, jobs, (job) => {
      if (job.state.status !== 'claimed') this.#track(this.#finish(job))
    })
    this.#sessions.add(session)
    this.#track(session.done.then(() => void this.#sessions.delete(session)))
    session.start()
    if (this.#stopping) session.stop()
  }

  async #finish(job: OwnedJob): Promise<void> {
    const { status } = job.state
    if (status === 'failed' || status === 'cancelled') await reportEnd(this.#ctx, job)
    else {
      if (status !== 'uploaded') job.lease.start()
      await finishTake(this.#ctx, job)
    }
    this.#jobs.delete(job.id)
  }

  /** Claimed by an earlier process: a running take goes on at once, others begin if the controller still wants them. */
  async #resume(jobs: OwnedJob[]): Promise<void> {
    const wanted: OwnedJob[] = jobs.filter((job) => job.left !== undefined)
    // Who was to begin together with them must not wait for an answer: their device is opened now.
    if (wanted.length > 0 && !this.#stopping) this.#capture(wanted.splice(0))
    for (const job of jobs.filter((job) => job.left === undefined)) {
      const next = await stillWanted(this.#ctx, job)
      if (next === 'capture') wanted.push(job)
      else if (next === 'report') await this.#finish(job)
      else {
        await this.#ctx.spool.remove(job.id)
        this.#jobs.delete(job.id)
      }
    }
    if (wanted.length > 0 && !this.#stopping) this.#capture(wanted)
  }
}

const claimed = (job: AgentJob, clock: Clock): TakeState => ({
  claimedAt: clock.now(),
  fromFrame: 0,
  gaps: [],
  job,
  status: 'claimed',
  version: 1,
})

function byGroup(jobs: OwnedJob[]): OwnedJob[][] {
  const groups = new Map<string, OwnedJob[]>()
  for (const job of jobs) {
    const key = job.command.captureGroupId ?? job.id
    groups.set(key, [...(groups.get(key) ?? []), job])
  }
  return [...groups.values()]
}
