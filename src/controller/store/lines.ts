/**
 * Who waits, each caller in a line of its own. One of each line is taken after the other, and who has not been here lately
 * goes before who comes again and again: a heartbeat does not stand behind a crowd (the sparse flows of RFC 8290).
 */
export class Lines<T extends object> {
  private readonly fresh = new Map<string, T[]>()
  /** Served at least once. A line that is empty keeps its place until its turn comes. */
  private readonly served = new Map<string, T[]>()
  private waiting = 0

  /** How many wait. */
  get size(): number {
    return this.waiting
  }

  add(caller: string, one: T): void {
    const line = this.fresh.get(caller) ?? this.served.get(caller)
    if (line) line.push(one)
    else this.fresh.set(caller, [one])
    this.waiting++
  }

  /** The one whose turn it is; none when nobody waits. */
  next(): T | undefined {
    for (const lines of [this.fresh, this.served])
      for (const [caller, line] of lines) {
        lines.delete(caller)
        const one = line.shift()
        if (!one) continue
        this.served.set(caller, line)
        this.waiting--
        return one
      }
    return undefined
  }
}
