import { choice, count, type SettingsTable } from '../../kernel/settings.ts'

/** Meters, live listen and the watchdog. */
export const MONITORING_SETTINGS = {
  SVC_METER_HISTORY_LIMIT: [count(600), 'meter frames kept in memory per node'],
  SVC_LISTEN_SESSION_TTL_SECONDS: [count(300), 'live-listen session that nobody polls ends after this'],
  SVC_FORESIGHT_PREFLIGHT_MINUTES: [
    count(5, 0, 60),
    'minutes before a scheduled recording at which its recorder listens to the room, 0 = never',
  ],
  SVC_WATCHDOG_RUNNER_ENABLED: [choice(true), 'whether recordings and nodes are watched'],
  SVC_WATCHDOG_RUNNER_INTERVAL_SECONDS: [count(30), 'pause between watchdog passes'],
  SVC_WATCHDOG_RUNNER_BATCH_SIZE: [count(1000), 'maximum number of recordings per watchdog pass'],
  SVC_WATCHDOG_MAX_SAMPLE_SPAN_SECONDS: [count(30), 'longest time one meter frame stands for'],
  SVC_WATCHDOG_METER_MAX_AGE_SECONDS: [count(120), 'age from which the last meter frame counts as silence'],
  SVC_FORESIGHT_RUNNER_ENABLED: [choice(true), 'whether takes that are due are examined for what stands against them'],
  SVC_FORESIGHT_RUNNER_INTERVAL_SECONDS: [count(30), 'pause between passes over all takes of the coming day'],
} as const satisfies SettingsTable
