import type { Db, Params } from '../store/db.ts'

/** Brings the text index of audit targets up to what has been written. */
export function targetIndex(db: Db) {
  const upTo = db.stmt<Params, { last: number | null }>(
    `SELECT max(id) AS last FROM (SELECT id FROM audit_targets WHERE id > (SELECT target FROM audit_indexed) ORDER BY id LIMIT @batch)`,
  )
  const add = db.stmt<Params>(
    `INSERT INTO audit_target_text (rowid, folded) SELECT id, folded FROM audit_targets
      WHERE id > (SELECT target FROM audit_indexed) AND id <= @last AND folded <> ''`,
  )
  const move = db.stmt<Params>(`UPDATE audit_indexed SET target = @last`)
  return {
    /** Indexes the next `batch` targets at most; false when nothing is left. */
    advance: (batch: number): boolean =>
      db.tx(() => {
        const last = upTo.get({ batch })?.last
        if (!last) return false
        add.run({ last })
        move.run({ last })
        return true
      }, false),
  }
}
export type TargetIndex = ReturnType<typeof targetIndex>
