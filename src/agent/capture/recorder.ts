import * as fs from 'node:fs/promises'
import type { Clock } from '../../kernel/clock.ts'
import { isDiskFull } from '../../kernel/durable.ts'
import { faultWords } from '../../kernel/words.ts'
import type { Severity } from '../../wire/health.ts'
import { fileFormat, type PcmFormat, streamFrameBytes } from '../audio/format.rules.ts'
import type { TakeOwner } from '../audio/marks.ts'
import { WavFile } from '../audio/wav.ts'
import { type Hole, type Loss, lastLine, type Taker, type Tap } from './feed.ts'
import { type Dropped, type Piece, TakeWriter } from './writer.ts'

interface RecorderSettings {
  /** How long a device that has not delivered a sample yet is retried. */
  retryWindowSeconds: number
  stalledSeconds: number
}

/** A hole in the audio, filled with silence of the same length. */
export interface Gap {
  atFrame: number
  seconds: number
}

interface TakeEnd {
  frames: number
  /** Why the take ended early; undefined when it is complete or was stopped. */
  reason?: string
}

type Tell = (severity: Severity, name: string, details: Record<string, unknown>) => void

interface RecorderDeps {
  asked: PcmFormat
  /** Begins to take from the device. */
  attach(taker: Taker): Tap
  /** Bytes held in memory while the disk is slow or full. Default: the writer's. */
  bufferBytes?: number
  clock: Clock
  file: string
  /** Frees that many bytes on a full disk at the expense of others; resolves when done. */
  makeRoom(bytes: number): Promise<void>
  /** After each write, with the frames in the file so far. */
  onFrames(frames: number): void
  onGap(gap: Gap): void
  /** Resolves when all gaps so far are saved durably; throws when the disk is too full. */
  gapsNoted(): Promise<void>
  /** The file exists and the first frame is about to be written; `format` is the file's. */
  onStart(format: PcmFormat): Promise<void>
  /** The take of an earlier process to continue. */
  resume?: Resume
  seconds: number
  settings: RecorderSettings
  tell: Tell
}

/** What an earlier process left of a take: its frames, and when (monotonic ms) the last was written. */
export interface Left {
  frames: number
  lastAt: number
}

export type Resume = Left & PcmFormat

interface Outage {
  attempts: number
  /** Monotonic ms. */
  since: number
  toldLong?: true
}

const MAX_TOLD_WARNINGS = 40

/** Records one take: everything its device delivers, until the requested number of samples is in the file. */
export class Recorder implements Taker {
  /** Resolves when the file is closed and the device released. Never rejects. */
  readonly done: Promise<TakeEnd>
  readonly #deps: RecorderDeps
  /** Resolves with the reason for an early end; with undefined when the take is complete or was stopped. */
  readonly #end = Promise.withResolvers<string | undefined>()
  #begun: Promise<void> = Promise.resolve()
  #deadline: NodeJS.Timeout | undefined
  /** Frames received so far, written or not. */
  #due: number
  /** Why the disk failed; that may happen after the last frame was received. */
  #fault: string | undefined
  /** Monotonic ms of the last frame. */
  #lastAt = 0
  #outage: Outage | undefined
  #over = false
  #seconds: number
  /** Format of the take, known from the first frame on. */
  #shape: PcmFormat | undefined
  /** Between a restart of the agent and the first frame after it. */
  #resuming: boolean
  #released: Promise<void> | undefined
  #tap: Tap | undefined
  #told = 0
  #writer: TakeWriter | undefined

  constructor(deps: RecorderDeps) {
    this.#deps = deps
    this.#seconds = deps.seconds
    this.#due = deps.resume?.frames ?? 0
    this.#shape = deps.resume
    this.#resuming = deps.resume !== undefined
    this.done = this.#end.promise.then((reason) => this.#finish(reason))
  }

  /** Frames in the file. */
  get frames(): number {
    return this.#writer?.frames ?? this.#deps.resume?.frames ?? 0
  }

  get full(): boolean {
    return this.#writer?.full === true
  }

  /** Whether more frames will come. */
  get running(): boolean {
    return !this.#over
  }

  start(): void {
    this.#begun = this.#begin().catch((e) => this.#stopWith(`capture_failed: ${faultWords(e)}`))
  }

  /** Ends the take with what it has. */
  stop(): void {
    this.#stopWith(undefined)
  }

  /** Extends the take to at least this many seconds. */
  extendTo(seconds: number): void {
    this.#seconds = Math.max(this.#seconds, seconds)
  }

  /** Makes the frames in the file at the time of the call survive a power cut. */
  async secure(): Promise<void> {
    await this.#writer?.secure()
  }

  /** A new take can use any stream; one that has begun needs its own sample format. */
  suits(stream: PcmFormat): boolean {
    const shape = this.#shape
    if (!shape) return true
    const sameSamples = fileFormat(stream.format) === fileFormat(shape.format) && stream.rate === shape.rate
    return sameSamples && stream.channels >= shape.channels
  }

