import type { Clock } from '../../../kernel/clock.ts'
import { Fail } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import { SignInLink } from '../../../wire/access.ts'
import { HEADERS } from '../../../wire/headers.ts'
import type { SessionCookie } from '../../http/cookie.ts'
import { isLocal } from '../../http/incoming.ts'
import type { Limiter } from '../../http/limiter.ts'
import { type AnyRoute, type Done, type Incoming, route } from '../../http/route.ts'
import type { UserStore } from '../access/users.store.ts'
import type { LinkStore } from './links.store.ts'
import { newSession, SESSION_SECONDS, type SignedIn } from './login.ts'
import type { SessionStore } from './sessions.store.ts'

interface Parts {
  addresses: Limiter
  clock: Clock
  cookie: SessionCookie
  ids: Ids
  links: LinkStore
  sessions: SessionStore
  users: UserStore
}

/** Whoever can read what the controller prints on its own machine needs no password there (ADR-0006). */
export const linkRoutes = (parts: Parts): AnyRoute[] => [
  route({
    method: 'POST',
    path: '/auth/sign-in-link',
    auth: 'none',
    permission: null,
    signsIn: true,
    action: 'auth.sign_in_link',
    target: () => ({ type: 'user' }),
    body: SignInLink,
    run: ({ body, now, request }) => {
      admit(parts, request)
      const userId = parts.links.spend(body.token, now)
      if (userId !== undefined) return openSession(parts, userId, request, now)
      parts.addresses.count(request.network, parts.clock.monotonic())
      throw new Fail(401, 'invalid_sign_in_link', 'This link is invalid, expired, or already used: get a new one', {
        outcome: 'denied',
      })
    },
  }),
]

/** @throws Fail 403 `not_local` for another machine, 429 `rate_limited` for one that guesses. */
function admit({ addresses, clock }: Parts, request: Incoming): void {
  if (!isLocal(request))
    throw new Fail(403, 'not_local', 'This link works only on the machine of the controller', { outcome: 'denied' })
  const wait = addresses.blocked(request.network, clock.monotonic())
  if (wait === undefined) return
  const headers = { 'retry-after': String(wait) }
  throw new Fail(429, 'rate_limited', 'Too many failed logins, try again later', { headers })
}

function openSession(parts: Parts, userId: string, request: Incoming, now: string): Done<SignedIn> {
  const { cookie, ids, sessions, users } = parts
  const byCookie = request.header(HEADERS.session) === 'cookie'
  const opener = { address: request.address, byCookie, byLink: true, userAgent: request.header('user-agent'), userId }
  const { expiresAt, row, token } = newSession(ids, opener, now)
  sessions.openVouched(row, now)
  const user = users.get(userId)
  return {
    actor: { id: user.id, name: user.name, roles: user.roles, type: 'user' },
    data: { ...(byCookie ? {} : { token }), expiresAt, sessionId: row.id, user },
    details: { email: user.email, sessionId: row.id },
    ...(byCookie ? { headers: { 'Set-Cookie': cookie.make(token, SESSION_SECONDS, request) } } : {}),
    target: { type: 'user', id: userId, name: user.email },
    undelivered: () => sessions.revoke(row.id, now),
  }
}
