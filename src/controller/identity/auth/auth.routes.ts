import { verifyPassword } from '../../../crypto/password.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { Fail } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import { Login, type Myself, type Site } from '../../../wire/access.ts'
import { HEADERS } from '../../../wire/headers.ts'
import type { Capability } from '../../../wire/permissions.ts'
import type { SessionCookie } from '../../http/cookie.ts'
import { limiter } from '../../http/limiter.ts'
import type { Principal } from '../../http/principal.ts'
import { type AnyRoute, flow, route, type Target } from '../../http/route.ts'
import type { UserStore } from '../access/users.store.ts'
import { fairSemaphore } from './fairsemaphore.ts'
import { type LoginParts, signIn } from './login.ts'
import { passwordRoute } from './password.ts'
import type { SessionStore } from './sessions.store.ts'

// Half of the thread pool, and at most 20 s of queued work.
const HASHES_AT_ONCE = 2
const HASHES_WAITING = 1000
/** Per address: a person needs one, an office in the morning a few. */
const HASHES_WAITING_PER_ADDRESS = 8
/** An address may fail more often than an account: many people share one. */
export const ADDRESS_FACTOR = 20
const EMAIL = /^[^\s@]{1,64}@[^\s@]{1,255}$/

interface AuthSettings {
  failureLimit: number
  failureWindowSeconds: number
}

// No session is needed, so there is no decision to audit, only the outcome.
const open = { auth: 'none', permission: null } as const
const self = (): Target => ({ type: 'user' })
const person = (principal: Principal): Target =>
  principal.kind === 'user' ? { type: 'user', id: principal.id, name: principal.email } : self()

interface Parts {
  clock: Clock
  cookie: SessionCookie
  ids: Ids
  limits: AuthSettings
  sessions: SessionStore
  site(): Site
  users: UserStore
}

export const authRoutes = ({ clock, cookie, ids, limits, sessions, site, users }: Parts): AnyRoute[] => {
  const { failureLimit, failureWindowSeconds } = limits
  const parts: LoginParts = {
    accounts: limiter(failureLimit, failureWindowSeconds),
    addresses: limiter(failureLimit * ADDRESS_FACTOR, failureWindowSeconds),
    clock,
    cookie,
    ids,
    sessions,
    turns: fairSemaphore({
      maxWaiting: HASHES_WAITING,
      maxWaitingPerCaller: HASHES_WAITING_PER_ADDRESS,
      concurrency: HASHES_AT_ONCE,
    }),
    users,
    verify: verifyPassword,
  }
  const login = signIn(parts)
  const attempted = (_: object, body: unknown): Target => {
    const given = (body as { email?: unknown } | undefined)?.email
    // Only what looks like an e-mail address: a password typed into the wrong field must not reach the audit.
    if (typeof given !== 'string' || !EMAIL.test(given)) return self()
    const email = given.toLowerCase()
    const id = users.idByEmail(email)
    return { type: 'user', name: email, ...(id ? { id } : {}) }
  }
  return [
    flow({
      method: 'POST',
      path: '/auth/login',
      ...open,
      action: 'auth.login',
      target: attempted,
      body: Login,
      signsIn: true,
      run: ({ body, request }, commit) =>
        login(
          {
            ...body,
            address: request.address,
            byCookie: request.header(HEADERS.session) === 'cookie',
            network: request.network,
            overHttps: request.overHttps,
            userAgent: request.header('user-agent'),
          },
          commit,
        ),
    }),
    route({
      method: 'POST',
      path: '/auth/logout',
      ...open,
      action: 'auth.logout',
      target: self,
      status: 204,
      run: ({ principal, now, request }) => {
        if (principal.kind === 'user') sessions.revoke(principal.sessionId, now)
        // The page of another site, whose request carries no cookie, must not take away the one that is there.
        const headers = request.sameOrigin() ? { headers: { 'Set-Cookie': cookie.clear(request) } } : {}
        return { data: null, ...headers, target: person(principal) }
      },
    }),
    route({
      method: 'GET',
      path: '/auth/me',
      ...open,
      action: 'auth.me.read',
      target: self,
      run: ({ principal }) => {
        if (principal.kind !== 'user') throw new Fail(401, 'unauthorized', 'Unauthorized', { outcome: 'denied' })
        const { id, rooms: roster, sessionId } = principal
        const roomCapabilities = [...roster].map(([roomId, held]) => ({
          capabilities: [...held] as Capability[],
          roomId,
        }))
        const data: Myself = {
          ...users.get(id),
          ...(sessions.isByLink(sessionId) ? { choosesPassword: true } : {}),
          expiresAt: sessions.expiresAt(sessionId),
          roomCapabilities,
          site: site(),
        }
        return { data, target: person(principal) }
      },
    }),
    passwordRoute(parts),
  ]
}
