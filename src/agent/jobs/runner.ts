import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../kernel/clock.ts'
import { isDiskFull } from '../../kernel/durable.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import { Semaphore } from '../../kernel/semaphore.ts'
import type { AgentJob } from '../../wire/recordings.ts'
import { moment } from '../audio/marks.ts'
import { createBus } from '../capture/bus.ts'
import { Feeds } from '../capture/feeds.ts'
import type { Left } from '../capture/recorder.ts'
import type { Ear } from '../ear/ear.ts'
import type { SoundPoster } from '../ear/poster.ts'
import { createEnhancer, type Enhancer } from '../enhance/enhance.ts'
import { EMBEDDED_MODEL } from '../enhance/model.rules.ts'
import type { Report } from '../health/report.ts'
import type { Link } from '../link/link.ts'
import { type Disk, openDisk } from '../spool/disk.ts'
import type { TakeState } from '../spool/state.ts'
import { Delivery } from './delivery.ts'
import { finishTake, reportEnd } from './finish.ts'
import { claimedJob } from './job.rules.ts'
import { withAssignedMap } from './maps.ts'
import { type JobContext, OwnedJob } from './owned.ts'
import { recoverJob, stillWanted } from './recover.ts'
import { CaptureSession } from './session.ts'
import type { JobSettings } from './settings.ts'

const BARE_ENV = { LC_ALL: 'C', PATH: '/usr/local/bin:/usr/bin:/bin' }
const LONGEST_STOP_MS = 24_000
const LAST_MOMENTS_MS = 4000
const STOP_LOOK_MS = 50
/** A second upload uses the line while the first waits for its answer; more would only share it. */
const UPLOADS_AT_ONCE = 2
/** For finished takes: after an outage there may be many, and a capture may be running. */
const ENCODERS_AT_ONCE = 1

export interface JobRunnerDeps {
  /** Environment of capture and render programs: C locale, none of the agent's secrets. Default: a bare one. */
  childEnv?: NodeJS.ProcessEnv
  clock: Clock
  /** Default: below `workDir`, with room checked before a take but not during it. */
  disk?: Disk
  /** Hears what open devices sound like. Default: nobody does. */
  ear?: Ear
  /** Default: one with the embedded model. */
  enhancer?: Enhancer
  /** All open devices. Default: the runner's own, which nobody else listens to. */
  feeds?: Feeds
  link: Link
  /**
   * Current name of a job's device by its `captureSystemRef`, asked before every opening, also after a loss. Undefined: use
   * the name in the job. Default: always undefined.
   */
  locate?: JobContext['locate']
  log: Log
  report: Report
  /** Read for every take: may be changed while the runner works. */
  settings: JobSettings
  /** Tells the controller what takes sound like. Default: nobody does. */
  sounds?: Pick<SoundPoster, 'post'>
  /** Everything is kept below: `takes/<jobId>/` while owned, `kept/<jobId>/` when nobody took the audio. */
  workDir: string
}

export interface Activity {
  capturing: { frames: number; recordingId: string }[]
  delivering: number
}

/** Owns every take on this machine, from the claim to the accepted upload. */
export interface JobRunner {
  /** Picks up what an earlier process left. Call once, before the first claim; resolves when all of it is owned. */
  recover(): Promise<void>
  /**
   * Starts one capture for the jobs of one claim, ignoring jobs already owned. Resolves once they are on disk, where other
   * programs see them; it does not wait for the capture.
   */
  accept(jobs: AgentJob[]): Promise<void>
  /** Delivers a take again that the controller had, and lost; resolves once that is on disk. */
  deliverAgain(state: TakeState): Promise<void>
  /** How many more captures may start; uploads do not count. */
  freeCapacity(): number
  setCapacity(maxConcurrentRecordings: number): void
  /** Calls when a capture has ended or the capacity has changed; returns a function that unsubscribes. */
  onFreed(listener: () => void): () => void
  /** IDs of all jobs still owned, or whose takes are damaged and cannot be moved, for the claim. */
  holding(): string[]
  /** Whether a capture is running. */
  recording(): boolean
  /** The running captures with their frames so far, and the number of takes being delivered. */
  activity(): Activity
  /** Resolves when no job is owned any more. */
  idle(): Promise<void>
  /** Finalizes running takes, allows `stopGraceSeconds` for delivery and leaves the rest on disk. Takes under 30 s. */
  stop(): Promise<void>
}

/** Creates the directories; throws what the disk throws. */
export function createJobRunner(deps: JobRunnerDeps): JobRunner {
  return new Runner(
    deps,
    deps.disk ?? openDisk({ ...deps, keepUploaded: deps.settings.keepUploaded, surely: deps.clock.now }),
  )
}

/** A job of an earlier process that is to be captured. `left`: what was captured already, to be continued. */
interface Unfinished {
  job: OwnedJob
  left: Left | undefined
}

/** An owned job and its delivery to the controller. */
interface Held {
  delivery: Delivery
  job: OwnedJob
}

