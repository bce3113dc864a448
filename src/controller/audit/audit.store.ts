import { found } from '../../kernel/fail.ts'
import type { AuditEvent, AuditFilters } from '../../wire/audit.ts'
import type { Permission } from '../../wire/permissions.ts'
import type { Db } from '../store/db.ts'
import { type Condition, contains, Lister, present, when } from '../store/filter.ts'

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

const COLUMNS = `a.id, a.created_at AS createdAt, a.action, a.outcome, a.permission, a.reason, a.actor_type AS actorType,
  a.actor_id AS actorId, a.actor_name AS actorName, a.actor_roles AS actorRoles, a.ip_address AS ipAddress,
  a.session_id AS sessionId, a.user_agent AS userAgent, a.target_type AS targetType, a.target_id AS targetId,
  a.target_name AS targetName, a.details, a.before, a.after, a.correlation`
// Follows the index on created_at, whose entries end in seq.
const NEWEST = 'a.created_at DESC, a.seq DESC'

/** Reading the audit; writing it is the edge's (`edge/audit.ts`). */
export function auditStore(db: Db) {
  const events = new Lister<Row>(db, { columns: COLUMNS, from: 'audit_events a' })
  return {
    /** `visible` are the conditions of the reader (`readable`). */
    page(filters: AuditFilters, visible: Condition[], limit: number, offset: number) {
      const { rows, total } = events.page([...matching(filters), ...visible], NEWEST, limit, offset)
      return { events: rows.map(shown), total }
    },
    /** @throws Fail 404 `audit_event_not_found`, also when the reader may not see it. */
    get(id: string, visible: Condition[]): AuditEvent {
      const one: Condition = { sql: 'a.id = @id', params: { id } }
      return shown(found(events.page([one, ...visible], NEWEST, 1, 0).rows[0], 'Audit event'))
    },
  }
}
export type AuditStore = ReturnType<typeof auditStore>

const matching = (f: AuditFilters): Condition[] => [
  ...when(f.id, 'a.id = @wantedId', (wantedId) => ({ wantedId })),
  ...when(f.action, `a.action LIKE @action ESCAPE '\\'`, (text) => ({ action: contains(text) })),
  ...when(f.reason, `a.reason LIKE @reason ESCAPE '\\'`, (text) => ({ reason: contains(text) })),
  ...when(f.actor, `a.actor_id LIKE @actor ESCAPE '\\' OR a.actor_name LIKE @actor ESCAPE '\\'`, (text) => ({
    actor: contains(text),
  })),
  ...when(
    f.target,
    `a.target_id LIKE @target ESCAPE '\\' OR a.target_name LIKE @target ESCAPE '\\' OR a.target_type LIKE @target ESCAPE '\\'`,
    (text) => ({ target: contains(text) }),
  ),
  ...when(f.outcome, 'a.outcome = @outcome', (outcome) => ({ outcome })),
  ...when(f.permission, 'a.permission = @permission', (permission) => ({ permission })),
  ...when(f.from, 'a.created_at >= @from', (from) => ({ from })),
  ...when(f.to, 'a.created_at <= @to', (to) => ({ to })),
]

const parsed = <T>(json: string | null): T | null => (json === null ? null : (JSON.parse(json) as T))

const shown = (row: Row): AuditEvent =>
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
