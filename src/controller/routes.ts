import { iso } from '../kernel/clock.ts'
import { version } from '../kernel/version.ts'
import { cacheFileRoutes } from './agentapi/cachefile.routes.ts'
import { jobLinkRoutes } from './agentapi/job.routes.ts'
import { listenLinkRoutes } from './agentapi/listen.routes.ts'
import { meterLinkRoutes } from './agentapi/meters.routes.ts'
import { nodeLinkRoutes } from './agentapi/node.routes.ts'
import { auditRoutes } from './audit/audit.routes.ts'
import { assignmentRoutes } from './fleet/channels/assignments.routes.ts'
import { planRoutes } from './fleet/channels/plans.routes.ts'
import { templateRoutes } from './fleet/channels/templates.routes.ts'
import { lifecycleRoutes } from './fleet/lifecyclejobs/lifecycle.routes.ts'
import { type Monitored, nodeActionRoutes } from './fleet/nodes/actions.routes.ts'
import { channelRoomRoutes } from './fleet/nodes/channelrooms.routes.ts'
import { nodeExportRoutes } from './fleet/nodes/export.routes.ts'
import { nodeRoutes } from './fleet/nodes/nodes.routes.ts'
import { releaseRoutes } from './fleet/nodes/release.routes.ts'
import { bootstrapConfigRoutes } from './fleet/onboarding/bootstrapconfig.routes.ts'
import { type Introducing, installRoutes } from './fleet/onboarding/install.routes.ts'
import { ownAddress } from './fleet/onboarding/install.rules.ts'
import { onboardingRoutes } from './fleet/onboarding/onboarding.routes.ts'
import { retireRoutes } from './fleet/onboarding/retire.routes.ts'
import { overviewRoutes } from './fleet/overview/overview.routes.ts'
import { overviewStore } from './fleet/overview/overview.store.ts'
import { roomRoutes } from './fleet/rooms/rooms.routes.ts'
import { rosterRoutes } from './fleet/rooms/roster.routes.ts'
import { switcherRoutes } from './fleet/switchers/switchers.routes.ts'
import { limiter } from './http/limiter.ts'
import { openapiRoute } from './http/openapi.ts'
import type { Reach } from './http/reach.ts'
import type { AnyRoute } from './http/route.ts'
import { groupRoutes } from './identity/access/groups.routes.ts'
import { keepManaged } from './identity/access/lockout.ts'
import { accessOverviewRoutes } from './identity/access/overview.routes.ts'
import { accessPolicyRoutes } from './identity/access/policies.routes.ts'
import { accessPolicyStore } from './identity/access/policies.store.ts'
import { sessionRoutes } from './identity/access/sessions.routes.ts'
import { openSessions } from './identity/access/sessions.store.ts'
import { userRoutes } from './identity/access/users.routes.ts'
import { ADDRESS_FACTOR, authRoutes } from './identity/auth/auth.routes.ts'
import { stateCookies } from './identity/auth/oidc.cookie.ts'
import { identityProvider } from './identity/auth/oidc.openid.ts'
import { oidcRoutes } from './identity/auth/oidc.routes.ts'
import { healthRoutes } from './monitoring/health/health.routes.ts'
import { listenRoutes } from './monitoring/listen/listen.routes.ts'
import { demandBell } from './monitoring/listen/listen.rules.ts'
import { meterRoutes } from './monitoring/meters/meters.routes.ts'
import { metricsRoutes } from './monitoring/status/metrics.routes.ts'
import { probeRoutes } from './monitoring/status/probes.routes.ts'
import { statusRoutes } from './monitoring/status/status.routes.ts'
import { watchdogPolicyRoutes } from './monitoring/watchdog/policies.routes.ts'
import { chunkRoutes } from './recordings/chunks/chunks.routes.ts'
import { comings } from './recordings/chunks/coming.ts'
import { boardRoutes } from './recordings/jobs/board.routes.ts'
import { jobControlRoutes } from './recordings/jobs/control.routes.ts'
import { jobExportRoutes } from './recordings/jobs/export.routes.ts'
import { controlRoutes } from './recordings/library/control.routes.ts'
import { editingRoutes } from './recordings/library/editing.routes.ts'
import { libraryRoutes } from './recordings/library/library.routes.ts'
import { playbackRoutes } from './recordings/library/playback.routes.ts'
import { BUILT_IN } from './recordings/profiles/policies.store.ts'
import { profileRoutes } from './recordings/profiles/profiles.routes.ts'
import { retentionRoutes } from './recordings/retention/policies.routes.ts'
import { waveformRoutes } from './recordings/waveforms/waveforms.routes.ts'
import type { Ticker } from './scheduler/ticker.ts'
import { changeRoutes } from './schedules/changes.routes.ts'
import { occurrenceRoutes } from './schedules/occurrences.routes.ts'
import { rerooming } from './schedules/rerooming.ts'
import { scheduleRoutes } from './schedules/schedules.routes.ts'
import { settingsRoutes } from './settings/settings.routes.ts'
import { destinationRoutes } from './uploads/destinations.routes.ts'
import { uploadPolicyRoutes } from './uploads/policies.routes.ts'
import { uploadQueueRoutes } from './uploads/queue.routes.ts'
import { uploadRunnerRoutes } from './uploads/runner.routes.ts'
import type { Works } from './works.ts'

