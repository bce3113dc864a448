import { iso } from '../../kernel/clock.ts'
import { ROWS_PER_MS } from '../http/auditwriter.ts'
import type { Stretch } from '../monitoring/clock/trust.rules.ts'
import type { Db, Params } from '../store/db.ts'

interface Gone {
  contexts: string
  deleted: number
  targets: string
}

/** Deletes rows older than the retention; nothing else can delete audit rows (sql/0002_audit.sql). */
export function auditRetention(db: Db) {
  const open = db.stmt<Params>(`INSERT INTO audit_retention_gate (only_row, delete_before) VALUES (1, @cutoff)`)
  const close = db.stmt<object>(`DELETE FROM audit_retention_gate`)
  const oldest = db.stmt<Params, { seqs: string } & Gone>(
    `SELECT json_group_array(seq) AS seqs, json_group_array(DISTINCT target) AS targets,
       json_group_array(DISTINCT context) AS contexts, count(*) AS deleted
     FROM (SELECT seq, target, context FROM audit_rows INDEXED BY audit_time WHERE at >= @from AND at < +@before ORDER BY at LIMIT @batch)`,
  )
  const remove = db.stmt<Params>(`DELETE FROM audit_rows WHERE seq IN (SELECT value FROM json_each(@seqs))`)
  const prune = pruner(db)

  return {
    /**
     * Deletes up to `batch` rows written from `from` until before `before` (Unix ms), with the dictionary entries only they
     * used. Call it in one transaction with the audit row that reports it. @returns how many
     */
    sweep({ before, from }: Stretch, batch: number): number {
      const cutoff = iso(before)
      const gone = oldest.get({ batch, before: before * ROWS_PER_MS, from: from * ROWS_PER_MS })
      if (!gone || gone.deleted === 0) return 0
      open.run({ cutoff })
      const deleted = remove.run({ seqs: gone.seqs })
      close.run({})
      prune(gone)
      return deleted
    },
  }
}
export type AuditRetention = ReturnType<typeof auditRetention>

/** Deletes unused entries of the large dictionaries; the small ones are kept. */
function pruner(db: Db): (gone: Gone) => void {
  const unnamed = `id IN (SELECT value FROM json_each(@targets)) AND NOT EXISTS (SELECT 1 FROM audit_rows a WHERE a.target = audit_targets.id)`
  const statements = [
    `INSERT INTO audit_target_text (audit_target_text, rowid, folded)
      SELECT 'delete', id, folded FROM audit_targets WHERE ${unnamed} AND folded <> '' AND id <= (SELECT target FROM audit_indexed)`,
    `DELETE FROM audit_targets WHERE ${unnamed}`,
    `DELETE FROM audit_contexts WHERE id IN (SELECT value FROM json_each(@contexts))
      AND NOT EXISTS (SELECT 1 FROM audit_rows a WHERE a.context = audit_contexts.id)`,
  ].map((sql) => db.stmt<Params>(sql))
  return ({ contexts, targets }) => {
    for (const statement of statements) statement.run({ contexts, targets })
  }
}
