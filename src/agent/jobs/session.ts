import * as fs from 'node:fs/promises'
import { sizeOf } from '../../kernel/durable.ts'
import { errorFields } from '../../kernel/log.ts'
import type { AgentJob } from '../../wire/recordings.ts'
import { fileFormat, type PcmFormat } from '../audio/format.rules.ts'
import { type Gap, type Left, Recorder, type Resume } from '../capture/recorder.ts'
import type { Want } from '../capture/slot.ts'
import { channelSpan } from '../render/plan.rules.ts'
import type { Room } from '../spool/guard.ts'
import { type Need, neededBytes } from '../spool/room.rules.ts'
import { withGap } from './job.rules.ts'
import type { JobContext, OwnedJob } from './owned.ts'
import { TakeSound } from './takesound.ts'
import { wantOf } from './want.ts'

interface Member {
  ended: boolean
  /** The member's first frame within the take. */
  fromFrame: number
  job: OwnedJob
  /** Why the controller wants it to end; undefined while it does not. */
  stopReason: string | undefined
}

interface SessionOptions {
  jobs: OwnedJob[]
  /** What an earlier process left of a take that is continued. */
  left: Left | undefined
  /** Called once per member: `captured`, or `failed`/`cancelled` without audio, or unchanged when the agent stops. */
  onEnded: (job: OwnedJob) => void
}

const STOPPED = 'controller_stop_requested'

/**
 * One capture of one device for all jobs of a claim: as many channels as the widest member needs, as long as the longest.
 * Each member ends independently and is delivered on its own from there.
 */
export class CaptureSession {
  /** Resolves when the device is released and every member was passed to `onEnded`. Never rejects. */
  readonly done: Promise<void>
  readonly #ctx: JobContext
  readonly #left: Left | undefined
  readonly #members: Member[]
  readonly #onEnded: (job: OwnedJob) => void
  #ending: Promise<unknown> = Promise.resolve()
  #format: PcmFormat | undefined
  #gaps: Gap[] = []
  readonly #heard = Promise.withResolvers<void>()
  #noting: Promise<void> = Promise.resolve()
  /** Some gaps are not in any state on disk yet. */
  #unnoted = false
  #recorder: Recorder | undefined
  #room: Room | undefined
  #settle: () => void
  #sound: TakeSound | undefined
  #stopping = false

