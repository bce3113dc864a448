import { folded } from '../../kernel/fold.ts'
import type { Db, Params, Stmt } from '../store/db.ts'
import type { TargetQuery } from './audit.rules.ts'

interface Id {
  id: number
}

// Trigrams matched at once, from the end of the text because ids begin alike. `instr` then checks the whole text.
const MAX_GRAMS = 4
const GRAM = 3
// Types with fewer targets than this are read whole.
const SMALL_TYPES = 5000
// Appended to a prefix, it sorts after every text with that prefix.
const LAST = '\u{10ffff}'

/** Targets of audit rows by a part of their id or name, and by a reader's scope. */
export function targetFinder(db: Db) {
  const byGrams = db.stmt<Params, Id>(
    `SELECT t.id FROM audit_target_text f CROSS JOIN audit_targets t ON t.id = f.rowid
      WHERE f.audit_target_text MATCH @grams AND instr(t.folded, @needle) > 0 LIMIT @limit`,
  )
  const byStart = db.stmt<Params, Id>(
    `SELECT DISTINCT doc AS id FROM audit_target_grams WHERE term >= @start AND term < @end LIMIT @limit`,
  )
  // What the runner has not indexed yet: targets of its last interval.
  const behind = db.stmt<Params, Id>(
    `SELECT t.id FROM audit_targets t WHERE t.id > (SELECT target FROM audit_indexed) AND instr(t.folded, @needle) > 0 LIMIT @limit`,
  )
  const ofTypes = db.stmt<Params, { n: number }>(
    `SELECT count(*) AS n FROM (SELECT 1 FROM json_each(@types) w CROSS JOIN audit_targets t ON t.type = w.value LIMIT @limit)`,
  )
  const inTypes = db.stmt<Params, Id>(
    `SELECT t.id FROM json_each(@types) w CROSS JOIN audit_targets t ON t.type = w.value WHERE instr(t.folded, @needle) > 0`,
  )
  const queries = new Map<string, Stmt<Params, Id>>()
  const queryFor = (from: string): Stmt<Params, Id> => {
    // Unordered, so that a long list ends at its limit.
    const statement = queries.get(from) ?? db.stmt<Params, Id>(`SELECT t.id FROM ${from} LIMIT @limit`)
    queries.set(from, statement)
    return statement
  }
  /** The ids, or undefined when there are more than `limit`. */
  const idsUpTo = (rows: Id[], limit: number): number[] | undefined =>
    rows.length > limit ? undefined : rows.map((row) => row.id)

  return {
    /** Targets whose id or name contains `part`, in any case; undefined when there are more than `limit`. */
    containing(part: string, limit: number): number[] | undefined {
      const needle = folded(part)
      const grams = gramsOf(needle)
      const indexed =
        grams.length === 0
          ? byStart.all({ start: needle, end: needle + LAST, limit: limit + 1 })
          : byGrams.all({ grams: grams.map(quoted).join(' AND '), needle, limit: limit + 1 })
      if (indexed.length > limit) return undefined
      return idsUpTo([...indexed, ...behind.all({ needle, limit: limit + 1 })], limit)
    },
    /** The same among targets of some types; undefined when these types have many targets. */
    ofTypes(types: readonly string[], part: string): number[] | undefined {
      const among = { types: JSON.stringify(types), limit: SMALL_TYPES }
      if ((ofTypes.get(among)?.n ?? 0) >= SMALL_TYPES) return undefined
      return inTypes.all({ types: among.types, needle: folded(part) }).map((row) => row.id)
    },
    /** All targets of these queries; undefined when there are more than `limit`. */
    listed(lists: readonly TargetQuery[], limit: number): number[] | undefined {
      const ids = new Set<number>()
      for (const { from, within } of lists) {
        const rows = idsUpTo(queryFor(from).all({ limit: limit + 1, within }), limit)
        for (const id of rows ?? []) ids.add(id)
        if (!rows || ids.size > limit) return undefined
      }
      return [...ids]
    },
  }
}

const quoted = (gram: string): string => `"${gram.replaceAll('"', '""')}"`

function gramsOf(needle: string): string[] {
  const points = [...needle]
  const grams: string[] = []
  for (let end = points.length; end >= GRAM && grams.length < MAX_GRAMS; end -= GRAM)
    grams.push(points.slice(end - GRAM, end).join(''))
  return [...new Set(grams)]
}
