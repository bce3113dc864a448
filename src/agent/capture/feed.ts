// Keeps one device open and gives all its takers one timeline of frames and holes.
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../kernel/clock.ts'
import { faultWords } from '../../kernel/words.ts'
import type { Severity } from '../../wire/health.ts'
import { type PcmFormat, streamFrameBytes } from '../audio/format.rules.ts'
import { backoffMs, createBell } from '../proc/bell.ts'
import type { Opening, SoundBus } from './bus.ts'
import { type Fault, faultOf, negotiated, rateGot } from './faults.rules.ts'
import { Lag } from './lag.rules.ts'
import { SourceReader } from './reader.ts'
import type { Device, SourceEnd } from './source.ts'

export interface FeedSettings {
  /** Time allowed for the first sample, before stalls are detected. */
  growthGraceSeconds: number
  retryPauseSeconds: number
  stalledSeconds: number
}

/** Why a device could not be opened, or was lost. */
export interface Loss {
  code: number | undefined
  device: string
  fault: Fault | 'stalled'
  said: string
}

/** Frames the device did not deliver at this point of the timeline. */
export interface Hole {
  /** `reopened`: it was away; `device`: it reported the loss; `clock`: noticed because time passed without frames. */
  cause: 'reopened' | 'device' | 'clock'
  device: string
  frames: number
}

/** Takes every frame of a device. Its methods are called on the capture path: they return at once and never throw. */
export interface Taker {
  /** It has no room for more: the device has to wait. */
  readonly full: boolean
  /** Whether it can use such a stream. */
  suits(stream: PcmFormat): boolean
  /** Whole frames of the stream, never changed afterwards; `beganAt`: monotonic ms of the first. */
  block(frames: Buffer, stream: PcmFormat, beganAt: number): void
  hole(hole: Hole): void
  /** An attempt failed. The feed keeps trying as long as it has takers. */
  failed(loss: Loss): void
  told(severity: Severity, name: string, details: Record<string, unknown>): void
}

/** A take's connection to its device. */
export interface Tap {
  /** The taker has room again. */
  drained(): void
  /** Resolves when the device is released, if nobody else takes from it. */
  release(): Promise<void>
}

interface FeedDeps {
  asked: PcmFormat
  bus: SoundBus
  clock: Clock
  device: Device
  /** What the bus calls it: the stable system ref. */
  interfaceRef: string
  /** Channels that are needed; more are requested so that others can join. Default: all of them. */
  needed?: number
  settings: FeedSettings
}

const NEGOTIATIONS = 3
/** Longest pause between attempts while only meters want the device. */
const IDLE_RETRY_MAX_MS = 30_000

/** Opens the device at once and keeps it open until `close`, whatever happens to it. */
export class Feed {
  readonly takers = new Set<Taker>()
  readonly #closing = new AbortController()
  readonly #deps: FeedDeps
  readonly #done: Promise<void>
  readonly #wake = createBell()
  /** Monotonic ms of the first frame of this opening. */
  #begunAt = 0
  /** Frames of this opening, inserted silence included. */
  #frames = 0
  #reader: SourceReader | undefined
  #lag: Lag | undefined
  /** Monotonic ms of the last frame the device ever gave. */
  #lastAt: number | undefined
  #fault: string | undefined
  #opening: Opening | undefined
  #pausing = false
  #stream: PcmFormat
  #unfit = false

  constructor(deps: FeedDeps) {
    this.#deps = deps
    this.#stream = deps.asked
    this.#done = this.#run()
  }

  /** The format that was asked for. */
  get asked(): PcmFormat {
    return this.#deps.asked
  }

  /** The format it delivers, or will deliver as far as is known. */
  get stream(): PcmFormat {
    return this.#stream
  }

  /** Whether it has ever delivered a frame. */
  get begun(): boolean {
    return this.#lastAt !== undefined
  }

  /** Whether it is delivering frames now. */
  get live(): boolean {
    return this.#opening !== undefined
  }

  /** What the bus calls it while it delivers frames. */
  get opening(): Opening | undefined {
    return this.#opening
  }

