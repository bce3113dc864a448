/** Round robin over passes that handle only a batch: every id has one turn before any has a second. */
export class Rounds {
  private readonly had = new Set<string>()
  private left = 0
  private readonly limit: number

  /** `limit`: turns in one pass. */
  constructor(limit: number) {
    this.limit = limit
  }

  begin(): void {
    this.left = this.limit
  }

  /** Whether this id has a turn in this pass; if so, the turn is used up. */
  turn(id: string): boolean {
    if (this.left === 0 || this.had.has(id)) return false
    this.had.add(id)
    this.left--
    return true
  }

  /** Ends a pass over these ids: once each has had its turn, the next pass begins a new round. */
  end(all: ReadonlySet<string>): void {
    for (const id of this.had) if (!all.has(id)) this.had.delete(id)
    if (this.had.size === all.size) this.had.clear()
  }
}
