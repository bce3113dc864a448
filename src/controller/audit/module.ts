import type { CallerLimits } from '../http/callerlimits.ts'
import type { Base, Module } from '../module.ts'
import type { ClockApi } from '../monitoring/clock/api.ts'
import { auditRoutes } from './audit.routes.ts'
import { auditStore } from './audit.store.ts'
import { refusalRunner, writeFinalCounts } from './refusals.runner.ts'
import { auditRetentionRunner } from './retention.runner.ts'
import { auditRetention } from './retention.store.ts'
import { targetIndex, targetIndexRunner } from './targetindex.ts'

interface Deps {
  callerLimits: CallerLimits
  clock: ClockApi
}

/** Reading, searching and ageing of the audit log; everybody writes it through `base.audit`. */
export function createAudit(base: Base, { callerLimits, clock }: Deps): Module {
  const { audit, authorization, config, db, log } = base
  const refusals = { audit, callerLimits, db }
  return {
    api: undefined,
    routes: auditRoutes(auditStore(db), authorization.visibility),
    runners: [
      refusalRunner(refusals),
      targetIndexRunner(targetIndex(db)),
      auditRetentionRunner({
        audit,
        db,
        days: config.SVC_AUDIT_RETENTION_DAYS,
        doubted: clock.doubted,
        enabled: config.SVC_AUDIT_RETENTION_RUNNER_ENABLED,
        intervalSeconds: config.SVC_AUDIT_RETENTION_RUNNER_INTERVAL_SECONDS,
        retention: auditRetention(db),
        trusted: clock.trusted,
      }),
    ],
    stop: async () => {
      // Refusals that are still queued must be counted first.
      await base.group.drain()
      writeFinalCounts(refusals, base.clock, log)
    },
  }
}
