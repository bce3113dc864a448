import type { Session } from '../../../wire/access.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { Db, Params } from '../../store/db.ts'
import type { LinkStore } from './links.store.ts'

/** An account as a login needs it; found by lower-case e-mail. */
export interface Account {
  disabledAt: string | null
  id: string
  passwordHash: string | null
}

interface NewSession {
  byLink: boolean
  expiresAt: string
  id: string
  ipAddress: string
  kind: Session['kind']
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
    `INSERT INTO sessions (id, user_id, token_hash, created_at, last_seen_at, expires_at, ip_address, user_agent, kind)
     SELECT @id, id, @tokenHash, @now, @now, @expiresAt, @ip, @agent, @kind FROM users
      WHERE id = @userId AND disabled_at IS NULL AND password_hash = @passwordHash`,
  )
  // The identity provider, or a link of this machine, vouched for the person: there is no password to compare.
  const vouched = db.stmt<Params>(
    `INSERT INTO sessions (id, user_id, token_hash, created_at, last_seen_at, expires_at, ip_address, user_agent, kind, by_link)
     VALUES (@id, @userId, @tokenHash, @now, @now, @expiresAt, @ip, @agent, @kind, @byLink)`,
  )
  const signedIn = db.stmt<Params>(`UPDATE users SET signed_in_at = @now WHERE id = @userId`)
  const endLinks = db.stmt<Params>(`DELETE FROM sign_in_links WHERE user_id = @userId`)
  const revoke = db.stmt<Params>(`UPDATE sessions SET revoked_at = @now WHERE id = @id AND revoked_at IS NULL`)
  const setPassword = db.stmt<Params>(
    `UPDATE users SET password_hash = @hash, updated_at = @now WHERE id = @id AND password_hash = @stored`,
  )
  const endOthers = db.stmt<Params>(
    `UPDATE sessions SET revoked_at = @now WHERE user_id = @id AND id <> @keep AND revoked_at IS NULL`,
  )
  const byLink = db.stmt<{ id: string }, { byLink: number }>(
    `SELECT by_link AS byLink FROM sessions WHERE id = @id AND revoked_at IS NULL`,
  )
  const endByLink = db.stmt<Params>(`UPDATE sessions SET by_link = 0 WHERE id = @keep`)
  const expiry = db.stmt<{ id: string }, { at: string }>(`SELECT expires_at AS at FROM sessions WHERE id = @id`)
  const expired = db.stmt<{ now: string }>(`DELETE FROM sessions WHERE expires_at <= @now`)

  /** An account that is used needs no link any more. */
  const used = ({ userId }: NewSession, now: string): true => {
    signedIn.run({ userId, now })
    endLinks.run({ userId })
    return true
  }

  return {
    account: (email: string): Account | undefined => account.get({ email }),
    /** False when the account was disabled or its password changed since `passwordHash` was verified. */
    open: (session: NewSession, passwordHash: string, now: string): boolean =>
      insert.run({ ...stored(session), passwordHash, now }) === 1 && used(session, now),
    /** For an account that something else than its password vouched for, in the same transaction. */
    openVouched(session: NewSession, now: string): void {
      vouched.run({ ...stored(session), byLink: Number(session.byLink), now })
      used(session, now)
    },
    /** Whether a link opened the session, and no password was set in it yet. */
    isByLink: (id: string): boolean => byLink.get({ id })?.byLink === 1,
    revoke: (id: string, now: string): void => void revoke.run({ id, now }),
    /**
     * Replaces the verified password and ends all sessions but `keep`. @returns how many; undefined when the password is
     * another one by now
     */
    changePassword({ hash, id, keep, now, stored: old }: PasswordChange): number | undefined {
      if (setPassword.run({ hash, id, now, stored: old }) !== 1) return undefined
      endByLink.run({ keep })
      endLinks.run({ userId: id })
      return endOthers.run({ id, keep, now })
    },
    expiresAt: (id: string): string => expiry.get({ id })?.at ?? '',
    /** Deletes expired sessions. @returns how many */
    sweep: (now: string): number => expired.run({ now }),
  }
}
export type SessionStore = ReturnType<typeof sessionStore>

const stored = ({ byLink: _, ipAddress, userAgent, ...session }: NewSession): Params => ({
  ...session,
  ip: ipAddress.slice(0, 120) || null,
  agent: userAgent?.slice(0, 400) ?? null,
})

const EVERY_SECONDS = 600

/** Deletes expired sessions, of which a busy console leaves many. */
export const sessionRunner = (sessions: SessionStore, links: Pick<LinkStore, 'sweep'>): Runner => ({
  name: 'sessions',
  enabled: true,
  intervalSeconds: EVERY_SECONDS,
  tick: (now) => ({ expired: sessions.sweep(now) + links.sweep(now) }),
})
