// Notices when a sound card is connected or removed. Listing devices starts programs, so it is done only then.
import * as fs from 'node:fs'
import type { Service } from '../proc/bell.ts'

interface DeviceWatchOptions {
  everyMs: number
  /** The kernel's list of PCM devices. /proc sends no notices, so the file is read. */
  file: string
}

/** A new card is listed before its device files have their permissions, so the listener is called this many times. */
export const ECHOES = 3

/** Polls one small file and calls its listeners when it changes. */
export class DeviceWatch implements Service {
  readonly #options: DeviceWatchOptions
  readonly #listeners = new Set<() => void>()
  #echoes = 0
  #list = ''
  #looking: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  constructor(options: DeviceWatchOptions) {
    this.#options = options
  }

  /** `listener` is called after a change, and a few times more in the seconds after it. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  start(): void {
    // Read now, so that any later change is noticed.
    try {
      this.#list = fs.readFileSync(this.#options.file, 'utf8')
    } catch {
      // No sound driver loaded yet.
    }
    const again = () => {
      this.#looking = this.#looking.then(() => this.#look())
    }
    this.#timer = setInterval(again, this.#options.everyMs)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#listeners.clear()
    await this.#looking
  }

  async #look(): Promise<void> {
    const list = await fs.promises.readFile(this.#options.file, 'utf8').catch(() => '')
    const changed = list !== this.#list
    this.#list = list
    if (!changed && this.#echoes === 0) return
    this.#echoes = changed ? ECHOES : this.#echoes - 1
    for (const listener of this.#listeners) listener()
  }
}
