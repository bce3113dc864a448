import * as z from 'zod'
import { choice, count, flag, type SettingsTable } from '../../kernel/settings.ts'

/** The upload queue and its runner. */
export const UPLOAD_SETTINGS = {
  SVC_UPLOAD_RUNNER_ENABLED: [choice(true), 'whether queued uploads are sent'],
  SVC_UPLOAD_RUNNER_INTERVAL_SECONDS: [count(60), 'pause between upload passes'],
  SVC_UPLOAD_RUNNER_BATCH_SIZE: [count(10), 'uploads that one pass begins'],
  SVC_UPLOAD_QUEUE_LEASE_SECONDS: [count(900), 'lease of a running upload, renewed while it progresses'],
  SVC_UPLOAD_QUEUE_MAX_ATTEMPTS: [count(5), 'attempts of an upload policy that names no number, at most 100'],
  SVC_UPLOAD_RAW_MASTERS: [
    flag.optional(),
    'whether the raw master is sent beside the enhanced take, to the same places (default: SVC_DATABASE_REPLICATED)',
  ],
  SVC_REBUILD_S3_ACCESS_KEY_ID: [z.string().optional(), 'key that roomtone rebuild reads a bucket with'],
  SVC_REBUILD_S3_SECRET_ACCESS_KEY: [
    z.string().optional(),
    'secret of the key that roomtone rebuild reads a bucket with',
  ],
  SVC_SMBCLIENT_COMMAND: [z.string().min(1).default('smbclient'), 'program that copies to SMB shares'],
} as const satisfies SettingsTable
