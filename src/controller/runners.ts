import { sessionRunner } from './auth/sessions.runner.ts'
import type { Runner } from './background/ticker.ts'
import { leaseRunner } from './jobs/lease.runner.ts'
import type { Works } from './works.ts'

/** The table of background runners (specification, Background runners). */
export function runnersOf({ audit, config, db, ending, stores }: Works): Runner[] {
  return [
    leaseRunner({
      audit,
      db,
      enabled: config.SVC_RECORDING_JOB_LEASE_RUNNER_ENABLED,
      ending,
      intervalSeconds: config.SVC_RECORDING_JOB_LEASE_RUNNER_INTERVAL_SECONDS,
      leases: stores.leases,
    }),
    sessionRunner(stores.sessions),
  ]
}
