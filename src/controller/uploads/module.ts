import { iso } from '../../kernel/clock.ts'
import { BUILT_IN } from '../../wire/settings.ts'
import type { Base, Module } from '../module.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import type { RecordingsApi } from '../recordings/api.ts'
import type { SealKeys } from '../secrets.ts'
import { alarmStore } from './alarms.store.ts'
import type { UploadsApi } from './api.ts'
import type { AttemptParts, Limits } from './attempt.ts'
import { copyStore } from './copies.store.ts'
import { destinationRoutes } from './destinations.routes.ts'
import type { Unavailable } from './destinations.rules.ts'
import { type DestinationStore, destinationStore } from './destinations.store.ts'
import { s3Driver } from './drivers.s3.ts'
import { findSmbclient, NO_SMBCLIENT, smbDriver } from './drivers.smb.ts'
import { autoEnqueue, enqueueStore } from './enqueue.store.ts'
import { backlogRunner } from './library/backlog.runner.ts'
import { backlogStore } from './library/backlog.store.ts'
import { type Damages, damages } from './library/damages.ts'
import { Library } from './library/library.ts'
import { movesRunner } from './library/moves.runner.ts'
import { moveStore } from './library/moves.store.ts'
import { multipartRunner } from './library/multiparts.runner.ts'
import { type MultipartStore, multipartStore } from './library/multiparts.store.ts'
import { presenceRunner } from './library/presence.runner.ts'
import { uploadManifestRunner } from './manifests.runner.ts'
import { uploadPolicyRoutes } from './policies.routes.ts'
import { uploadPolicyStore } from './policies.store.ts'
import { uploadQueueRoutes } from './queue.routes.ts'
import { uploadQueueStore } from './queue.store.ts'
import { reconcileStore } from './reconcile.store.ts'
import { uploadRunnerRoutes } from './runner.routes.ts'
import { settlement } from './settle.ts'
import { type TroubleStore, troubleStore } from './troubles.store.ts'
import { Uploader } from './upload.runner.ts'
import { uploadWorkStore } from './work.store.ts'

interface Deps {
  health: HealthApi
  keys: SealKeys
  recordings: RecordingsApi
}

// 20 kB/s for the whole take, plus a quarter of an hour; a part of 8 MiB on a slow line shows no progress for long.
const LIMITS: Limits = { bytesPerSecond: 20_000, graceMs: 900_000, idleMs: 300_000 }
// Within the interval of the runner, and short enough for a pass that was requested by hand.
const PATIENCE_MS = 20_000

/** Copies of takes to S3 and SMB: destinations, policies, the queue and the runner that works through it. */
export function createUploads(base: Base, deps: Deps): Module<UploadsApi> {
  const { audit, authorization, config, db, events, ids, log } = base
  const { visibility } = authorization
  const { chunks, counts, recordings } = deps.recordings
  const smbclient = () => findSmbclient(config.SVC_SMBCLIENT_COMMAND, config.programDirs)
  const unavailable: Unavailable = (kind) => (kind === 'smb' && !smbclient() ? NO_SMBCLIENT : undefined)
  const drivers: AttemptParts['drivers'] = {
    s3: ({ s3 }) => s3Driver(s3),
    smb: ({ smb }) => smbDriver({ command: smbclient() ?? config.SVC_SMBCLIENT_COMMAND, options: smb }),
  }
  const destinations = destinationStore(db, deps.keys.settings, unavailable)
  const policies = uploadPolicyStore(db, destinations, Math.min(config.SVC_UPLOAD_QUEUE_MAX_ATTEMPTS, 100))
  const queue = uploadQueueStore(db, counts)
  const masters = config.SVC_UPLOAD_RAW_MASTERS ?? config.SVC_DATABASE_REPLICATED
  const enqueues = enqueueStore({ db, destinations, ids, masters, policies, queue, recordings })
  const enqueueCached = autoEnqueue(db, enqueues, chunks, audit)
  const backlog = backlogRunner({ audit, backlog: backlogStore(db), db, enqueues })
  const troubles = troubleStore(db, destinations)
  const beyond = libraryOf(base, deps, destinations, troubles)
  const uploader = uploaderOf(base, deps, { ...beyond, destinations, drivers, queue, troubles })
  const beside = uploadManifestRunner({
    batchSize: config.SVC_TAKE_MANIFESTS_BATCH_SIZE,
    ...{ db, destinations, drivers, log, manifests: deps.recordings.manifests, queue },
    enabled: config.SVC_UPLOAD_RUNNER_ENABLED && config.SVC_TAKE_MANIFESTS_ENABLED,
    intervalSeconds: config.SVC_UPLOAD_RUNNER_INTERVAL_SECONDS,
    takes: config.SVC_RECORDING_CACHE_DIR,
  })
  events.on('recording.cached', 'within', ({ now, piece, queued, recordingId }) => {
    queued.push(...enqueueCached(recordingId, now, piece))
  })
  return {
    api: {
      chunkUploads: queue.chunkUploads,
      library: beyond.library,
      ofRecording: queue.ofRecording,
      troubles: troubles.byPolicy,
    },
    routes: [
      ...destinationRoutes(destinations, ids, visibility, troubles.clear),
      ...uploadPolicyRoutes(policies, ids, visibility),
      ...uploadQueueRoutes({ enqueues, fallback: BUILT_IN.upload, queue, visibility, recordings }),
      ...uploadRunnerRoutes({ log, queue, visibility, uploader }),
    ],
    runners: [uploader.runner(), beside, backlog, ...beyond.runners],
    start: () => beyond.library.start(),
    stop: async () => {
      await uploader.stop()
      await beyond.library.stop()
    },
  }
}

