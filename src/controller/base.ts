import type { Clock } from '../kernel/clock.ts'
import type { Ids } from '../kernel/ids.ts'
import type { Log } from '../kernel/log.ts'
import type { Config } from './config.ts'
import { Events } from './events.ts'
import { type AuditEntry, audit } from './http/audit.ts'
import { bodies, KNOWN_LIMITS, STRANGER_LIMITS } from './http/bodies.ts'
import { callerLimits } from './http/callerlimits.ts'
import { sessionCookie } from './http/cookie.ts'
import { Exports } from './http/exports.ts'
import { limiter } from './http/limiter.ts'
import { permissionCleanup } from './http/permissioncleanup.ts'
import type { Pipeline } from './http/pipeline.ts'
import { principals } from './http/principals.ts'
import { scope } from './http/scope.ts'
import { visibilities } from './http/visibility.ts'
import type { Base } from './module.ts'
import { metricsOutage } from './monitoring/status/metrics.routes.ts'
import { Notifier } from './scheduler/notifier.ts'
import { SteadyClock } from './scheduler/steady.ts'
import { Ticker } from './scheduler/ticker.ts'
import type { Db } from './store/db.ts'
import { CommitGroup } from './store/group.ts'

interface BaseOptions {
  clock: Clock
  config: Config
  db: Db
  ids: Ids
  log: Log
}

/** The base of the modules, the request pipeline, and the ticker of the runners. */
export function createBase(given: BaseOptions) {
  const { config, db, ids, log } = given
  const clock = new SteadyClock(given.clock)
  const ticker = new Ticker(clock, log)
  const events = new Events(db, log)
  const pipeline = pipelineOf({ ...given, clock }, events)
  const base: Base & { clock: SteadyClock } = {
    audit: pipeline.audit,
    authorization: { principals: pipeline.principals, visibility: visibilities(db), scope: pipeline.scope },
    clock,
    config,
    db,
    events,
    group: pipeline.group,
    ids,
    log,
    notifier: new Notifier(clock),
    ticker,
  }
  return { base, pipeline, ticker }
}

function pipelineOf({ clock, config, db, ids, log }: BaseOptions, events: Events): Pipeline {
  const placed = scope(db)
  const changed = ({
    action,
    after,
    before,
    correlation,
    details,
    outcome,
    target: { id, type },
  }: AuditEntry): void => {
    const readOnly =
      outcome === 'allowed' || outcome === 'denied' || details?.method === 'GET' || details?.method === 'HEAD'
    if (readOnly) return
    const placesBefore = before && id !== undefined ? () => [{ type, id }, ...placed.placesOf(before)] : undefined
    const op = before && !after ? 'deleted' : after && !before ? 'created' : 'updated'
    events.emit('resource.changed', { action, correlation, id, op, outcome, placesBefore, type })
  }
  return {
    audit: audit(db, ids, config.SVC_AUDIT_MACHINE_WINDOW_SECONDS, changed),
    bodies: { known: bodies(KNOWN_LIMITS), strangers: bodies(STRANGER_LIMITS) },
    clock,
    cookie: sessionCookie(config),
    db,
    group: new CommitGroup(db, clock),
    callerLimits: callerLimits(clock, {
      requests: config.SVC_USER_REQUESTS_PER_MINUTE,
      strangers: config.SVC_STRANGER_REFUSALS_PER_MINUTE,
    }),
    endPermissions: permissionCleanup(db),
    exports: new Exports(() => clock.monotonic()),
    guesses: limiter(config.SVC_TOKEN_FAILURE_LIMIT, config.SVC_LOGIN_FAILURE_WINDOW_SECONDS),
    log,
    outage: metricsOutage,
    principals: principals(db, clock, placed, { metrics: config.SVC_METRICS_TOKEN, runner: config.SVC_RUNNER_TOKEN }),
    scope: placed,
    trustedProxies: new Set(config.trustedProxies),
    webOrigin: config.SVC_WEB_ORIGIN,
  }
}
