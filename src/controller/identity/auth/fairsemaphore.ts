import { Fail } from '../../../kernel/fail.ts'

/** Runs `work` when it is the caller's turn. */
export type FairSemaphore = <T>(principal: string, work: () => Promise<T>) => Promise<T>

interface Limits {
  /** Waiting, of all callers together. */
  maxWaiting: number
  maxWaitingPerCaller: number
  /** Running at once. */
  concurrency: number
}

/**
 * A semaphore with one queue per caller, served round robin. Strangers can make the controller compute a scrypt hash: they
 * must not fill the thread pool that also writes audio to disk, nor delay others.
 * @throws Fail 429 `rate_limited` when too many are already waiting.
 */
export function fairSemaphore({ maxWaiting, maxWaitingPerCaller, concurrency }: Limits): FairSemaphore {
  // The first queue is next and then goes to the back: a Map keeps insertion order.
  const lines = new Map<string, (() => void)[]>()
  let running = 0
  let waiting = 0

  const enter = async (caller: string): Promise<void> => {
    if (running < concurrency) {
      running++
      return
    }
    const line = lines.get(caller) ?? []
    if (line.length >= maxWaitingPerCaller || waiting >= maxWaiting)
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
  // The slot is handed to the next in turn directly, so that a newcomer cannot take it.
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
