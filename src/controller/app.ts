// The whole controller: every module, in the order of its dependencies.
import type { Clock } from '../kernel/clock.ts'
import type { Ids } from '../kernel/ids.ts'
import type { Log } from '../kernel/log.ts'
import { takeAll } from '../kernel/steps.ts'
import { createAgentApi } from './agentapi/module.ts'
import { createAudit } from './audit/module.ts'
import { createBase } from './base.ts'
import type { Config } from './config.ts'
import { createLifecycle } from './fleet/lifecycle/module.ts'
import { createFleet } from './fleet/module.ts'
import { createReleases } from './fleet/releases/module.ts'
import type { Running } from './fleet/releases/repository.own.ts'
import { createSwitchers } from './fleet/switchers/module.ts'
import { docsRoutes } from './http/apidocs/docs.routes.ts'
import type { Certificates } from './http/certificates.ts'
import { openapiRoute } from './http/openapi.ts'
import { consoleHandler } from './http/pages.ts'
import type { AnyRoute } from './http/route.ts'
import { serve } from './http/serve.ts'
import { createIdentity } from './identity/module.ts'
import type { Module } from './module.ts'
import { createChanges } from './monitoring/changes/module.ts'
import { createClockWatch } from './monitoring/clock/module.ts'
import { createForesight } from './monitoring/foresight/module.ts'
import { createHealth } from './monitoring/health/module.ts'
import { createLive } from './monitoring/listen/module.ts'
import { createOverview } from './monitoring/overview/module.ts'
import { createPreflight } from './monitoring/preflight/module.ts'
import { createStatus } from './monitoring/status/module.ts'
import { createWatchdog } from './monitoring/watchdog/module.ts'
import { createNotifications } from './notifications/module.ts'
import { createLibrary } from './recordings/library/module.ts'
import { createRecordings } from './recordings/module.ts'
import { createSchedules } from './schedules/module.ts'
import type { SealKeys } from './secrets.ts'
import { createSettings } from './settings/module.ts'
import type { Db } from './store/db.ts'
import type { LeaseClient } from './succession/leaseclient.ts'
import { createSuccession } from './succession/module.ts'
import type { ReplicaWatch } from './succession/replica.ts'
import { createUploads } from './uploads/module.ts'

/** What a running controller and one in a test supply differently. */
interface AppOptions {
  /** What HTTPS is served with; absent for plain HTTP. */
  certificates?: Certificates | undefined
  clock: Clock
  config: Config
  db: Db
  ids: Ids
  /** Held where there is a second box. */
  lease?: LeaseClient | undefined
  log: Log
  /** Watched where something replicates the database. */
  replica?: ReplicaWatch | undefined
  /** The running executable, for nodes to download; absent in development. */
  running?: Running | undefined
  keys: SealKeys
}

/** The controller over an open, migrated database; `stop` leaves nothing running. */
export function createApp({ certificates, keys, lease, replica, running, ...given }: AppOptions) {
  const { base, pipeline, ticker } = createBase(given)
  const clock = createClockWatch(base)
  const audit = createAudit(base, { callerLimits: pipeline.callerLimits, clock: clock.api })
  const health = createHealth(base)
  const settings = createSettings(base)
  const notifications = createNotifications(base, { health: health.api, keys, settings: settings.api })
  const identity = createIdentity(base, { settings: settings.api })
  const fleet = createFleet(base, { certificates, keys })
  const releases = createReleases(base, { running })
  const lifecycle = createLifecycle(base, { fleet: fleet.api })
  const live = createLive(base, { fleet: fleet.api, settings: settings.api })
  const common = { clock: clock.api, fleet: fleet.api, health: health.api, settings: settings.api }
  const replicatedUntil = (now: string) => (replica ? replica.until(now) : now)
  const recordings = createRecordings(base, { ...common, keys, replicatedUntil })
  const uploads = createUploads(base, { health: health.api, keys, recordings: recordings.api })
  const served = { fleet: fleet.api, health: health.api, recordings: recordings.api }
  const library = createLibrary(base, { ...served, clock: clock.api, uploads: uploads.api })
  const schedules = createSchedules(base, { ...common, recordings: recordings.api })
  const preflight = createPreflight(base, { ...served, schedules: schedules.api })
  const agentApi = createAgentApi(base, { ...served, live: live.api, preflight: preflight.api })
  const switchers = createSwitchers(base, { fleet: fleet.api, health: health.api, keys, schedules: schedules.api })
  const overview = createOverview(base, { ...served, schedules: schedules.api })
  const watchdog = createWatchdog(base, { certificates, fleet: fleet.api, health: health.api, live: live.api })
  const planned = { live: live.api, schedules: schedules.api, uploads: uploads.api }
  const foresight = createForesight(base, { ...served, ...planned, certificates })
  const observed = { certificates, live: live.api, recordings: recordings.api, watchdogPolicies: watchdog.api.policies }
  const status = createStatus(base, observed)
  const changes = createChanges(base, { live: live.api })
  const succession = createSuccession(base, { lease, replica, watchdog: watchdog.api })
  const modules: Module<unknown>[] = [
    ...[clock, audit, identity, health, settings, fleet, releases, lifecycle, live, recordings, uploads],
    ...[library, schedules, preflight, agentApi, switchers, overview, watchdog, foresight, status, changes],
    ...[notifications, succession],
  ]
  const routes: AnyRoute[] = modules.flatMap((module) => module.routes ?? [])
  routes.push(openapiRoute(), ...docsRoutes())
  ticker.add(modules.flatMap((module) => module.runners ?? []))
  clock.watch.onJump((by) => {
    for (const memory of [...modules, ticker]) memory.clockJumped?.(by)
  })
  return {
    ...lifecycleOf(modules, { base, pipeline, ticker }),
    app: serve(pipeline, routes, consoleHandler()),
    clockWatch: clock.watch,
    events: base.events,
    firstLink: identity.api.firstLink,
    pipeline,
    streams: live.api.streams,
    leases: recordings.api.leases,
    notifier: base.notifier,
    routes,
    ticker,
    waveforms: library.api.waveforms,
  }
}

/** Forward at the start, backward at the end. */
function lifecycleOf(modules: readonly Module<unknown>[], { base, pipeline, ticker }: ReturnType<typeof createBase>) {
  const backward = modules.toReversed()
  /** Ends long polls and endless answers, so that no connection delays the stop. */
  const release = (): void => {
    base.notifier.close()
    pipeline.exports.close()
    for (const module of backward) module.release?.()
  }
  return {
    /** The server listens, on this port. */
    listening(port: number): void {
      for (const module of modules) module.listening?.(port)
    },
    release,
    /** Before the first request. */
    async start(): Promise<void> {
      for (const module of modules) await module.start?.()
    },
    /** Ends open answers and background work, then commits what is queued. @throws AggregateError at the end: what failed */
    async stop(): Promise<void> {
      // Modules before the wait for the passes: one may last until its module ends what it waits for.
      const modules = backward.map((module) => () => module.stop?.())
      const faults = await takeAll([
        release,
        () => ticker.end(),
        ...modules,
        () => ticker.stop(),
        () => pipeline.group.drain(),
      ])
      if (faults.length > 0) throw new AggregateError(faults, 'not everything stopped in order')
    },
  }
}
