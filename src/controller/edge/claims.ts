/**
 * Paths at which files are just being stored. One process writes the takes, so a claim in memory is enough: nobody else
 * puts bytes there, or removes what lies there, until the row that names it is written.
 */
export class PathClaims {
  private readonly held = new Set<string>()

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

  /** Those of them that nobody is storing a file at. */
  unclaimed(paths: readonly string[]): string[] {
    return paths.filter((path) => !this.held.has(path))
  }
}
