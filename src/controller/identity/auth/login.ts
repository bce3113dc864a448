import { DECOY_HASH } from '../../../crypto/password.ts'
import { hashToken, mintToken } from '../../../crypto/token.ts'
import { type Clock, isoPlus } from '../../../kernel/clock.ts'
import { Fail } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import type { CurrentUser } from '../../../wire/access.ts'
import type { SessionCookie } from '../../http/cookie.ts'
import type { Limiter } from '../../http/limiter.ts'
import type { Commit, Done } from '../../http/route.ts'
import type { UserStore } from '../access/users.store.ts'
import type { FairSemaphore } from './fairsemaphore.ts'
import type { Account, SessionStore } from './sessions.store.ts'

/** Fixed; using a session does not renew it (docs/contract/access.md: Accounts). */
export const SESSION_SECONDS = 12 * 3600

export interface LoginParts {
  accounts: Limiter
  addresses: Limiter
  clock: Clock
  cookie: SessionCookie
  ids: Ids
  sessions: SessionStore
  turns: FairSemaphore
  users: UserStore
  verify: (password: string, stored: string) => Promise<boolean>
}

interface Attempt {
  address: string
  /** The session is to be a cookie: the answer holds no token. */
  byCookie: boolean
  /** Lower case. */
  email: string
  /** The key the address is counted under. */
  network: string
  overHttps: boolean
  password: string
  userAgent: string | undefined
}

export interface SignedIn {
  expiresAt: string
  sessionId: string
  /** Absent where the session is a cookie. */
  token?: string
  user: CurrentUser
}

/**
 * Verifies a password and opens a session, with exactly one `verify` per admitted attempt, whether the account exists or not.
 * @throws Fail 401 with reason `invalid_credentials`, `user_disabled` or `missing_local_password` (for the audit only:
 * the answer is the same), 429 `rate_limited` with Retry-After.
 */
export function signIn(parts: LoginParts): (attempt: Attempt, commit: Commit) => Promise<Done<SignedIn>> {
  const { sessions } = parts
  const { admit, clear, verified } = throttle(parts)

  return async (attempt, commit) => {
    admit(attempt)
    const account = sessions.account(attempt.email)
    const stored = account?.disabledAt ? undefined : account?.passwordHash
    const matches = await verified(attempt, attempt.password, stored || DECOY_HASH)
    if (!account || !stored || !matches) throw refusal(account, attempt)
    const done = await commit((now) => openSession(parts, attempt, { ...account, passwordHash: stored }, now))
    clear(attempt)
    return done
  }
}

interface Opener {
  address: string
  byCookie: boolean
  byLink?: boolean
  userAgent: string | undefined
  userId: string
}

/** A session to be stored, and its token, which is returned only here. */
export function newSession(ids: Ids, { address, byCookie, byLink = false, userAgent, userId }: Opener, now: string) {
  const [token, expiresAt] = [mintToken(byCookie ? 'cookie' : 'session'), isoPlus(now, SESSION_SECONDS)]
  const kind = byCookie ? ('cookie' as const) : ('bearer' as const)
  const row = {
    id: ids.uuid(),
    byLink,
    kind,
    userId,
    tokenHash: hashToken(token),
    expiresAt,
    ipAddress: address,
    userAgent,
  }
  return { expiresAt, row, token }
}

function openSession(
  { cookie, ids, sessions, users }: LoginParts,
  { address, byCookie, email, overHttps, userAgent }: Attempt,
  account: Account & { passwordHash: string },
  now: string,
): Done<SignedIn> {
  const { expiresAt, row, token } = newSession(ids, { address, byCookie, userAgent, userId: account.id }, now)
  const sessionId = row.id
  if (!sessions.open(row, account.passwordHash, now)) throw refusal(undefined, { email })
  const user = users.get(account.id)
  return {
    actor: { id: user.id, name: user.name, roles: user.roles, type: 'user' },
    data: { ...(byCookie ? {} : { token }), expiresAt, sessionId, user },
    details: { email, sessionId },
    ...(byCookie ? { headers: { 'Set-Cookie': cookie.make(token, SESSION_SECONDS, { overHttps }) } } : {}),
    target: { type: 'user', id: account.id, name: email },
    undelivered: () => sessions.revoke(sessionId, now),
  }
}

function refusal(account: Account | undefined, { email }: Pick<Attempt, 'email'>): Fail {
  const known = account?.disabledAt ? 'user_disabled' : account && !account.passwordHash && 'missing_local_password'
  return new Fail(401, known || 'invalid_credentials', 'Invalid credentials', { details: { email } })
}

type Counted = Pick<Attempt, 'email' | 'network'>

/** An address may fail more often than an account: many people share one. */
export function throttle({ accounts, addresses, clock, turns, verify }: LoginParts) {
  const admit = ({ email, network }: Counted): void => {
    const now = clock.monotonic()
    const seconds = accounts.blocked(email, now) ?? (network ? addresses.blocked(network, now) : undefined)
    if (seconds === undefined) return
    const headers = { 'Retry-After': String(seconds) }
    throw new Fail(429, 'rate_limited', 'Too many failed logins, try again later', { details: { email }, headers })
  }
  /** Counts the attempt as failed. @returns the function that takes that back */
  const count = ({ email, network }: Counted): (() => void) => {
    const at = clock.monotonic()
    accounts.count(email, at)
    if (network) addresses.count(network, at)
    return () => {
      accounts.undo(email, at)
      addresses.undo(network, at)
    }
  }
  return {
    admit,
    clear: ({ email }: Counted): void => accounts.clear(email),
    /** Whether the password fits the stored hash; one that does not stays counted. @throws Fail 429 `rate_limited` */
    async verified(attempt: Counted, password: string, stored: string): Promise<boolean> {
      let uncount = () => {}
      const matches = await turns(attempt.network, () => {
        // Checked again when its turn has come, and counted before it is hashed: a burst of guesses costs and learns no more
        // than the limit allows.
        admit(attempt)
        uncount = count(attempt)
        return verify(password, stored)
      })
      // The password was right, whatever it is used for.
      if (matches) uncount()
      return matches
    },
  }
}
