import * as z from 'zod'
import { count, type SettingsTable } from '../../kernel/settings.ts'

/** Two boxes and a bucket: who of them is the controller, and how the other one follows. */
export const SUCCESSION_SETTINGS = {
  SVC_LEASE_URL: [
    z.string().optional(),
    'object that says which of two boxes is the controller: s3://BUCKET/KEY?region=...&endpoint=https://...',
  ],
  SVC_LEASE_ACCESS_KEY_ID: [z.string().min(1).optional(), 'access key for the buckets of lease and replica'],
  SVC_LEASE_SECRET_ACCESS_KEY: [z.string().min(1).optional(), 'secret access key for the buckets of lease and replica'],
  SVC_LEASE_TTL_SECONDS: [count(30, 3, 3600), 'how long the lease lasts without renewal'],
  SVC_REPLICA_URL: [
    z.string().optional(),
    'folder of a bucket where Litestream, started by the controller, keeps a replica of the database: s3://BUCKET/FOLDER?...',
  ],
  SVC_LITESTREAM_COMMAND: [
    z.string().min(1).default('litestream'),
    'program that replicates and restores the database',
  ],
  SVC_STANDBY_INTERVAL_SECONDS: [count(60, 1, 86_400), 'pause between two copies that a standby makes of the replica'],
  SVC_STANDBY_TAKEOVER: [
    z.enum(['manual', 'automatic']).default('manual'),
    'whether a standby takes over by itself once the lease has run out; both boxes have to say automatic',
  ],
} as const satisfies SettingsTable
