import { iso } from '../../kernel/clock.ts'
import { sessionCookie } from '../http/cookie.ts'
import { limiter } from '../http/limiter.ts'
import type { Base, Module } from '../module.ts'
import type { SettingsApi } from '../settings/api.ts'
import { present } from '../store/filter.ts'
import { groupRoutes } from './access/groups.routes.ts'
import { groupStore } from './access/groups.store.ts'
import { accessOverviewRoutes } from './access/overview.routes.ts'
import { accessPolicyRoutes } from './access/policies.routes.ts'
import { accessPolicyStore, lockoutGuard } from './access/policies.store.ts'
import { rightsRoutes } from './access/rights.routes.ts'
import { rightsStore } from './access/rights.store.ts'
import { sessionRoutes } from './access/sessions.routes.ts'
import { openSessions } from './access/sessions.store.ts'
import { userRoutes } from './access/users.routes.ts'
import { userStore } from './access/users.store.ts'
import type { IdentityApi } from './api.ts'
import { ADDRESS_FACTOR, authRoutes } from './auth/auth.routes.ts'
import { linkRoutes } from './auth/links.routes.ts'
import { linkStore } from './auth/links.store.ts'
import { firstLink, seedLocalAdmin } from './auth/localadmin.ts'
import { stateCookies } from './auth/oidc.cookie.ts'
import { identityProvider } from './auth/oidc.openid.ts'
import { oidcRoutes } from './auth/oidc.routes.ts'
import { oidcStore } from './auth/oidc.store.ts'
import { sessionRunner, sessionStore } from './auth/sessions.store.ts'

import { displayRoutes } from './displays/links.routes.ts'
import { displayStore } from './displays/links.store.ts'

/** Screens that one display link opens in a minute. */
const OPENINGS_PER_MINUTE = 20

/** Accounts, sign-in and access. */
export function createIdentity(base: Base, { settings }: { settings: SettingsApi }): Module<IdentityApi> {
  const { audit, authorization, clock, config, db, ids, log } = base
  const cookie = sessionCookie(config)
  const users = userStore(db)
  const sessions = sessionStore(db)
  const links = linkStore(db)
  const policies = accessPolicyStore(db, ids, users)
  const keep = lockoutGuard(policies, users)
  const { SVC_LOGIN_FAILURE_LIMIT: failureLimit, SVC_LOGIN_FAILURE_WINDOW_SECONDS: failureWindowSeconds } = config
  const { SVC_LOCAL_ADMIN_EMAIL: email, SVC_LOCAL_ADMIN_NAME: name, SVC_LOCAL_ADMIN_PASSWORD: password } = config
  const { SVC_AGENT_CAPTURE_SECONDS: defaultDurationSeconds, SVC_PUBLIC_URL: publicUrl } = config
  const common = { clock, cookie, ids, sessions, users }
  const addresses = () => limiter(failureLimit * ADDRESS_FACTOR, failureWindowSeconds)
  return {
    api: { firstLink: () => firstLink({ audit, db, links, users }, email, iso(clock.now())) },
    routes: [
      ...authRoutes({
        clock,
        cookie,
        ids,
        limits: { failureLimit, failureWindowSeconds },
        sessions,
        site: () => ({ ...settings.site(), ...present({ defaultDurationSeconds, publicUrl }) }),
        users,
      }),
      ...linkRoutes({ ...common, addresses: addresses(), links }),
      ...displayRoutes({
        ...common,
        addresses: addresses(),
        displays: displayStore(db),
        openings: limiter(OPENINGS_PER_MINUTE, 60),
        scope: authorization.scope,
      }),
      ...oidcRoutes({
        addresses: addresses(),
        clock,
        cookie,
        cookies: stateCookies(config.SVC_OIDC_REDIRECT_URI?.startsWith('https:') ?? false),
        ids,
        oidc: config.oidc,
        origins: [config.SVC_WEB_ORIGIN, ...(config.SVC_OIDC_REDIRECT_URI ? [config.SVC_OIDC_REDIRECT_URI] : [])],
        people: oidcStore(db, ids, email),
        provider: identityProvider(config.oidc, () => clock.monotonic()),
        sessions,
        users,
      }),
      ...userRoutes(users, ids, email, keep),
      ...groupRoutes(groupStore(db), ids, keep),
      ...accessPolicyRoutes(policies),
      ...accessOverviewRoutes(policies),
      ...sessionRoutes(openSessions(db), users),
      ...rightsRoutes(rightsStore({ db, ...authorization }), users),
    ],
    runners: [sessionRunner(sessions, links)],
    start: () => seedLocalAdmin({ audit, db, ids, log, users }, { email, name, password }, iso(clock.now())),
  }
}
