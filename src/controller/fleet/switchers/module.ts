import type { Base, Module } from '../../module.ts'
import type { HealthApi } from '../../monitoring/health/api.ts'
import type { SchedulesApi } from '../../schedules/api.ts'
import type { SealKeys } from '../../secrets.ts'
import type { FleetApi } from '../api.ts'
import { Devices } from './devices.ts'
import { routingRunner } from './routing.runner.ts'
import { routingStore } from './routing.store.ts'
import { switcherRoutes } from './switchers.routes.ts'
import { mappingStore, switcherStore } from './switchers.store.ts'

interface Deps {
  fleet: FleetApi
  health: HealthApi
  keys: SealKeys
  schedules: SchedulesApi
}

/** Matrix switchers, and the routing of live meetings. */
export function createSwitchers(base: Base, { fleet, health: { health }, keys, schedules }: Deps): Module {
  const { audit, authorization, config, db, ids } = base
  const switchers = switcherStore(db, keys.settings)
  const routing = routingStore(db)
  const devices = new Devices()
  const { visibility } = authorization
  const mappings = mappingStore(db, switchers)
  return {
    api: undefined,
    release: () => devices.stop(),
    routes: switcherRoutes({ devices, health, ids, mappings, visibility, rooms: fleet.rooms, routing, switchers }),
    runners: [
      routingRunner({
        audit,
        batchSize: config.SVC_SWITCHER_ROUTING_RUNNER_BATCH_SIZE,
        db,
        devices,
        enabled: config.SVC_SWITCHER_ROUTING_RUNNER_ENABLED,
        health,
        intervalSeconds: config.SVC_SWITCHER_ROUTING_RUNNER_INTERVAL_SECONDS,
        live: schedules.live,
        routing,
      }),
    ],
  }
}
