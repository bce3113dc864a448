import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { SoundReading } from '../../wire/soundreadings.ts'
import { Exchanges } from '../health/exchanges.ts'
import type { Report } from '../health/report.ts'
import { type Link, LinkError } from '../link/link.ts'
import { backoffMs, createBell, type Service } from '../proc/bell.ts'
import type { Token } from '../token.ts'

interface PosterDeps {
  clock: Clock
  link: Pick<Link, 'soundReading'>
  log: Log
  report: Report
  token: Pick<Token, 'current' | 'refresh'>
}

/** Bounds memory while the controller is away: the oldest go first. */
const MOST_KEPT = 64
const RETRY_MAX_MS = 30_000

interface Kept {
  failures: number
  reading: SoundReading
  until: number
}

/**
 * Sends readings one after the other, again until the controller has them or they have become stale. Which failed least often
 * goes first: one that the controller cannot take holds up no other.
 */
export class SoundPoster implements Service {
  readonly #bell = createBell()
  readonly #deps: PosterDeps
  readonly #exchanges: Exchanges
  #kept: Kept[] = []
  #sending: Promise<void> | undefined
  #stopped = false

  constructor(deps: PosterDeps) {
    this.#deps = deps
    this.#exchanges = new Exchanges(deps)
  }

  /** `freshMs`: how long it is worth sending. */
  post(reading: SoundReading, freshMs: number): void {
    if (this.#stopped) return
    this.#kept.push({ failures: 0, reading, until: this.#deps.clock.monotonic() + freshMs })
    this.#kept = this.#kept.slice(-MOST_KEPT)
    if (this.#sending) this.#bell.ring()
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
  }

  /** It works when there is something to send. */
  start(): void {}

  /** Resolves when nothing is sent any more; what waits is dropped. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#exchanges.stop()
    this.#kept = []
    this.#bell.ring()
    await this.#sending
  }

  async #send(): Promise<void> {
    for (let failures = 0; ; ) {
      this.#kept = this.#kept.filter(({ until }) => until > this.#deps.clock.monotonic())
      const [next] = this.#kept.toSorted((a, b) => a.failures - b.failures)
      if (!next) return
      const refused = await this.#attempt(next.reading)
      if (refused === undefined) {
        next.failures++
        await this.#bell.wait(backoffMs(++failures, RETRY_MAX_MS, Math.random()))
      } else {
        failures = 0
        this.#kept = this.#kept.filter((one) => one !== next)
      }
    }
  }

  /** Whether it was refused for good; undefined: it is to be tried again. */
  async #attempt(reading: SoundReading): Promise<boolean | undefined> {
    const { link, token } = this.#deps
    if (token.current() === undefined) return undefined
    let refused: boolean | undefined
    const done = await this.#exchanges.run('sound_reading', async () => {
      try {
        await link.soundReading(reading)
      } catch (e) {
        // An older controller does not know readings; that is no fault to tell of.
        refused = e instanceof LinkError && !e.transient && e.status !== 401 ? true : undefined
        if (!(refused && e instanceof LinkError && e.status === 404)) throw e
      }
    })
    return done ? (refused ?? false) : refused
  }
}
