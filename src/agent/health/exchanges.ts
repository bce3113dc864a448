import { errorFields, type Log } from '../../kernel/log.ts'
import { faultWords } from '../../kernel/words.ts'
import { LinkError } from '../link/link.ts'
import type { Token } from '../token.ts'
import type { Report } from './report.ts'

interface ExchangesDeps {
  log: Log
  report: Report
  token: Pick<Token, 'refresh'>
}

/** Runs recurring exchanges with the controller. Per topic, reports the first failure and the recovery. */
export class Exchanges {
  readonly #deps: ExchangesDeps
  readonly #failing = new Set<string>()
  #stopped = false

  constructor(deps: ExchangesDeps) {
    this.#deps = deps
  }

  failing(topic: string): boolean {
    return this.#failing.has(topic)
  }

  /** Stops reporting. */
  stop(): void {
    this.#stopped = true
  }

  /** Resolves with whether it succeeded. Never rejects. */
  async run(topic: string, exchange: () => Promise<void>): Promise<boolean> {
    try {
      await exchange()
      if (!this.#stopped && this.#failing.delete(topic))
        this.#deps.report({ severity: 'info', type: `agent.${topic}.sync_recovered` })
      return true
    } catch (e) {
      if (!this.#stopped) this.#failed(topic, e)
      return false
    }
  }

  #failed(topic: string, e: unknown): void {
    const { log, report, token } = this.#deps
    const status = e instanceof LinkError ? e.status : undefined
    if (!(e instanceof LinkError))
      log.error('unexpected error in an exchange with the controller', { topic, ...errorFields(e) })
    if (status === 401) token.refresh()
    const details = { error: faultWords(e), ...(status ? { status } : {}) }
    if (!this.#failing.has(topic)) report({ details, severity: 'warning', type: `agent.${topic}.sync_failed` })
    this.#failing.add(topic)
  }
}
