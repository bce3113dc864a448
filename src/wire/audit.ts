import * as z from 'zod'
import { PERMISSIONS, type Permission } from './permissions.ts'
import { CursorPage, instant, query, text } from './scalars.ts'

/** `partial` is written by runners whose pass succeeded in part. */
const OUTCOMES = ['allowed', 'denied', 'succeeded', 'failed', 'partial'] as const
export type Outcome = (typeof OUTCOMES)[number]

export const AuditFilters = z.object({
  ...CursorPage.shape,
  action: query(text(1, 160)),
  actor: query(text(1, 160)),
  /** Leaves out what only reads. */
  changes: query(z.literal('1')),
  from: query(instant),
  id: query(text(1, 160)),
  outcome: query(z.enum(OUTCOMES)),
  permission: query(z.enum(PERMISSIONS)),
  reason: query(text(1, 160)),
  target: query(text(1, 160)),
  to: query(instant),
})
export type AuditFilters = z.infer<typeof AuditFilters>

export interface AuditEvent {
  action: string
  actor: { id: string; name: string; roles: string[]; type: 'node' | 'system' | 'user' }
  actorContext: { ipAddress?: string; sessionId?: string; userAgent?: string }
  after?: unknown
  before?: unknown
  correlationIds?: Record<string, string>
  createdAt: string
  details: Record<string, unknown>
  id: string
  outcome: Outcome
  permission?: Permission
  reason?: string
  target: { id?: string; name?: string; type: string }
}

interface AuditFacet {
  count: number
  value: string
}

/** What the newest matching events say, most frequent first; `total` is how many of them were counted. */
export interface AuditFacets {
  actions: AuditFacet[]
  actorTypes: AuditFacet[]
  outcomes: AuditFacet[]
  permissions: AuditFacet[]
  reasons: AuditFacet[]
  targetTypes: AuditFacet[]
  total: number
}

export const AuditExport = z.strictObject({ eventIds: z.array(text(1, 160)).min(1).max(500) })
