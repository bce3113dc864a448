import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Runner } from '../scheduler/ticker.ts'
import type { Db, Params } from '../store/db.ts'

/** Brings the text index of audit targets up to date. */
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
type TargetIndex = ReturnType<typeof targetIndex>

const EVERY_SECONDS = 10
// A batch takes a few milliseconds; a pass is bounded so that a stop need not wait for a backlog.
const BATCH = 100
const BATCHES = 1000

/** Adds new targets of the audit to the index; until then a search reads each of them. Writes no audit rows. */
export const targetIndexRunner = (index: TargetIndex): Runner => ({
  name: 'audit-index',
  enabled: true,
  intervalSeconds: EVERY_SECONDS,
  tick: async () => {
    let batches = 0
    while (batches < BATCHES && index.advance(BATCH)) {
      batches++
      await nextTurn()
    }
    return { batches }
  },
})
