import { Fail } from '../../kernel/fail.ts'

/** How many things each user has under way at once. */
export class Places {
  private readonly most: number
  private readonly taken = new Map<string, number>()

  /** `most`: places of one user. */
  constructor(most: number) {
    this.most = most
  }

  /** Takes a place; gives how to leave it, once or more often. @throws Fail 429 when the user has no more. */
  take(userId: string): () => void {
    const own = this.taken.get(userId) ?? 0
    if (own >= this.most)
      throw new Fail(429, 'too_many_streams', 'Too many streams are open: close one, or wait until one has ended', {
        headers: { 'retry-after': '5' },
      })
    this.taken.set(userId, own + 1)
    let left = false
    return () => {
      if (!left) this.leave(userId)
      left = true
    }
  }

  private leave(userId: string): void {
    const own = (this.taken.get(userId) ?? 1) - 1
    if (own > 0) this.taken.set(userId, own)
    else this.taken.delete(userId)
  }
}
