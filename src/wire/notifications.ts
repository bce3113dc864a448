import * as z from 'zod'
import { isZone } from '../kernel/zones.ts'
import { SEVERITIES, type Severity } from './health.ts'
import { Page, query, someField, text } from './scalars.ts'

export const CHANNEL_KINDS = ['email', 'webhook', 'ntfy'] as const
export type ChannelKind = (typeof CHANNEL_KINDS)[number]

const address = z.email('expected an e-mail address').max(254)

/** No credentials in an address: they would be readable to whoever sees it. */
const httpAddress = z
  .url({ protocol: /^https?$/, error: 'expected an http or https address' })
  .max(1024)
  .refine((url) => !/\/\/[^/]*@/.test(url), 'an address holds no credentials: enter them as the secret')

const EmailOptions = z.strictObject({
  from: address,
  host: text(1, 255).regex(/^[A-Za-z0-9[][A-Za-z0-9._:\]-]*$/, 'expected a host name or an address'),
  port: z.number().int().min(1).max(65_535),
  security: z.enum(['starttls', 'tls', 'none']),
  to: z.array(address).max(50),
  username: text(1, 255).optional(),
})
export type EmailOptions = z.infer<typeof EmailOptions>

const WebhookOptions = z.strictObject({ url: httpAddress })
export type WebhookOptions = z.infer<typeof WebhookOptions>

const NtfyOptions = z.strictObject({
  topic: text(1, 64).regex(/^[A-Za-z0-9_-]+$/, 'expected 1 to 64 letters, digits, - or _'),
  url: httpAddress,
})
export type NtfyOptions = z.infer<typeof NtfyOptions>

const secret = z
  .string()
  .max(1024)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing them is the point
  .regex(/^[^\u0000-\u001f\u007f]*$/, 'control characters are not allowed')

const channel = {
  /** Each replaces the whole object. */
  email: EmailOptions,
  enabled: z.boolean(),
  /** People's own mail goes this way; of one channel at a time, and only for mail. */
  forPeople: z.boolean(),
  name: text(1, 160),
  ntfy: NtfyOptions,
  /** Write-only: password of the mail server, signing key `whsec_...`, token of ntfy. Absent keeps, `""` deletes. */
  secret,
  webhook: WebhookOptions,
}

export const ChannelInput = z
  .strictObject({ ...channel, kind: z.enum(CHANNEL_KINDS) })
  .partial()
  .required({ kind: true, name: true })
export type ChannelInput = z.infer<typeof ChannelInput>

export const ChannelPatch = z
  .strictObject(channel)
  .partial()
  .refine(someField, 'At least one field of a notification channel is required')
export type ChannelPatch = z.infer<typeof ChannelPatch>

export interface NotificationChannel {
  email?: EmailOptions
  enabled: boolean
  forPeople: boolean
  hasSecret: boolean
  id: string
  kind: ChannelKind
  lastError?: string
  lastSentAt?: string
  name: string
  ntfy?: NtfyOptions
  status: 'ready' | 'failing' | 'disabled'
  webhook?: WebhookOptions
}

export interface ChannelTest {
  error?: string
  ok: boolean
}

const clockTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'expected a time such as 22:00')
const timezone = text(1, 64).refine(isZone, 'expected an IANA time zone such as Europe/Berlin')
const severity = z.enum(SEVERITIES)
const idList = z
  .array(text(1, 160))
  .max(200)
  .transform((ids) => [...new Set(ids)])

const QuietHours = z
  .strictObject({ exceptSeverity: severity, from: clockTime, timezone, to: clockTime })
  .refine(({ from, to }) => from !== to, { error: 'quiet hours begin and end at different times', path: ['to'] })
export type QuietHours = z.infer<typeof QuietHours>
const DailyReport = z.strictObject({ time: clockTime, timezone })
export type DailyReport = z.infer<typeof DailyReport>

