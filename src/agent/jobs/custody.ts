// Takes that stay here although the controller has them: asks what becomes of them, and does it (ADR-0046).
import type { Clock } from '../../kernel/clock.ts'
import { type Custody, MOST_ASKED } from '../../wire/custody.ts'
import type { RecorderCache } from '../spool/cache.ts'
import type { JobRunner } from './runner.ts'

interface Parts {
  cache: Pick<RecorderCache, 'held' | 'letGo' | 'takeBack'>
  clock: Pick<Clock, 'monotonic'>
  runner: Pick<JobRunner, 'activity' | 'deliverAgain'>
}

/** Every so many heartbeats a few are asked about, in turn: what a heartbeat costs does not grow with what is kept. */
const BEATS = 6
/** A take that the controller wants again and again is not sent more often than this. */
const AGAIN_MS = 3_600_000
const MOST_REMEMBERED = 1000
/** Takes under way to the controller, above which none is taken back: until its turn a kept one may make room for what is recorded. */
const MOST_UNDER_WAY = 4

/** Asks by the heartbeats, and hears their answers. */
export class KeptTakes {
  readonly #parts: Parts
  #beats = 0
  /** Those asked about in this round. */
  readonly #asked = new Set<string>()
  /** When takes were delivered again, monotonic ms. */
  readonly #offered = new Map<string, number>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The recordings this heartbeat asks about; undefined for none. */
  next(): string[] | undefined {
    if (this.#beats++ % BEATS !== 0) return undefined
    const held = this.#parts.cache.held()
    if (held.every((id) => this.#asked.has(id))) this.#asked.clear()
    const asked = held.filter((id) => !this.#asked.has(id)).slice(0, MOST_ASKED)
    for (const id of asked) this.#asked.add(id)
    return asked.length > 0 ? asked : undefined
  }

  /** What the controller said of them. Never rejects. */
  async heard(said: Record<string, Custody>): Promise<void> {
    for (const [recordingId, custody] of Object.entries(said)) {
      if (custody === 'let_go') await this.#parts.cache.letGo(recordingId)
      if (custody === 'offer') await this.#offer(recordingId)
    }
  }

  async #offer(recordingId: string): Promise<void> {
    const { cache, clock, runner } = this.#parts
    const now = clock.monotonic()
    if (runner.activity().delivering >= MOST_UNDER_WAY) return
    if (now - (this.#offered.get(recordingId) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return
    for (const [id, at] of this.#offered)
      if (now - at >= AGAIN_MS || this.#offered.size >= MOST_REMEMBERED) this.#offered.delete(id)
    this.#offered.set(recordingId, now)
    for (const state of await cache.takeBack(recordingId)) await runner.deliverAgain(state)
  }
}