/** Every route of the controller, made once; docs/api.md, the OpenAPI document and the guards read this list. */
export function routesOf(works: Works, ticker: Ticker): AnyRoute[] {
  const routes: AnyRoute[] = [
    ...peopleRoutes(works),
    ...fleetRoutes(works, ticker),
    ...machineRoutes(works, ticker),
    ...takeRoutes(works),
    ...uploadRoutes(works),
    ...settingRoutes(works),
    ...timeRoutes(works, ticker),
    ...observerRoutes(works, ticker),
    openapiRoute((): AnyRoute[] => routes, version),
  ]
  return routes
}

/** Who people are and what they may do, and what they did. */
function peopleRoutes({ clock, config, db, ids, reach, stores }: Works): AnyRoute[] {
  const policies = accessPolicyStore(db, ids, stores.users)
  const keep = keepManaged(policies, stores.users)
  const { SVC_LOGIN_FAILURE_LIMIT: failureLimit, SVC_LOGIN_FAILURE_WINDOW_SECONDS: failureWindowSeconds } = config
  return [
    ...authRoutes(stores.users, stores.sessions, ids, clock, { failureLimit, failureWindowSeconds }),
    ...oidcRoutes({
      addresses: limiter(failureLimit * ADDRESS_FACTOR, failureWindowSeconds),
      clock,
      cookies: stateCookies(config.SVC_OIDC_REDIRECT_URI?.startsWith('https:') ?? false),
      ids,
      oidc: config.oidc,
      origins: [config.SVC_WEB_ORIGIN, ...(config.SVC_OIDC_REDIRECT_URI ? [config.SVC_OIDC_REDIRECT_URI] : [])],
      people: stores.oidc,
      provider: identityProvider(config.oidc, () => clock.monotonic()),
      sessions: stores.sessions,
      users: stores.users,
    }),
    ...userRoutes(stores.users, ids, config.SVC_LOCAL_ADMIN_EMAIL, keep),
    ...groupRoutes(stores.groups, ids, keep),
    ...accessPolicyRoutes(policies),
    ...accessOverviewRoutes(policies),
    ...sessionRoutes(openSessions(db), stores.users),
    ...auditRoutes(stores.audits, reach),
  ]
}

