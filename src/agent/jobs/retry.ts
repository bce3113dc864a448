import { setTimeout as sleep } from 'node:timers/promises'
import { backoffSeconds } from './backoff.rules.ts'
import type { JobContext } from './owned.ts'

/** Tries of what may pass by itself, yet mostly does not: with the usual pauses, two minutes of them. */
export const FEW_TRIES = 8

/** Waits before another try; throws the abort reason when the agent ends. */
export async function pauseBeforeRetry(
  ctx: Pick<JobContext, 'pauses' | 'settings' | 'signal'>,
  attempt: number,
  slowly = false,
): Promise<void> {
  const { retryMaxSeconds, retryMinSeconds } = ctx.settings
  const seconds = slowly ? retryMaxSeconds : backoffSeconds(attempt, retryMinSeconds, retryMaxSeconds, Math.random())
  ctx.pauses.now++
  try {
    await sleep(seconds * 1000, undefined, { signal: ctx.signal })
  } finally {
    ctx.pauses.now--
  }
}
