import type { Base, Module } from '../../module.ts'
import type { HealthApi } from './api.ts'
import { captureEvents } from './capture.store.ts'
import { healthEvents } from './events.store.ts'
import { healthRoutes } from './health.routes.ts'
import { healthStore } from './health.store.ts'

/** Health events: opened when a fault is seen, moved by people, resolved when it is over. */
export function createHealth({ authorization: { visibility, scope }, db, events: bus, ids }: Base): Module<HealthApi> {
  const health = healthStore(db, ids, bus)
  const events = healthEvents(db)
  return {
    api: { captureEvents: captureEvents(db, health), events, health },
    routes: healthRoutes({ events, health, visibility, scope }),
  }
}