/** Nodes and rooms as operators see them, live ones included. */
function fleetRoutes(works: Works, ticker: Ticker): AnyRoute[] {
  const { bell, db, ids, reach, stores } = works
  const reroom = rerooming(scheduling(works, ticker))
  const [publicUrl, tls] = [works.config.SVC_PUBLIC_URL, works.config.tls !== undefined]
  const introduction = introducing(works)
  return [
    ...nodeRoutes({ ...stores, configured: (nodeId) => bell.ring(demandBell(nodeId)), reach, reroom }),
    ...nodeExportRoutes(stores.nodes, reach),
    ...retireRoutes({ ...stores, alarms: works.scheduleAlarms }),
    ...nodeActionRoutes(stores.nodes, monitored(works)),
    ...channelRoomRoutes({ ...stores, reach, reroom }),
    ...releaseRoutes(works),
    ...lifecycleRoutes({ ...stores, dispatch: works.dispatch, ids, jobs: stores.lifecycle }),
    ...bootstrapConfigRoutes({ ...stores, ids, reach }),
    ...installRoutes({ introduction, publicUrl, tls }),
    ...onboardingRoutes({ ...stores, address: (host) => ownAddress(publicUrl, host, tls), ids, introduction }),
    ...meterRoutes(works),
    ...listenRoutes({ ...works, nodes: stores.nodes, sessions: works.listeners }),
    ...roomRoutes({ ...stores, ids, reach }),
    ...rosterRoutes(stores.rooms, stores.rosters),
    ...overviewRoutes({ ...stores, overviews: overviewStore(db), scope: works.scope }),
  ]
}

// Behind a proxy others see its certificate.
const introducing =
  ({ certificates, config }: Works): Introducing =>
  (address) =>
    address?.startsWith('https:') && config.trustedProxies.length === 0
      ? certificates?.introduction(address)
      : undefined

/** What agents call. */
function machineRoutes(works: Works, ticker: Ticker): AnyRoute[] {
  const { bell, clock, config, ending, ids, stores, takes, turnstile } = works
  return [
    ...nodeLinkRoutes({ ...stores, ...works, heedSchedules: () => ticker.heed('schedule') }),
    ...meterLinkRoutes(works.meters, works.layouts),
    ...listenLinkRoutes(works),
    ...jobLinkRoutes({ ...stores, bell, clock, ending }),
    ...cacheFileRoutes({
      ...stores,
      chunks: stores.recordingChunks,
      ids,
      maxBytes: config.SVC_RECORDING_CACHE_MAX_BYTES,
      onCached: works.uploads.autoEnqueue,
      onChunk: () => works.joiner.wake(),
      onCompleted: (nodeId) => bell.ring(nodeId),
      paths: works.paths,
      room: works.room,
      takes,
      turnstile,
    }),
  ]
}

/** Recordings and the jobs that make them. */
function takeRoutes(works: Works): AnyRoute[] {
  const { bell, ids, reach, scope, start, stores, takes } = works
  const { jobs, recordings } = stores
  const library = { log: works.log, paths: works.paths, reach, recordings, takes }
  return [
    ...controlRoutes({ ...stores, bell, scope, start }),
    ...libraryRoutes({ ...library, ...recordingContext(works) }),
    ...editingRoutes(library),
    ...playbackRoutes({
      ...library,
      ...works,
      joins: comings(stores.recordingChunks, works.clock),
      tickets: stores.tickets,
    }),
    ...waveformRoutes({ making: works.waveforms, recordings, waveforms: stores.waveforms }),
    ...chunkRoutes(stores.recordingChunks, jobs, stores.uploads.queue.chunkUploads),
    ...boardRoutes({ jobs, reach, recordings, scope }),
    ...jobExportRoutes(jobs, reach),
    ...jobControlRoutes({ ...stores, bell, ids, paths: works.paths, reach }),
  ]
}

