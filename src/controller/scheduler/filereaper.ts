import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { hasCode, removeGently } from '../../kernel/durable.ts'
import type { Runner } from './ticker.ts'

const EVERY_SECONDS = 5

/** Deletes the files of a directory, a piece at a time; what is left at `stop` is deleted after the next start. */
export class FileReaper {
  private readonly dir: string
  private readonly ending = new AbortController()

  constructor(dir: string) {
    this.dir = dir
  }

  runner(): Runner {
    return { name: 'take-removal', enabled: true, intervalSeconds: EVERY_SECONDS, tick: () => this.empty() }
  }

  stop(): void {
    this.ending.abort()
  }

  private async empty(): Promise<{ removed: number }> {
    let removed = 0
    try {
      for (const name of await fs.readdir(this.dir)) {
        await removeGently(path.join(this.dir, name), this.ending.signal)
        removed++
      }
    } catch (e) {
      // The directory is not there yet, or the controller is stopping.
      if (!hasCode(e, 'ENOENT') && !this.ending.signal.aborted) throw e
    }
    return { removed }
  }
}
