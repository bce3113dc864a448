import { iso } from '../../../kernel/clock.ts'
import type { Certificates } from '../../http/certificates.ts'
import type { Base, Module } from '../../module.ts'
import type { RecordingsApi } from '../../recordings/api.ts'
import type { LiveApi } from '../listen/api.ts'
import type { WatchdogPolicyStore } from '../watchdog/policies.store.ts'
import { countStore } from './counts.store.ts'
import { metricsRoutes } from './metrics.routes.ts'
import { metricsStore } from './metrics.store.ts'
import { operations } from './operations.ts'
import { probeRoutes } from './probes.routes.ts'
import { statusRoutes } from './status.routes.ts'
import { auditTally } from './tally.store.ts'

interface Deps {
  certificates: Certificates | undefined
  live: LiveApi
  recordings: RecordingsApi
  watchdogPolicies: Pick<WatchdogPolicyStore, 'list'>
}

/** Probes, the status page and metrics. */
export function createStatus(base: Base, { certificates, live, recordings, watchdogPolicies }: Deps): Module {
  const { authorization, clock, config, db, group, ticker } = base
  const startedAtMs = clock.now()
  const begun = clock.monotonic()
  const metrics = metricsStore(db, config.SVC_NODE_OFFLINE_AFTER_SECONDS)
  const observed = {
    certificates,
    counts: countStore(db),
    metrics,
    visibility: authorization.visibility,
    runners: () => ticker.status(),
  }
  return {
    api: undefined,
    routes: [
      ...probeRoutes(db, group, iso(startedAtMs), observed.runners),
      ...statusRoutes({
        ...observed,
        profiles: recordings.profiles,
        startedAt: iso(startedAtMs),
        uptimeMs: () => clock.monotonic() - begun,
        watchdogPolicies,
      }),
      ...metricsRoutes({
        ...observed,
        chunks: live.chunks,
        streams: live.streams,
        frameMaxAgeSeconds: config.SVC_WATCHDOG_METER_MAX_AGE_SECONDS,
        layouts: live.layouts,
        listeners: live.listeners,
        meters: live.meters,
        operations: operations(base, metrics),
        startedAtMs,
        tally: auditTally(db),
      }),
    ],
  }
}
