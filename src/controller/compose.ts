// Everything is put together here, by hand.
import { iso } from '../kernel/clock.ts'
import { errorFields } from '../kernel/log.ts'
import { tellCounts } from './audit/refusals.runner.ts'
import type { Config } from './config.ts'
import { audit } from './http/audit.ts'
import { bodies } from './http/bodies.ts'
import { callerLimits } from './http/callerlimits.ts'
import type { Edge } from './http/edge.ts'
import { Exports } from './http/exports.ts'
import { leftoverPermissions } from './http/leftover.ts'
import { limiter } from './http/limiter.ts'
import { principals } from './http/principals.ts'
import { scope } from './http/scope.ts'
import { serve } from './http/serve.ts'
import { seedLocalAdmin } from './identity/auth/localadmin.ts'
import { metricsOutage } from './monitoring/status/metrics.routes.ts'
import { routesOf } from './routes.ts'
import { runnersOf } from './runners.ts'
import { SteadyClock } from './scheduler/steady.ts'
import { Ticker } from './scheduler/ticker.ts'
import { CommitGroup } from './store/group.ts'
import { type Surroundings, storesOf } from './stores.ts'
import { worksOf } from './works.ts'

/** The controller over an open, migrated database; `stop` leaves nothing running. */
export function compose(given: Surroundings) {
  const surroundings = { ...given, clock: new SteadyClock(given.clock) }
  const { clock, config, db, ids, log } = surroundings
  const edge = edgeOf(surroundings)
  const stores = storesOf(surroundings)
  const works = worksOf(surroundings, edge, stores)
  const ticker = new Ticker(clock, log, runnersOf(works))
  const routes = routesOf(works, ticker)
  works.clockWatch.onJump((by) => {
    for (const memory of [works.chunks, works.listeners, works.meters, ticker]) memory.moved(by)
  })
  /** Lets long polls and endless answers go: nobody's connection holds up the end. */
  const release = (): void => {
    works.bell.close()
    works.feeds.close()
    edge.exports.close()
    void works.dispatch.stop()
    works.devices.stop()
    works.disposer.stop()
    void works.releases.stop()
  }
  return {
    app: serve(edge, routes),
    bell: works.bell,
    clockWatch: works.clockWatch,
    edge,
    feeds: works.feeds,
    leases: stores.leases,
    /** Before the first request: the first admin exists, and nothing claims to run that died with the last process. */
    async prepare(): Promise<void> {
      works.clockWatch.begin()
      await seedLocalAdmin(
        { audit: edge.audit, db, ids, log, users: stores.users },
        localAdmin(config),
        iso(clock.now()),
      )
      await works.dispatch.settleInterrupted()
    },
    routes,
    ticker,
    waveforms: works.waveforms,
    release,
    /** Lets everybody go, ends the background work, commits what waits. */
    async stop(): Promise<void> {
      release()
      await Promise.all([
        works.dispatch.stop(),
        works.releases.stop(),
        works.depot.stop(),
        works.uploads.uploader.stop(),
      ])
      works.runner.close()
      works.retention.stop()
      await works.clockWatch.stop()
      await works.joiner.stop()
      await works.waveforms.stop()
      await ticker.stop()
      await edge.group.drain()
      tellLastCounts(edge)
    },
  }
}

function edgeOf({ clock, config, db, ids, log }: Surroundings): Edge {
  return {
    audit: audit(db, ids, config.SVC_AUDIT_MACHINE_WINDOW_SECONDS),
    bodies: { known: bodies(), strangers: bodies() },
    clock,
    db,
    group: new CommitGroup(db, clock),
    callerLimits: callerLimits(clock, {
      requests: config.SVC_USER_REQUESTS_PER_MINUTE,
      strangers: config.SVC_STRANGER_REFUSALS_PER_MINUTE,
    }),
    endPermissions: leftoverPermissions(db),
    exports: new Exports(() => clock.monotonic()),
    guesses: limiter(config.SVC_TOKEN_FAILURE_LIMIT, config.SVC_LOGIN_FAILURE_WINDOW_SECONDS),
    log,
    outage: metricsOutage,
    principals: principals(db, clock, { metrics: config.SVC_METRICS_TOKEN, runner: config.SVC_RUNNER_TOKEN }),
    scope: scope(db),
    trustedProxies: new Set(config.trustedProxies),
    webOrigin: config.SVC_WEB_ORIGIN,
  }
}

/** Nobody is heard any more: what was counted in the running minute is written, too. */
function tellLastCounts(edge: Edge): void {
  edge.callerLimits.end()
  try {
    tellCounts(edge, iso(edge.clock.now()))
  } catch (e) {
    // A database that cannot be written must not keep the controller from stopping.
    edge.log.error('the last counts of refusals were not written', errorFields(e))
  }
}

const localAdmin = (config: Config) => ({
  email: config.SVC_LOCAL_ADMIN_EMAIL,
  name: config.SVC_LOCAL_ADMIN_NAME,
  password: config.SVC_LOCAL_ADMIN_PASSWORD,
})
