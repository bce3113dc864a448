import * as z from 'zod'
import { choice, count, type SettingsTable, webUrl } from '../../kernel/settings.ts'
import { LANGUAGES } from './phrases.ts'

/** How people and programs are told. */
export const NOTIFICATION_SETTINGS = {
  SVC_NOTIFICATIONS_ENABLED: [choice(true), 'whether notifications are sent'],
  SVC_NOTIFICATION_LANGUAGE: [z.enum(LANGUAGES).default('en'), 'language of messages: en or de'],
  SVC_WEBHOOK_ALLOW_PRIVATE: [
    choice(false),
    'let webhooks and ntfy reach private networks and this machine, never the controller itself',
  ],
  SVC_TRUSTED_CA_FILE: [
    z.string().min(1).optional(),
    'PEM authorities that mail servers, webhooks and ntfy are trusted by, beside those of the system',
  ],
  SVC_HEARTBEAT_URL: [
    webUrl.optional(),
    "dead man's switch: an address that is fetched while the controller is well, so that its silence is noticed",
  ],
  SVC_HEARTBEAT_INTERVAL_SECONDS: [count(60, 10), "pause between calls of the dead man's switch"],
} as const satisfies SettingsTable
