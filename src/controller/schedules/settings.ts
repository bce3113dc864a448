import { choice, count, type SettingsTable } from '../../kernel/settings.ts'

/** The runner that starts scheduled recordings. */
export const SCHEDULE_SETTINGS = {
  SVC_SCHEDULE_RUNNER_ENABLED: [choice(true), 'whether schedules start recordings'],
  SVC_SCHEDULE_RUNNER_INTERVAL_SECONDS: [count(30), 'longest pause between checks for due schedules'],
  SVC_SCHEDULE_RUNNER_BATCH_SIZE: [count(200), 'maximum number of schedules started per pass'],
  SVC_SCHEDULE_FAILURE_RETRY_SECONDS: [
    count(300),
    'pause before a scheduled recording that could not start is tried again',
  ],
} as const satisfies SettingsTable
