import type { Log } from '../../kernel/log.ts'
import { MAX_LEVELS, type MeterFrame } from '../../wire/meters.ts'
import { Exchanges } from '../health/exchanges.ts'
import type { Report } from '../health/report.ts'
import type { Link } from '../link/link.ts'
import type { Token } from '../token.ts'

interface PosterDeps {
  link: Pick<Link, 'meterFrame' | 'meterFrames'>
  log: Log
  report: Report
  token: Pick<Token, 'current' | 'refresh'>
}

/** What one request takes to the controller: a frame, or several that come together. */
type Load = MeterFrame | readonly MeterFrame[]

const MAX_TOGETHER = 60
const isSeveral = (load: Load): load is readonly MeterFrame[] => Array.isArray(load)
/** Quick frames do not wait for whole ones, nor take their place. */
const keyOf = (load: Load): string =>
  isSeveral(load) ? 'together' : `${load.quick ? 'quick' : 'whole'} ${load.interfaceId}`

/**
 * Sends frames, one request of a kind at a time and always the newest: an old reading is worthless. Whole frames wait for each
 * other where the controller says for how long.
 */
export class FramePoster {
  readonly #deps: PosterDeps
  readonly #next = new Map<string, Load | undefined>()
  readonly #exchanges: Exchanges
  /** Nothing was sent yet: the first frame says that there is sound. */
  #quiet = true
  #stopped = false
  #timer: NodeJS.Timeout | undefined
  #togetherSeconds = 0
  #waiting: MeterFrame[] = []

  constructor(deps: PosterDeps) {
    this.#deps = deps
    this.#exchanges = new Exchanges(deps)
  }

  /** How long whole frames may wait for each other; 0: each is sent at once. */
  together(seconds: number): void {
    if (seconds === this.#togetherSeconds) return
    this.#togetherSeconds = seconds
    this.#sendWaiting()
  }

  post(frame: MeterFrame): void {
    if (this.#quiet || this.#togetherSeconds === 0 || frame.quick) this.#post(frame)
    else this.#gather(frame)
  }

  #gather(frame: MeterFrame): void {
    const levels = this.#waiting.reduce((sum, one) => sum + one.levels.length, frame.levels.length)
    if (levels > MAX_LEVELS || this.#waiting.length === MAX_TOGETHER) this.#sendWaiting()
    this.#waiting.push(frame)
    this.#timer ??= setTimeout(() => this.#sendWaiting(), this.#togetherSeconds * 1000).unref()
  }

  /** Sends and reports nothing more; a request under way ends with the link. */
  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
    this.#exchanges.stop()
    this.#next.clear()
  }

  #sendWaiting(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const frames = this.#waiting
    this.#waiting = []
    if (frames.length > 0 && !this.#stopped) this.#post(frames)
  }

  #post(load: Load): void {
    this.#quiet = false
    const key = keyOf(load)
    const busy = this.#next.has(key)
    this.#next.set(key, busy ? load : undefined)
    if (!busy) void this.#deliver(load)
  }

  async #deliver(first: Load): Promise<void> {
    for (let load: Load | undefined = first; load && !this.#stopped; ) {
      await this.#send(load)
      const key = keyOf(load)
      load = this.#next.get(key)
      if (load) this.#next.set(key, undefined)
      else this.#next.delete(key)
    }
  }

  async #send(load: Load): Promise<void> {
    const { link, token } = this.#deps
    if (token.current() === undefined) return
    await this.#exchanges.run('meter_frame', () => (isSeveral(load) ? link.meterFrames(load) : link.meterFrame(load)))
  }
}
