// The composition root: everything is put together here, by hand.
import { type Clock, iso } from '../kernel/clock.ts'
import type { Ids } from '../kernel/ids.ts'
import type { Log } from '../kernel/log.ts'
import { Ticker } from './background/ticker.ts'
import type { Config } from './config.ts'
import { audit } from './edge/audit.ts'
import type { Edge } from './edge/edge.ts'
import { principals } from './edge/principals.ts'
import { reaches } from './edge/reach.ts'
import { scope } from './edge/scope.ts'
import { serve } from './edge/serve.ts'
import { roomRoutes } from './rooms/rooms.routes.ts'
import { roomStore } from './rooms/rooms.store.ts'
import { probeRoutes } from './status/probes.routes.ts'
import type { Db } from './store/db.ts'
import { CommitGroup } from './store/group.ts'

/** What differs between a running controller and one in a test. */
export interface Surroundings {
  clock: Clock
  config: Config
  db: Db
  ids: Ids
  log: Log
}

/** The controller over an open, migrated database; `stop` leaves nothing running. */
export function compose({ clock, config, db, ids, log }: Surroundings) {
  const group = new CommitGroup(db, clock)
  const edge: Edge = {
    audit: audit(db, ids, config.SVC_AUDIT_MACHINE_WINDOW_SECONDS),
    clock,
    db,
    group,
    log,
    principals: principals(db, clock, config.SVC_RUNNER_TOKEN),
    scope: scope(db),
    trustedProxies: new Set(config.trustedProxies),
    webOrigin: config.SVC_WEB_ORIGIN,
  }
  const reach = reaches(db)
  const rooms = roomStore(db)
  const ticker = new Ticker(clock, log, [])
  const routes = [...probeRoutes(db, iso(clock.now())), ...roomRoutes(rooms, ids, reach)]
  return {
    app: serve(edge, routes),
    edge,
    routes,
    ticker,
    async stop(): Promise<void> {
      await ticker.stop()
      await group.drain()
    },
  }
}
export type Controller = ReturnType<typeof compose>
