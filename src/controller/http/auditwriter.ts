import { folded } from '../../kernel/fold.ts'
import type { Db, Params } from '../store/db.ts'

/** One audit row as it is stored; '' means absent, JSON is text already. */
interface AuditRow {
  action: string
  actorId: string
  actorName: string
  actorRoles: string
  actorType: string
  after: string | null
  agent: string
  before: string | null
  correlation: string | null
  details: string
  id: string
  ip: string
  now: string
  outcome: string
  permission: string
  reason: string
  session: string
  targetId: string
  targetName: string
  targetType: string
}

/** Rows per millisecond that keep their order; `at` is Unix ms times this, plus the place within the millisecond. */
export const ROWS_PER_MS = 2048

// Each join finds one row or none, by its own index. Nothing is cached between calls: a new dictionary entry is rolled
// back with its transaction, and a cache of it would not be.
const APPEND = `
  INSERT INTO audit_rows (id, at, deed, context, target, details, before, after, correlation)
  SELECT unhex(replace(@id, '-', '')), @at, d.id, c.id, t.id, @details, @before, @after, @correlation
  FROM audit_kinds k
    CROSS JOIN audit_actors w CROSS JOIN audit_deeds d CROSS JOIN audit_contexts c CROSS JOIN audit_targets t
  WHERE k.action = @action AND k.outcome = @outcome AND k.permission = @permission AND k.reason = @reason
    AND k.actor_type = @actorType AND k.target_type = @targetType AND k.has_target = (@targetId <> '')
    AND w.actor_id = @actorId AND w.name = @actorName AND w.roles = @actorRoles
    AND d.kind = k.id AND d.actor = w.id
    AND c.session_id = @session AND c.ip_address = @ip AND c.user_agent = @agent
    AND t.type = @targetType AND t.target_id = @targetId AND t.name = @targetName`

const DICTIONARIES = [
  `INSERT OR IGNORE INTO audit_kinds (action, outcome, permission, reason, actor_type, target_type, has_target)
   VALUES (@action, @outcome, @permission, @reason, @actorType, @targetType, @targetId <> '')`,
  `INSERT OR IGNORE INTO audit_actors (actor_id, name, roles, folded) VALUES (@actorId, @actorName, @actorRoles, @actorFolded)`,
  `INSERT OR IGNORE INTO audit_deeds (kind, actor) SELECT k.id, w.id FROM audit_kinds k CROSS JOIN audit_actors w
    WHERE k.action = @action AND k.outcome = @outcome AND k.permission = @permission AND k.reason = @reason
      AND k.actor_type = @actorType AND k.target_type = @targetType AND k.has_target = (@targetId <> '')
      AND w.actor_id = @actorId AND w.name = @actorName AND w.roles = @actorRoles`,
  `INSERT OR IGNORE INTO audit_targets (type, target_id, name, folded) VALUES (@targetType, @targetId, @targetName, @targetFolded)`,
  `INSERT OR IGNORE INTO audit_contexts (session_id, ip_address, user_agent) VALUES (@session, @ip, @agent)`,
]

/** The only writer of the audit's tables. Throws when a row is not written, so that what it tells of is not done either. */
export function auditWriter(db: Db): { append: (row: AuditRow) => void } {
  const insert = db.stmt<Params>(APPEND)
  const dictionaries = DICTIONARIES.map((sql) => db.stmt<Params>(sql))
  const sequence = sequencer()

  return {
    append(row) {
      const values = { ...row, at: sequence(Date.parse(row.now)) }
      // Nearly always one statement is enough. No row means that a dictionary lacks an entry.
      if (insert.run(values) === 1) return
      const entries = {
        ...values,
        actorFolded: folded(`${row.actorId}\n${row.actorName}`),
        targetFolded: row.targetId || row.targetName ? folded(`${row.targetId}\n${row.targetName}\n\n`) : '',
      }
      for (const dictionary of dictionaries) dictionary.run(entries)
      if (insert.run(values) !== 1) throw new Error(`audit row of ${row.action} was not written`)
    },
  }
}

/** Numbers that rise within a millisecond. Beyond the last place, rows of one millisecond share a number. */
function sequencer(): (ms: number) => number {
  let latest = 0
  let taken = 0
  return (ms) => {
    taken = ms > latest ? 0 : Math.min(taken + 1, ROWS_PER_MS - 1)
    latest = Math.max(latest, ms)
    return ms * ROWS_PER_MS + taken
  }
}
