import { createHash } from 'node:crypto'
import type { Clock } from '../../../kernel/clock.ts'
import { Fail } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import { OidcCallback, OidcReturn } from '../../../wire/access.ts'
import type { SessionCookie } from '../../http/cookie.ts'
import type { Limiter } from '../../http/limiter.ts'
import { type AnyRoute, type Done, flow, type Incoming, route } from '../../http/route.ts'
import type { UserStore } from '../access/users.store.ts'
import { newSession, SESSION_SECONDS } from './login.ts'
import type { StateCookies, Wanted } from './oidc.cookie.ts'
import type { IdentityProvider } from './oidc.openid.ts'
import {
  type Identity,
  identityOf,
  missingFields,
  type OidcSettings,
  pathOf,
  plainIssuer,
  returnAddress,
} from './oidc.rules.ts'
import type { OidcStore } from './oidc.store.ts'
import type { SessionStore } from './sessions.store.ts'

interface Parts {
  addresses: Limiter
  clock: Clock
  cookie: SessionCookie
  cookies: StateCookies
  ids: Ids
  oidc: OidcSettings
  /** Where a login may lead back to; the first one is the console. */
  origins: string[]
  people: OidcStore
  provider: IdentityProvider
  sessions: SessionStore
  users: UserStore
}

const open = { auth: 'none', permission: null } as const
const target = () => ({ type: 'auth' })

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

export const oidcRoutes = (parts: Parts): AnyRoute[] => {
  const { cookies, oidc, origins, provider } = parts
  const { admit, failed } = throttle(parts)
  return [
    route({
      method: 'GET',
      path: '/auth/oidc/config',
      ...open,
      action: 'auth.oidc.config.read',
      target,
      run: () => ({ data: publicConfig(oidc) }),
    }),
    flow({
      method: 'GET',
      path: '/auth/oidc/login',
      ...open,
      signsIn: true,
      action: 'auth.oidc.login',
      success: ['auth.oidc.login.started', 'auth.oidc.login.failed'],
      target,
      query: OidcReturn,
      status: 302,
      run: async ({ query, request }) => {
        admit(request)
        const { attempt, url } = await provider.begin()
        const byCookie = query.session === 'cookie'
        const back = byCookie ? pathOf(query.returnTo) : returnAddress(query.returnTo, origins).href
        return redirect(url.href, cookies.make(attempt, { byCookie, returnTo: back }, parts.clock.monotonic()))
      },
    }),
    flow({
      method: 'GET',
      path: '/auth/oidc/callback',
      ...open,
      signsIn: true,
      action: 'auth.oidc.callback',
      target,
      query: OidcCallback,
      status: 302,
      run: async ({ query, request }, commit) => {
        admit(request)
        try {
          const carried = cookies.take(request.header('cookie'), query.state, parts.clock.monotonic())
          if (!carried) throw new Fail(400, 'oidc_state_invalid', 'OIDC callback state is invalid')
          const identity = identityOf(await provider.claims(new URLSearchParams(query), carried), digest)
          return await commit((now) => signIn(parts, identity, request, carried, now))
        } catch (e) {
          failed(request)
          throw e instanceof Fail ? withCookie(e, cookies.clear()) : e
        }
      },
    }),
    flow({
      method: 'GET',
      path: '/auth/oidc/discovery',
      auth: 'user',
      permission: 'auth:manage',
      action: 'auth.oidc.discovery.read',
      target,
      run: async () => ({
        data: await provider.metadata(oidc.enabled ? 'OIDC is not configured' : 'OIDC is disabled'),
      }),
    }),
  ]
}

function publicConfig(oidc: OidcSettings) {
  const { clientId, enabled, issuer, provider, redirectUri, scopes } = oidc
  const missing = enabled ? missingFields(oidc) : []
  const configured = enabled && missing.length === 0
  return {
    ...(clientId ? { clientId } : {}),
    configured,
    ...(issuer ? { discoveryUrl: `${plainIssuer(issuer)}/.well-known/openid-configuration`, issuer } : {}),
    enabled,
    loginAvailable: configured,
    missingFields: missing,
    provider,
    ...(redirectUri ? { redirectUri } : {}),
    scopes,
  }
}

const redirect = (location: string, cookie: string): Done<null> => ({
  data: null,
  headers: { Location: location, 'Set-Cookie': cookie },
})

function signIn(
  parts: Parts,
  identity: Identity,
  request: Incoming,
  { byCookie, returnTo }: Wanted,
  now: string,
): Done<null> {
  const { cookie, cookies, ids, oidc, people, sessions, users } = parts
  const userId = people.sync(identity, now)
  const { expiresAt, row, token } = newSession(
    ids,
    { address: request.address, byCookie, userAgent: request.header('user-agent'), userId },
    now,
  )
  const sessionId = row.id
  sessions.openVouched(row, now)
  const { email, groups, name, roles } = users.get(userId)
  const home = byCookie
    ? redirect(returnTo, cookie.make(token, SESSION_SECONDS, request))
    : redirect(
        withToken(returnTo, { svc_token: token, svc_expires_at: expiresAt, svc_provider: oidc.provider }),
        cookies.clear(),
      )
  return {
    ...home,
    actor: { id: userId, name, roles, type: 'user' },
    details: { email, groupsOverage: identity.groupsOverage, sessionId },
    after: { groups: groups.map(({ id }) => id), roles },
    target: { type: 'user', id: userId, name: email },
    undelivered: () => sessions.revoke(sessionId, now),
  }
}

/** In the fragment: it reaches the client that began the login, but no server's log. */
function withToken(returnTo: string, fields: Record<string, string>): string {
  const back = new URL(returnTo)
  back.hash = new URLSearchParams(fields).toString()
  return back.href
}

const withCookie = (e: Fail, cookie: string): Fail =>
  new Fail(e.status, e.reason, e.message, { ...e.extra, headers: { ...e.extra.headers, 'Set-Cookie': cookie } })

/** Failed callbacks per address: guessing states must not keep the provider busy. */
function throttle({ addresses, clock }: Parts) {
  return {
    admit({ network }: Incoming): void {
      const seconds = network ? addresses.blocked(network, clock.monotonic()) : undefined
      if (seconds === undefined) return
      const headers = { 'Retry-After': String(seconds) }
      throw new Fail(429, 'rate_limited', 'Too many failed logins, try again later', { headers })
    },
    failed({ network }: Incoming): void {
      if (network) addresses.count(network, clock.monotonic())
    },
  }
}
