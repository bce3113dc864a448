// The machinery between stores and edge: what rings, starts, ends and reaches.
import * as path from 'node:path'
import { iso } from '../kernel/clock.ts'
import { Turnstile } from './agentapi/intake.ts'
import type { Config } from './config.ts'
import { embeddedRunner } from './embedded.ts'
import { Dispatch } from './fleet/lifecyclejobs/dispatch.ts'
import { externalRunner } from './fleet/lifecyclejobs/runner.http.ts'
import { Depot } from './fleet/nodes/depot.ts'
import { releaseStore } from './fleet/nodes/release.store.ts'
import { Releases } from './fleet/nodes/releases.ts'
import { Devices } from './fleet/switchers/devices.ts'
import { PathClaims } from './http/claims.ts'
import type { Edge } from './http/edge.ts'
import { Feeds } from './http/feed.ts'
import { REMOVED } from './http/files.ts'
import { reaches } from './http/reach.ts'
import { Room } from './http/room.ts'
import { jumpStore } from './monitoring/clock/jumps.store.ts'
import { ClockWatch } from './monitoring/clock/watch.ts'
import { chunkStore } from './monitoring/listen/chunks.store.ts'
import { demandBell } from './monitoring/listen/listen.rules.ts'
import { listenSessions } from './monitoring/listen/sessions.store.ts'
import { layoutStore } from './monitoring/meters/layout.store.ts'
import { meterStore } from './monitoring/meters/meters.store.ts'
import { Joiner } from './recordings/chunks/joiner.ts'
import { endings } from './recordings/library/endings.ts'
import { playing } from './recordings/library/playing.ts'
import { foreseer, scheduledStarter, starter } from './recordings/library/start.ts'
import { retention } from './recordings/retention/retention.runner.ts'
import { Waveforms } from './recordings/waveforms/waveforms.ts'
import { Bell } from './scheduler/bell.ts'
import { Disposer } from './scheduler/disposer.ts'
import type { SteadyClock } from './scheduler/steady.ts'
import { scheduleJumps } from './schedules/jumps.store.ts'
import { alarmStore } from './schedules/runs.store.ts'
import { takeMaker } from './schedules/takes.ts'
import type { Stores, Surroundings } from './stores.ts'
import type { AutoEnqueue } from './uploads/enqueue.store.ts'
import { uploadWorks } from './uploads/uploads.ts'

/** What routes and runners share beside the stores; `stop` in compose.ts ends what has a life. */
export function worksOf(surroundings: Surroundings & { clock: SteadyClock }, edge: Edge, stores: Stores) {
  const { clock, config, db, ids } = surroundings
  const bell = new Bell(clock)
  const starting = { ...stores, bell, ids, ...captureDefaults(config) }
  const heldBy = playing(clock)
  const paths = new PathClaims(config.SVC_RECORDING_CACHE_DIR)
  const uploads = uploadsOf({ ...surroundings, paths }, edge, stores, heldBy.held)
  const clockWatch = clockWatchOf(surroundings, edge, stores)
  const depot = new Depot({ ...surroundings, ...releaseDepot(config) })
  return {
    ...surroundings,
    ...liveOf(surroundings, bell),
    ...backgroundOf({ ...surroundings, paths }, edge, stores, bell, uploads.autoEnqueue),
    audit: edge.audit,
    bell,
    clockWatch,
    depot,
    devices: new Devices(),
    disposer: new Disposer(path.join(config.SVC_RECORDING_CACHE_DIR, REMOVED)),
    ending: endings(stores.recordings, stores.health, stores.recordingChunks, bell),
    paths,
    playing: heldBy,
    principals: edge.principals,
    group: edge.group,
    callerLimits: edge.callerLimits,
    reach: reaches(db),
    releases: new Releases({
      ...surroundings,
      ...releaseDepot(config),
      ...releaseSource(config),
      depot,
      group: edge.group,
      store: releaseStore(db),
    }),
    scheduleAlarms: alarmStore(db, stores.health),
    /** Recording and job of a schedule. */
    scheduledTake: takeMaker({ ...stores, record: scheduledStarter(starting) }),
    /** Whether a schedule's takes could be made. */
    foresee: foreseer(starting),
    scope: edge.scope,
    start: starter(starting),
    stores,
    retention: retention({
      ...surroundings,
      ...retaining(config),
      audit: edge.audit,
      held: heldBy.held,
      paths,
      policies: stores.retentionPolicies,
      stored: stores.retention,
      trusted: clockWatch.trusted,
    }),
    takes: config.SVC_RECORDING_CACHE_DIR,
    turnstile: new Turnstile(),
    uploads,
  }
}
export type Works = ReturnType<typeof worksOf>

const clockWatchOf = (
  { clock, config, db, log }: Surroundings & { clock: SteadyClock },
  { audit }: Edge,
  { schedules }: Stores,
) =>
  new ClockWatch({
    audit,
    clock,
    db,
    jumps: jumpStore(db, config.SVC_NODE_OFFLINE_AFTER_SECONDS),
    log,
    schedules: scheduleJumps(db, schedules),
  })

const uploadsOf = (
  surroundings: Surroundings & { paths: PathClaims },
  edge: Edge,
  stores: Stores,
  held: (recordingId: string) => boolean,
) =>
  uploadWorks({
    ...surroundings,
    ...uploading(surroundings.config),
    audit: edge.audit,
    chunks: stores.recordingChunks,
    health: stores.health,
    held,
    stores: stores.uploads,
  })

