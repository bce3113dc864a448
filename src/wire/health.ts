import * as z from 'zod'
import { ALERTS } from './alerts.en.ts'
import { CursorPage, instant, prose, query, text } from './scalars.ts'

export const SEVERITIES = ['info', 'warning', 'critical'] as const
export type Severity = (typeof SEVERITIES)[number]
export const HEALTH_STATUSES = ['open', 'acknowledged', 'suppressed', 'resolved'] as const
export type HealthStatus = (typeof HEALTH_STATUSES)[number]
export const HEALTH_MOVES = ['acknowledge', 'suppress', 'resolve', 'reopen'] as const
export type HealthMove = (typeof HEALTH_MOVES)[number]

export interface HealthEvent {
  acknowledgedAt: string | null
  acknowledgedBy?: string
  /** What the person was called then; of a link in a message (`notification_rule`): the channel it came through. */
  acknowledgedByName?: string
  details: Record<string, unknown>
  id: string
  nodeId?: string
  openedAt: string
  recordingId?: string
  resolvedAt: string | null
  resolvedBy?: string
  /** Of a person. */
  resolvedByName?: string
  scheduleId?: string
  severity: Severity
  status: HealthStatus
  suppressedAt: string | null
  suppressedBy?: string
  suppressedUntil: string | null
  type: string
}

/** Counts over the whole visible filtered set; `activeCritical` are the critical ones that are not resolved. */
export interface HealthSummary {
  activeCritical: number
  open: number
  resolved: number
  suppressed: number
  total: number
  /** Counting stopped early: there are at least as many. */
  totalIsLowerBound?: true
}

const id = text(1, 160)
const utc = z.iso.datetime().transform((s) => new Date(s).toISOString())

const filters = {
  nodeId: query(id),
  openedFrom: query(utc),
  openedTo: query(utc),
  recordingId: query(id),
  resolvedFrom: query(utc),
  resolvedTo: query(utc),
  scheduleId: query(id),
  search: query(text(1, 160)),
  severity: query(z.enum(SEVERITIES)),
  status: query(z.enum(HEALTH_STATUSES)),
  type: query(id),
}
export const HealthFilters = z.object({ ...CursorPage.shape, ...filters })
export type HealthFilters = z.infer<typeof HealthFilters>

/** Longest details of an event, as characters of JSON. */
export const LONGEST_DETAILS = 65_536

/** Of the controller itself, which goes by what it has told before. */
const OWN = /^(controller|foresight|schedule|switcher|watchdog)\./
const isOwn = (type: string): boolean => OWN.test(type) && Object.hasOwn(ALERTS, type)

export const HealthReport = z
  .strictObject({
    details: z
      .record(z.string(), z.unknown())
      .refine((d) => JSON.stringify(d).length <= LONGEST_DETAILS, `longer than ${LONGEST_DETAILS} characters`)
      .default({}),
    nodeId: id.optional(),
    openedAt: instant.optional(),
    recordingId: id.optional(),
    scheduleId: id.optional(),
    severity: z.enum(SEVERITIES),
    type: text(1, 160).refine((type) => !isOwn(type), 'a type that the controller itself reports: choose another one'),
  })
  .refine((e) => e.nodeId || e.recordingId || e.scheduleId, 'name a node, a recording or a schedule')
export type HealthReport = z.infer<typeof HealthReport>

const lifecycle = { note: prose(0, 1000).optional(), suppressedUntil: instant.nullable().optional() }
export const HealthLifecycle = z.strictObject(lifecycle)
export type HealthLifecycle = z.infer<typeof HealthLifecycle>

const ids = (most: number) => z.array(id).min(1).max(most)
export const HealthBulk = z.strictObject({ ...lifecycle, action: z.enum(HEALTH_MOVES), eventIds: ids(100) })
export const HealthSelection = z.strictObject({ eventIds: ids(200) })