  constructor(ctx: JobContext, { jobs, left, onEnded }: SessionOptions) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.done = promise
    this.#settle = resolve
    this.#ctx = ctx
    this.#left = left
    this.#onEnded = onEnded
    this.#members = jobs.map((job) => ({ ended: false, fromFrame: job.state.fromFrame, job, stopReason: undefined }))
    // For a take that is continued: what an earlier process knew about it.
    const { format, gaps } = jobs[0]!.state
    this.#format = format
    this.#gaps = gaps
  }

  start(): void {
    for (const member of this.#members) this.#obey(member)
    void this.#run()
      .catch((e) => {
        this.#ctx.log.error('capture session failed unexpectedly', errorFields(e))
        return this.#endAll(this.#recorder?.frames ?? this.#framesLeft, 'agent_error')
      })
      .then(() => this.#sound?.stop())
      .then(() => this.#room?.leave())
      .then(this.#settle)
  }

  /** The agent is stopping: finalizes every take with what it has. */
  stop(): void {
    this.#stopping = true
    this.#recorder?.stop()
  }

  /** Whether this capture has, or will have, the device open that a job of the same group needs. */
  shares({ captureDevice, captureGroupId }: AgentJob['command']): boolean {
    const first = this.#members[0]!.job.command
    return (
      captureGroupId !== undefined && captureGroupId === first.captureGroupId && captureDevice === first.captureDevice
    )
  }

  /** Whether the device's format is known. */
  get heard(): boolean {
    return this.#format !== undefined
  }

  /** Resolves once the device's format is known, or the capture has ended without one. */
  async settled(): Promise<void> {
    if (!this.heard) await Promise.race([this.#heard.promise, this.done])
  }

  /** Whether a job claimed later can be cut from this capture, since a device is opened only once. */
  canJoin(command: AgentJob['command']): boolean {
    return (
      this.shares(command) &&
      command.captureSampleRate === this.#members[0]!.job.command.captureSampleRate &&
      this.#format !== undefined &&
      this.#active.length > 0 &&
      this.#recorder?.running === true &&
      channelSpan(command) <= this.#format.channels
    )
  }

  /** Adds a late member; its take begins with the current frame. */
  join(job: OwnedJob): void {
    const { rate } = this.#format!
    const fromFrame = this.#recorder!.frames
    const seconds = fromFrame / rate + job.command.durationSeconds
    this.#recorder!.extendTo(seconds)
    this.#room?.grow(this.#needed([job.command], this.#format!, seconds).rawBytes)
    const member: Member = { ended: false, fromFrame, job, stopReason: undefined }
    job.watermark.writtenBy(async () => this.#recorder?.secure())
    this.#members.push(member)
    this.#later(() => this.#share(job, { fromFrame }))
    this.#obey(member)
  }

  /** Frames left by an earlier process: whatever becomes of this capture, they are audio. */
  get #framesLeft(): number {
    return this.#left?.frames ?? 0
  }

  get #active(): Member[] {
    return this.#members.filter((m) => !m.ended)
  }

  async #run(): Promise<void> {
    const ready = await this.#prepare().catch((e: Error) => e)
    if (ready instanceof Error) {
      for (const { job } of this.#members) job.tell('critical', 'capture_start_failed', { error: ready.message })
      return this.#endAll(this.#framesLeft, ready.message)
    }
    if (typeof ready === 'string') return this.#endAll(this.#framesLeft, ready)
    const recorder = this.#recorderFor(ready)
    this.#recorder = recorder
    for (const { job } of this.#members) job.watermark.writtenBy(() => recorder.secure())
    if (this.#stopping || this.#active.every((m) => m.stopReason !== undefined)) return this.#endAll(this.#framesLeft)
    if (!ready.device.test) this.#sound = new TakeSound(this.#ctx, ready.hardware, () => this.#active.map((m) => m.job))
    recorder.start()
    const { frames, reason } = await recorder.done
    this.#sound?.stop()
    await this.#endAll(frames, reason)
  }

  #recorderFor(want: Want): Recorder {
    const { asked, device } = want
    return new Recorder({
      asked,
      attach: (taker) => this.#ctx.feeds.take(want, taker),
      clock: this.#ctx.clock,
      file: this.#members[0]!.job.takeFile,
      gapsNoted: () => this.#gapsNoted(),
      makeRoom: async (bytes) => this.#room?.free(bytes),
      onFrames: (frames) => this.#onFrames(frames),
      onGap: (gap) => this.#onGap(gap),
      onStart: (format) => this.#onStart(format, device.test),
      tell: (severity, name, details) => {
        const source = device.test ? { source: 'test' } : {}
        for (const { job } of this.#active) job.tell(severity, name, { ...details, ...source })
      },
      ...this.#resumed(),
      seconds: Math.max(...this.#members.map((m) => m.fromFrame / asked.rate + m.job.command.durationSeconds)),
      settings: this.#ctx.settings,
    })
  }

  #resumed(): { resume?: Resume } {
    return this.#left && this.#format ? { resume: { ...this.#format, ...this.#left } } : {}
  }

  /** What to open and how; a string or an error says why not. */
  async #prepare(): Promise<Want | string> {
    const channels = Math.max(...this.#members.map((m) => channelSpan(m.job.command)))
    const seconds = Math.max(...this.#members.map((m) => m.job.command.durationSeconds))
    const want = await wantOf(this.#ctx, this.#members[0]!.job.command, { channels, seconds })
    const asked = this.#asked(want.asked)
    if (!(await this.#fits(asked, seconds))) return 'insufficient_capture_disk_space'
    return { ...want, asked }
  }

  /** A continued take needs its own sample format; only the container of 24-bit samples may differ. */
  #asked(asked: PcmFormat): PcmFormat {
    const shape = this.#resumed().resume
    if (!shape) return asked
    const { channels, rate } = shape
    return { channels, format: fileFormat(asked.format) === shape.format ? asked.format : shape.format, rate }
  }

  #needed(commands: AgentJob['command'][], format: PcmFormat, seconds: number): Need {
    return neededBytes(commands, format, seconds, this.#ctx.settings.chunkSeconds)
  }

  /** Whether the disk has room for the take; if so, the room is reserved until the session ends. */
  async #fits(asked: PcmFormat, seconds: number): Promise<boolean> {
    const jobs = this.#members.map((m) => m.job)
    const commands = jobs.map((job) => job.command)
    this.#room = await this.#ctx.guard.admit({
      ...this.#needed(commands, asked, seconds),
      file: jobs[0]!.takeFile,
      tell: (severity, name, details) => {
        for (const { job } of this.#active) job.tell(severity, name, details)
      },
    })
    return this.#room !== undefined
  }

  async #onStart(format: PcmFormat, test: boolean): Promise<void> {
    this.#format = format
    this.#heard.resolve()
    const marked = test ? { test: true as const } : {}
    const [wanted, unwanted] = [this.#active.filter((m) => !m.stopReason), this.#active.filter((m) => m.stopReason)]
    for (const { job } of wanted) await this.#share(job, marked)
    for (const member of unwanted) this.#endEarly(member, 0)
  }

  /** Gives a member its own hard link to the shared file, and saves its state. */
  async #share(job: OwnedJob, patch: Pick<Partial<OwnedJob['state']>, 'fromFrame' | 'test'>): Promise<void> {
    const primary = this.#members[0]!.job
    // The first member may be gone already: its file lives on under the other members' names.
    const from = job === primary ? undefined : (this.#active.find((m) => m.job !== job)?.job ?? primary)
    try {
      if (from) await this.#ctx.spool.share(from.id, job.id)
    } catch (e) {
      // No hard links on this file system: the member gets a copy when it ends.
      this.#ctx.log.warn('shared take not hard-linked: it will be copied when it ends', {
        jobId: job.id,
        ...errorFields(e),
      })
    }
    const test = primary.state.test ? { test: true as const } : {}
    await job.advance({ type: 'capturing', ...test, ...patch, format: this.#format!, gaps: this.#gaps })
  }

  #onGap(gap: Gap): void {
    this.#gaps = withGap(this.#gaps, gap)
    this.#unnoted = true
    this.#gapsNoted().catch(() => undefined)
  }

  /** One save at a time, so that frequent gaps are saved together. What found no room on the disk is saved later. */
  #gapsNoted(): Promise<void> {
    this.#noting = this.#noting.catch(() => undefined).then(() => this.#note())
    return this.#noting
  }

  async #note(): Promise<void> {
    if (!this.#unnoted) return
    this.#unnoted = false
    try {
      for (const { job } of this.#active) await job.advanceOnDisk({ type: 'gaps', gaps: this.#gaps })
    } catch (e) {
      this.#unnoted = true
      throw e
    }
  }

  /** Ends members that have their full length while the others go on. */
  #onFrames(frames: number): void {
    const active = this.#active
    for (const { job } of active) job.watermark.advance(frames)
    if (active.every((m) => frames >= this.#limit(m))) this.#recorder?.stop()
    else for (const member of active) if (frames >= this.#limit(member)) this.#endEarly(member, frames)
  }

  #limit({ fromFrame, job }: Member): number {
    return fromFrame + Math.round(job.command.durationSeconds * this.#format!.rate)
  }

  /** Watches what the controller wants for one member. */
  #obey(member: Member): void {
    const { job } = member
    job.lease.listen((answer) => {
      const reason = answer === 'gone' ? 'recording_job_not_found' : stopReasonOf(answer)
      if (reason === undefined || member.stopReason !== undefined) return
      member.stopReason = reason
      if (!member.ended) this.#endOne(member)
    })
  }

  /** Ends one member now. The last one ends the capture, which then ends the member with its very last frame. */
  #endOne(member: Member): void {
    if (this.#active.every((m) => m === member || m.stopReason !== undefined)) this.#recorder?.stop()
    else if (this.#format && this.#recorder) this.#endEarly(member, this.#recorder.frames)
  }

  #endEarly(member: Member, frames: number): void {
    const { job } = member
    member.ended = true
    this.#later(async () => {
      await job.watermark.secure().catch((e) => this.#ctx.log.warn('take not synced to disk', errorFields(e)))
      await this.#end(member, frames, undefined, true)
    })
  }

  /** Queues work that must happen in order but must not hold up the capture. */
  #later(work: () => Promise<unknown>): void {
    this.#ending = this.#ending
      .then(work)
      .catch((e) =>
        this.#ctx.log.error('the state of a capture could not be written: check the disk of the spool', errorFields(e)),
      )
  }

  async #endAll(frames: number, reason?: string): Promise<void> {
    await this.#ending
    for (const member of this.#active) {
      member.ended = true
      await this.#end(member, frames, reason)
    }
  }

  /** `growing`: other members go on writing to the same file. */
  async #end(member: Member, frames: number, why?: string, growing = false): Promise<void> {
    const { fromFrame, job, stopReason } = member
    const toFrame = this.#format ? Math.min(frames, this.#limit(member)) : 0
    this.#sound?.ended(job)
    job.watermark.end(toFrame, growing)
    const reason = stopReason ?? why
    if (toFrame > fromFrame && (await this.#ownFile(job)))
      await job.advance({ type: 'captured', gaps: this.#gaps, reason, toFrame })
    else if (stopReason !== undefined) await job.advance({ type: 'cancelled', reason: stopReason })
    else if (reason !== undefined || !this.#stopping)
      await job.advance({ type: 'failed', reason: reason ?? 'nothing_captured' })
    this.#onEnded(job)
  }

  /** Copies the file if it could not be hard-linked. False when there is no file for this member. */
  async #ownFile(job: OwnedJob): Promise<boolean> {
    if ((await sizeOf(job.takeFile)) !== undefined) return true
    try {
      await fs.copyFile(this.#members[0]!.job.takeFile, job.takeFile)
      return true
    } catch (e) {
      job.tell('critical', 'capture_failed', { error: String(e) })
      return false
    }
  }
}

/**
 * Why the controller wants the capture to end; undefined when it may go on. A lease that expired while the agent was
 * offline is no reason: the take goes on and is delivered late (ADR-0009).
 */
function stopReasonOf({ failureReason, status }: AgentJob): string | undefined {
  if (status === 'stop_requested' || status === 'cancelled') return STOPPED
  if (status === 'completed') return 'job_already_completed'
  return status === 'failed' && failureReason !== 'lease_expired' ? (failureReason ?? 'job_failed') : undefined
}
