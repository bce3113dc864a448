import { PassThrough } from 'node:stream'
import type { Clock } from '../../kernel/clock.ts'
import { parseWav } from '../spool/wav.rules.ts'
import { type PcmFormat, streamFrameBytes } from './format.rules.ts'
import type { Source, SourceEnd } from './source.ts'

/** Audio held in memory while the disk is slow: a card's own buffer is only half a second. */
const BUFFER_SECONDS = 4
/** A pipe that stays open after its program is gone (a grandchild holds it) is closed after this. */
const LINGER_MS = 1000

export interface Patience {
  graceMs: number
  stalledMs: number
}

/** One opening of a source: whole frames in order, when they came, and whether they stopped coming. */
export class Intake {
  /** Monotonic ms of the first and the latest arrival, and the bytes of the first. */
  firstAt: number | undefined
  firstBytes = 0
  lastAt: number
  stalled = false
  readonly #buffer: PassThrough
  readonly #clock: Clock
  readonly #frameBytes: number
  readonly #opened: number
  readonly #source: Source
  readonly #watch: NodeJS.Timeout

  constructor(source: Source, format: PcmFormat, patience: Patience, clock: Clock) {
    this.#source = source
    this.#clock = clock
    this.#frameBytes = streamFrameBytes(format)
    this.#opened = this.lastAt = clock.monotonic()
    const highWaterMark = Math.max(1 << 20, this.#frameBytes * format.rate * BUFFER_SECONDS)
    this.#buffer = new PassThrough({ readableHighWaterMark: highWaterMark, writableHighWaterMark: 1 << 16 })
    this.#listen()
    this.#watch = setInterval(() => this.#judge(patience), Math.min(1000, patience.stalledMs / 4))
  }

  #listen(): void {
    const { pcm, ended } = this.#source
    pcm.on('data', (bytes: Buffer) => {
      this.lastAt = this.#clock.monotonic()
      if (this.firstAt !== undefined) return
      this.firstAt = this.lastAt
      this.firstBytes = bytes.length
    })
    // A broken pipe is the end of the audio; why, the source itself says.
    pcm.on('error', () => this.#buffer.end())
    pcm.pipe(this.#buffer)
    void ended.then(() => {
      const timer = setTimeout(() => pcm.destroy(), LINGER_MS)
      pcm.once('close', () => {
        clearTimeout(timer)
        this.#buffer.end()
      })
      if (pcm.closed) {
        clearTimeout(timer)
        this.#buffer.end()
      }
    })
  }

  /** Silence of the device, not of the disk: with audio still waiting to be written nothing is judged. */
  #judge({ graceMs, stalledMs }: Patience): void {
    if (this.#buffer.readableLength > 0) return
    const now = this.#clock.monotonic()
    const late = this.firstAt === undefined ? now - this.#opened > graceMs + stalledMs : now - this.lastAt > stalledMs
    if (!late || this.stalled) return
    this.stalled = true
    this.#source.kill()
  }

  /** Whole frames until the source ends. A template may write WAV: its header is no audio. */
  async *frames(): AsyncGenerator<Buffer, void> {
    let rest: Buffer = Buffer.alloc(0)
    let begun = false
    for await (const chunk of this.#buffer as AsyncIterable<Buffer>) {
      let bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
      if (!begun) {
        const skip = headerBytes(bytes)
        if (skip === undefined) {
          rest = bytes
          continue
        }
        begun = true
        bytes = bytes.subarray(skip)
      }
      const whole = bytes.length - (bytes.length % this.#frameBytes)
      rest = bytes.subarray(whole)
      if (whole > 0) yield bytes.subarray(0, whole)
    }
  }

  stderr(): string {
    return this.#source.stderr()
  }

  stop(): void {
    this.#source.stop()
  }

  /** Lets go of everything; resolves when the program is gone. */
  async close(): Promise<SourceEnd> {
    clearInterval(this.#watch)
    this.#source.stop()
    this.#source.pcm.unpipe(this.#buffer)
    this.#source.pcm.destroy()
    this.#buffer.destroy()
    return this.#source.ended
  }
}

/** Bytes to skip at the start; undefined while that cannot be told yet. */
function headerBytes(bytes: Buffer): number | undefined {
  if (bytes.length < 12) return undefined
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WAVE') return 0
  const skip = parseWav(bytes)?.dataOffset
  return skip ?? (bytes.length > 4096 ? 0 : undefined)
}
