// The doctor within the running agent, called by the controller's configuration.
import { errorFields, type Log } from '../../kernel/log.ts'
import type { DeviceFindings } from '../../wire/doctor.ts'
import type { NodeConfig } from '../../wire/nodes.ts'
import type { AgentConfig } from '../config.ts'
import type { InventoryOptions } from '../inventory/inventory.ts'
import type { Link } from '../link/link.ts'
import type { Service } from '../proc/bell.ts'
import type { Token } from '../token.ts'
import { examineAgent } from './doctor.ts'
import { keyUnseen } from './takes.ts'

interface CallsDeps {
  config: AgentConfig
  findings: () => DeviceFindings
  inventory: InventoryOptions
  link: Pick<Link, 'doctorReport'>
  log: Log
  token: Pick<Token, 'current'>
}

/** Answers each call once; one examination at a time. Takes and meters go on: no device is opened for it. */
export class DoctorCalls implements Service {
  readonly #deps: CallsDeps
  #answered: string | undefined
  #running: Promise<void> = Promise.resolve()
  readonly #stopping = new AbortController()

  constructor(deps: CallsDeps) {
    this.#deps = deps
  }

  apply({ doctor }: Pick<NodeConfig, 'doctor'>): void {
    if (!doctor || doctor.requestId === this.#answered) return
    const { requestId } = doctor
    this.#answered = requestId
    this.#running = this.#running.then(() => this.#answer(requestId))
  }

  start(): void {}

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #answer(requestId: string): Promise<void> {
    const { config, findings, inventory, link, log, token } = this.#deps
    const { signal } = this.#stopping
    // Whoever asked for an earlier one gave up.
    if (requestId !== this.#answered || signal.aborted) return
    try {
      const asked = { config, hear: findings, inventory, sshKey: keyUnseen, token: token.current }
      const report = await examineAgent(asked, signal)
      await link.doctorReport(requestId, report)
    } catch (e) {
      if (signal.aborted) return
      log.warn('what the doctor found could not be sent: it is found again when somebody asks again', errorFields(e))
    }
  }
}
