import type { Runner } from '../background/ticker.ts'
import type { Audit } from '../edge/audit.ts'
import type { CallerLimits } from '../edge/callerlimits.ts'
import type { Db } from '../store/db.ts'

const EVERY_SECONDS = 60

/** Writes down how often each caller was refused, or asked too much, without a row of its own. */
export const refusalRunner = (parts: { audit: Audit; db: Db; callerLimits: CallerLimits }): Runner => ({
  name: 'refusals',
  enabled: true,
  intervalSeconds: EVERY_SECONDS,
  tick(now) {
    const entries = parts.callerLimits.counted(now)
    if (entries.length > 0)
      parts.db.tx(() => {
        for (const entry of entries) parts.audit.write(entry, now)
      })
    return { counted: entries.length }
  },
})
