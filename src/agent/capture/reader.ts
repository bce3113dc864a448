import type { Clock } from '../../kernel/clock.ts'
import { isWav } from '../../kernel/wav.rules.ts'
import { type PcmFormat, streamFrameBytes } from '../audio/format.rules.ts'
import { parseWav } from '../audio/wav.rules.ts'
import { overruns } from './faults.rules.ts'
import type { Source, SourceEnd } from './source.ts'

/** A pipe that stays open after its program is gone (a grandchild holds it) is closed after this. */
const LINGER_MS = 1000

interface Patience {
  graceMs: number
  stalledMs: number
}

interface ReaderDeps {
  clock: Clock
  format: PcmFormat
  /** Whole frames in order; `at`: monotonic ms when they came. */
  onFrames(frames: Buffer, at: number): void
  /** The source said that it lost so much audio after the frames given so far. */
  onOverrun(seconds: number): void
  patience: Patience
}

/** One opening of a source: whole frames in order, when they came, and whether they stopped coming. */
export class SourceReader {
  /** Resolves when the source is gone and its last frame was given. Never rejects. */
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

  /** Lets the source wait: nobody can take its frames now. */
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

  /** Lets go of everything; nothing is given after this. Resolves when the program is gone. */
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
    // A broken pipe is the end of the audio; why, the source itself says.
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
   * Frames and words of one moment are looked at together, behind the present turn of the loop: what the source says
   * of its loss comes after all it wrote before, and its first words before its first frame.
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

  /** A template may write WAV: its header is no audio. */
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

  /** Silence of the device, not of the disk: while nobody can take audio nothing is judged. */
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

/** Bytes to skip at the start; undefined while that cannot be told yet. */
function headerBytes(bytes: Buffer): number | undefined {
  if (bytes.length < 12) return undefined
  if (!isWav(bytes)) return 0
  const skip = parseWav(bytes)?.dataOffset
  return skip ?? (bytes.length > 4096 ? 0 : undefined)
}
