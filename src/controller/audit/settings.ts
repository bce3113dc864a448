import * as z from 'zod'
import { choice, count, type SettingsTable } from '../../kernel/settings.ts'

/** How long the audit log is kept. */
export const AUDIT_SETTINGS = {
  SVC_AUDIT_MACHINE_WINDOW_SECONDS: [
    count(14_400, 0),
    'one audit row per window for unchanged machine calls, 0 = every call',
  ],
  SVC_AUDIT_RETENTION_DAYS: [count(400).pipe(z.number().max(36_500)), 'age at which audit rows are deleted, days'],
  SVC_AUDIT_RETENTION_RUNNER_ENABLED: [choice(true), 'whether old audit rows are deleted'],
  SVC_AUDIT_RETENTION_RUNNER_INTERVAL_SECONDS: [count(3600), 'pause between passes over old audit rows'],
} as const satisfies SettingsTable
