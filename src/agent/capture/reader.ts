import type { Clock } from '../../kernel/clock.ts'
import { isWav } from '../../kernel/wav.rules.ts'
import { type PcmFormat, streamFrameBytes } from '../audio/format.rules.ts'
import { parseWav } from '../audio/wav.rules.ts'
import { overruns } from './faults.rules.ts'
import type { Source, SourceEnd } from './source.ts'

/** How long a pipe may stay open after its program has exited (a grandchild may hold it). */
const LINGER_MS = 1000

interface Patience {
  graceMs: number
  stalledMs: number
}

interface ReaderDeps {
  clock: Clock
  format: PcmFormat
  /** Whole frames in order; `at`: monotonic ms of their arrival. */
  onFrames(frames: Buffer, at: number): void
  /** The source reported losing so much audio after the frames delivered so far. */
  onOverrun(seconds: number): void
  patience: Patience
}

/** Reads one opening of a source: whole frames in order with their arrival times, and detects when they stop coming. */
export class SourceReader {
  /** Resolves when the source has ended and its last frame was delivered. Never rejects. */
  readonly ended: Promise<SourceEnd>
  /** Monotonic ms of the latest arrival. */
  lastAt: number
  stalled = false
  readonly #deps: ReaderDeps
  readonly #frameBytes: number
  readonly #opened: number
  readonly #source: Source
  readonly #watch: NodeJS.Timeout
  #begun = false
  #heard = false
  #paused = false
  #pump: NodeJS.Immediate | undefined
  #rest: Buffer = Buffer.alloc(0)
  #waiting: Buffer[] = []
  #words = ''

  constructor(source: Source, deps: ReaderDeps) {
    this.#source = source
    this.#deps = deps
    this.#frameBytes = streamFrameBytes(deps.format)
    this.#opened = this.lastAt = deps.clock.monotonic()
    this.ended = this.#listen()
    this.#watch = setInterval(() => this.#judge(), Math.min(1000, deps.patience.stalledMs / 4))
  }

  stderr(): string {
    return this.#source.stderr()
  }

  /** Makes the source wait because nobody can take its frames now. */
  pause(): void {
    this.#paused = true
    this.#source.pcm.pause()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.lastAt = this.#deps.clock.monotonic()
    this.#source.pcm.resume()
  }

  stop(): void {
    this.#source.stop()
  }

  /** Releases everything and delivers nothing more. Resolves when the program is gone. */
  async close(): Promise<void> {
    clearInterval(this.#watch)
    clearImmediate(this.#pump)
    this.#waiting = []
    this.#source.pcm.removeAllListeners('data')
    this.#source.stop()
    this.#source.pcm.destroy()
    await this.#source.ended
  }

  async #listen(): Promise<SourceEnd> {
    const { pcm, ended } = this.#source
    const closed = new Promise<void>((resolve) => pcm.once('close', resolve))
    pcm.on('data', (bytes: Buffer) => {
      this.#heard = true
      this.lastAt = this.#deps.clock.monotonic()
      this.#waiting.push(bytes)
      this.#later()
    })
    // A broken pipe ends the audio; the source itself tells why.
    pcm.on('error', () => pcm.destroy())
    this.#source.onWords = (words) => {
      this.#words += words
      this.#later()
    }
    const end = await ended
    const linger = setInterval(() => this.#paused || pcm.destroy(), LINGER_MS)
    if (!pcm.closed) await closed
    clearInterval(linger)
    this.#flush()
    return end
  }

  /**
   * Frames and messages are handled together, after the current turn of the event loop, so that a reported loss comes after
   * all frames written before it, and the first messages come before the first frame.
   */
  #later(): void {
    this.#pump ??= setImmediate(() => this.#flush())
  }

  #flush(): void {
    clearImmediate(this.#pump)
    this.#pump = undefined
    for (const bytes of this.#waiting.splice(0)) this.#frames(bytes)
    const lines = this.#words.lastIndexOf('\n') + 1
    const lost = lines > 0 ? overruns(this.#words.slice(0, lines)) : undefined
    this.#words = this.#words.slice(lines)
    if (lost) this.#deps.onOverrun(lost.seconds)
  }

  /** A template may produce WAV: the header is skipped. */
  #frames(chunk: Buffer): void {
    let bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    if (!this.#begun) {
      const skip = headerBytes(bytes)
      if (skip === undefined) {
        this.#rest = bytes
        return
      }
      this.#begun = true
      bytes = bytes.subarray(skip)
    }
    const whole = bytes.length - (bytes.length % this.#frameBytes)
    this.#rest = bytes.subarray(whole)
    if (whole > 0) this.#deps.onFrames(bytes.subarray(0, whole), this.lastAt)
  }

  /** Detects a silent device, not a slow disk: nothing is judged while nobody can take audio. */
  #judge(): void {
    if (this.#paused || this.#waiting.length > 0) return
    const { clock, patience } = this.#deps
    const { graceMs, stalledMs } = patience
    const now = clock.monotonic()
    const late = this.#heard ? now - this.lastAt > stalledMs : now - this.#opened > graceMs + stalledMs
    if (!late || this.stalled) return
    this.stalled = true
    this.#source.kill()
  }
}

/** Bytes to skip at the start; undefined while not known yet. */
function headerBytes(bytes: Buffer): number | undefined {
  if (bytes.length < 12) return undefined
  if (!isWav(bytes)) return 0
  const skip = parseWav(bytes)?.dataOffset
  return skip ?? (bytes.length > 4096 ? 0 : undefined)
}
