import { type Clock, iso } from '../../kernel/clock.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import type { Pipeline } from '../http/pipeline.ts'
import type { Runner } from '../scheduler/ticker.ts'

const EVERY_SECONDS = 60

type Parts = Pick<Pipeline, 'audit' | 'callerLimits' | 'db'>

/** Records how many refusals and excess requests of each caller were only counted. */
export const refusalRunner = (parts: Parts): Runner => ({
  name: 'refusals',
  enabled: true,
  intervalSeconds: EVERY_SECONDS,
  tick: (now) => ({ counted: writeCounts(parts, now) }),
})

/** Writes the counts of minutes that are over as audit rows. @returns how many rows */
function writeCounts({ audit, callerLimits, db }: Parts, now: string): number {
  const entries = callerLimits.counted(now)
  if (entries.length > 0)
    db.tx(() => {
      for (const entry of entries) audit.write(entry, now)
    })
  return entries.length
}

/** At stop, after the last request: also writes the counts of the current minute. */
export function writeFinalCounts(parts: Parts, clock: Clock, log: Log): void {
  parts.callerLimits.end()
  try {
    writeCounts(parts, iso(clock.now()))
  } catch (e) {
    // A database that cannot be written must not keep the controller from stopping.
    log.error('final refusal counts could not be recorded', errorFields(e))
  }
}
