import type { Edge } from '../http/edge.ts'
import type { Runner } from '../scheduler/ticker.ts'

const EVERY_SECONDS = 60

type Parts = Pick<Edge, 'audit' | 'callerLimits' | 'db'>

/** Writes down how often each caller was refused, or asked too much, without a row of its own. */
export const refusalRunner = (parts: Parts): Runner => ({
  name: 'refusals',
  enabled: true,
  intervalSeconds: EVERY_SECONDS,
  tick: (now) => ({ counted: tellCounts(parts, now) }),
})

/** What was counted in minutes that are over, as audit rows; gives how many. */
export function tellCounts({ audit, callerLimits, db }: Parts, now: string): number {
  const entries = callerLimits.counted(now)
  if (entries.length > 0)
    db.tx(() => {
      for (const entry of entries) audit.write(entry, now)
    })
  return entries.length
}