class Runner implements JobRunner {
  readonly #abort = new AbortController()
  readonly #ctx: JobContext
  readonly #jobs = new Map<string, Held>()
  readonly #sessions = new Set<CaptureSession>()
  /** Jobs whose damaged takes are still in their place: begun again, they would touch what is left of the audio. */
  readonly #stuck = new Set<string>()
  readonly #waiting = new Set<() => void>()
  readonly #work = new Set<Promise<void>>()
  #capacity: number
  #starting = 0
  #stopping = false

  constructor({ workDir: _, ...deps }: JobRunnerDeps, disk: Disk) {
    const defaults = { childEnv: BARE_ENV, locate: async () => undefined }
    const { childEnv: env, settings } = { ...defaults, ...deps }
    const enhancer =
      deps.enhancer ??
      createEnhancer({ command: settings.renderCommand, env, model: EMBEDDED_MODEL, report: deps.report })
    const turns = { encoders: new Semaphore(ENCODERS_AT_ONCE), uploads: new Semaphore(UPLOADS_AT_ONCE) }
    const owned = () => this.#owned()
    const pauses = { now: 0 }
    const feeds = deps.feeds ?? new Feeds({ bus: createBus(), clock: deps.clock, settings })
    this.#ctx = { ...defaults, ...deps, ...disk, ...turns, enhancer, feeds, owned, pauses, signal: this.#abort.signal }
    this.#capacity = deps.settings.maxConcurrentRecordings
  }

