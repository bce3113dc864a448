import { found } from '../../../kernel/fail.ts'
import type { Session } from '../../../wire/access.ts'
import type { Db, Params } from '../../store/db.ts'
import { present } from '../../store/filter.ts'

type Row = { [K in keyof Required<Session>]: Session[K] | null }

type Ended = Pick<Session, 'createdAt' | 'expiresAt' | 'id' | 'lastSeenAt'>

// The newest are shown.
const MAX_LISTED = 200

/** Lists and ends open sessions; logins open them (`auth/sessions.store.ts`). */
export function openSessions(db: Db) {
  const living = `revoked_at IS NULL AND expires_at > @now`
  const list = db.stmt<Params, Row>(
    `SELECT id, created_at AS createdAt, last_seen_at AS lastSeenAt, expires_at AS expiresAt, ip_address AS ipAddress,
       user_agent AS userAgent, kind, id = @current AS current FROM sessions
     WHERE user_id = @userId AND ${living} ORDER BY created_at DESC, id LIMIT ${MAX_LISTED}`,
  )
  const one = db.stmt<Params, Ended>(
    `SELECT id, created_at AS createdAt, last_seen_at AS lastSeenAt, expires_at AS expiresAt FROM sessions
     WHERE id = @id AND user_id = @userId AND ${living}`,
  )
  const revoke = db.stmt<Params>(`UPDATE sessions SET revoked_at = @now WHERE id = @id`)
  const revokeOthers = db.stmt<Params>(
    `UPDATE sessions SET revoked_at = @now WHERE user_id = @userId AND id <> @current AND ${living}`,
  )
  return {
    /** Ends all of a person but the one that asks. @returns how many */
    endOthers: (userId: string, current: string, now: string): number => revokeOthers.run({ userId, current, now }),
    /** Newest first; `current` is the id of the session that asks. */
    list: (userId: string, current: string, now: string): Session[] =>
      list.all({ userId, current, now }).map((row) => present({ ...row, current: Boolean(row.current) }) as Session),
    /**
     * Ends a session. @returns what the audit keeps of it
     * @throws Fail 404 `session_not_found`, also for somebody else's session.
     */
    end(id: string, userId: string, now: string): { before: Ended; after: Ended & { revokedAt: string } } {
      const before = found(one.get({ id, userId, now }), 'Session')
      revoke.run({ id, now })
      return { before, after: { ...before, revokedAt: now } }
    },
  }
}
export type OpenSessions = ReturnType<typeof openSessions>
