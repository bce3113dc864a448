import { SCOPED_LIST } from '../../audit/audit.rules.ts'
import type { Db } from '../../store/db.ts'

export interface Tally {
  action: string
  actorType: string
  n: number
  outcome: string
  permission: string
  /** Rows about a resource that is readable only within its scope. */
  scoped: number
}

// A scrape reads what was written since the last one, by primary key; a backlog is caught up in slices of this size.
const SLICE = 20_000

/**
 * Audit rows written since this process started, by their labels. Rows are counted after their commit and never
 * twice, so the numbers only grow.
 */
export function auditTally(db: Db) {
  const newest = db.stmt<object, { seq: number | null }>(`SELECT max(seq) AS seq FROM audit_rows`)
  const written = db.stmt<{ after: number; upTo: number }, Tally>(
    `SELECT k.action, k.actor_type AS actorType, k.outcome, coalesce(nullif(k.permission, ''), 'none') AS permission,
       k.has_target = 1 AND k.target_type IN (${SCOPED_LIST}) AS scoped, sum(b.n) AS n
     FROM (SELECT deed, count(*) AS n FROM audit_rows WHERE seq > @after AND seq <= @upTo GROUP BY deed) b
       JOIN audit_deeds d ON d.id = b.deed JOIN audit_kinds k ON k.id = d.kind GROUP BY 1, 2, 3, 4, 5`,
  )
  const totals = new Map<string, Tally>()
  let counted = newest.get({})?.seq ?? 0

  const advance = (): void => {
    const upTo = Math.min(newest.get({})?.seq ?? 0, counted + SLICE)
    if (upTo <= counted) return
    for (const row of written.all({ after: counted, upTo })) {
      const key = JSON.stringify([row.action, row.actorType, row.outcome, row.permission, row.scoped])
      totals.set(key, { ...row, n: row.n + (totals.get(key)?.n ?? 0) })
    }
    counted = upTo
  }

  return {
    /** Counts one slice; a runner may call it between scrapes. */
    advance,
    read(): Tally[] {
      advance()
      return [...totals.values()]
    },
  }
}
export type AuditTally = ReturnType<typeof auditTally>