  block(frames: Buffer, stream: PcmFormat, beganAt: number): void {
    if (this.#over) return
    clearTimeout(this.#deadline)
    this.#deadline = undefined
    this.#shape ??= { ...stream, channels: Math.min(this.#deps.asked.channels, stream.channels) }
    if (this.#resuming) this.#resumed(beganAt)
    this.#outage = undefined
    const frameBytes = streamFrameBytes(stream)
    const count = Math.min(frames.length / frameBytes, this.#limit - this.#due)
    this.#lastAt = beganAt + (count / stream.rate) * 1000
    this.#push({ frames: frames.subarray(0, count * frameBytes), stream }, count)
  }

  /** Silence of the hole's length: what comes after stays at its true time. */
  hole({ cause, device, frames }: Hole): void {
    // Before the first frame nothing is missing; a continued take measures its own gap.
    if (this.#over || !this.#shape || this.#resuming) return
    const gap = this.#gap(frames)
    const attempt = this.#outage?.attempts
    if (cause === 'reopened') this.#recovered({ ...gap, attempt, device })
    else this.told('warning', 'capture_overrun', { ...gap, device, noticedBy: cause })
  }

  failed(loss: Loss): void {
    if (this.#over) return
    const reason = this.#shape ? this.#lost(loss) : this.#notStarted(loss)
    if (reason !== undefined) this.#stopWith(reason)
  }

  /** Limits reports, so that a device that flickers all day does not bury everything else. */
  told(severity: Severity, name: string, details: Record<string, unknown>): void {
    if (severity === 'critical' || this.#told++ < MAX_TOLD_WARNINGS) this.#deps.tell(severity, name, details)
  }

  readonly #owner: TakeOwner = {
    /** By the time of the last frame: recorded audio is as long as the time it took. */
    ageOf: (frame) => {
      const at = this.#lastAt - ((this.#due - frame) / this.#shape!.rate) * 1000
      return this.#deps.clock.monotonic() - at
    },
    doubtsNoted: () => this.#deps.gapsNoted(),
    inDoubt: (from, to) => this.#lostByDisk({ atFrame: from, frames: Math.min(to, this.#limit) - from }),
  }

  get #limit(): number {
    return Math.round(this.#seconds * (this.#shape?.rate ?? this.#deps.asked.rate))
  }

  async #begin(): Promise<void> {
    const { attach, file, resume } = this.#deps
    this.#writer = this.#writerOf(resume && (await WavFile.reopen(file, fileShape(resume), this.#owner)))
    this.#lastAt = resume?.lastAt ?? 0
    if (this.#over) return
    this.#tap = attach(this)
    // The device may have failed at once.
    if (this.#over) this.#release()
  }

  #stopWith(reason: string | undefined): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#deadline)
    this.#release()
    this.#end.resolve(reason)
  }

  #release(): void {
    if (this.#tap) this.#released = this.#tap.release()
  }

  /** The time the agent was down is a gap like any other. */
  #resumed(beganAt: number): void {
    this.#resuming = false
    const missing = Math.max(0, Math.round(((beganAt - this.#lastAt) / 1000) * this.#shape!.rate))
    this.#recovered({ ...this.#gap(missing), attempt: this.#outage?.attempts })
  }

  #recovered(details: Record<string, unknown>): void {
    this.told('info', 'capture_device_recovered', details)
    this.told('info', 'capture_runtime_restarted', details)
  }

  #gap(frames: number): Gap {
    const gap = { atFrame: this.#due, seconds: frames / this.#shape!.rate }
    this.#deps.onGap(gap)
    const silence = Math.min(frames, this.#limit - this.#due)
    this.#lastAt += (silence / this.#shape!.rate) * 1000
    this.#push({ silence }, silence)
    return gap
  }

  /** Queues frames or silence of the take; after its last frame the device is released. */
  #push(piece: Piece, count: number): void {
    this.#due += count
    this.#writer!.push(piece)
    if (this.#due >= this.#limit) this.#stopWith(undefined)
  }

  #writerOf(file: WavFile | undefined): TakeWriter {
    const { bufferBytes, gapsNoted, makeRoom, onFrames, resume } = this.#deps
    return new TakeWriter({
      beforeSilence: gapsNoted,
      bufferBytes,
      create: () => this.#create(),
      file,
      from: resume?.frames ?? 0,
      makeRoom,
      onFault: (e) => {
        this.#fault = this.#diskFault(e)
        this.#stopWith(this.#fault)
      },
      onDropped: (dropped) => this.#lostByDisk(dropped),
      onFull: (e) =>
        this.told('warning', 'disk_space_exhausted', { error: faultWords(e), frames: this.frames, willRetry: true }),
      onRoom: () => this.told('info', 'disk_space_runtime_recovered', { frames: this.frames }),
      onWritten: (frames) => {
        this.#tap?.drained()
        onFrames(frames)
      },
    })
  }

  /** Frames that could not be held, or may not have reached the disk, are a gap of their length. */
  #lostByDisk({ atFrame, frames }: Dropped): void {
    const gap = { atFrame, seconds: frames / this.#shape!.rate }
    this.#deps.onGap(gap)
    this.told('warning', 'capture_overrun', { ...gap, noticedBy: 'disk' })
  }

  async #create(): Promise<WavFile> {
    const { file, onStart } = this.#deps
    const shape = fileShape(this.#shape!)
    const made = await WavFile.create(file, shape, this.#owner).catch(async (e) => {
      // Half a header would block the next attempt. A file that was there before is never overwritten or removed.
      if (isDiskFull(e)) await fs.rm(file, { force: true })
      throw e
    })
    await onStart(shape)
    return made
  }

  /** Nothing captured yet: a busy or missing device is retried for a while, any other failure is final. */
  #notStarted(loss: Loss): string | undefined {
    const transient = ['device_unavailable', 'device_lost', 'stalled'].includes(loss.fault)
    const outage = this.#countAttempt()
    const willRetry = transient && !this.#long(outage)
    const details = { attempt: outage.attempts, ...describe(loss), willRetry }
    if (willRetry) {
      if (outage.attempts === 1) this.told('warning', 'capture_device_unavailable', details)
      return undefined
    }
    this.told('critical', loss.fault === 'stalled' ? 'capture_output_stalled' : 'capture_start_failed', details)
    return `capture_start_failed: ${lastLine(loss.said) || loss.fault}`
  }

  /** The device of a running take is gone: the take waits for it until its time is over. */
  #lost(loss: Loss): string | undefined {
    const outage = this.#countAttempt()
    const leftMs = this.#timeLeft()
    const details = { attempt: outage.attempts, ...describe(loss), frames: this.#due, willRetry: leftMs > 0 }
    if (loss.fault === 'stalled' && outage.attempts === 1)
      this.told('critical', 'capture_output_stalled', this.#idle(details))
    if (leftMs <= 0) return this.#givenUp(details)
    if (outage.attempts === 1) this.told('warning', 'capture_device_lost', { ...details, nextAttempt: 2 })
    else if (this.#long(outage) && !outage.toldLong) {
      outage.toldLong = true
      this.told('critical', 'capture_device_lost', details)
    }
    this.#deadline ??= setTimeout(() => this.#stopWith(this.#givenUp({ ...details, willRetry: false })), leftMs)
    return undefined
  }

  #givenUp(details: Record<string, unknown>): string {
    this.told('critical', 'capture_device_lost', details)
    return 'capture_device_lost'
  }

  #idle(details: Record<string, unknown>): Record<string, unknown> {
    const { clock, settings } = this.#deps
    const lastGrowthSecondsAgo = (clock.monotonic() - this.#lastAt) / 1000
    return { ...details, lastGrowthSecondsAgo, stalledSeconds: settings.stalledSeconds }
  }

  #countAttempt(): Outage {
    this.#outage ??= { attempts: 0, since: this.#deps.clock.monotonic() }
    this.#outage.attempts++
    return this.#outage
  }

  #long(outage: Outage): boolean {
    return this.#deps.clock.monotonic() - outage.since >= this.#deps.settings.retryWindowSeconds * 1000
  }

  /** Milliseconds of the take that would be left if the device came back now. */
  #timeLeft(): number {
    const planned = ((this.#limit - this.#due) / this.#shape!.rate) * 1000
    return planned - (this.#deps.clock.monotonic() - this.#lastAt)
  }

  #diskFault(error: unknown): string {
    const details = { error: faultWords(error), frames: this.frames, willRetry: false }
    this.told('critical', isDiskFull(error) ? 'disk_space_exhausted' : 'capture_failed', details)
    return isDiskFull(error) ? 'capture_disk_space_exhausted' : `capture_failed: ${faultWords(error)}`
  }

  async #finish(ended: string | undefined): Promise<TakeEnd> {
    // A file that is still being opened gets its writer first, and is closed with it.
    await this.#begun
    await this.#writer?.end()
    await this.#released
    const frames = this.frames
    const reason = this.#fault ?? ended
    try {
      await this.#writer?.finish()
    } catch (e) {
      // The samples were synced within the last second; the length in the header is repaired on the next read.
      this.told('critical', 'capture_failed', { error: faultWords(e), frames })
    }
    return { frames, ...(reason === undefined ? {} : { reason }) }
  }
}

const fileShape = ({ channels, format, rate }: PcmFormat) => ({ channels, format: fileFormat(format), rate })

const describe = ({ code, device, fault, said }: Loss): Record<string, unknown> => ({
  code: code ?? null,
  device,
  error: said.slice(-500),
  fault,
})