const rule = {
  channelId: text(1, 160),
  dailyReport: DailyReport.nullable(),
  enabled: z.boolean(),
  escalateAfterSeconds: z.number().int().min(10).max(86_400).nullable(),
  escalateChannelId: text(1, 160).nullable(),
  includeResolved: z.boolean(),
  minSeverity: severity,
  name: text(1, 160),
  /** Every list that is given narrows: events of these sites, in these rooms, at these recorders. */
  nodeIds: idList.nullable(),
  quietHours: QuietHours.nullable(),
  roomIds: idList.nullable(),
  siteNames: idList.nullable(),
  throttleSeconds: z.number().int().min(0).max(86_400),
  /** `*` stands for any text: `watchdog.*`. Empty: no alert, only the daily report. */
  types: z
    .array(
      text(1, 160).regex(
        /^[A-Za-z0-9_.*-]+$/,
        'expected a type such as watchdog.node_offline, or a pattern such as watchdog.*',
      ),
    )
    .max(50),
}

export const RuleInput = z.strictObject(rule).partial().required({ channelId: true, minSeverity: true, name: true })
export type RuleInput = z.infer<typeof RuleInput>

/** Null clears an optional field. */
export const RulePatch = z
  .strictObject(rule)
  .partial()
  .refine(someField, 'At least one field of a notification rule is required')
export type RulePatch = z.infer<typeof RulePatch>

export interface NotificationRule {
  channelId: string
  dailyReport?: DailyReport
  enabled: boolean
  escalateAfterSeconds?: number
  escalateChannelId?: string
  id: string
  includeResolved: boolean
  minSeverity: Severity
  name: string
  nodeIds?: string[]
  quietHours?: QuietHours
  roomIds?: string[]
  siteNames?: string[]
  throttleSeconds: number
  types: string[]
}

/** What a rule would have done; a draft need not be stored. */
export const RulePreviewRequest = z.strictObject(rule).partial().required({ minSeverity: true })
export type RulePreviewRequest = z.infer<typeof RulePreviewRequest>

export interface RulePreview {
  /** Days looked back. */
  days: number
  /** Events that match. */
  events: number
  /** Only the newest events were examined: there are at least as many. */
  isLowerBound?: true
  /** Messages that would have been sent of these, without resolutions and escalations. */
  messages: number
}

export const MyNotifications = z.strictObject({
  email: z.strictObject({ enabled: z.boolean(), minSeverity: severity }).partial(),
})
export type MyNotificationsPatch = z.infer<typeof MyNotifications>
export interface MyNotifications {
  email: { enabled: boolean; minSeverity: Severity }
  /** Whether mail can come at all. */
  isDelivered: boolean
  /** Why none can: no channel carries people's mail, or the person may read no alert anywhere. */
  undelivered?: 'no_channel' | 'nothing_to_read'
}

const DELIVERY_STATUSES = ['queued', 'sending', 'sent', 'failed'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]
const DELIVERY_KINDS = ['event', 'resolved', 'escalation', 'report', 'test'] as const
export type DeliveryKind = (typeof DELIVERY_KINDS)[number]

export const DeliveryFilters = z.object({
  ...Page.shape,
  channelId: query(text(1, 160)),
  healthEventId: query(text(1, 160)),
  ruleId: query(text(1, 160)),
  status: query(z.enum(DELIVERY_STATUSES)),
})
export type DeliveryFilters = z.infer<typeof DeliveryFilters>

/** One message on its way through one channel. */
export interface Delivery {
  attempts: number
  channelId: string
  createdAt: string
  /** The kind of alert it tells of. */
  eventType?: string
  healthEventId?: string
  id: string
  kind: DeliveryKind
  lastError?: string
  nextAttemptAt?: string
  ruleId?: string
  sentAt?: string
  severity?: Severity
  status: DeliveryStatus
  /** Whose own mail it is. */
  userId?: string
}
