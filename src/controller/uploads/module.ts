import { BUILT_IN } from '../../wire/settings.ts'
import type { Base, Module } from '../module.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import type { RecordingsApi } from '../recordings/api.ts'
import type { SealKeys } from '../secrets.ts'
import type { UploadsApi } from './api.ts'
import { destinationRoutes } from './destinations.routes.ts'
import { findSmbclient, NO_SMBCLIENT } from './drivers.smb.ts'
import { uploadPolicyRoutes } from './policies.routes.ts'
import { uploadQueueRoutes } from './queue.routes.ts'
import { uploadRunnerRoutes } from './runner.routes.ts'
import { uploadRunner } from './upload.runner.ts'
import { uploadStores } from './uploads.store.ts'
import { uploadWorks } from './uploads.ts'

interface Deps {
  health: HealthApi
  keys: SealKeys
  recordings: RecordingsApi
}

/** Copies of takes to S3 and SMB: destinations, policies, the queue and who works it off. */
export function createUploads(base: Base, { health, keys, recordings: api }: Deps): Module<UploadsApi> {
  const { audit, authorization, clock, config, db, events, ids, log } = base
  const { visibility } = authorization
  const { chunks, paths, openPlaybacks, recordings } = api
  const stores = uploadStores({
    counts: api.counts,
    attempts: Math.min(config.SVC_UPLOAD_QUEUE_MAX_ATTEMPTS, 100),
    db,
    ids,
    key: keys.settings,
    masters: config.SVC_UPLOAD_RAW_MASTERS ?? config.SVC_DATABASE_REPLICATED,
    recordings,
    unavailable: (kind) =>
      kind === 'smb' && !findSmbclient(config.SVC_SMBCLIENT_COMMAND, config.programDirs) ? NO_SMBCLIENT : undefined,
  })
  const { autoEnqueue, uploader } = uploadWorks({
    audit,
    batchSize: config.SVC_UPLOAD_RUNNER_BATCH_SIZE,
    chunks,
    clock,
    db,
    enabled: config.SVC_UPLOAD_RUNNER_ENABLED,
    health: health.health,
    held: openPlaybacks.held,
    ids,
    intervalSeconds: config.SVC_UPLOAD_RUNNER_INTERVAL_SECONDS,
    leaseSeconds: config.SVC_UPLOAD_QUEUE_LEASE_SECONDS,
    log,
    paths,
    smbclient: { command: config.SVC_SMBCLIENT_COMMAND, dirs: config.programDirs },
    stores,
    takes: config.SVC_RECORDING_CACHE_DIR,
  })
  events.on('recording.cached', 'within', ({ now, piece, queued, recordingId }) => {
    queued.push(...autoEnqueue(recordingId, now, piece))
  })
  const { destinations, enqueues, policies, queue } = stores
  return {
    api: queue,
    routes: [
      ...destinationRoutes(destinations, ids, visibility),
      ...uploadPolicyRoutes(policies, ids, visibility),
      ...uploadQueueRoutes({ enqueues, fallback: BUILT_IN.upload, queue, visibility, recordings }),
      ...uploadRunnerRoutes({ log, queue, visibility, uploader }),
    ],
    runners: [uploadRunner(uploader, config.SVC_UPLOAD_RUNNER_ENABLED, config.SVC_UPLOAD_RUNNER_INTERVAL_SECONDS)],
    stop: () => uploader.stop(),
  }
}
