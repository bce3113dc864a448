import { manifestPath } from '../../wire/manifests.ts'
import { removeFiles } from './files.ts'

/** A file that could not be removed, and why. */
interface RemovalFailure {
  error: string
  path: string
}

const withManifest = (path: string): string[] => [path, manifestPath(path)]

/**
 * Paths at which files are being stored or removed right now. One process writes the takes, so a claim in memory is
 * enough: nobody else writes to or removes a claimed path until the row that names it is written or deleted.
 */
export class PathClaims {
  private readonly held = new Set<string>()
  private readonly takes: string

  /** `takes` is the directory of the stored files; every path is relative to it. */
  constructor(takes: string) {
    this.takes = takes
  }

  /** Claims the first of these that is neither taken nor claimed. @throws Error when none is free */
  claim(names: readonly string[], taken: ReadonlySet<string>): string {
    const name = names.find((one) => !taken.has(one) && !this.held.has(one))
    if (name === undefined) throw new Error(`no free name among ${names.join(', ')}`)
    this.held.add(name)
    return name
  }

  release(path: string): void {
    this.held.delete(path)
  }

  /**
   * Runs a transaction that deletes rows, then removes the files it marked. Rows go first: a file without a row is swept
   * later, while a row without its file would offer a take that is gone. Call `discard` inside the transaction: from
   * then on nobody stores a file at these paths; a path where one is being stored already is skipped. What is told of a
   * file beside it goes with it.
   */
  async removing<T>(work: (discard: (paths: readonly string[]) => void) => T | Promise<T>): Promise<{
    done: T
    failures: RemovalFailure[]
  }> {
    const mine: string[] = []
    const discard = (paths: readonly string[]) => {
      for (const path of paths) {
        if (this.held.has(path)) continue
        this.held.add(path)
        mine.push(path)
      }
    }
    try {
      const done = await work(discard)
      return { done, failures: await removeFiles(this.takes, mine.flatMap(withManifest)) }
    } finally {
      for (const path of mine) this.held.delete(path)
    }
  }
}
