import { zoneBook } from '../../kernel/zones.ts'
import type { FleetApi } from '../fleet/api.ts'
import { usedIds } from '../http/usedids.store.ts'
import type { Base, Module } from '../module.ts'
import type { ClockApi } from '../monitoring/clock/api.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import type { RecordingsApi } from '../recordings/api.ts'
import type { SettingsApi } from '../settings/api.ts'
import { AGAIN, againRunner } from './again.runner.ts'
import { againStore } from './again.store.ts'
import type { SchedulesApi } from './api.ts'
import { roomReassignment } from './assigning.ts'
import { calendarStore } from './calendar.store.ts'
import { changeRoutes } from './changes.routes.ts'
import { scheduleJumps } from './jumps.store.ts'
import { occurrenceRoutes } from './occurrences.routes.ts'
import { referenceStore } from './references.store.ts'
import { riskStore } from './risks.store.ts'
import { alarmStore, runStore } from './runs.store.ts'
import { scheduleRunner } from './schedule.runner.ts'
import { scheduleRoutes } from './schedules.routes.ts'
import { type ScheduleStore, scheduleStore } from './schedules.store.ts'
import { takeMaker } from './takes.ts'

interface Deps {
  clock: ClockApi
  fleet: FleetApi
  health: HealthApi
  recordings: RecordingsApi
  settings: SettingsApi
}

/** Schedules, their occurrences, and the runner that starts their recordings. */
export function createSchedules(base: Base, deps: Deps): Module<SchedulesApi> {
  const { authorization, config, db, events, ids, ticker } = base
  const { fleet, health, recordings, settings } = deps
  const { nodes, rooms, rosters } = fleet
  const zones = zoneBook()
  const schedules = scheduleStore(db, zones)
  const runs = runStore(db)
  const risks = riskStore(db, config.SVC_NODE_OFFLINE_AFTER_SECONDS, config.SVC_AGENT_CAPTURE_INTERFACE_ID)
  const alarms = alarmStore(db, health.health)
  const defaultInterfaceId = config.SVC_AGENT_CAPTURE_INTERFACE_ID
  const { foresee, startScheduled: record } = recordings.recording
  const { foresee: foreseeTake, take } = takeMaker({ foresee, nodes, record, schedules })
  const reassignRoom = roomReassignment({ defaultInterfaceId, nodes, rosters, schedules })
  deps.clock.include(scheduleJumps(db, schedules))
  events.on('schedule.changed', 'after', () => ticker.reschedule('schedule'))
  events.on('job.changed', 'after', ({ status }) => {
    if (status === 'failed') ticker.reschedule(AGAIN)
  })
  events.on('node.moved', 'within', ({ moved, nodeId, now }) => moved.push(...reassignRoom(nodeId, now)))
  events.on('node.ready', 'within', ({ nodeId, now }) => {
    if (runs.retryNow(nodeId, now)) events.emit('schedule.changed', {})
  })
  events.on('node.retired', 'within', ({ disabledScheduleIds, now }) => {
    for (const id of disabledScheduleIds) alarms.settle(id, 'node_retired', now)
  })
  const parts = {
    ...authorization,
    ...{ alarms, defaultInterfaceId, events, ids, detach: fleet.detach, nodes, plan: recordings.recording.plan },
    ...{
      references: referenceStore(db),
      risks,
      rooms,
      rosters,
      schedules,
      settings,
      take,
      usedIds: usedIds(db, 'schedule'),
    },
  }
  return {
    api: { foresee: foreseeTake, live: schedules.liveAssignments, readiness: risks.readiness, schedules },
    routes: [
      ...scheduleRoutes({ ...parts, calendar: calendarStore(db, zones) }),
      ...changeRoutes(parts),
      ...occurrenceRoutes(parts),
    ],
    runners: [runnerOf(base, deps, { alarms, runs, schedules, take }), againOf(base, deps, schedules)],
  }
}

type Parts = Parameters<typeof scheduleRunner>[0]

const runnerOf = (
  { audit, clock, config, db, events, log }: Base,
  { clock: { trusted }, fleet: { rosters } }: Deps,
  own: Pick<Parts, 'alarms' | 'runs' | 'schedules' | 'take'>,
) =>
  scheduleRunner({
    ...own,
    audit,
    batchSize: config.SVC_SCHEDULE_RUNNER_BATCH_SIZE,
    clock,
    db,
    events,
    enabled: config.SVC_SCHEDULE_RUNNER_ENABLED,
    intervalSeconds: config.SVC_SCHEDULE_RUNNER_INTERVAL_SECONDS,
    log,
    retrySeconds: config.SVC_SCHEDULE_FAILURE_RETRY_SECONDS,
    rosters,
    trusted,
  })

const againOf = (
  { audit, clock, config, db, log }: Base,
  { health, recordings: { jobs, retry } }: Deps,
  schedules: ScheduleStore,
) =>
  againRunner({
    ...{ audit, clock, db, health: health.health, jobs, log, retry },
    enabled: config.SVC_SCHEDULE_RUNNER_ENABLED,
    intervalSeconds: config.SVC_SCHEDULE_RUNNER_INTERVAL_SECONDS,
    retrySeconds: config.SVC_SCHEDULE_FAILURE_RETRY_SECONDS,
    schedules,
    slots: againStore(db),
  })
