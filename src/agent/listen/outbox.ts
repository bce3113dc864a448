// Sends pieces to the controller: in order, one request at a time, with a queue of at most a few seconds.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../kernel/clock.ts'
import type { MonitorRendition } from '../../wire/listen.ts'
import type { Report } from '../health/report.ts'
import { type Link, LinkError, type LiveChunk } from '../link/link.ts'
import { backoffMs, createBell } from '../proc/bell.ts'
import { follows, joinedPieces, msOf, type Piece, wavOf } from './pieces.rules.ts'

interface OutboxDeps {
  clock: Clock
  link: Pick<Link, 'listenChunk'>
  /** Called with true when no piece has got through for a while, with false when one does again. */
  onStuck(stuck: boolean): void
  rendition: MonitorRendition
  report: Report
}

/** How far back the controller lets a listener start. */
const MAX_WAITING_MS = 10_000
/** Waiting pieces are sent together: a slow connection then needs fewer requests and loses nothing. */
const TOGETHER_MS = 2000
const STUCK_MS = 15_000
const RETRY_MAX_MS = 5000

export class Outbox {
  readonly #deps: OutboxDeps
  readonly #news = createBell()
  readonly #stopping = new AbortController()
  readonly #ended: Promise<void>
  #waiting: Piece[] = []
  #last: Piece | undefined
  #sequence = 0
  #droppedMs = 0
  /** Monotonic ms of the first failure in a row. */
  #failingSince: number | undefined
  #stuck = false

  constructor(deps: OutboxDeps) {
    this.#deps = deps
    this.#ended = this.#run()
  }

  put(piece: Piece): void {
    this.#waiting.push(piece)
    this.#trim()
    this.#news.ring()
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#news.ring()
    await this.#ended
  }

  #trim(): void {
    let ms = msOf(this.#waiting.reduce((sum, { pcm }) => sum + pcm.length, 0))
    for (; ms > MAX_WAITING_MS; ms -= this.#drop()) if (this.#waiting.length < 2) return
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const piece = this.#take()
      if (piece) await this.#deliver(piece)
      else await this.#news.wait()
    }
  }

  /** Joins consecutive waiting pieces, up to a limit. */
  #take(): Piece | undefined {
    const [first, ...others] = this.#waiting
    if (!first) return undefined
    const pieces: [Piece, ...Piece[]] = [first]
    let ms = msOf(first.pcm.length)
    for (const piece of others) {
      ms += msOf(piece.pcm.length)
      if (ms > TOGETHER_MS || !follows(piece, pieces.at(-1)!)) break
      pieces.push(piece)
    }
    this.#waiting.splice(0, pieces.length)
    return joinedPieces(pieces)
  }

  /** Repeats a piece under the same number until it is settled: the controller recognises one it already has. */
  async #deliver(piece: Piece): Promise<void> {
    const { signal } = this.#stopping
    const chunk = this.#numbered(piece)
    for (let failures = 0; !signal.aborted; failures++) {
      const pauseMs = backoffMs(failures - 1, RETRY_MAX_MS, Math.random())
      // Rejects when stopped, which the loops see themselves.
      if (failures > 0) await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
      if (!signal.aborted && (await this.#settled(chunk))) return
    }
  }

  #numbered(piece: Piece): LiveChunk {
    const { rendition } = this.#deps
    if (this.#last && !follows(piece, this.#last)) this.#sequence++
    this.#last = piece
    const durationMs = Math.max(1, Math.round(msOf(piece.pcm.length)))
    const capturedAt = Math.round(piece.capturedAt)
    return { audio: wavOf(piece.pcm), capturedAt, durationMs, rendition, sequence: this.#sequence++ }
  }

  /** Whether it was accepted, or refused for good. */
  async #settled(chunk: LiveChunk): Promise<boolean> {
    try {
      await this.#deps.link.listenChunk(chunk, this.#stopping.signal)
    } catch (e) {
      if (this.#stopping.signal.aborted) return false
      // A credential may be replaced; any other refusal would only be repeated.
      const hopeful = e instanceof LinkError && (e.transient || e.status === 401)
      this.#failed(e as Error, hopeful)
      return !hopeful
    }
    this.#succeeded()
    return true
  }

  #succeeded(): void {
    const { onStuck, rendition, report } = this.#deps
    if (this.#failingSince !== undefined) {
      this.#failingSince = undefined
      report({ severity: 'info', type: 'agent.listen_monitor.chunk.sync_recovered' })
    }
    if (this.#droppedMs > 0 && this.#waiting.length === 0) {
      const details = { rendition, seconds: this.#droppedMs / 1000 }
      this.#droppedMs = 0
      report({ details, severity: 'info', type: 'agent.listen_monitor.audio_dropped_recovered' })
    }
    if (!this.#stuck) return
    this.#stuck = false
    onStuck(false)
  }

  #failed(e: Error, hopeful: boolean): void {
    const { clock, onStuck, rendition, report } = this.#deps
    const now = clock.monotonic()
    if (this.#failingSince === undefined) {
      this.#failingSince = now
      const details = {
        error: e.message,
        rendition,
        ...(e instanceof LinkError && e.status ? { status: e.status } : {}),
      }
      report({ details, severity: 'warning', type: 'agent.listen_monitor.chunk.sync_failed' })
    } else if (hopeful && !this.#stuck && now - this.#failingSince > STUCK_MS) {
      this.#stuck = true
      onStuck(true)
    }
  }

  /** Drops the oldest piece; returns its length, ms. */
  #drop(): number {
    const { rendition, report } = this.#deps
    const ms = msOf(this.#waiting.shift()!.pcm.length)
    if (this.#droppedMs === 0)
      report({ details: { rendition }, severity: 'warning', type: 'agent.listen_monitor.audio_dropped' })
    this.#droppedMs += ms
    return ms
  }
}
