import type { Runner } from '../../scheduler/ticker.ts'
import type { Db } from '../../store/db.ts'
import type { PreflightStore } from './preflights.store.ts'

interface Parts {
  db: Db
  end: (scheduleId: string, reason: string, now: string) => void
  preflights: PreflightStore
}

const INTERVAL_SECONDS = 60

/** Ends what was told before a take that is over, or never began. */
export function preflightRunner({ db, end, preflights }: Parts): Runner {
  return {
    enabled: true,
    intervalSeconds: INTERVAL_SECONDS,
    name: 'preflight',
    tick(now) {
      const over = preflights.over(now)
      for (const { scheduleId } of over) db.tx(() => end(scheduleId, 'take_over', now))
      if (over.length > 0) db.tx(() => preflights.forgetDeleted())
      return { ended: over.length }
    },
  }
}
