import type { Base, Module } from '../../module.ts'
import type { HealthApi } from './api.ts'
import { captureEvents } from './capture.store.ts'
import { healthEvents } from './events.store.ts'
import { forgottenRunner } from './forgotten.runner.ts'
import { forgottenStore } from './forgotten.store.ts'
import { healthRoutes } from './health.routes.ts'
import { healthStore } from './health.store.ts'

/** Health events: opened when a fault is seen, moved by people, resolved when it is over. */
export function createHealth({ audit, authorization, db, events: bus, ids }: Base): Module<HealthApi> {
  const { scope, visibility } = authorization
  const health = healthStore(db, ids, bus)
  const events = healthEvents(db)
  const ofCapture = captureEvents(db, health)
  return {
    api: { captureEvents: ofCapture, events, health },
    routes: healthRoutes({ events, health, visibility, scope }),
    runners: [forgottenRunner({ audit, db, health, store: forgottenStore(db) })],
  }
}
