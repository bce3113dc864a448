/**
 * Turns of passes that look at a batch only: everyone has one turn before anybody has a second, whoever comes and goes
 * meanwhile.
 */
export class Rounds {
  private readonly had = new Set<string>()
  private left = 0
  private readonly most: number

  /** At most so many turns in one pass. */
  constructor(most: number) {
    this.most = most
  }

  begin(): void {
    this.left = this.most
  }

  /** Whether it is this one's turn in this pass; if so, it has had it. */
  turn(id: string): boolean {
    if (this.left === 0 || this.had.has(id)) return false
    this.had.add(id)
    this.left--
    return true
  }

  /** Ends a pass over all of these: when each has had its turn, the next pass begins a new round. */
  end(all: ReadonlySet<string>): void {
    for (const id of this.had) if (!all.has(id)) this.had.delete(id)
    if (this.had.size === all.size) this.had.clear()
  }
}
