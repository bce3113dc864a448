import { found } from '../../kernel/fail.ts'
import type { AuditEvent, AuditFacets, AuditFilters } from '../../wire/audit.ts'
import type { Permission } from '../../wire/permissions.ts'
import { type Asked, FROM_THE_FIRST } from '../http/cursor.ts'
import type { Db } from '../store/db.ts'
import { present } from '../store/filter.ts'
import type { Readable } from './audit.rules.ts'
import { eventSearch, type Placed } from './search.ts'

interface Row {
  action: string
  actorId: string
  actorName: string
  actorRoles: string
  actorType: AuditEvent['actor']['type']
  after: string | null
  before: string | null
  correlation: string | null
  createdAt: string
  details: string
  id: string
  ipAddress: string | null
  outcome: AuditEvent['outcome']
  permission: string | null
  reason: string | null
  sessionId: string | null
  targetId: string | null
  targetName: string | null
  targetType: string
  userAgent: string | null
}

const COLUMNS = `e.id, e.created_at AS createdAt, e.action, e.outcome, e.permission, e.reason, e.actor_type AS actorType,
  e.actor_id AS actorId, e.actor_name AS actorName, e.actor_roles AS actorRoles, e.ip_address AS ipAddress,
  e.session_id AS sessionId, e.user_agent AS userAgent, e.target_type AS targetType, e.target_id AS targetId,
  e.target_name AS targetName, e.details, e.before, e.after, e.correlation`

type KindRow = Pick<Row, 'action' | 'actorType' | 'outcome' | 'permission' | 'reason' | 'targetType'>

/** Reading the audit; writing it is `http/audit.ts`'s. Who may read what is `readable` (audit.rules.ts). */
export function auditStore(db: Db) {
  const search = eventSearch(db)
  const bySeq = db.stmt<{ seqs: string }, Row>(
    `SELECT ${COLUMNS} FROM json_each(@seqs) s CROSS JOIN audit_events e ON e.seq = s.value ORDER BY s.key`,
  )
  const kinds = db.stmt<{ seqs: string }, KindRow>(
    `SELECT k.action, k.actor_type AS actorType, k.outcome, k.permission, k.reason, k.target_type AS targetType
     FROM json_each(@seqs) s CROSS JOIN audit_rows a ON a.seq = s.value
       CROSS JOIN audit_deeds d ON d.id = a.deed CROSS JOIN audit_kinds k ON k.id = d.kind`,
  )
  const read = (seqs: readonly number[]): AuditEvent[] => bySeq.all({ seqs: JSON.stringify(seqs) }).map(eventOf)

  return {
    async page(filters: AuditFilters, readable: Readable | undefined, limit: number, asked: Asked) {
      const { seqs, ...page }: Placed = await search.page(filters, readable, limit, asked)
      return { ...page, events: read(seqs) }
    },
    /** Values to filter by, counted over the newest `limit` matches. */
    async facets(filters: AuditFilters, readable: Readable | undefined, limit: number): Promise<AuditFacets> {
      const { seqs } = await search.page(filters, readable, limit, FROM_THE_FIRST)
      const rows = kinds.all({ seqs: JSON.stringify(seqs) })
      const facet = (of: (row: KindRow) => string | null) => countValues(rows.map(of))
      return {
        actions: facet((row) => row.action),
        actorTypes: facet((row) => row.actorType),
        outcomes: facet((row) => row.outcome),
        permissions: facet((row) => row.permission),
        reasons: facet((row) => row.reason),
        targetTypes: facet((row) => row.targetType),
        total: rows.length,
      }
    },
    /** @throws Fail 404 `audit_event_not_found`, also when the reader may not see it. */
    get(id: string, readable: Readable | undefined): AuditEvent {
      return found(read([...search.byIds([id], readable).values()])[0], 'Audit event')
    },
    /** Everything that matches, newest first, in slices of at most `size`; a slice may be empty. */
    *walk(filters: AuditFilters, readable: Readable | undefined, size: number): Generator<AuditEvent[]> {
      for (const seqs of search.walk(filters, readable)) yield* this.slices(seqs, size)
    },
    /** Row numbers by id, of the events that exist and may be read. */
    locate: (ids: readonly string[], readable: Readable | undefined): Map<string, number> =>
      search.byIds(ids, readable),
    /** The events in this order, `size` at a time. */
    *slices(seqs: readonly number[], size: number): Generator<AuditEvent[]> {
      if (seqs.length === 0) yield []
      for (let at = 0; at < seqs.length; at += size) yield read(seqs.slice(at, at + size))
    },
  }
}
export type AuditStore = ReturnType<typeof auditStore>

/** Most frequent first, then by value; absent values are not counted. */
function countValues(values: (string | null)[]): { count: number; value: string }[] {
  const counts = new Map<string, number>()
  for (const value of values) if (value) counts.set(value, (counts.get(value) ?? 0) + 1)
  const facets = [...counts].map(([value, count]) => ({ count, value }))
  return facets.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
}

const parsed = <T>(json: string | null): T | null => (json === null ? null : (JSON.parse(json) as T))

const eventOf = (row: Row): AuditEvent =>
  present({
    action: row.action,
    actor: { id: row.actorId, name: row.actorName, roles: JSON.parse(row.actorRoles) as string[], type: row.actorType },
    actorContext: present({ ipAddress: row.ipAddress, sessionId: row.sessionId, userAgent: row.userAgent }),
    after: parsed<unknown>(row.after),
    before: parsed<unknown>(row.before),
    correlationIds: parsed<Record<string, string>>(row.correlation),
    createdAt: row.createdAt,
    details: JSON.parse(row.details) as Record<string, unknown>,
    id: row.id,
    outcome: row.outcome,
    permission: row.permission as Permission | null,
    reason: row.reason,
    target: present({ type: row.targetType, id: row.targetId, name: row.targetName }),
  }) as AuditEvent
