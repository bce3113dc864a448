import { iso } from '../kernel/clock.ts'
import { version } from '../kernel/version.ts'
import { groupRoutes } from './access/groups.routes.ts'
import { accessPolicyRoutes } from './access/policies.routes.ts'
import { accessPolicyStore } from './access/policies.store.ts'
import { userRoutes } from './access/users.routes.ts'
import { auditRoutes } from './audit/audit.routes.ts'
import { authRoutes } from './auth/auth.routes.ts'
import type { Ticker } from './background/ticker.ts'
import { openapiRoute } from './edge/openapi.ts'
import type { AnyRoute } from './edge/route.ts'
import { boardRoutes } from './jobs/board.routes.ts'
import { cacheFileRoutes } from './link/cachefile.routes.ts'
import { jobLinkRoutes } from './link/job.routes.ts'
import { nodeLinkRoutes } from './link/node.routes.ts'
import { nodeRoutes } from './nodes/nodes.routes.ts'
import { onboardingRoutes } from './onboarding/onboarding.routes.ts'
import { profileRoutes } from './profiles/profiles.routes.ts'
import { controlRoutes } from './recordings/control.routes.ts'
import { libraryRoutes } from './recordings/library.routes.ts'
import { playbackRoutes } from './recordings/playback.routes.ts'
import { roomRoutes } from './rooms/rooms.routes.ts'
import { rosterRoutes } from './rooms/roster.routes.ts'
import { metricsRoutes } from './status/metrics.routes.ts'
import { probeRoutes } from './status/probes.routes.ts'
import type { Works } from './works.ts'

/** Every route of the controller, made once; the README, the OpenAPI document and the guards read this list. */
export function routesOf(works: Works, ticker: Ticker): AnyRoute[] {
  const { bell, clock, config, db, ending, ids, log, reach, start, stores, takes, turnstile } = works
  const { claims, jobs, leases, profiles, recordings, rooms } = stores
  const library = { log, reach, recordings, takes }
  const intake = { maxBytes: config.SVC_RECORDING_CACHE_MAX_BYTES, takes, turnstile }
  const logins = {
    failureLimit: config.SVC_LOGIN_FAILURE_LIMIT,
    failureWindowSeconds: config.SVC_LOGIN_FAILURE_WINDOW_SECONDS,
  }
  const observed = {
    metrics: stores.metrics,
    tally: stores.tally,
    runners: () => ticker.status(),
    startedAtMs: clock.now(),
  }
  const routes: AnyRoute[] = [
    ...probeRoutes(db, iso(clock.now())),
    ...authRoutes(stores.users, stores.sessions, ids, clock, logins),
    ...userRoutes(stores.users, ids, config.SVC_LOCAL_ADMIN_EMAIL),
    ...groupRoutes(stores.groups, ids),
    ...accessPolicyRoutes(accessPolicyStore(db, ids, stores.users)),
    ...auditRoutes(stores.audits, reach),
    ...nodeRoutes({ ...stores, reach }),
    ...onboardingRoutes({ ...stores, ids }),
    ...nodeLinkRoutes(stores),
    ...jobLinkRoutes({ bell, claims, ending, jobs, leases }),
    ...cacheFileRoutes({ ...stores, ...intake, ids }),
    ...controlRoutes({ bell, claims, ids, jobs, leases, recordings, start, takes }),
    ...libraryRoutes(library),
    ...playbackRoutes(library),
    ...boardRoutes(jobs, reach),
    ...profileRoutes(profiles, ids, reach),
    ...roomRoutes(rooms, ids, reach),
    ...rosterRoutes(rooms, stores.rosters),
    ...metricsRoutes({ ...observed, reach }),
    openapiRoute((): AnyRoute[] => routes, version),
  ]
  return routes
}
