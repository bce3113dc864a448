import { isoPlus } from '../../../kernel/clock.ts'
import { Fail } from '../../../kernel/fail.ts'
import type { Node } from '../../../wire/nodes.ts'
import type { Command } from '../../../wire/recordings.ts'
import type { PlannedPreflight } from '../../../wire/soundreadings.ts'
import type { FleetApi } from '../../fleet/api.ts'
import type { Base, Module } from '../../module.ts'
import type { RecordingsApi } from '../../recordings/api.ts'
import type { SchedulesApi } from '../../schedules/api.ts'
import type { HealthApi } from '../health/api.ts'
import type { PreflightApi } from './api.ts'
import { preflightRoutes } from './preflight.routes.ts'
import { wantedOf } from './preflight.rules.ts'
import { preflightRunner } from './preflight.runner.ts'
import { preflightStore } from './preflights.store.ts'
import { printStore } from './prints.store.ts'
import { soundReadings } from './readings.ts'

interface Deps {
  fleet: FleetApi
  health: HealthApi
  recordings: RecordingsApi
  schedules: SchedulesApi
}

/** A recorder hears of a take so long before it has to listen: enough for a controller that is away for a while. */
const TOLD_AHEAD_SECONDS = 600

type Stored = NonNullable<ReturnType<SchedulesApi['schedules']['find']>>

/** What recorders hear shortly before scheduled takes, and what their rooms usually sound like (ADR-0041). */
export function createPreflight(base: Base, deps: Deps): Module<PreflightApi> {
  const { audit, config, db } = base
  const {
    fleet,
    health,
    recordings,
    schedules: { schedules },
  } = deps
  const { nodes } = fleet
  const preflights = preflightStore(db)
  // The one place that says whether and how long before a take is listened; 0: never.
  const leadSeconds = (): number => config.SVC_FORESIGHT_PREFLIGHT_MINUTES * 60

  const commandOf = (schedule: Stored, node: Node): Command | undefined => {
    try {
      return recordings.recording.plan(node, schedule, schedule.recordingProfileId)
    } catch (e) {
      // It cannot be made as things stand: that is told when it is due.
      if (e instanceof Fail) return undefined
      throw e
    }
  }
  const readings = soundReadings({
    audit,
    commandOf,
    health: health.health,
    nodes,
    preflights,
    prints: printStore(db),
    schedules,
  })

  const planned = (nodeId: string, now: string): PlannedPreflight[] => {
    const lead = leadSeconds()
    if (lead === 0) return []
    const due = schedules.startingBetween(nodeId, now, isoPlus(now, lead + TOLD_AHEAD_SECONDS))
    if (due.length === 0) return []
    const node = nodes.get(nodeId, now)
    return due.flatMap((schedule) => {
      const { id: scheduleId, nextRunAt: startsAt = '' } = schedule
      const command = preflights.heard(scheduleId, startsAt) ? undefined : commandOf(schedule, node)
      return command ? [{ command: opens(command), listenAt: isoPlus(startsAt, -lead), scheduleId, startsAt }] : []
    })
  }
  return {
    api: { accept: readings.accept, planned },
    routes: preflightRoutes(preflights),
    runners: [preflightRunner({ db, end: readings.end, preflights })],
  }
}

const opens = (command: Command): PlannedPreflight['command'] => {
  const { captureBackend, captureDevice, captureFormat, captureSampleRate, captureSystemRef } = command
  return {
    ...(captureBackend ? { captureBackend } : {}),
    ...{ captureDevice, captureFormat, captureSampleRate },
    ...(captureSystemRef ? { captureSystemRef } : {}),
    channels: wantedOf(command),
  }
}
