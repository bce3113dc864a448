import type { Log } from '../../kernel/log.ts'
import type { MeterFrame } from '../../wire/meters.ts'
import { Exchanges } from '../health/exchanges.ts'
import type { Report } from '../health/report.ts'
import type { Link } from '../link/link.ts'
import type { Token } from '../token.ts'

interface PosterDeps {
  link: Pick<Link, 'meterFrame'>
  log: Log
  report: Report
  token: Pick<Token, 'current' | 'refresh'>
}

/** Quick frames do not wait for whole ones, nor take their place. */
const keyOf = ({ interfaceId, quick }: MeterFrame): string => `${quick ? 'quick' : 'whole'} ${interfaceId}`

/** Sends frames, one of a kind at a time per interface and always the newest: an old reading is worthless. */
export class FramePoster {
  readonly #deps: PosterDeps
  readonly #next = new Map<string, MeterFrame | undefined>()
  readonly #exchanges: Exchanges
  #stopped = false

  constructor(deps: PosterDeps) {
    this.#deps = deps
    this.#exchanges = new Exchanges(deps)
  }

  post(frame: MeterFrame): void {
    const key = keyOf(frame)
    const busy = this.#next.has(key)
    this.#next.set(key, busy ? frame : undefined)
    if (!busy) void this.#deliver(frame)
  }

  /** Sends and reports nothing more; a request under way ends with the link. */
  stop(): void {
    this.#stopped = true
    this.#exchanges.stop()
    this.#next.clear()
  }

  async #deliver(first: MeterFrame): Promise<void> {
    for (let frame: MeterFrame | undefined = first; frame && !this.#stopped; ) {
      await this.#send(frame)
      const key = keyOf(frame)
      frame = this.#next.get(key)
      if (frame) this.#next.set(key, undefined)
      else this.#next.delete(key)
    }
  }

  async #send(frame: MeterFrame): Promise<void> {
    const { link, token } = this.#deps
    if (token.current() !== undefined) await this.#exchanges.run('meter_frame', () => link.meterFrame(frame))
  }
}
