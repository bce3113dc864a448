import { setTimeout as sleep } from 'node:timers/promises'
import { backoffSeconds } from './backoff.rules.ts'
import type { JobContext } from './owned.ts'

/** Attempts at what may resolve itself but mostly does not: about two minutes with the usual pauses. */
export const FEW_TRIES = 8

type Waiting = Pick<JobContext, 'pauses' | 'settings' | 'signal'>

/** Pauses before a retry; throws the abort reason when the agent stops. */
export async function pauseBeforeRetry(ctx: Waiting, attempt: number, slowly = false): Promise<void> {
  const { retryMaxSeconds, retryMinSeconds } = ctx.settings
  const doublings = slowly ? Number.POSITIVE_INFINITY : attempt
  const seconds = backoffSeconds(doublings, retryMinSeconds, retryMaxSeconds, Math.random())
  ctx.pauses.now++
  try {
    await sleep(seconds * 1000, undefined, { signal: ctx.signal })
  } finally {
    ctx.pauses.now--
  }
}

/** Pauses before something is made again, but not beyond the end of the capture: it may succeed then. Throws the abort. */
export async function pauseUntilOver(
  { settings }: Pick<JobContext, 'settings'>,
  attempt: number,
  over: AbortSignal,
  signal: AbortSignal,
): Promise<void> {
  const seconds = backoffSeconds(attempt, settings.retryMinSeconds, settings.retryMaxSeconds, Math.random())
  const until = over.aborted ? signal : AbortSignal.any([over, signal])
  // Rejects only when woken early; an abort is thrown below.
  await sleep(seconds * 1000, undefined, { signal: until }).catch(() => undefined)
  signal.throwIfAborted()
}