  /** Why it could not be opened, as long as it has not been. */
  get fault(): string | undefined {
    return this.#opening ? undefined : this.#fault
  }

  add(taker: Taker): void {
    this.takers.add(taker)
    // Until now a missing device was looked for with long pauses.
    if (this.#pausing) this.#wake.ring()
  }

  /** A taker is gone, or has room again. */
  drained(): void {
    if (![...this.takers].some((taker) => taker.full)) this.#reader?.resume()
  }

  /** Resolves when the device is released. Takers get nothing more. */
  async close(): Promise<void> {
    this.takers.clear()
    this.#closing.abort()
    this.#wake.ring()
    this.#reader?.stop()
    await this.#done
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted
  }

  async #run(): Promise<void> {
    for (let attempts = 0, negotiations = 0; !this.#closed; ) {
      const { loss, heard } = await this.#attempt()
      if (this.#closed) return
      const lasted = heard && this.#lastAt! - this.#begunAt >= this.#paceMs
      if (heard) attempts = negotiations = 0
      const refused = loss.fault === 'format_refused' && negotiations++ < NEGOTIATIONS
      if (refused && (await this.#negotiate(loss))) continue
      this.#fault = lastLine(loss.said) || loss.fault
      if (!heard) this.#deps.bus.unavailable(this.#deps.device.name, this.#fault)
      for (const taker of [...this.takers]) taker.failed(loss)
      // A device that ran for a while is reopened at once, since every moment counts. One that only flickers is paced.
      if (!lasted) await this.#pause(++attempts)
    }
  }

  async #pause(attempts: number): Promise<void> {
    if (this.#closed) return
    const paceMs = this.#paceMs
    this.#pausing = true
    await this.#wake.wait(this.takers.size > 0 ? paceMs : Math.max(paceMs, backoffMs(attempts, IDLE_RETRY_MAX_MS)))
    this.#pausing = false
  }

  get #paceMs(): number {
    return this.#deps.settings.retryPauseSeconds * 1000
  }

  /** Opens the device and delivers its frames until it ends. */
  async #attempt(): Promise<{ heard: boolean; loss: Loss }> {
    const { clock, device, settings } = this.#deps
    this.#frames = 0
    this.#unfit = false
    this.#lag = device.test ? undefined : new Lag(this.#stream.rate, device.tells)
    let end: SourceEnd = { code: undefined, stderr: '', stopped: true }
    try {
      await this.#relocate()
      if (!(await this.#foretold())) this.#unfit = true
      // No await from here until the source is open: a close is seen either here or by the source.
      if (this.#closed || this.#unfit) return this.#lost(end)
      const reader = new SourceReader(device.open(this.#stream), {
        clock,
        format: this.#stream,
        onFrames: (frames, at) => this.#deliver(frames, at),
        onOverrun: (seconds) => {
          this.#hole('device', this.#told(seconds * 1000))
        },
        patience: { graceMs: settings.growthGraceSeconds * 1000, stalledMs: settings.stalledSeconds * 1000 },
      })
      this.#reader = reader
      end = await reader.ended
      await reader.close()
    } catch (e) {
      // The program cannot be started, or the device list cannot be read: a failed attempt.
      end = { code: undefined, stderr: faultWords(e), stopped: false }
    }
    return this.#lost(end)
  }

  #lost({ code, stderr }: SourceEnd): { heard: boolean; loss: Loss } {
    const stalled = this.#reader?.stalled ? 'stalled' : undefined
    const fault = this.#unfit ? 'format_refused' : (stalled ?? faultOf(code, stderr))
    const opening = this.#opening
    this.#reader = this.#opening = undefined
    if (opening) {
      if (this.#closed) this.#deps.bus.closed(opening)
      else this.#deps.bus.closed(opening, lastLine(stderr) || fault)
    }
    return { heard: opening !== undefined, loss: { code, device: this.#deps.device.name, fault, said: stderr } }
  }

  #deliver(frames: Buffer, at: number): void {
    if (this.#unfit || this.#closed) return
    const count = frames.length / streamFrameBytes(this.#stream)
    const beganAt = at - (count / this.#stream.rate) * 1000
    if (!this.#opening && !this.#begin(beganAt)) return
    this.#frames += count
    this.#lastAt = at
    for (const taker of [...this.takers]) taker.block(frames, this.#stream, beganAt)
    this.#deps.bus.block(this.#opening!, frames, this.#deps.clock.now())
    if ([...this.takers].some((taker) => taker.full)) {
      this.#reader!.pause()
      this.#lag?.restart()
    } else this.#hole('clock', this.#lag?.arrived(at, this.#frames) ?? 0)
  }

  /** Handles the first audio of an opening. False when its format does not suit the takers. */
  #begin(beganAt: number): boolean {
    const { bus, device, interfaceRef: ref } = this.#deps
    const got = rateGot(this.#reader!.stderr())
    if (got !== undefined && got !== this.#stream.rate && !this.#adjust({ ...this.#stream, rate: got })) {
      this.#unfit = true
      this.#reader!.stop()
      return false
    }
    if (this.#lastAt !== undefined) {
      const frames = Math.max(0, Math.round(((beganAt - this.#lastAt) / 1000) * this.#stream.rate))
      for (const taker of this.takers) taker.hole({ cause: 'reopened', device: device.name, frames })
    }
    this.#begunAt = beganAt
    this.#opening = { device: device.name, format: this.#stream, interfaceRef: ref, test: device.test }
    bus.opened(this.#opening)
    return true
  }

  /** The frames that are missing of what the source says it lost. */
  #told(ms: number): number {
    this.#lag?.told()
    const missing = this.#lag?.missing(this.#deps.clock.monotonic(), this.#frames, ms) ?? ms
    return Math.round((missing / 1000) * this.#stream.rate)
  }

  #hole(cause: 'device' | 'clock', frames: number): void {
    // Reported before the first frame, or after the last taker has left.
    if (frames <= 0 || !this.#opening) return
    this.#frames += frames
    for (const taker of [...this.takers]) taker.hole({ cause, device: this.#deps.device.name, frames })
    this.#deps.bus.gap(this.#opening, frames / this.#stream.rate)
  }

  async #relocate(): Promise<void> {
    const { device } = this.#deps
    const previous = device.name
    if (!(await device.relocate?.())) return
    for (const taker of this.takers) taker.told('info', 'capture_device_refreshed', { device: device.name, previous })
  }

  /** False when the device is known to deliver a format that some taker cannot use. */
  async #foretold(): Promise<boolean> {
    const next = await this.#deps.device.gives?.(this.#stream)
    return !next || isDeepStrictEqual(next, this.#stream) || this.#adjust(next)
  }

  /** Asks a device that refused the format what it supports; true when there is another format to try. */
  async #negotiate(loss: Loss): Promise<boolean> {
    const { asked, needed = asked.channels } = this.#deps
    if (this.#stream.channels > needed && !this.begun) {
      // It may not offer all channels at this rate; nobody needs that many.
      this.#stream = { ...this.#stream, channels: needed }
      return true
    }
    const dump = await this.#deps.device.probe?.(this.#stream)
    const next = dump === undefined ? undefined : negotiated(dump, this.#stream)
    return next !== undefined && this.#adjust(next, lastLine(loss.said))
  }

  /** Switches to another format if all takers can use it. */
  #adjust(next: PcmFormat, said?: string): boolean {
    if (![...this.takers].every((taker) => taker.suits(next))) return false
    const details = { asked: this.#deps.asked, got: next, ...(said ? { said } : {}) }
    for (const taker of this.takers) taker.told('warning', 'capture_format_adjusted', details)
    this.#stream = next
    if (this.#lag) this.#lag = new Lag(next.rate, this.#deps.device.tells)
    return true
  }
}

/** The last line a program printed: mostly the reason why it ended. */
export const lastLine = (said: string): string =>
  said
    .split('\n')
    .findLast((line) => line.trim() !== '')
    ?.trim() ?? ''
