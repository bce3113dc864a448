import { Fail } from '../../kernel/fail.ts'

/** How many things each caller has under way at once. */
export class ConcurrencyLimit {
  private readonly limit: number
  private readonly taken = new Map<string, number>()

  /** `most`: places of one caller. */
  constructor(most: number) {
    this.limit = most
  }

  full(caller: string): boolean {
    return (this.taken.get(caller) ?? 0) >= this.limit
  }

  /** Takes a place, whether one is left or not. @returns the function that gives it back; calling it twice is harmless */
  take(caller: string): () => void {
    this.taken.set(caller, (this.taken.get(caller) ?? 0) + 1)
    let left = false
    return () => {
      if (!left) this.leave(caller)
      left = true
    }
  }

  private leave(caller: string): void {
    const own = (this.taken.get(caller) ?? 1) - 1
    if (own > 0) this.taken.set(caller, own)
    else this.taken.delete(caller)
  }
}

export const tooManyStreams = (): Fail =>
  new Fail(429, 'too_many_streams', 'Too many streams are open: close one, or wait until one has ended', {
    headers: { 'retry-after': '5' },
  })
