import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../kernel/clock.ts'
import type { Severity } from '../../wire/health.ts'
import type { Report } from '../health/report.ts'
import { isDiskFull } from '../spool/durable.ts'
import { type Fault, faultOf, negotiated, overruns, rateGot } from './faults.rules.ts'
import { fileFormat, type PcmFormat, streamFrameBytes } from './format.rules.ts'
import { Intake } from './intake.ts'
import type { Device } from './source.ts'
import { TakeFile } from './takefile.ts'

export interface RecorderSettings {
  growthGraceSeconds: number
  retryPauseSeconds: number
  retryWindowSeconds: number
  stalledSeconds: number
}

/** A hole in the audio, filled with silence of its length. */
export interface Gap {
  atFrame: number
  seconds: number
}

export interface TakeEnd {
  frames: number
  gaps: Gap[]
  /** Why the take ended before its length; undefined when it is whole or was stopped. */
  reason?: string
}

export interface RecorderDeps {
  asked: PcmFormat
  clock: Clock
  device: Device
  file: string
  /** After each write, with the frames in the file so far. */
  onFrames(frames: number): void
  onGap(gap: Gap): void
  /** The file exists and the first frame is about to be written; `format` is the file's. */
  onStart(format: PcmFormat): Promise<void>
  report: Report
  /** The take of an earlier process that goes on: its shape, and when it was last written (monotonic ms). */
  resume?: Resume
  seconds: number
  settings: RecorderSettings
}

export interface Resume {
  channels: number
  frames: number
  lastAt: number
  rate: number
}

interface Loss {
  code: number | undefined
  fault: Fault | 'stalled'
  said: string
}

interface Outage {
  attempts: number
  /** Monotonic ms. */
  since: number
}

const NEGOTIATIONS = 3
/** A device that comes and goes all day must not bury everything else that is reported. */
const MOST_TOLD = 40

/** One take: opens the device, writes until the asked number of samples is there, opens it again when it is lost. */
export class Recorder {
  /** Resolves when the file is closed and the device released. Never rejects. */
  readonly done: Promise<TakeEnd>
  readonly #deps: RecorderDeps
  readonly #gaps: Gap[] = []
  readonly #settle: (end: TakeEnd) => void
  readonly #stopping = new AbortController()
  #file: TakeFile | undefined
  #intake: Intake | undefined
  #lastAt = 0
  #outage: Outage | undefined
  #over = false
  /** Whether the device of this process gave its first frame: until then its format is open to negotiation. */
  #heard = false
  #seconds: number
  #stream: PcmFormat
  #told = 0

  constructor(deps: RecorderDeps) {
    const { promise, resolve } = Promise.withResolvers<TakeEnd>()
    this.done = promise
    this.#settle = resolve
    this.#deps = deps
    this.#stream = deps.resume ? { ...deps.asked, rate: deps.resume.rate } : deps.asked
    this.#seconds = deps.seconds
  }

  get frames(): number {
    return this.#file?.frames ?? this.#deps.resume?.frames ?? 0
  }

  /** Whether more frames will come. */
  get running(): boolean {
    return !this.#over && !this.#stopping.signal.aborted
  }

