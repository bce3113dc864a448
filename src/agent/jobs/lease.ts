import { setTimeout as sleep } from 'node:timers/promises'
import type { Severity } from '../../wire/health.ts'
import { type AgentJob, JOB_STAGES, type JobProgress } from '../../wire/recordings.ts'
import { type Link, LinkError } from '../link/link.ts'

export interface LeaseDeps {
  jobId: string
  link: Pick<Link, 'jobHeartbeat' | 'readJob' | 'term'>
  pollSeconds: number
  /** The job's progress, sent with every heartbeat. */
  progress: () => JobProgress
  tell(severity: Severity, name: string, details?: Record<string, unknown>): void
}

/** A lease lasts half a minute: renewed well within that whatever pace is set, and no controller waits longer. */
const SLOWEST_SECONDS = 10
/** Of a second: what a controller that waited may be early by its clock. */
const NEARLY_MS = 900
const ENDED: AgentJob['status'][] = ['cancelled', 'completed', 'failed']

/** The take goes on (ADR-0009), so whether it is to end must still be heard. */
const ranOut = ({ failureReason, status }: AgentJob): boolean =>
  status === 'failed' && failureReason === 'lease_expired'

/** Whether the controller will say nothing more about the job. */
const isOver = (job: AgentJob): boolean => ENDED.includes(job.status) && !ranOut(job)

/** A job's progress. It never goes back, neither in stage nor in percent: repeated work is not reported. */
export class Progress {
  #now: JobProgress = { percent: 0, stage: 'capturing' }
  readonly #nextStage: () => void

  /** `nextStage` is called with each new stage. */
  constructor(nextStage: () => void = () => {}) {
    this.#nextStage = nextStage
  }

  get now(): JobProgress {
    return this.#now
  }

  at(stage: JobProgress['stage'], percent: number): void {
    const ahead = JOB_STAGES.indexOf(stage) - JOB_STAGES.indexOf(this.#now.stage)
    if (ahead < 0) return
    const bounded = Math.min(100, Math.max(0, percent))
    this.#now = { percent: ahead > 0 ? bounded : Math.max(this.#now.percent, bounded), stage }
    if (ahead > 0) this.#nextStage()
  }
}

/** Renews a job's lease from the claim to the accepted upload (ADR-0009), and hears what the controller wants. */
export class Lease {
  readonly #deps: LeaseDeps
  /** Whether the controller holds heartbeats open: a stop is heard at once then, and they need not be quick. */
  #held = false
  #latest: AgentJob | undefined
  /** Ends the wait at the controller. */
  #hurry = new AbortController()
  readonly #stop = new AbortController()
  #listener: (job: AgentJob | 'gone') => void = () => {}
  #outage = false
  #started = false
  /** Of the controller whose job this is. */
  readonly #term: number

  constructor(deps: LeaseDeps) {
    this.#deps = deps
    this.#term = deps.link.term?.() ?? 0
  }

  /** Called with every answer; `gone` when the controller no longer knows the job. */
  listen(listener: (job: AgentJob | 'gone') => void): void {
    this.#listener = listener
  }

  /** Sends the first heartbeat at once, which confirms the claim: the job's state must be on disk by then. */
  start(): void {
    if (this.#started) return
    this.#started = true
    void this.#run()
  }

  stop(): void {
    this.#stop.abort()
  }

  /** There is news that the controller should hear now: the heartbeat it holds open is sent anew. */
  hurry(): void {
    this.#hurry.abort()
  }

  /** What the controller said last. */
  get latest(): AgentJob | undefined {
    return this.#latest
  }

  get #pace(): number {
    return Math.min(this.#deps.pollSeconds, SLOWEST_SECONDS)
  }

  /** How long a heartbeat may stay open, seconds: while sound is captured there is nothing to tell but that. */
  get #waitSeconds(): number {
    return this.#held && this.#deps.progress().stage === 'capturing' ? SLOWEST_SECONDS : Math.floor(this.#pace)
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      const asked = performance.now()
      const answer = await this.#ask()
      if (signal.aborted) return
      if (answer && answer !== 'gone') this.#latest = answer
      if (answer) this.#listener(answer)
      if (answer === 'gone' || (answer && isOver(answer))) return
      // Waits for the rest of the pace if the controller did not. Rejects only when stopped, which the loop checks.
      const left = this.#pace * 1000 - (performance.now() - asked)
      await sleep(Math.max(0, left), undefined, { signal }).catch(() => undefined)
    }
  }

  /** One heartbeat. A missing answer stops nothing, and is reported once per outage. */
  async #ask(): Promise<AgentJob | 'gone' | undefined> {
    try {
      const job = await this.#heartbeat()
      if (this.#outage) this.#deps.tell('info', 'control_plane_recovered')
      this.#outage = false
      return job
    } catch (e) {
      if (this.#stop.signal.aborted) return undefined
      if (e instanceof LinkError && e.status === 404 && !this.#isOfEarlierTerm()) return 'gone'
      if (!this.#outage) {
        const status = e instanceof LinkError ? e.status : undefined
        this.#deps.tell('warning', 'control_plane_failed', { error: String(e), status: status ?? null })
      }
      this.#outage = true
      return undefined
    }
  }

  /**
   * Another box took over since: that it does not know the job may only mean that its database ends a moment before. The take
   * goes on to its end, and is kept when it is not wanted.
   */
  #isOfEarlierTerm(): boolean {
    return (this.#deps.link.term?.() ?? 0) > this.#term
  }

  /**
   * Waits at the controller, so that a stop arrives at once. For a job that is over, reading it tells why; one whose lease
   * ran out has none to renew, and is only read.
   */
  async #heartbeat(): Promise<AgentJob> {
    const { jobId, link, progress } = this.#deps
    if (this.#latest && ranOut(this.#latest)) return link.readJob(jobId)
    this.#hurry = new AbortController()
    const [seconds, asked] = [this.#waitSeconds, performance.now()]
    const wait = { seconds, signal: AbortSignal.any([this.#stop.signal, this.#hurry.signal]) }
    try {
      const job = await link.jobHeartbeat(jobId, progress(), wait)
      this.#held ||= seconds > 0 && performance.now() - asked >= seconds * NEARLY_MS
      return job
    } catch (e) {
      if (this.#hurry.signal.aborted && !this.#stop.signal.aborted) return this.#heartbeat()
      if (e instanceof LinkError && e.status === 409) return link.readJob(jobId)
      throw e
    }
  }
}
