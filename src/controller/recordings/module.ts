import * as path from 'node:path'
import { iso } from '../../kernel/clock.ts'
import type { Config } from '../config.ts'
import type { FleetApi } from '../fleet/api.ts'
import { PathClaims } from '../http/claims.ts'
import { DiskSpace } from '../http/diskspace.ts'
import { REMOVED } from '../http/files.ts'
import { sweepIncoming } from '../http/parts.ts'
import type { Base, Module } from '../module.ts'
import type { ClockApi } from '../monitoring/clock/api.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import { FileReaper } from '../scheduler/filereaper.ts'
import type { SealKeys } from '../secrets.ts'
import type { SettingsApi } from '../settings/api.ts'
import type { RecordingsApi } from './api.ts'
import { chunkStore } from './chunks/chunks.store.ts'
import { Joiner } from './chunks/joiner.ts'
import { releaseRunner } from './chunks/release.runner.ts'
import { custodyStore } from './custody/custody.store.ts'
import { custodyService, isOnDisk } from './custody/custody.ts'
import { claimStore } from './jobs/claims.store.ts'
import { jobService } from './jobs/jobs.service.ts'
import { jobStore } from './jobs/jobs.store.ts'
import { leaseRunner } from './jobs/lease.runner.ts'
import { leaseStore } from './jobs/leases.store.ts'
import { failMoved } from './jobs/moved.ts'
import { jobRetrying } from './jobs/retrying.ts'
import { recordingCounts } from './library/counts.store.ts'
import { openPlaybacks } from './library/openplaybacks.ts'
import { recordingService } from './library/recordings.service.ts'
import { recordingStore } from './library/recordings.store.ts'
import { manifestRunner } from './manifests/manifests.runner.ts'
import { manifestStore } from './manifests/manifests.store.ts'
import { profileRoutes } from './profiles/profiles.routes.ts'
import { profileStore } from './profiles/profiles.store.ts'
import { retentionRoutes } from './retention/policies.routes.ts'
import { policyStore, retentionPolicyStore } from './retention/policies.store.ts'

interface Deps {
  clock: ClockApi
  fleet: FleetApi
  health: HealthApi
  keys: SealKeys
  /** What was committed before this moment is in the replica too, ISO; undefined while that is not known. */
  replicatedUntil: (now: string) => string | undefined
  settings: SettingsApi
}

/** Recordings with their jobs, chunks, profiles and retention. */
export function createRecordings(base: Base, deps: Deps): Module<RecordingsApi> {
  const { clock, config, db, events, ids } = base
  const api = apiOf(base, deps)
  const joiner = joinerOf(base, api, deps)
  const fileReaper = new FileReaper(path.join(config.SVC_RECORDING_CACHE_DIR, REMOVED))
  const policies = retentionPolicyStore(db)
  events.on('chunk.stored', 'after', () => joiner.wake())
  const moved = failMoved({ ...api, audit: base.audit, nodes: deps.fleet.nodes })
  events.on('recording.deleted', 'within', ({ id }) => api.custody.deleted(id, iso(clock.now())))
  events.on('node.moved', 'within', ({ nodeId, now }) => moved(nodeId, now))
  return {
    api,
    release: () => fileReaper.stop(),
    routes: [
      ...profileRoutes(api.profiles, ids, base.authorization.visibility),
      ...retentionRoutes(policies, ids, base.authorization.visibility, events),
    ],
    runners: [
      leases(base, api, deps.clock.trusted),
      joiner.runner(),
      chunkRelease(base, api),
      fileReaper.runner(),
      manifestsOf(base, api),
    ],
    start: async () => {
      await sweepIncoming(config.SVC_RECORDING_CACHE_DIR)
      // A restart must not cost a running take its lease.
      api.leases.grace(iso(clock.now()))
    },
    stop: () => joiner.stop(),
  }
}

