import { hashToken, mintToken } from '../../../crypto/token.ts'
import { isoPlus } from '../../../kernel/clock.ts'
import type { Db } from '../../store/db.ts'

interface NewTicket {
  permission: 'recording:download' | 'recording:playback'
  recordingId: string
  seconds: number
  sessionId: string
}

// Expired tickets removed with each new one: enough to keep up, and never a long statement.
const SWEPT = 20

/**
 * Tickets for a browser's player and its downloads, which cannot send a header: `?ticket=` on the two routes that send a
 * recording's audio. A ticket authenticates its user (http/principals.ts), for this recording and permission only, while the
 * user's session lasts. Only its hash is stored.
 */
export function ticketStore(db: Db) {
  const insert = db.stmt<{ [K in keyof Omit<NewTicket, 'seconds'> | 'expiresAt' | 'hash' | 'now']: string }>(
    `INSERT INTO playback_tickets (token_hash, session_id, recording_id, permission, created_at, expires_at)
     VALUES (@hash, @sessionId, @recordingId, @permission, @now, @expiresAt)`,
  )
  const sweep = db.stmt<{ now: string; limit: number }>(
    `DELETE FROM playback_tickets WHERE token_hash IN (
       SELECT token_hash FROM playback_tickets INDEXED BY playback_tickets_expiry WHERE expires_at <= @now LIMIT @limit)`,
  )
  return {
    mint({ seconds, ...ticket }: NewTicket, now: string): { expiresAt: string; ticket: string } {
      const token = mintToken('ticket')
      const expiresAt = isoPlus(now, seconds)
      sweep.run({ now, limit: SWEPT })
      insert.run({ ...ticket, expiresAt, hash: hashToken(token), now })
      return { expiresAt, ticket: token }
    },
  }
}
export type TicketStore = ReturnType<typeof ticketStore>
