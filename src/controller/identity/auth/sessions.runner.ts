import type { Runner } from '../../scheduler/ticker.ts'
import type { SessionStore } from './sessions.store.ts'

const EVERY_SECONDS = 600

/** Deletes sessions that ran out: nobody can use them, and a busy console opens many. */
export const sessionRunner = (sessions: SessionStore): Runner => ({
  name: 'sessions',
  enabled: true,
  intervalSeconds: EVERY_SECONDS,
  tick: (now) => ({ expired: sessions.sweep(now) }),
})
