import type { Runner } from '../../scheduler/ticker.ts'
import type { Db, Params } from '../../store/db.ts'

/** An account as a login needs it; found by lower-case e-mail. */
export interface Account {
  disabledAt: string | null
  id: string
  passwordHash: string | null
}

interface NewSession {
  expiresAt: string
  id: string
  ipAddress: string
  tokenHash: string
  userAgent: string | undefined
  userId: string
}

interface PasswordChange {
  hash: string
  id: string
  keep: string
  now: string
  /** Hash of the password that was verified. */
  stored: string
}

export function sessionStore(db: Db) {
  const account = db.stmt<{ email: string }, Account>(
    `SELECT id, disabled_at AS disabledAt, password_hash AS passwordHash FROM users WHERE email = @email`,
  )
  // Guarded: the account may have been disabled, or its password changed, while the hash was computed.
  const insert = db.stmt<Params>(
    `INSERT INTO sessions (id, user_id, token_hash, created_at, last_seen_at, expires_at, ip_address, user_agent)
     SELECT @id, id, @tokenHash, @now, @now, @expiresAt, @ip, @agent FROM users
      WHERE id = @userId AND disabled_at IS NULL AND password_hash = @passwordHash`,
  )
  // The identity provider vouched for the person: there is no password to compare.
  const vouched = db.stmt<Params>(
    `INSERT INTO sessions (id, user_id, token_hash, created_at, last_seen_at, expires_at, ip_address, user_agent)
     VALUES (@id, @userId, @tokenHash, @now, @now, @expiresAt, @ip, @agent)`,
  )
  const revoke = db.stmt<Params>(`UPDATE sessions SET revoked_at = @now WHERE id = @id AND revoked_at IS NULL`)
  const setPassword = db.stmt<Params>(
    `UPDATE users SET password_hash = @hash, updated_at = @now WHERE id = @id AND password_hash = @stored`,
  )
  const endOthers = db.stmt<Params>(
    `UPDATE sessions SET revoked_at = @now WHERE user_id = @id AND id <> @keep AND revoked_at IS NULL`,
  )
  const expiry = db.stmt<{ id: string }, { at: string }>(`SELECT expires_at AS at FROM sessions WHERE id = @id`)
  const expired = db.stmt<{ now: string }>(`DELETE FROM sessions WHERE expires_at <= @now`)

  return {
    account: (email: string): Account | undefined => account.get({ email }),
    /** False when the account was disabled or its password changed since `passwordHash` was verified. */
    open: (session: NewSession, passwordHash: string, now: string): boolean =>
      insert.run({ ...stored(session), passwordHash, now }) === 1,
    /** For an account that the identity provider vouched for, in the same transaction. */
    openForProvider: (session: NewSession, now: string): void => void vouched.run({ ...stored(session), now }),
    revoke: (id: string, now: string): void => void revoke.run({ id, now }),
    /**
     * Replaces the verified password and ends all sessions but `keep`. @returns how many; undefined when the password is
     * another one by now
     */
    changePassword({ hash, id, keep, now, stored: old }: PasswordChange): number | undefined {
      if (setPassword.run({ hash, id, now, stored: old }) !== 1) return undefined
      return endOthers.run({ id, keep, now })
    },
    expiresAt: (id: string): string => expiry.get({ id })?.at ?? '',
    /** Deletes expired sessions. @returns how many */
    sweep: (now: string): number => expired.run({ now }),
  }
}
export type SessionStore = ReturnType<typeof sessionStore>

const stored = ({ ipAddress, userAgent, ...session }: NewSession): Params => ({
  ...session,
  ip: ipAddress.slice(0, 120) || null,
  agent: userAgent?.slice(0, 400) ?? null,
})

const EVERY_SECONDS = 600

/** Deletes expired sessions, of which a busy console leaves many. */
export const sessionRunner = (sessions: SessionStore): Runner => ({
  name: 'sessions',
  enabled: true,
  intervalSeconds: EVERY_SECONDS,
  tick: (now) => ({ expired: sessions.sweep(now) }),
})
