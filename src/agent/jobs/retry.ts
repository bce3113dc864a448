import { setTimeout as sleep } from 'node:timers/promises'
import { backoffSeconds } from './backoff.rules.ts'
import type { JobContext } from './owned.ts'

/** Tries of what may pass by itself, yet mostly does not: with the usual pauses, two minutes of them. */
export const FEW_TRIES = 8

type Waiting = Pick<JobContext, 'pauses' | 'settings' | 'signal'>

/** Waits before another try; throws the abort reason when the agent ends. */
export async function pauseBeforeRetry(ctx: Waiting, attempt: number, slowly = false): Promise<void> {
  const { retryMaxSeconds, retryMinSeconds } = ctx.settings
  const seconds = slowly ? retryMaxSeconds : backoffSeconds(attempt, retryMinSeconds, retryMaxSeconds, Math.random())
  ctx.pauses.now++
  try {
    await sleep(seconds * 1000, undefined, { signal: ctx.signal })
  } finally {
    ctx.pauses.now--
  }
}

/** Waits before something is made again, not longer than the capture lasts: what failed along may do now. Throws the abort. */
export async function pauseUntilOver(
  { settings }: Pick<JobContext, 'settings'>,
  attempt: number,
  over: AbortSignal,
  signal: AbortSignal,
): Promise<void> {
  const seconds = backoffSeconds(attempt, settings.retryMinSeconds, settings.retryMaxSeconds, Math.random())
  const until = over.aborted ? signal : AbortSignal.any([over, signal])
  // Rejects only when it is woken; an abort is thrown below.
  await sleep(seconds * 1000, undefined, { signal: until }).catch(() => undefined)
  signal.throwIfAborted()
}
