import { faultWords } from '../../kernel/words.ts'
import type { Severity } from '../../wire/health.ts'
import type { MeterFrame } from '../../wire/meters.ts'
import type { Report } from '../health/report.ts'
import { type Link, LinkError } from '../link/link.ts'
import type { Token } from '../token.ts'

interface PosterDeps {
  link: Pick<Link, 'meterFrame'>
  report: Report
  token: Pick<Token, 'current' | 'refresh'>
  /** What is no failure of the link is a mistake of ours. */
  unexpected: (e: unknown) => void
}

/** Sends frames: of an interface one at a time, and always the newest. An old meter reading is worth nothing. */
export class FramePoster {
  readonly #deps: PosterDeps
  readonly #next = new Map<string, MeterFrame | undefined>()
  #failing = false
  #stopped = false

  constructor(deps: PosterDeps) {
    this.#deps = deps
  }

  post(frame: MeterFrame): void {
    const { interfaceId } = frame
    const busy = this.#next.has(interfaceId)
    this.#next.set(interfaceId, busy ? frame : undefined)
    if (!busy) void this.#deliver(frame)
  }

  /** Nothing is sent or told any more; what is on its way ends with the link. */
  stop(): void {
    this.#stopped = true
    this.#next.clear()
  }

  async #deliver(first: MeterFrame): Promise<void> {
    for (let frame: MeterFrame | undefined = first; frame && !this.#stopped; ) {
      await this.#send(frame)
      const { interfaceId }: MeterFrame = frame
      frame = this.#next.get(interfaceId)
      if (frame) this.#next.set(interfaceId, undefined)
      else this.#next.delete(interfaceId)
    }
  }

  async #send(frame: MeterFrame): Promise<void> {
    const { link, token } = this.#deps
    if (token.current() === undefined) return
    try {
      await link.meterFrame(frame)
      this.#edge(false, 'info', 'agent.meter_frame.sync_recovered')
    } catch (e) {
      if (this.#stopped) return
      if (!(e instanceof LinkError)) this.#deps.unexpected(e)
      if (e instanceof LinkError && e.status === 401) token.refresh()
      const status = e instanceof LinkError && e.status ? { status: e.status } : {}
      this.#edge(true, 'warning', 'agent.meter_frame.sync_failed', { error: faultWords(e), ...status })
    }
  }

  /** The first failure and the first success after it are told, not every one. */
  #edge(failing: boolean, severity: Severity, type: string, details: Record<string, unknown> = {}): void {
    if (failing === this.#failing || this.#stopped) return
    this.#failing = failing
    this.#deps.report({ details, severity, type })
  }
}