function uploadRoutes({ ids, log, reach, stores, uploads }: Works): AnyRoute[] {
  const { destinations, policies, queue } = stores.uploads
  return [
    ...destinationRoutes(destinations, ids, reach),
    ...uploadPolicyRoutes(policies, ids, reach),
    ...uploadQueueRoutes({ ...stores.uploads, fallback: BUILT_IN.upload, reach, recordings: stores.recordings }),
    ...uploadRunnerRoutes({ log, queue, reach, uploader: uploads.uploader }),
  ]
}

/** What is set once and used by all. */
function settingRoutes({ bell, devices, ids, meters, reach, scope, stores }: Works): AnyRoute[] {
  return [
    ...profileRoutes(stores.profiles, ids, reach),
    ...watchdogPolicyRoutes({ ...stores, ids, meters, reach, scope }),
    ...retentionRoutes(stores.retentionPolicies, ids, reach, () => bell.ringAll(demandBell(''))),
    ...settingsRoutes(stores.settings),
    ...templateRoutes(stores.templates, ids, reach),
    ...assignmentRoutes({ ...stores, reach, scope }),
    ...planRoutes({ ...stores, ids, reach, scope }),
    ...switcherRoutes({
      ...stores,
      devices,
      ids,
      mappings: stores.switcherMappings,
      reach,
      routing: stores.switcherRouting,
    }),
  ]
}

function timeRoutes(works: Works, ticker: Ticker): AnyRoute[] {
  const parts = scheduling(works, ticker)
  return [...scheduleRoutes(parts), ...changeRoutes(parts), ...occurrenceRoutes(parts)]
}

/** How it goes. */
function observerRoutes(works: Works, ticker: Ticker): AnyRoute[] {
  const { clock, config, db, group, reach, scope, stores } = works
  const startedAtMs = clock.now()
  const begun = clock.monotonic()
  const observed = { counts: stores.counts, metrics: stores.metrics, reach, runners: () => ticker.status() }
  return [
    ...probeRoutes(db, group, iso(startedAtMs)),
    ...healthRoutes({ ...stores, events: stores.healthEvents, reach, scope }),
    ...statusRoutes({
      ...stores,
      ...observed,
      certificates: works.certificates,
      startedAt: iso(startedAtMs),
      uptimeMs: () => clock.monotonic() - begun,
    }),
    ...metricsRoutes({
      ...works,
      ...observed,
      frameMaxAgeSeconds: config.SVC_WATCHDOG_METER_MAX_AGE_SECONDS,
      startedAtMs,
      tally: stores.tally,
    }),
  ]
}

const scheduling = (works: Works, ticker: Ticker) => ({
  ...works.stores,
  alarms: works.scheduleAlarms,
  defaultInterfaceId: works.config.SVC_AGENT_CAPTURE_INTERFACE_ID,
  foresee: works.foresee,
  heed: () => ticker.heed('schedule'),
  ids: works.ids,
  reach: works.reach,
  references: works.stores.scheduleReferences,
  scope: works.scope,
  take: works.scheduledTake,
})

/** What is told beside a recording by the families that keep it. */
const recordingContext = ({ stores }: Works) => ({
  healthOf: (reach: Reach, recordingId: string, most: number) =>
    stores.healthEvents.page(reach, { recordingId }, most, 0).rows,
  jobs: stores.jobs,
  uploadsOf: stores.uploads.queue.ofRecording,
})

// What of a node can be heard or seen now, from what the agents last sent.
const monitored = ({ chunks, meters }: Works): Monitored => ({
  metered: (nodeId) => meters.latest(nodeId) !== undefined,
  monitor(nodeId, now) {
    const chunk = chunks.fresh(nodeId, 'raw', now)
    if (chunk) {
      const { capturedAt, durationMs } = chunk
      return { available: true, capturedAt, contentType: 'audio/wav', durationMs, source: 'agent_audio_chunk' }
    }
    const frame = meters.latest(nodeId)?.frame
    return frame ? { available: true, capturedAt: frame.capturedAt, source: 'meter_frame' } : { available: false }
  },
})
