import { Fail } from '../../../kernel/fail.ts'

/** Runs a piece of work when it is the turn of whoever asked for it. */
export type FairSemaphore = <T>(principal: string, work: () => Promise<T>) => Promise<T>

interface Limits {
  /** Waiting in all lines together. */
  maxWaiting: number
  /** Waiting in one line. */
  maxWaitingPerCaller: number
  /** At work at once. */
  concurrency: number
}

/**
 * At most `width` pieces of work at once; the others wait, each caller's in a line of its own, and the lines take turns.
 * Strangers can ask for a scrypt; they must not fill the thread pool that also writes audio to disk, nor stand before others.
 * @throws Fail 429 `rate_limited` when `perLine` of this caller, or `longest` of all, are already waiting.
 */
export function fairSemaphore({
  maxWaiting: longest,
  maxWaitingPerCaller: perLine,
  concurrency: width,
}: Limits): FairSemaphore {
  // The line at the front is next, and then goes to the back: a Map keeps insertion order.
  const lines = new Map<string, (() => void)[]>()
  let running = 0
  let waiting = 0

  const enter = async (caller: string): Promise<void> => {
    if (running < width) {
      running++
      return
    }
    const line = lines.get(caller) ?? []
    if (line.length >= perLine || waiting >= longest)
      throw new Fail(429, 'rate_limited', 'Too many logins at once', { headers: { 'retry-after': '5' } })
    waiting++
    lines.set(caller, line)
    await new Promise<void>((resolve) => line.push(resolve))
  }
  const next = (): (() => void) | undefined => {
    for (const [caller, line] of lines) {
      lines.delete(caller)
      if (line.length > 1) lines.set(caller, line)
      return line.shift()
    }
    return undefined
  }
  // The place is handed on, so that nobody slips in between.
  const leave = (): void => {
    const proceed = next()
    if (!proceed) running--
    else {
      waiting--
      proceed()
    }
  }
  return async (caller, work) => {
    await enter(caller)
    try {
      return await work()
    } finally {
      leave()
    }
  }
}