/** What works beside the requests, one piece after the other. */
function backgroundOf(
  surroundings: Surroundings & { paths: PathClaims },
  edge: Edge,
  stores: Stores,
  bell: Bell,
  enqueue: AutoEnqueue,
) {
  const { config } = surroundings
  const runner = runnerOf(surroundings, edge, stores)
  const room = new Room(config.SVC_RECORDING_CACHE_DIR)
  return {
    room,
    runner,
    dispatch: new Dispatch({
      ...surroundings,
      ...stores,
      audit: edge.audit,
      group: edge.group,
      jobs: stores.lifecycle,
      act: runner.act,
    }),
    joiner: new Joiner({
      ...surroundings,
      ...stores,
      ...joining(config),
      audit: edge.audit,
      bell,
      chunks: stores.recordingChunks,
      room,
      onMaster: (recordingId, now) => void enqueue(recordingId, now, 'master'),
    }),
    waveforms: new Waveforms({
      ...surroundings,
      ...stores,
      takes: config.SVC_RECORDING_CACHE_DIR,
      tools: audioTools(config),
    }),
  }
}

const audioTools = (config: Config) => ({
  ffmpeg: config.SVC_FFMPEG_COMMAND,
  ffprobe: config.SVC_FFPROBE_COMMAND,
  maxBytes: config.SVC_AUDIO_PREVIEW_MAX_BYTES,
  timeoutMs: config.SVC_AUDIO_TOOL_TIMEOUT_MS,
})

const joining = (config: Config) => ({
  ffmpegCommand: config.SVC_FFMPEG_COMMAND,
  takes: config.SVC_RECORDING_CACHE_DIR,
})

const retaining = (config: Config) => ({
  batch: config.SVC_RETENTION_RUNNER_BATCH_SIZE,
  enabled: config.SVC_RETENTION_RUNNER_ENABLED,
  intervalSeconds: config.SVC_RETENTION_RUNNER_INTERVAL_SECONDS,
  takes: config.SVC_RECORDING_CACHE_DIR,
})

/** Who acts on nodes: this process, or a runner elsewhere. */
function runnerOf({ clock, config, ids, log }: Surroundings, { audit, group }: Edge, stores: Stores) {
  const { embedded: settings } = config
  for (const words of settings?.warnings ?? []) log.warn(words)
  if (settings) return embeddedRunner({ audit, group, ids, now: () => iso(clock.now()), settings, stores })
  const act = externalRunner({
    timeoutMs: config.SVC_ANSIBLE_RUNNER_TIMEOUT_MS,
    token: config.SVC_ANSIBLE_RUNNER_TOKEN,
    url: config.SVC_ANSIBLE_RUNNER_URL,
  })
  return { act, close: () => {} }
}

const releaseDepot = (config: Config) => ({
  dir: config.SVC_AGENT_RELEASE_DIR,
  fetch: config.SVC_AGENT_RELEASE_FETCH,
  publicKey: config.SVC_AGENT_RELEASE_PUBLIC_KEY,
})

const releaseSource = (config: Config) => ({
  apiUrl: config.SVC_GITHUB_API_URL,
  repo: config.SVC_AGENT_RELEASE_REPO,
  timeoutMs: config.SVC_AGENT_RELEASE_TIMEOUT_MS,
  token: config.SVC_GITHUB_TOKEN,
  ttlMs: config.SVC_AGENT_RELEASE_TTL_MS,
})

const uploading = (config: Config) => ({
  batchSize: config.SVC_UPLOAD_RUNNER_BATCH_SIZE,
  enabled: config.SVC_UPLOAD_RUNNER_ENABLED,
  intervalSeconds: config.SVC_UPLOAD_RUNNER_INTERVAL_SECONDS,
  leaseSeconds: config.SVC_UPLOAD_QUEUE_LEASE_SECONDS,
  smbclient: { command: config.SVC_SMBCLIENT_COMMAND, dirs: config.programDirs },
  takes: config.SVC_RECORDING_CACHE_DIR,
})

const captureDefaults = (config: Config) => ({
  defaultInterfaceId: config.SVC_AGENT_CAPTURE_INTERFACE_ID,
  defaults: {
    channels: config.SVC_AGENT_CAPTURE_CHANNELS,
    device: config.SVC_AGENT_CAPTURE_DEVICE,
    deviceNamed: config.SVC_AGENT_CAPTURE_DEVICE !== 'default',
    format: config.SVC_AGENT_CAPTURE_FORMAT,
    maxBytes: config.SVC_RECORDING_CACHE_MAX_BYTES,
    sampleRate: config.SVC_AGENT_CAPTURE_SAMPLE_RATE,
    seconds: config.SVC_AGENT_CAPTURE_SECONDS,
  },
})

// Telemetry and audio as they come: in memory, never in the database.
const liveOf = ({ clock, config, db, ids }: Surroundings, bell: Bell) => ({
  chunks: chunkStore(),
  feeds: new Feeds(clock),
  layouts: layoutStore(db),
  listeners: listenSessions(ids, config.SVC_LISTEN_SESSION_TTL_SECONDS, (nodeId) => bell.ring(demandBell(nodeId))),
  meters: meterStore(config.SVC_METER_HISTORY_LIMIT),
})