  start(): void {
    void this.#run().then(
      (reason) => this.#finish(reason),
      (e) => this.#finish(`capture_failed: ${text(e)}`),
    )
  }

  /** Ends the take with what is there. */
  stop(): void {
    this.#stopping.abort()
    this.#intake?.stop()
  }

  /** Makes the take last until that second at least. */
  extendTo(seconds: number): void {
    this.#seconds = Math.max(this.#seconds, seconds)
  }

  /** After this the file is readable up to the frames it had at the call. */
  async sync(): Promise<void> {
    await this.#file?.sync()
  }

  get #limit(): number {
    return Math.round(this.#seconds * this.#stream.rate)
  }

  /** Resolves with the reason of a premature end; undefined when the take is whole or was stopped. */
  async #run(): Promise<string | undefined> {
    await this.#reopen()
    for (let negotiations = 0; ; ) {
      await this.#relocate()
      // From here to the opened source nothing waits: a stop finds either this line or the source.
      if (this.#stopping.signal.aborted) return undefined
      const loss = await this.#attempt()
      if (typeof loss !== 'object') return loss
      if (this.#stopping.signal.aborted) return undefined
      const refused = loss.fault === 'format_refused' && !this.#heard
      if (refused && negotiations++ < NEGOTIATIONS && (await this.#negotiate(loss))) continue
      const reason = this.#file ? this.#lost(loss) : this.#notStarted(loss)
      if (reason) return reason
      await this.#pause()
    }
  }

  /** The time the agent was away is a gap like any other. */
  async #reopen(): Promise<void> {
    const { file, resume } = this.#deps
    if (!resume) return
    this.#file = await TakeFile.reopen(file, this.#stream, resume.channels)
    this.#lastAt = resume.lastAt
  }

  /** Opens the device and writes until something ends it: the end of the take (a reason or none), or a loss. */
  async #attempt(): Promise<Loss | string | undefined> {
    const { clock, device, settings } = this.#deps
    const patience = { graceMs: settings.growthGraceSeconds * 1000, stalledMs: settings.stalledSeconds * 1000 }
    const intake = new Intake(device.open(this.#stream), this.#stream, patience, clock)
    this.#intake = intake
    let fault: Loss['fault'] | undefined
    try {
      fault = await this.#consume(intake)
    } catch (e) {
      await intake.close()
      return this.#diskFault(e)
    }
    this.#intake = undefined
    if (intake.firstAt !== undefined) this.#lastAt = intake.lastAt
    this.#over = this.#file !== undefined && this.frames >= this.#limit
    const { code, stderr } = await intake.close()
    const lost = overruns(stderr)
    if (lost) this.#tell('warning', 'capture_overrun', { ...lost, device: device.name })
    if (this.#over) return undefined
    return { code, fault: fault ?? (intake.stalled ? 'stalled' : faultOf(code, stderr)), said: stderr }
  }

  /** Writes what comes, to the last frame of the take. Throws what the disk throws. */
  async #consume(intake: Intake): Promise<Fault | undefined> {
    const frameBytes = streamFrameBytes(this.#stream)
    let first = true
    for await (const frames of intake.frames()) {
      if (first && !(await this.#begin(intake))) return 'format_refused'
      first = false
      const file = this.#file!
      const room = (this.#limit - file.frames) * frameBytes
      await file.append(frames.length > room ? frames.subarray(0, room) : frames)
      this.#deps.onFrames(file.frames)
      if (file.frames >= this.#limit) return undefined
    }
    return undefined
  }

  /** First audio of an opening: makes the file, or closes the gap. False when it does not fit the take. */
  async #begin(intake: Intake): Promise<boolean> {
    const got = rateGot(intake.stderr())
    if (got !== undefined && got !== this.#stream.rate) {
      if (this.#file) return false
      this.#adjust({ ...this.#stream, rate: got })
    }
    this.#heard = true
    if (this.#file) await this.#closeGap(intake)
    else await this.#create()
    return true
  }

  async #create(): Promise<void> {
    const { asked, file, onStart } = this.#deps
    const channels = Math.min(asked.channels, this.#stream.channels)
    this.#outage = undefined
    this.#file = await TakeFile.create(file, this.#stream, channels)
    await onStart({ channels, format: fileFormat(this.#stream.format), rate: this.#stream.rate })
  }

  /** Silence of the gap's length: what comes after stays at its true time. */
  async #closeGap(intake: Intake): Promise<void> {
    const file = this.#file!
    const { rate } = this.#stream
    const began = intake.firstAt! - (intake.firstBytes / streamFrameBytes(this.#stream) / rate) * 1000
    const missing = Math.max(0, Math.round(((began - this.#lastAt) / 1000) * rate))
    const gap = { atFrame: file.frames, seconds: missing / rate }
    await file.appendSilence(Math.min(missing, this.#limit - file.frames))
    this.#gaps.push(gap)
    this.#deps.onGap(gap)
    const details = { ...gap, attempt: this.#outage?.attempts, device: this.#deps.device.name }
    this.#tell('info', 'capture_device_recovered', details)
    this.#tell('info', 'capture_runtime_restarted', details)
    this.#outage = undefined
  }

  /** Nothing was ever captured: a busy or absent device is tried again for a while, anything else is final. */
  #notStarted(loss: Loss): string | undefined {
    const transient = ['device_unavailable', 'device_lost', 'stalled'].includes(loss.fault)
    const outage = this.#countAttempt()
    const willRetry = transient && !this.#tooLong(outage)
    const details = { attempt: outage.attempts, ...this.#describe(loss), willRetry }
    if (willRetry) {
      if (outage.attempts === 1) this.#tell('warning', 'capture_device_unavailable', details)
      return undefined
    }
    this.#tell('critical', loss.fault === 'stalled' ? 'capture_output_stalled' : 'capture_start_failed', details)
    return `capture_start_failed: ${lastLine(loss.said) || loss.fault}`
  }

  /** A running take lost its device: told once when it begins and once when it is given up. */
  #lost(loss: Loss): string | undefined {
    const outage = this.#countAttempt()
    const willRetry = !this.#tooLong(outage) && this.#timeLeft() > 0
    const details = { attempt: outage.attempts, ...this.#describe(loss), frames: this.frames, willRetry }
    if (loss.fault === 'stalled' && outage.attempts === 1)
      this.#tell('critical', 'capture_output_stalled', {
        ...details,
        lastGrowthSecondsAgo: (this.#deps.clock.monotonic() - this.#lastAt) / 1000,
        stalledSeconds: this.#deps.settings.stalledSeconds,
      })
    if (!willRetry) this.#tell('critical', 'capture_device_lost', details)
    else if (outage.attempts === 1)
      this.#tell('warning', 'capture_device_lost', { ...details, nextAttempt: outage.attempts + 1 })
    return willRetry ? undefined : 'capture_device_lost'
  }

  #countAttempt(): Outage {
    this.#outage ??= { attempts: 0, since: this.#deps.clock.monotonic() }
    this.#outage.attempts++
    return this.#outage
  }

  #tooLong(outage: Outage): boolean {
    return this.#deps.clock.monotonic() - outage.since >= this.#deps.settings.retryWindowSeconds * 1000
  }

  /** Milliseconds of the take that a device coming back now could still fill. */
  #timeLeft(): number {
    const planned = ((this.#limit - this.frames) / this.#stream.rate) * 1000
    return planned - (this.#deps.clock.monotonic() - this.#lastAt)
  }

  async #relocate(): Promise<void> {
    const { device } = this.#deps
    const previous = device.name
    if (await device.relocate?.()) this.#tell('info', 'capture_device_refreshed', { device: device.name, previous })
  }

  async #pause(): Promise<void> {
    const { signal } = this.#stopping
    // Rejects only when the take is stopped, which the loop sees itself.
    await sleep(this.#deps.settings.retryPauseSeconds * 1000, undefined, { signal }).catch(() => undefined)
  }

  /** Asks the device what it takes, after it refused; true when there is something else to try. */
  async #negotiate(loss: Loss): Promise<boolean> {
    const dump = await this.#deps.device.probe?.(this.#stream)
    const next = dump === undefined ? undefined : negotiated(dump, this.#stream)
    if (!next || !this.#suits(next)) return false
    this.#adjust(next, lastLine(loss.said))
    return true
  }

  /** Whether a take that goes on can take this format; a new one takes any. */
  #suits(next: PcmFormat): boolean {
    const { resume } = this.#deps
    const sameSamples = fileFormat(next.format) === fileFormat(this.#stream.format) && next.rate === this.#stream.rate
    return !resume || (sameSamples && next.channels >= resume.channels)
  }

  #adjust(next: PcmFormat, said?: string): void {
    this.#tell('warning', 'capture_format_adjusted', { asked: this.#deps.asked, got: next, ...(said ? { said } : {}) })
    this.#stream = next
    this.#file?.retune(next)
  }

  #diskFault(error: unknown): string {
    const details = { error: text(error), frames: this.frames, willRetry: false }
    this.#tell('critical', isDiskFull(error) ? 'disk_space_exhausted' : 'capture_failed', details)
    return isDiskFull(error) ? 'capture_disk_space_exhausted' : `capture_failed: ${text(error)}`
  }

  async #finish(reason: string | undefined): Promise<void> {
    this.#over = true
    const frames = this.frames
    try {
      await this.#file?.finish()
    } catch (e) {
      // The samples are in the file and were synced within the last second; its length is repaired when it is read.
      this.#tell('critical', 'capture_failed', { error: text(e), frames })
    }
    this.#settle({ frames, gaps: this.#gaps, ...(reason === undefined ? {} : { reason }) })
  }

  #describe(loss: Loss): Record<string, unknown> {
    return { code: loss.code ?? null, device: this.#deps.device.name, error: loss.said.slice(-500), fault: loss.fault }
  }

  #tell(severity: Severity, name: string, details: Record<string, unknown>): void {
    if (severity !== 'critical' && this.#told++ >= MOST_TOLD) return
    const source = this.#deps.device.test ? { source: 'test' } : {}
    this.#deps.report({ details: { ...details, ...source }, severity, type: `agent.recording_job.${name}` })
  }
}

const text = (e: unknown): string => (e instanceof Error ? e.message : String(e))
const lastLine = (said: string): string =>
  said
    .split('\n')
    .findLast((line) => line.trim() !== '')
    ?.trim() ?? ''
