import { targetIndexRunner } from './audit/index.runner.ts'
import { targetIndex } from './audit/index.store.ts'
import { refusalRunner } from './audit/refusals.runner.ts'
import { auditRetentionRunner } from './audit/retention.runner.ts'
import { auditRetention } from './audit/retention.store.ts'
import { routingRunner } from './fleet/switchers/routing.runner.ts'
import { sessionRunner } from './identity/auth/sessions.runner.ts'
import { certificateRunner } from './monitoring/watchdog/certificate.runner.ts'
import { toolsRunner } from './monitoring/watchdog/tools.runner.ts'
import { watchStore } from './monitoring/watchdog/watch.store.ts'
import { watchdogRunner } from './monitoring/watchdog/watchdog.runner.ts'
import { releaseRunner } from './recordings/chunks/release.runner.ts'
import { leaseRunner } from './recordings/jobs/lease.runner.ts'
import { waveformRunner } from './recordings/waveforms/waveforms.runner.ts'
import type { Runner } from './scheduler/ticker.ts'
import { scheduleRunner } from './schedules/schedule.runner.ts'
import { uploadRunner } from './uploads/upload.runner.ts'
import type { Works } from './works.ts'

/** The table of background runners (specification, Background runners). */
export function runnersOf(works: Works): Runner[] {
  const { audit, clock, config, db, ending, joiner, meters, releases, retention, stores, uploads } = works
  return [
    scheduleRunner({
      ...works,
      alarms: works.scheduleAlarms,
      batchSize: config.SVC_SCHEDULE_RUNNER_BATCH_SIZE,
      enabled: config.SVC_SCHEDULE_RUNNER_ENABLED,
      intervalSeconds: config.SVC_SCHEDULE_RUNNER_INTERVAL_SECONDS,
      retrySeconds: config.SVC_SCHEDULE_FAILURE_RETRY_SECONDS,
      rosters: stores.rosters,
      runs: stores.scheduleRuns,
      schedules: stores.schedules,
      take: works.scheduledTake,
      trusted: works.clockWatch.trusted,
    }),
    leaseRunner({
      audit,
      batchSize: config.SVC_RECORDING_JOB_LEASE_RUNNER_BATCH_SIZE,
      db,
      enabled: config.SVC_RECORDING_JOB_LEASE_RUNNER_ENABLED,
      ending,
      intervalSeconds: config.SVC_RECORDING_JOB_LEASE_RUNNER_INTERVAL_SECONDS,
      leases: stores.leases,
    }),
    joiner.runner(),
    releaseRunner({ ...works, chunks: stores.recordingChunks }),
    retention.runner,
    watchdogRunner({
      audit,
      batchSize: config.SVC_WATCHDOG_RUNNER_BATCH_SIZE,
      clock,
      db,
      enabled: config.SVC_WATCHDOG_RUNNER_ENABLED,
      health: stores.health,
      intervalSeconds: config.SVC_WATCHDOG_RUNNER_INTERVAL_SECONDS,
      maxSpanSeconds: config.SVC_WATCHDOG_MAX_SAMPLE_SPAN_SECONDS,
      meterMaxAgeSeconds: config.SVC_WATCHDOG_METER_MAX_AGE_SECONDS,
      meters,
      offlineAfterSeconds: config.SVC_NODE_OFFLINE_AFTER_SECONDS,
      store: watchStore(db, config.SVC_NODE_OFFLINE_AFTER_SECONDS),
    }),
    certificateRunner({ ...works, health: stores.health }),
    switcherRunner(works),
    missingTools(works),
    works.disposer.runner(),
    sessionRunner(stores.sessions),
    uploadRunner(uploads.uploader, config.SVC_UPLOAD_RUNNER_ENABLED, config.SVC_UPLOAD_RUNNER_INTERVAL_SECONDS),
    releases.runner(),
    waveformRunner(stores.waveforms, works.waveforms),
    refusalRunner(works),
    ...auditRunners(works),
  ]
}

const missingTools = (works: Works): Runner =>
  toolsRunner({
    ...works,
    health: works.stores.health,
    onFound: () => works.waveforms.forgive(),
    tools: [works.config.SVC_FFMPEG_COMMAND, works.config.SVC_FFPROBE_COMMAND],
  })

const switcherRunner = ({ audit, config, db, devices, stores }: Works): Runner =>
  routingRunner({
    audit,
    batchSize: config.SVC_SWITCHER_ROUTING_RUNNER_BATCH_SIZE,
    db,
    devices,
    enabled: config.SVC_SWITCHER_ROUTING_RUNNER_ENABLED,
    health: stores.health,
    intervalSeconds: config.SVC_SWITCHER_ROUTING_RUNNER_INTERVAL_SECONDS,
    live: (now) => stores.schedules.liveAssignments(now),
    routing: stores.switcherRouting,
  })

const auditRunners = ({ audit, clockWatch, config, db }: Works): Runner[] => [
  targetIndexRunner(targetIndex(db)),
  auditRetentionRunner({
    audit,
    db,
    days: config.SVC_AUDIT_RETENTION_DAYS,
    enabled: config.SVC_AUDIT_RETENTION_RUNNER_ENABLED,
    intervalSeconds: config.SVC_AUDIT_RETENTION_RUNNER_INTERVAL_SECONDS,
    retention: auditRetention(db),
    trusted: clockWatch.trusted,
  }),
]
