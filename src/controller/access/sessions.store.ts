import { found } from '../../kernel/fail.ts'
import type { Session } from '../../wire/access.ts'
import type { Db, Params } from '../store/db.ts'
import { present } from '../store/filter.ts'

type Row = { [K in keyof Required<Session>]: Session[K] | null }

// Nobody needs to look at more; the newest are shown.
const MOST = 200

/** Living sessions of a person, to be seen and ended; opening one is the login's (`auth/sessions.store.ts`). */
export function openSessions(db: Db) {
  const living = `revoked_at IS NULL AND expires_at > @now`
  const list = db.stmt<Params, Row>(
    `SELECT id, created_at AS createdAt, last_seen_at AS lastSeenAt, expires_at AS expiresAt, ip_address AS ipAddress,
       user_agent AS userAgent, id = @current AS current FROM sessions
     WHERE user_id = @userId AND ${living} ORDER BY created_at DESC, id LIMIT ${MOST}`,
  )
  const end = db.stmt<Params, { id: string }>(
    `UPDATE sessions SET revoked_at = @now WHERE id = @id AND user_id = @userId AND ${living} RETURNING id`,
  )
  return {
    /** Newest first; `current` is the id of the session that asks. */
    list: (userId: string, current: string, now: string): Session[] =>
      list.all({ userId, current, now }).map((row) => present({ ...row, current: Boolean(row.current) }) as Session),
    /** @throws Fail 404 `session_not_found`, also for a session of somebody else. */
    end: (id: string, userId: string, now: string): void => void found(end.get({ id, userId, now }), 'Session'),
  }
}
export type OpenSessions = ReturnType<typeof openSessions>