function apiOf(
  base: Base,
  { clock: clockApi, fleet, health: { health }, keys, replicatedUntil, settings }: Deps,
): RecordingsApi {
  const { authorization, clock, config, db, events, ids } = base
  const jobs = jobStore(db)
  const recordings = recordingStore(db)
  const chunks = chunkStore(db)
  const claims = claimStore(db, jobs, config.SVC_RECORDING_JOB_LEASE_SECONDS)
  const leases = leaseStore(db, jobs, config.SVC_RECORDING_JOB_LEASE_SECONDS)
  const [policies, profiles] = [policyStore(db), profileStore(db)]
  const ofJobs = jobService({ chunks, events, health, jobs, leases, recordings })
  const recording = recordingService({
    assignments: fleet.assignments,
    claims,
    defaultInterfaceId: config.SVC_AGENT_CAPTURE_INTERFACE_ID,
    defaults: captureDefaults(config),
    ids,
    jobService: ofJobs,
    nodes: fleet.nodes,
    policies,
    profiles,
    recordings,
    rooms: fleet.rooms,
    scope: authorization.scope,
    settings,
  })
  return {
    chunks,
    claims,
    counts: recordingCounts(db),
    custody: custodyService({
      chunks,
      isHere: isOnDisk(config.SVC_RECORDING_CACHE_DIR),
      jobs,
      keys,
      recordings,
      replicated: config.SVC_CUSTODY === 'replicated',
      replicatedUntil,
      store: custodyStore(db),
      trusted: clockApi.trusted,
    }),
    jobService: ofJobs,
    jobs,
    leases,
    manifests: manifestStore(db, recordings),
    paths: new PathClaims(config.SVC_RECORDING_CACHE_DIR),
    openPlaybacks: openPlaybacks(clock),
    policies,
    profiles,
    recording,
    recordings,
    retry: jobRetrying({ claims, ids, jobService: ofJobs, nodes: fleet.nodes, recordings }),
    diskSpace: new DiskSpace(config.SVC_RECORDING_CACHE_DIR),
  }
}

const captureDefaults = (config: Config) => ({
  channels: config.SVC_AGENT_CAPTURE_CHANNELS,
  device: config.SVC_AGENT_CAPTURE_DEVICE,
  deviceNamed: config.SVC_AGENT_CAPTURE_DEVICE !== 'default',
  format: config.SVC_AGENT_CAPTURE_FORMAT,
  maxBytes: config.SVC_RECORDING_CACHE_MAX_BYTES,
  sampleRate: config.SVC_AGENT_CAPTURE_SAMPLE_RATE,
  seconds: config.SVC_AGENT_CAPTURE_SECONDS,
})

const joinerOf = ({ audit, clock, config, db, events, ids, log }: Base, api: RecordingsApi, { health }: Deps) =>
  new Joiner({
    audit,
    chunks: api.chunks,
    clock,
    db,
    events,
    ffmpegCommand: config.SVC_FFMPEG_COMMAND,
    health: health.health,
    ids,
    log,
    paths: api.paths,
    recordings: api.recordings,
    diskSpace: api.diskSpace,
    takes: config.SVC_RECORDING_CACHE_DIR,
  })

const leases = ({ audit, config, db }: Base, { jobService, leases }: RecordingsApi, trusted: () => boolean) =>
  leaseRunner({
    audit,
    batchSize: config.SVC_RECORDING_JOB_LEASE_RUNNER_BATCH_SIZE,
    db,
    enabled: config.SVC_RECORDING_JOB_LEASE_RUNNER_ENABLED,
    intervalSeconds: config.SVC_RECORDING_JOB_LEASE_RUNNER_INTERVAL_SECONDS,
    jobs: jobService,
    leases,
    trusted,
  })

const manifestsOf = ({ config, db, log }: Base, { manifests }: RecordingsApi) =>
  manifestRunner({
    batchSize: config.SVC_TAKE_MANIFESTS_BATCH_SIZE,
    db,
    enabled: config.SVC_TAKE_MANIFESTS_ENABLED,
    intervalSeconds: config.SVC_TAKE_MANIFESTS_INTERVAL_SECONDS,
    log,
    manifests,
    takes: config.SVC_RECORDING_CACHE_DIR,
  })

const chunkRelease = ({ audit, config, db, log }: Base, { chunks, paths }: RecordingsApi) =>
  releaseRunner({ audit, chunks, db, isHere: isOnDisk(config.SVC_RECORDING_CACHE_DIR), log, paths })
