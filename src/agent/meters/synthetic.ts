import { type Clock, iso } from '../../kernel/clock.ts'
import type { MeterFrame } from '../../wire/meters.ts'
import { interfaceOf } from '../capture/standby.rules.ts'
import type { LocalInterface } from '../inventory/alsa.ts'
import type { Service } from '../proc/bell.ts'
import { syntheticLevels } from './synthetic.rules.ts'

interface SyntheticDeps {
  clock: Clock
  /** SVC_CAPTURE_DEVICE. */
  device: string
  interfaces: () => Promise<LocalInterface[]>
  nodeId: string
  post: (frame: MeterFrame) => void
  /** Seconds between frames. */
  seconds: number
  /** Called with errors of listing the interfaces. */
  unexpected: (e: unknown) => void
}

/** The interface the meters are about: the configured one, else the first (docs/contract/agent.md: Meters). */
export const meteredOf = (device: string, interfaces: LocalInterface[]): LocalInterface | undefined =>
  interfaceOf(device, interfaces) ?? interfaces[0]

export const syntheticFrame = (nodeId: string, device: LocalInterface, tick: number, now: number): MeterFrame => ({
  capturedAt: iso(now),
  // Without a system ref the agent's own id of it (docs/contract/nodes.md: Interfaces).
  interfaceId: device.systemRef ?? device.id,
  levels: syntheticLevels(tick, device.channelCount),
  nodeId,
  synthetic: true,
})

/** How often the interfaces are listed again. */
const LIST_EVERY_MS = 30_000

/** Sends synthetic frames at the pace of real ones, where the settings ask for them. */
export class SyntheticMeters implements Service {
  readonly #deps: SyntheticDeps
  #metered: LocalInterface | undefined
  #timers: NodeJS.Timeout[] = []
  #quick: NodeJS.Timeout | undefined
  #tick = 0

  constructor(deps: SyntheticDeps) {
    this.#deps = deps
  }

  start(): void {
    const list = () => void this.#list()
    list()
    this.#timers = [setInterval(list, LIST_EVERY_MS), setInterval(() => this.#post(), this.#deps.seconds * 1000)]
  }

  /** Quick frames beside the others, so many a second; 0 for none. */
  pace(perSecond: number): void {
    clearInterval(this.#quick)
    this.#quick = perSecond > 0 ? setInterval(() => this.#postQuick(), 1000 / perSecond) : undefined
  }

  async stop(): Promise<void> {
    this.pace(0)
    for (const timer of this.#timers) clearInterval(timer)
  }

  async #list(): Promise<void> {
    try {
      this.#metered = meteredOf(this.#deps.device, await this.#deps.interfaces())
    } catch (e) {
      // Continues with the interface known before.
      this.#deps.unexpected(e)
    }
  }

  #postQuick(): void {
    const { clock, nodeId, post } = this.#deps
    if (!this.#metered) return
    const frame = syntheticFrame(nodeId, this.#metered, this.#tick, clock.now())
    const levels = frame.levels.map(({ quality: _, ...level }) => level)
    post({ ...frame, levels, quick: true })
  }

  #post(): void {
    const { clock, nodeId, post } = this.#deps
    const tick = this.#tick++
    if (this.#metered) post(syntheticFrame(nodeId, this.#metered, tick, clock.now()))
  }
}
