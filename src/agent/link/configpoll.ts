// Long-polls the node's config, so that changes (somebody starts listening) reach the agent at once.
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../kernel/clock.ts'
import type { NodeConfig } from '../../wire/nodes.ts'
import { backoffMs, createBell } from '../proc/bell.ts'
import type { Token } from '../token.ts'
import type { Link, TaggedConfig } from './link.ts'

interface ConfigPollDeps {
  apply: (config: NodeConfig) => void
  clock: Clock
  /** How often to ask a controller without long poll. */
  heartbeatMs: number
  link: Pick<Link, 'config'>
  /** Runs an exchange and reports its failure; resolves with whether it succeeded. */
  sync: (exchange: () => Promise<void>) => Promise<boolean>
  token: Pick<Token, 'current'>
}

const WAIT_SECONDS = 25
const RETRY_MAX_MS = 30_000
/** A faster answer was not a long poll. */
const AT_ONCE_MS = 1000
/** Shortest pause between two fetches. */
const PACE_MS = 200
const TOKEN_LOOK_MS = 500

export class ConfigPoll {
  readonly #deps: ConfigPollDeps
  readonly #pause = createBell()
  readonly #stopping = new AbortController()
  #failures = 0
  /** The config applied last. Undefined at first and after a failure: then it is fetched without waiting. */
  #known: TaggedConfig | undefined

  constructor(deps: ConfigPollDeps) {
    this.#deps = deps
  }

  /** Resolves when it was stopped. */
  async run(): Promise<void> {
    const { heartbeatMs, token } = this.#deps
    while (!this.#stopping.signal.aborted) {
      const ms = token.current() === undefined ? Math.min(TOKEN_LOOK_MS, heartbeatMs) : await this.#poll()
      await this.#pause.wait(ms)
    }
  }

  stop(): void {
    this.#stopping.abort()
    this.#pause.ring()
  }

  /** Asks once; the pause until the next time, in ms. */
  async #poll(): Promise<number> {
    const { clock, heartbeatMs, sync } = this.#deps
    const [asked, before] = [clock.monotonic(), this.#known]
    const done = await sync(() => this.#ask())
    if (!done) {
      this.#known = undefined
      return backoffMs(++this.#failures, RETRY_MAX_MS, Math.random())
    }
    this.#failures = 0
    const waited = before?.etag !== undefined && clock.monotonic() - asked >= AT_ONCE_MS
    const news = !isDeepStrictEqual(before?.config, this.#known?.config)
    return waited || news ? PACE_MS : heartbeatMs
  }

  async #ask(): Promise<void> {
    const { apply, link } = this.#deps
    const etag = this.#known?.etag
    const { signal } = this.#stopping
    const answer = await link.config(etag === undefined ? undefined : { etag, signal, waitSeconds: WAIT_SECONDS })
    if (!answer) return
    this.#known = answer
    apply(answer.config)
  }
}
