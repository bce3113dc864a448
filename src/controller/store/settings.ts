import * as z from 'zod'
import { choice, type SettingsTable, secret } from '../../kernel/settings.ts'

/** Where data is stored, and what seals it. */
export const STORE_SETTINGS = {
  SVC_DATA_DIR: [z.string().default('./data'), 'database, takes and generated keys live below it'],
  SVC_DATABASE_REPLICATED: [choice(false), 'another program replicates and checkpoints the database (Litestream)'],
  SVC_SECRET_KEY: [secret.optional(), 'seals secrets at rest (default: made on first start)'],
  SVC_NODE_SSH_MASTER_KEY: [secret.optional(), 'seals node SSH keys (default: SVC_SECRET_KEY)'],
  SVC_NATIVE_DIR: [z.string().optional(), 'directory that allows execution, for the SQLite addon'],
  SVC_LOG_LEVEL: [z.enum(['debug', 'info', 'warn', 'error']).default('info'), 'minimum log level'],
} as const satisfies SettingsTable
