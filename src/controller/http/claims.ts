import { removeFiles } from './files.ts'

/** A file that could not be removed, and why. */
interface RemovalFailure {
  error: string
  path: string
}

/**
 * Paths at which files are just being stored or removed. One process writes the takes, so a claim in memory is enough:
 * nobody else puts bytes there, or removes what lies there, until the row that names it is written or gone.
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
   * Runs a transaction that takes rows away and removes the files it condemns once it has resolved: rows first, for a file
   * without a row is swept later, a row without its file would be a broken promise. Call `condemn` inside of the
   * transaction: from there on nobody stores a file at these paths, and one that is being stored there is left to its owner.
   */
  async removing<T>(work: (condemn: (paths: readonly string[]) => void) => T | Promise<T>): Promise<{
    done: T
    left: RemovalFailure[]
  }> {
    const mine: string[] = []
    const condemn = (paths: readonly string[]) => {
      for (const path of paths) {
        if (this.held.has(path)) continue
        this.held.add(path)
        mine.push(path)
      }
    }
    try {
      const done = await work(condemn)
      return { done, left: await removeFiles(this.takes, mine) }
    } finally {
      for (const path of mine) this.held.delete(path)
    }
  }
}
