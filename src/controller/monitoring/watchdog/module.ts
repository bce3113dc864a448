import type { FleetApi } from '../../fleet/api.ts'
import type { Certificates } from '../../http/certificates.ts'
import type { Base, Module } from '../../module.ts'
import type { HealthApi } from '../health/api.ts'
import type { LiveApi } from '../listen/api.ts'
import { settling } from './alarms.ts'
import type { WatchdogApi } from './api.ts'
import { certificateRunner } from './certificate.runner.ts'
import { watchdogPolicyRoutes } from './policies.routes.ts'
import { watchdogPolicyStore } from './policies.store.ts'
import { startsRunner } from './starts.runner.ts'
import { toolsRunner } from './tools.runner.ts'
import { watchStore } from './watch.store.ts'
import { watchdogRunner } from './watchdog.runner.ts'

interface Deps {
  certificates: Certificates | undefined
  fleet: FleetApi
  health: HealthApi
  live: LiveApi
}

/** Watches takes, nodes, certificates and programs, and raises alarms. */
export function createWatchdog(base: Base, deps: Deps): Module<WatchdogApi> {
  const { audit, authorization, clock, config, db, events, ids, log } = base
  const { certificates, fleet, live } = deps
  const { health } = deps.health
  const { visibility, scope } = authorization
  const { meters } = live
  const watchdogPolicies = watchdogPolicyStore(db)
  const store = watchStore(db, config.SVC_NODE_OFFLINE_AFTER_SECONDS)
  return {
    api: { policies: watchdogPolicies, settle: settling(health, audit) },
    routes: watchdogPolicyRoutes({ ids, meters, nodes: fleet.nodes, visibility, scope, watchdogPolicies }),
    runners: [
      watchdogRunner({
        audit,
        batchSize: config.SVC_WATCHDOG_RUNNER_BATCH_SIZE,
        clock,
        db,
        enabled: config.SVC_WATCHDOG_RUNNER_ENABLED,
        health,
        intervalSeconds: config.SVC_WATCHDOG_RUNNER_INTERVAL_SECONDS,
        maxSpanSeconds: config.SVC_WATCHDOG_MAX_SAMPLE_SPAN_SECONDS,
        meterMaxAgeSeconds: config.SVC_WATCHDOG_METER_MAX_AGE_SECONDS,
        meters,
        offlineAfterSeconds: config.SVC_NODE_OFFLINE_AFTER_SECONDS,
        store,
      }),
      startsRunner({ audit, clock, db, enabled: config.SVC_WATCHDOG_RUNNER_ENABLED, health, store }),
      certificateRunner({ audit, certificates, db, health, log }),
      toolsRunner({ audit, db, events, health, log, tools: [config.SVC_FFMPEG_COMMAND, config.SVC_FFPROBE_COMMAND] }),
    ],
  }
}
