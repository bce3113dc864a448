import type { Config } from '../../config.ts'
import type { FleetApi } from '../../fleet/api.ts'
import { FROM_THE_FIRST } from '../../http/cursor.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Base, Module } from '../../module.ts'
import type { ClockApi } from '../../monitoring/clock/api.ts'
import type { HealthApi } from '../../monitoring/health/api.ts'
import { topics } from '../../scheduler/notifier.ts'
import type { UploadsApi } from '../../uploads/api.ts'
import type { RecordingsApi } from '../api.ts'
import { boardRoutes } from '../jobs/board.routes.ts'
import { jobControlRoutes } from '../jobs/control.routes.ts'
import { jobExportRoutes } from '../jobs/export.routes.ts'
import { retentionPolicyStore } from '../retention/policies.store.ts'
import { retentionRunner } from '../retention/retention.runner.ts'
import { retentionStore } from '../retention/retention.store.ts'
import { waveformRoutes } from '../waveforms/waveforms.routes.ts'
import { waveformStore } from '../waveforms/waveforms.store.ts'
import { Waveforms, waveformRunner } from '../waveforms/waveforms.ts'
import { controlRoutes } from './control.routes.ts'
import { editingRoutes } from './editing.routes.ts'
import { libraryRoutes } from './library.routes.ts'
import { playbackRoutes } from './playback.routes.ts'
import { ticketStore } from './tickets.store.ts'

interface Deps {
  clock: ClockApi
  fleet: FleetApi
  health: HealthApi
  recordings: RecordingsApi
  uploads: UploadsApi
}

interface LibraryApi {
  waveforms: Waveforms
}

/** The recordings API for people: start and stop, search, edit, play, and the job board. */
export function createLibrary(base: Base, deps: Deps): Module<LibraryApi> {
  const { clock, config, db, events, log, notifier } = base
  const waveforms = waveformStore(db)
  const making = new Waveforms({
    clock,
    library: deps.uploads.library,
    log,
    takes: config.SVC_RECORDING_CACHE_DIR,
    tools: audioTools(config),
    waveforms,
  })
  events.on('tools.found', 'after', () => making.retryFailed())
  events.on('recording.join_ended', 'after', ({ id }) => notifier.notify(topics.joined(id)))
  return {
    api: { waveforms: making },
    routes: [
      ...recordingRoutes(base, deps),
      ...waveformRoutes({ making, recordings: deps.recordings.recordings, waveforms }),
      ...jobRoutes(base, deps),
    ],
    runners: [waveformRunner(waveforms, making), ageingOf(base, deps)],
    stop: () => making.stop(),
  }
}

const ageingOf = (
  { audit, config, db, log }: Base,
  { clock, recordings: { openPlaybacks, paths, recordings }, uploads }: Deps,
) =>
  retentionRunner({
    audit,
    batch: config.SVC_RETENTION_RUNNER_BATCH_SIZE,
    confirm: (id, signal) => uploads.library.confirm(recordings.files(id), signal),
    db,
    enabled: config.SVC_RETENTION_RUNNER_ENABLED,
    held: openPlaybacks.held,
    intervalSeconds: config.SVC_RETENTION_RUNNER_INTERVAL_SECONDS,
    log,
    paths,
    policies: retentionPolicyStore(db),
    stored: retentionStore(db),
    takes: config.SVC_RECORDING_CACHE_DIR,
    doubted: clock.doubted,
    trusted: clock.trusted,
  })

const audioTools = (config: Config) => ({
  ffmpeg: config.SVC_FFMPEG_COMMAND,
  ffprobe: config.SVC_FFPROBE_COMMAND,
  maxBytes: config.SVC_AUDIO_PREVIEW_MAX_BYTES,
  timeoutMs: config.SVC_AUDIO_TOOL_TIMEOUT_MS,
})

function recordingRoutes(base: Base, { health, recordings: api, uploads }: Deps) {
  const { authorization, clock, config, db, events, ids, log, notifier } = base
  const { principals, scope, visibility } = authorization
  const { jobs, paths, openPlaybacks, recordings } = api
  const takes = config.SVC_RECORDING_CACHE_DIR
  return [
    ...controlRoutes({ jobService: api.jobService, jobs, recordings, service: api.recording }),
    ...libraryRoutes({
      healthOf: (within: Visibility, recordingId: string, limit: number) =>
        health.events.page(within, { recordingId }, limit, FROM_THE_FIRST).rows,
      jobs,
      visibility,
      recordings,
      uploadsOf: uploads.ofRecording,
    }),
    ...editingRoutes({ events, log, paths, visibility, recordings, takes }),
    ...playbackRoutes({
      clock,
      ids,
      chunks: api.chunks,
      library: uploads.library,
      notifier,
      openPlaybacks,
      principals,
      recordings,
      redirects: config.SVC_LIBRARY_REDIRECT,
      scope,
      takes,
      tickets: ticketStore(db),
    }),
  ]
}

function jobRoutes({ authorization }: Base, { recordings: api, uploads }: Deps) {
  const { visibility, scope } = authorization
  const { chunks, jobService, jobs, paths, recordings, retry } = api
  return [
    ...boardRoutes({ chunks, chunkUploads: uploads.chunkUploads, jobs, visibility, recordings, scope }),
    ...jobExportRoutes(jobs, visibility),
    ...jobControlRoutes({ jobs, paths, retry, service: jobService, visibility }),
  ]
}
