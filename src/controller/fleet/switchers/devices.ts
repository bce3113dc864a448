import type { SwitcherModel } from '../../../wire/switchers.ts'
import { DEADLINES, type Deadlines, matrixDriver, type SwitcherDriver } from './matrix.driver.ts'
import { PORTS } from './switchers.rules.ts'

interface Device {
  host: string
  id: string
  model: SwitcherModel
  port: number
}

/** Connections to switchers: one at a time to each, none after `stop`. */
export class Devices {
  private readonly ending = new AbortController()
  private readonly deadlines: Deadlines
  private readonly queues = new Map<string, Promise<unknown>>()

  constructor(deadlines: Deadlines = DEADLINES) {
    this.deadlines = deadlines
  }

  /** Runs `talk` with a switcher as soon as earlier calls for it are done. */
  async use<T>(device: Device, talk: (driver: SwitcherDriver) => Promise<T>): Promise<T> {
    const before = this.queues.get(device.id) ?? Promise.resolve()
    const mine = before.then(() => talk(this.driver(device)))
    // The next call waits for this one to end, whether it fails or not.
    const ended = mine.then(
      () => {},
      () => {},
    )
    this.queues.set(device.id, ended)
    try {
      return await mine
    } finally {
      if (this.queues.get(device.id) === ended) this.queues.delete(device.id)
    }
  }

  stop(): void {
    this.ending.abort()
  }

  private driver({ host, model, port }: Device): SwitcherDriver {
    return matrixDriver({ host, port }, PORTS[model].outputs, this.ending.signal, this.deadlines)
  }
}
