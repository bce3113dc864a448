// Everything is put together here, by hand.
import { deriveKey } from '../crypto/seal.ts'
import { type Clock, iso } from '../kernel/clock.ts'
import type { Ids } from '../kernel/ids.ts'
import type { Log } from '../kernel/log.ts'
import { version } from '../kernel/version.ts'
import { groupRoutes } from './access/groups.routes.ts'
import { groupStore } from './access/groups.store.ts'
import { accessPolicyRoutes } from './access/policies.routes.ts'
import { accessPolicyStore } from './access/policies.store.ts'
import { userRoutes } from './access/users.routes.ts'
import { userStore } from './access/users.store.ts'
import { auditRoutes } from './audit/audit.routes.ts'
import { auditStore } from './audit/audit.store.ts'
import { authRoutes } from './auth/auth.routes.ts'
import { seedLocalAdmin } from './auth/localadmin.ts'
import { sessionRunner } from './auth/sessions.runner.ts'
import { sessionStore } from './auth/sessions.store.ts'
import { Bell } from './background/bell.ts'
import { Ticker } from './background/ticker.ts'
import type { Config } from './config.ts'
import { audit } from './edge/audit.ts'
import type { Edge } from './edge/edge.ts'
import { limiter } from './edge/limiter.ts'
import { openapiRoute } from './edge/openapi.ts'
import { principals } from './edge/principals.ts'
import { reaches } from './edge/reach.ts'
import type { AnyRoute } from './edge/route.ts'
import { scope } from './edge/scope.ts'
import { serve } from './edge/serve.ts'
import { healthStore } from './health/health.store.ts'
import { boardRoutes } from './jobs/board.routes.ts'
import { claimStore } from './jobs/claims.store.ts'
import { jobStore } from './jobs/jobs.store.ts'
import { leaseRunner } from './jobs/lease.runner.ts'
import type { Ending } from './jobs/leases.rules.ts'
import { leaseStore } from './jobs/leases.store.ts'
import { cacheFileRoutes } from './link/cachefile.routes.ts'
import { Turnstile } from './link/intake.ts'
import { jobLinkRoutes } from './link/job.routes.ts'
import { nodeLinkRoutes } from './link/node.routes.ts'
import { provenanceStore } from './link/provenance.store.ts'
import { nodeRoutes } from './nodes/nodes.routes.ts'
import { nodeStore } from './nodes/nodes.store.ts'
import { credentialStore } from './onboarding/credentials.store.ts'
import { onboardingRoutes } from './onboarding/onboarding.routes.ts'
import { sshKeyStore } from './onboarding/sshkeys.store.ts'
import { policyStore } from './profiles/policies.store.ts'
import { profileRoutes } from './profiles/profiles.routes.ts'
import { profileStore } from './profiles/profiles.store.ts'
import { conflictStore } from './recordings/conflicts.store.ts'
import { controlRoutes } from './recordings/control.routes.ts'
import { endings } from './recordings/endings.ts'
import { libraryRoutes } from './recordings/library.routes.ts'
import { playbackRoutes } from './recordings/playback.routes.ts'
import { recordingStore } from './recordings/recordings.store.ts'
import { starter } from './recordings/start.ts'
import { roomRoutes } from './rooms/rooms.routes.ts'
import { roomStore } from './rooms/rooms.store.ts'
import { rosterRoutes } from './rooms/roster.routes.ts'
import { rosterStore } from './rooms/roster.store.ts'
import { metricsRoutes } from './status/metrics.routes.ts'
import { metricsStore } from './status/metrics.store.ts'
import { probeRoutes } from './status/probes.routes.ts'
import { auditTally } from './status/tally.store.ts'
import type { Db } from './store/db.ts'
import { CommitGroup } from './store/group.ts'

/** What differs between a running controller and one in a test. */
export interface Surroundings {
  clock: Clock
  config: Config
  db: Db
  ids: Ids
  log: Log
  /** Secrets that seal what is stored. */
  secrets: { nodeSshKey: string }
}

