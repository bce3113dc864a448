// Live listening: while somebody listens, the audio of one open device is sent to the controller piece by piece.
import type { NodeConfig } from '../../wire/nodes.ts'
import type { Service } from '../proc/bell.ts'
import { demandOf, NOBODY } from './demand.rules.ts'
import { type EnhancerDeps, LiveEnhancer } from './enhancer.ts'
import { ListenSession, type SessionDeps } from './session.ts'

export type ListenDeps = Omit<SessionDeps, 'enhancer'> & EnhancerDeps

/** While idle it holds no subscription, thread or timer. */
export class Listen implements Service {
  readonly #deps: SessionDeps
  #demand = NOBODY
  #ending: Promise<unknown> = Promise.resolve()
  #running = false
  #session: ListenSession | undefined

  constructor(deps: ListenDeps) {
    this.#deps = { ...deps, enhancer: new LiveEnhancer(deps) }
  }

  /** What the controller wants to hear from now on. */
  readonly apply = (config: NodeConfig): void => {
    this.#demand = demandOf(config)
    this.#meet()
  }

  start(): void {
    this.#running = true
    this.#meet()
  }

  async stop(): Promise<void> {
    this.#running = false
    this.#meet()
    await this.#ending
    await this.#deps.enhancer.stop()
  }

  #meet(): void {
    const demand = this.#running ? this.#demand : NOBODY
    if (this.#session && !this.#session.suits(demand)) {
      this.#ending = Promise.all([this.#ending, this.#session.stop()])
      this.#session = undefined
    }
    if (!this.#session && demand.raw !== 'off') this.#session = new ListenSession(this.#deps, demand)
    this.#session?.want(demand.enhanced)
  }
}
