/** A risk lasts so long before it is told, ms: what blinks is none. */
export const TELL_AFTER_MS = 25_000
/** And is gone so long before it is over. */
export const OVER_AFTER_MS = 60_000

type Held = 'gone' | 'there'

interface Entry {
  /** When it has lasted. */
  end: number
  group: string
  state: Held
}

/** How long something has been as it is, by the monotonic clock: neither a blink nor a jump of the wall clock counts. */
export class Holds {
  private readonly entries = new Map<string, Entry>()
  /** Asked of in this pass. */
  private met = new Set<string>()

  /** Whether `key` has been so for long enough; from the first call on. `at`: monotonic ms. */
  lasts(key: string, group: string, state: Held, at: number): boolean {
    this.met.add(key)
    const known = this.entries.get(key)
    if (known?.state === state) return at >= known.end
    this.entries.set(key, { end: at + (state === 'there' ? TELL_AFTER_MS : OVER_AFTER_MS), group, state })
    return false
  }

  /** Nobody can tell in this pass: it goes on as it was. */
  keep(key: string): void {
    this.met.add(key)
  }

  /** It is told, or over. */
  drop(key: string): void {
    this.entries.delete(key)
  }

  /** At the end of a pass over these groups (undefined: over all): forgets what it met no more. */
  sweep(groups: ReadonlySet<string> | undefined): void {
    for (const [key, { group }] of this.entries)
      if (!this.met.has(key) && (groups === undefined || groups.has(group))) this.entries.delete(key)
    this.met = new Set()
  }

  /** Groups of which something has lasted by then. */
  lasted(at: number): string[] {
    return [...this.entries.values()].filter(({ end }) => end <= at).map(({ group }) => group)
  }

  /** When, after `at`, the next one has lasted; monotonic ms. */
  next(at: number): number {
    let first = Number.POSITIVE_INFINITY
    for (const { end } of this.entries.values()) if (end > at && end < first) first = end
    return first
  }
}