/** The controller over an open, migrated database; `stop` leaves nothing running. */
export function compose(parts: Surroundings) {
  const { clock, config, db, ids, log, secrets } = parts
  const edge = edgeOf(parts)
  const stores = storesOf(db, ids, config, secrets)
  const bell = new Bell(clock)
  const ending = endings(stores.recordings, stores.health)
  const ticker = new Ticker(clock, log, [
    leaseRunner({
      audit: edge.audit,
      db,
      enabled: config.SVC_RECORDING_JOB_LEASE_RUNNER_ENABLED,
      ending,
      intervalSeconds: config.SVC_RECORDING_JOB_LEASE_RUNNER_INTERVAL_SECONDS,
      leases: stores.leases,
    }),
    sessionRunner(stores.sessions),
  ])
  const routes = routesOf(parts, { bell, ending, stores, ticker })
  return {
    app: serve(edge, routes),
    bell,
    edge,
    leases: stores.leases,
    /** Before the first request: the first admin exists. */
    prepare: (): Promise<void> =>
      seedLocalAdmin({ audit: edge.audit, db, ids, log, users: stores.users }, localAdmin(config), iso(clock.now())),
    routes,
    ticker,
    /** Lets long polls go, ends the background work, commits what waits. */
    async stop(): Promise<void> {
      bell.close()
      await ticker.stop()
      await edge.group.drain()
    },
  }
}
export type Controller = ReturnType<typeof compose>

interface Works {
  bell: Bell
  ending: Ending
  stores: ReturnType<typeof storesOf>
  ticker: Ticker
}

function routesOf({ clock, config, db, ids, log }: Surroundings, { bell, ending, stores, ticker }: Works): AnyRoute[] {
  const { claims, jobs, leases, profiles, recordings, rooms } = stores
  const reach = reaches(db)
  const takes = config.SVC_RECORDING_CACHE_DIR
  const library = { log, reach, recordings, takes }
  const start = starter({ ...stores, bell, ids, ...captureDefaults(config) })
  const intake = { maxBytes: config.SVC_RECORDING_CACHE_MAX_BYTES, takes, turnstile: new Turnstile() }
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

function edgeOf({ clock, config, db, ids, log }: Surroundings): Edge {
  return {
    audit: audit(db, ids, config.SVC_AUDIT_MACHINE_WINDOW_SECONDS),
    clock,
    db,
    group: new CommitGroup(db, clock),
    guesses: limiter(config.SVC_TOKEN_FAILURE_LIMIT, config.SVC_LOGIN_FAILURE_WINDOW_SECONDS),
    log,
    principals: principals(db, clock, config.SVC_RUNNER_TOKEN),
    scope: scope(db),
    trustedProxies: new Set(config.trustedProxies),
    webOrigin: config.SVC_WEB_ORIGIN,
  }
}

function storesOf(db: Db, ids: Ids, config: Config, secrets: Surroundings['secrets']) {
  const jobs = jobStore(db)
  return {
    audits: auditStore(db),
    claims: claimStore(db, jobs, config.SVC_RECORDING_JOB_LEASE_SECONDS),
    conflicts: conflictStore(db),
    credentials: credentialStore(db, ids),
    groups: groupStore(db),
    health: healthStore(db, ids),
    jobs,
    leases: leaseStore(db, jobs, config.SVC_RECORDING_JOB_LEASE_SECONDS),
    metrics: metricsStore(db, config.SVC_NODE_OFFLINE_AFTER_SECONDS),
    nodes: nodeStore(db, ids, config.SVC_NODE_OFFLINE_AFTER_SECONDS),
    policies: policyStore(db),
    profiles: profileStore(db),
    provenance: provenanceStore(db),
    recordings: recordingStore(db),
    rooms: roomStore(db),
    rosters: rosterStore(db),
    sessions: sessionStore(db),
    sshKeys: sshKeyStore(db, ids, deriveKey(secrets.nodeSshKey)),
    tally: auditTally(db),
    users: userStore(db),
  }
}

const localAdmin = (config: Config) => ({
  email: config.SVC_LOCAL_ADMIN_EMAIL,
  name: config.SVC_LOCAL_ADMIN_NAME,
  password: config.SVC_LOCAL_ADMIN_PASSWORD,
})

const captureDefaults = (config: Config) => ({
  defaultInterfaceId: config.SVC_AGENT_CAPTURE_INTERFACE_ID,
  defaults: {
    channels: config.SVC_AGENT_CAPTURE_CHANNELS,
    device: config.SVC_AGENT_CAPTURE_DEVICE,
    format: config.SVC_AGENT_CAPTURE_FORMAT,
    sampleRate: config.SVC_AGENT_CAPTURE_SAMPLE_RATE,
    seconds: config.SVC_AGENT_CAPTURE_SECONDS,
  },
})