  async accept(jobs: AgentJob[]): Promise<void> {
    if (this.#stopping) return
    const now = this.#ctx.clock.now()
    const unknown = jobs.filter(({ id }) => !this.#jobs.has(id) && !this.#stuck.has(id))
    const fresh = unknown.map((job) => this.#own(claimedJob(job, now, moment())))
    if (fresh.length === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#track(this.#begin(fresh, resolve))
    await promise
  }

  async deliverAgain(state: TakeState): Promise<void> {
    // Left where it is it would be taken for delivered at the next start, and asked for once more.
    if (this.#stopping || this.#jobs.has(state.job.id)) return
    const job = this.#own(state)
    await job.advance({ type: 'offered' })
    job.tell('info', 'delivered_again')
    this.#track(this.#finish(job))
  }

  freeCapacity(): number {
    return this.#stopping ? 0 : Math.max(0, this.#capacity - this.#starting - this.#sessions.size)
  }

  setCapacity(maxConcurrentRecordings: number): void {
    this.#capacity = maxConcurrentRecordings
    this.#freed()
  }

  onFreed(listener: () => void): () => void {
    this.#waiting.add(listener)
    return () => void this.#waiting.delete(listener)
  }

  #freed(): void {
    for (const listener of this.#waiting) listener()
  }

  holding(): string[] {
    return [...this.#jobs.keys(), ...this.#stuck]
  }

  recording(): boolean {
    return this.#sessions.size > 0
  }

  activity(): Activity {
    const jobs = this.#owned()
    const capturing = jobs.filter((job) => job.state.status === 'capturing')
    return {
      capturing: capturing.map(({ state, watermark }) => ({
        frames: watermark.frames,
        recordingId: state.job.recordingId,
      })),
      delivering: jobs.filter((job) => ['captured', 'uploading'].includes(job.state.status)).length,
    }
  }

  async idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work)
  }

  async recover(): Promise<void> {
    const { log, report, spool } = this.#ctx
    const found = await spool.load()
    const unreadable = (path: string) =>
      report({ details: { path }, severity: 'critical', type: 'agent.recording_job.state_unreadable' })
    found.kept.forEach(unreadable)
    for (const { error, name, path } of found.stuck) {
      log.error('take of an earlier run can neither be read nor moved: check the disk of the spool', {
        path,
        ...errorFields(error),
      })
      unreadable(path)
      this.#stuck.add(name)
    }
    const waiting: Unfinished[] = []
    for (const state of found.states) {
      const job = this.#own(state)
      const recovered = await recoverJob(this.#ctx, job)
      if (recovered.next === 'capture') waiting.push({ job, left: recovered.left })
      else if (recovered.next !== 'finish') {
        this.#jobs.delete(job.id)
        if (recovered.next === 'stuck') this.#stuck.add(job.id)
      } else this.#track(this.#finish(job))
    }
    for (const group of byGroup(waiting)) this.#track(this.#resume(group))
  }

  async stop(): Promise<void> {
    this.#stopping = true
    for (const session of this.#sessions) session.stop()
    const { stopGraceSeconds } = this.#ctx.settings
    const ended = new AbortController()
    const limit = sleep(Math.min(LONGEST_STOP_MS, stopGraceSeconds * 1000), undefined, { signal: ended.signal })
    await Promise.race([this.idle(), limit, this.#onlyRetriesLeft(ended.signal)])
    ended.abort()
    limit.catch(() => undefined)
    this.#abort.abort()
    for (const job of this.#owned()) job.lease.stop()
    await this.#settled()
  }

  /** Resolves when all that is left is pausing before retries, which can wait for the next start as well. */
  async #onlyRetriesLeft(signal: AbortSignal): Promise<void> {
    const waits = ({ state }: OwnedJob) => ['uploading', 'uploaded', 'failed', 'cancelled'].includes(state.status)
    while (!signal.aborted) {
      const ended = this.#sessions.size === 0 && this.#starting === 0 && this.#owned().every(waits)
      if (ended && this.#ctx.pauses.now >= this.#jobs.size) return
      // Rejects only when `signal` ends the wait.
      await sleep(STOP_LOOK_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Aborted work ends within moments, but a hanging disk must not make the stop hang. */
  async #settled(): Promise<void> {
    const ended = new AbortController()
    const limit = sleep(LAST_MOMENTS_MS, undefined, { signal: ended.signal }).catch(() => undefined)
    await Promise.race([Promise.all([this.idle(), ...[...this.#sessions].map((s) => s.done)]), limit])
    ended.abort()
  }

  #own(state: TakeState): OwnedJob {
    const job = new OwnedJob(this.#ctx, state)
    this.#jobs.set(job.id, { delivery: new Delivery(this.#ctx, job), job })
    return job
  }

  #owned(): OwnedJob[] {
    return [...this.#jobs.values()].map(({ job }) => job)
  }

  #deliveryOf(job: OwnedJob): Delivery {
    return this.#jobs.get(job.id)!.delivery
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((e) => {
        if (!this.#abort.signal.aborted) this.#ctx.log.error('recording job failed unexpectedly', errorFields(e))
      })
      .finally(() => this.#work.delete(tracked))
    this.#work.add(tracked)
  }

  /** State on disk first, heartbeat second: a confirmed job is one that survives a crash. */
  async #begin(jobs: OwnedJob[], noted: () => void): Promise<void> {
    this.#starting++
    const ready: OwnedJob[] = []
    try {
      for (const job of jobs) if (await this.#persist(job)) ready.push(job)
      noted()
      await Promise.all(ready.map((job) => withAssignedMap(this.#ctx, job)))
    } finally {
      noted()
      this.#starting--
      if (ready.length > 0) this.#capture(ready)
      else this.#freed()
    }
  }

  async #persist(job: OwnedJob): Promise<boolean> {
    try {
      if (await this.#ctx.spool.create(job.state)) return true
      this.#ctx.log.error('recording job is already on disk', { jobId: job.id })
      this.#jobs.delete(job.id)
      return false
    } catch (e) {
      job.tell('critical', isDiskFull(e) ? 'disk_space_insufficient' : 'capture_start_failed', { error: String(e) })
      const reason = isDiskFull(e) ? 'insufficient_capture_disk_space' : 'job_state_not_written'
      await job.advance({ type: 'failed', reason })
      this.#track(this.#finish(job))
      return false
    }
  }

  #capture(jobs: OwnedJob[], left?: Left): void {
    for (const job of jobs) {
      job.lease.start()
      this.#deliveryOf(job).start()
    }
    const running = [...this.#sessions].find((s) => jobs.some((job) => s.shares(job.command)))
    if (running && jobs.every((job) => running.canJoin(job.command))) {
      for (const job of jobs) running.join(job)
      return
    }
    // The running capture's format is not known yet; once it is, the device may well be shared.
    if (running && !running.heard) this.#track(running.settled().then(() => this.#capture(jobs, left)))
    else this.#open(jobs, left)
  }

  #open(jobs: OwnedJob[], left: Left | undefined): void {
    const onEnded = (job: OwnedJob) => {
      if (job.state.status !== 'claimed') this.#track(this.#finish(job))
    }
    const session = new CaptureSession(this.#ctx, { jobs, left, onEnded })
    this.#sessions.add(session)
    const gone = () => {
      this.#sessions.delete(session)
      this.#freed()
    }
    this.#track(session.done.then(gone))
    session.start()
    if (this.#stopping) session.stop()
  }

  async #finish(job: OwnedJob): Promise<void> {
    const { status } = job.state
    if (status === 'failed' || status === 'cancelled') await reportEnd(this.#ctx, job, this.#deliveryOf(job))
    else {
      if (status !== 'uploaded') job.lease.start()
      await finishTake(this.#ctx, job, this.#deliveryOf(job))
    }
    this.#jobs.delete(job.id)
  }

  /** Jobs claimed by an earlier process: takes in progress go on at once, others begin if the controller still wants them. */
  async #resume(group: Unfinished[]): Promise<void> {
    const [running, waiting] = [group.filter(({ left }) => left), group.filter(({ left }) => !left)]
    // They must not wait for an answer about other members of their group: their device is opened now.
    if (running.length > 0 && !this.#stopping) this.#capture(jobsOf(running), running[0]!.left)
    const wanted: OwnedJob[] = []
    for (const job of jobsOf(waiting)) {
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

const jobsOf = (unfinished: Unfinished[]): OwnedJob[] => unfinished.map(({ job }) => job)

function byGroup(jobs: Unfinished[]): Unfinished[][] {
  const groups = new Map<string, Unfinished[]>()
  for (const one of jobs) {
    const key = one.job.command.captureGroupId ?? one.job.id
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  return [...groups.values()]
}
