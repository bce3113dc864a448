import { Fail } from '../../kernel/fail.ts'

/** Runs a piece of work when it is its turn. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>

/**
 * At most `width` pieces of work at once, the others wait in line. Strangers can ask for a scrypt; they must not
 * fill the thread pool that also writes audio to disk.
 * @throws Fail 429 `rate_limited` when `longest` are already waiting.
 */
export function turns(width: number, longest: number): Turns {
  const waiting: (() => void)[] = []
  let running = 0

  const enter = async (): Promise<void> => {
    if (running < width) {
      running++
      return
    }
    if (waiting.length >= longest)
      throw new Fail(429, 'rate_limited', 'Too many logins at once', { headers: { 'Retry-After': '5' } })
    await new Promise<void>((resolve) => waiting.push(resolve))
  }
  // The place is handed on, so that nobody slips in between.
  const leave = (): void => {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
  return async (work) => {
    await enter()
    try {
      return await work()
    } finally {
      leave()
    }
  }
}
