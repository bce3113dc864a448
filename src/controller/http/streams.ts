// Endless answers. The source is asked only when the client can take more; nothing is buffered in between.
import type { Clock } from '../../kernel/clock.ts'
import { ConcurrencyLimit, tooManyStreams } from './concurrency.ts'
import type { Incoming } from './route.ts'

/** Where an endless answer comes from. */
export interface Source {
  /** The client reads: from now on `wake` is called when something waits. @returns the function that ends it */
  begin(wake: () => void): () => void
  /** Keeps a silent connection alive; sent after a while without anything else. */
  idle?: Uint8Array
  /** Whether the caller may still have it; asked at the first byte and every few seconds. */
  mayGoOn(): boolean
  /** Bytes that wait; undefined when nothing does; `end` when nothing will. Asked only when the client can take more. */
  take(): Uint8Array | 'end' | undefined
}

/** Who asks for an endless answer. */
export type StreamRequest = Pick<Incoming, 'gone' | 'method'>

const MAX_PER_USER = 16
const MAX_STREAMS = 1000
const CHECK_MS = 5000
const IDLE_MS = 15_000
// Pause between two writes: what arrives meanwhile is sent together.
const PACE_MS = 50

/** Every endless answer; `close` ends them all. */
export class Streams {
  private readonly clock: Clock
  private readonly open = new Map<EndlessStream, () => void>()
  private readonly places = new ConcurrencyLimit(MAX_PER_USER)
  private closed = false

  constructor(clock: Clock) {
    this.clock = clock
  }

  /**
   * The body of an answer; none for a HEAD. It counts as open until it has ended or its client has gone, read or not.
   * @throws Fail 429 when this user, or all together, have too many.
   */
  stream(userId: string, request: StreamRequest, source: Source): ReadableStream<Uint8Array> | null {
    if (this.open.size >= MAX_STREAMS || this.places.full(userId)) throw tooManyStreams()
    if (request.method === 'HEAD') return null
    const stream: EndlessStream = new EndlessStream(this.clock, source, () => {
      this.open.get(stream)?.()
      this.open.delete(stream)
    })
    this.open.set(stream, this.places.take(userId))
    const gone = request.gone()
    gone.addEventListener('abort', () => stream.end(), { once: true })
    if (this.closed || gone.aborted) stream.end()
    return new ReadableStream(stream, { highWaterMark: 0 })
  }

  /** Open streams. */
  count(): number {
    return this.open.size
  }

  /** Ends all, and later ones at once: the controller is stopping. */
  close(): void {
    this.closed = true
    for (const stream of this.open.keys()) stream.end()
  }
}

class EndlessStream {
  private readonly clock: Clock
  private readonly leave: () => void
  private readonly source: Source
  private cancelled = false
  private checkedAt = Number.NEGATIVE_INFINITY
  private ended = false
  private finish: (() => void) | undefined
  private sentAt = 0
  private wake: () => void = () => {}

  constructor(clock: Clock, source: Source, leave: () => void) {
    this.clock = clock
    this.leave = leave
    this.source = source
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      if (this.finish) await this.pause(PACE_MS, false)
      else this.begin()
      const bytes = await this.next()
      // Without bytes it has ended. A cancelled stream is closed already.
      if (bytes) controller.enqueue(bytes)
      else if (!this.cancelled) controller.close()
    } catch (e) {
      this.end()
      throw e
    }
  }

  cancel(): void {
    this.cancelled = true
    this.end()
  }

  end(): undefined {
    this.ended = true
    this.leave()
    this.finish?.()
    this.finish = () => {}
    this.wake()
  }

  private begin(): void {
    this.sentAt = this.clock.monotonic()
    this.finish = this.source.begin(() => this.wake())
  }

  private async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const now = this.clock.monotonic()
      if (!this.ended && now - this.checkedAt >= CHECK_MS && !this.allowed(now)) this.end()
      const bytes = this.ended ? 'end' : this.source.take()
      if (bytes === 'end') return this.end()
      const sent = bytes ?? (now - this.sentAt >= IDLE_MS ? this.source.idle : undefined)
      if (sent) this.sentAt = now
      if (sent) return sent
      await this.pause(CHECK_MS, true)
    }
  }

  private allowed(now: number): boolean {
    this.checkedAt = now
    return this.source.mayGoOn()
  }

  /** Waits `ms`, or until the end, or - when `wakeable` - until `wake` is called. */
  private async pause(ms: number, wakeable: boolean): Promise<void> {
    if (this.ended) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    this.wake = () => (wakeable || this.ended) && resolve()
    await promise
    this.wake = () => {}
    clearTimeout(timer)
  }
}
