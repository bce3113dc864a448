import { hashToken, mintToken } from '../../../crypto/token.ts'
import { isoPlus } from '../../../kernel/clock.ts'
import type { Db, Params } from '../../store/db.ts'

/** Long enough to open a browser. */
const LINK_SECONDS = 600

/** Links that sign an account in once. Call every write inside a transaction. */
export function linkStore(db: Db) {
  const end = db.stmt<{ userId: string }>(`DELETE FROM sign_in_links WHERE user_id = @userId`)
  const insert = db.stmt<Params>(
    `INSERT INTO sign_in_links (token_hash, user_id, created_at, expires_at) VALUES (@hash, @userId, @now, @expiresAt)`,
  )
  const spend = db.stmt<{ hash: string; now: string }, { userId: string }>(
    `DELETE FROM sign_in_links WHERE token_hash = @hash AND expires_at > @now
       AND user_id IN (SELECT id FROM users WHERE disabled_at IS NULL) RETURNING user_id AS userId`,
  )
  const used = db.stmt<{ userId: string }, { at: string | null }>(
    `SELECT signed_in_at AS at FROM users WHERE id = @userId`,
  )
  const expired = db.stmt<{ now: string }>(`DELETE FROM sign_in_links WHERE expires_at <= @now`)
  return {
    /** Makes the one link of an account; an earlier one ends. @returns its token, which is kept nowhere */
    make(userId: string, now: string): string {
      const token = mintToken('link')
      end.run({ userId })
      insert.run({ hash: hashToken(token), userId, now, expiresAt: isoPlus(now, LINK_SECONDS) })
      return token
    },
    /** Whose it was; undefined for one that is unknown, used, expired, or of a disabled account. */
    spend: (token: string, now: string): string | undefined => spend.get({ hash: hashToken(token), now })?.userId,
    /** Whether the account has ever signed in. */
    isUsed: (userId: string): boolean => used.get({ userId })?.at !== null,
    sweep: (now: string): number => expired.run({ now }),
  }
}
export type LinkStore = ReturnType<typeof linkStore>
