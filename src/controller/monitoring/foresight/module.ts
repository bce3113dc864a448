import type { FleetApi } from '../../fleet/api.ts'
import type { Certificates } from '../../http/certificates.ts'
import type { Base, Module } from '../../module.ts'
import type { RecordingsApi } from '../../recordings/api.ts'
import type { SchedulesApi } from '../../schedules/api.ts'
import type { UploadsApi } from '../../uploads/api.ts'
import type { HealthApi } from '../health/api.ts'
import type { LiveApi } from '../listen/api.ts'
import { foresightAlarms } from './alarms.ts'
import { examiner } from './examine.ts'
import { factStore } from './facts.store.ts'
import { type Changed, FORESIGHT_RUNNER, foresightRunner } from './foresight.runner.ts'
import { foresightRoutes } from './settings.routes.ts'
import { foresightSettings } from './settings.store.ts'

interface Deps {
  certificates: Certificates | undefined
  fleet: FleetApi
  health: HealthApi
  live: LiveApi
  recordings: RecordingsApi
  schedules: SchedulesApi
  uploads: UploadsApi
}

/** Foresees what stands against the takes of the coming day. */
export function createForesight(base: Base, deps: Deps): Module {
  const { audit, clock, config, db, events, ticker } = base
  const { certificates, fleet, health, live, recordings, schedules, uploads } = deps
  const facts = factStore(db)
  const settings = foresightSettings(db)
  const runner = foresightRunner({
    alarms: foresightAlarms(health.health, audit),
    certificates,
    clock,
    db,
    diskSpace: recordings.diskSpace,
    enabled: config.SVC_FORESIGHT_RUNNER_ENABLED,
    examine: examiner({ claims: recordings.claims, facts, meters: live.meters, nodes: fleet.nodes, schedules }),
    facts,
    intervalSeconds: config.SVC_FORESIGHT_RUNNER_INTERVAL_SECONDS,
    offlineAfterSeconds: config.SVC_NODE_OFFLINE_AFTER_SECONDS,
    settings,
    troubles: uploads.troubles,
  })
  const wake = (changed: Changed): void => {
    runner.wake(changed)
    ticker.reschedule(FORESIGHT_RUNNER)
  }
  events.on('node.status', 'after', ({ nodeId }) => wake({ nodeId }))
  events.on('node.moved', 'after', ({ nodeId }) => wake({ nodeId }))
  events.on('config.changed', 'after', ({ nodeId }) => nodeId !== undefined && wake({ nodeId }))
  events.on('schedule.changed', 'after', ({ id }) => id !== undefined && wake({ scheduleId: id }))
  events.on('resource.changed', 'after', ({ id, type }) => type === 'node' && wake({ nodeId: id }))
  events.on('schedule.materialized', 'within', ({ scheduleId }) => facts.forget(scheduleId))
  events.on('schedule.materialized', 'after', ({ scheduleId }) => wake({ scheduleId }))
  return { api: undefined, routes: foresightRoutes(settings, () => wake({})), runners: [runner] }
}