/** What reads takes from destinations, and what looks after them there. */
function libraryOf(
  { audit, clock, config, db, ids, log }: Base,
  { health: { health }, recordings: { diskSpace } }: Deps,
  destinations: DestinationStore,
  troubles: TroubleStore,
) {
  const takes = config.SVC_RECORDING_CACHE_DIR
  const copies = copyStore(db)
  const ofCopies = damages({ audit, clock, copies, db, health })
  const checkRoom = (bytes: number) => diskSpace.check(bytes)
  const library = new Library({ checkRoom, copies, damages: ofCopies, destinations, ids, log, takes })
  const multiparts = multipartStore(db)
  const parts = multipartRunner({ audit, db, library, log, multiparts })
  const moves = moveStore(db)
  const search = movesRunner({ copies, damages: ofCopies, db, library, log, moves, troubles })
  return {
    damages: ofCopies,
    library,
    multiparts,
    runners: [parts, search, presenceRunner({ db, isMoving: moves.isAny, library, takes })],
  }
}

function uploaderOf(
  { audit, clock, config, db, events, ids, log }: Base,
  { health: { health }, recordings: { chunks, openPlaybacks, paths } }: Deps,
  own: Pick<AttemptParts, 'destinations' | 'drivers' | 'library'> & {
    damages: Damages
    multiparts: MultipartStore
    queue: ReturnType<typeof uploadQueueStore>
    troubles: TroubleStore
  },
): Uploader {
  const work = uploadWorkStore(db)
  const reconciles = reconcileStore({ chunks, db, held: openPlaybacks.held, queue: own.queue })
  return new Uploader({
    batchSize: config.SVC_UPLOAD_RUNNER_BATCH_SIZE,
    clock,
    db,
    destinations: own.destinations,
    drivers: own.drivers,
    enabled: config.SVC_UPLOAD_RUNNER_ENABLED,
    events,
    ids,
    intervalSeconds: config.SVC_UPLOAD_RUNNER_INTERVAL_SECONDS,
    leaseSeconds: config.SVC_UPLOAD_QUEUE_LEASE_SECONDS,
    library: own.library,
    limits: LIMITS,
    log,
    multiparts: { begun: (item, remote) => own.multiparts.begun(item, remote, iso(clock.now())) },
    patienceMs: PATIENCE_MS,
    settlement: settlement({ ...own, alarms: alarmStore(db, health), audit, clock, db, log, paths, reconciles, work }),
    takes: config.SVC_RECORDING_CACHE_DIR,
    work,
  })
}
