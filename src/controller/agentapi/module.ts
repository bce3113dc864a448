import type { FleetApi } from '../fleet/api.ts'
import type { Base, Module } from '../module.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import type { LiveApi } from '../monitoring/listen/api.ts'
import type { PreflightApi } from '../monitoring/preflight/api.ts'
import type { RecordingsApi } from '../recordings/api.ts'
import { topics } from '../scheduler/notifier.ts'
import { cacheFileRoutes } from './cachefile.routes.ts'
import { custodyAgentRoutes } from './custody.routes.ts'
import { doctorAgentRoutes } from './doctor.routes.ts'
import { jobAgentRoutes } from './job.routes.ts'
import { listenAgentRoutes, meterAgentRoutes } from './live.routes.ts'
import { nodeAgentRoutes } from './node.routes.ts'
import { provenanceStore } from './provenance.store.ts'
import { soundAgentRoutes } from './sound.routes.ts'
import { KeyedLock } from './uploadreceiver.ts'

interface Deps {
  fleet: FleetApi
  health: HealthApi
  live: LiveApi
  preflight: PreflightApi
  recordings: RecordingsApi
}

/** The routes that recorders call. */
export function createAgentApi(base: Base, { fleet, health, live, preflight, recordings: api }: Deps): Module {
  const { clock, config, db, events, ids, notifier } = base
  const { chunks, claims, custody, jobService: service, jobs, leases, paths, policies, recordings, diskSpace } = api
  const provenance = provenanceStore(db)
  events.on('job.changed', 'after', ({ nodeId }) => notifier.notify(topics.jobs(nodeId)))
  events.on('config.changed', 'after', ({ nodeId }) =>
    nodeId === undefined ? notifier.notifyAll(topics.config('')) : notifier.notify(topics.config(nodeId)),
  )
  return {
    api: undefined,
    routes: [
      ...nodeAgentRoutes({
        captureEvents: health.captureEvents,
        clock,
        custody,
        doctor: fleet.doctor,
        events,
        listeners: live.listeners,
        nodes: fleet.nodes,
        notifier,
        policies,
        preflight,
        provenance,
        reconcile: fleet.reconcile,
        watchers: live.watchers,
      }),
      ...doctorAgentRoutes({ doctor: fleet.doctor, events }),
      ...custodyAgentRoutes(custody, service.changed),
      ...soundAgentRoutes(preflight, provenance),
      ...meterAgentRoutes(live.meters, live.layouts),
      ...listenAgentRoutes({ chunks: live.chunks, notifier }),
      ...jobAgentRoutes({ claims, clock, custody, events, jobs, leases, notifier, service }),
      ...cacheFileRoutes({
        chunks,
        events,
        health: health.health,
        ids,
        jobs,
        maxBytes: config.SVC_RECORDING_CACHE_MAX_BYTES,
        paths,
        recordings,
        diskSpace,
        service,
        takes: config.SVC_RECORDING_CACHE_DIR,
        uploadLock: new KeyedLock(),
      }),
    ],
  }
}
