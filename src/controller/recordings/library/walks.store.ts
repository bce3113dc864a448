import type { Db, SqlValue } from '../../store/db.ts'
import { type Condition, Lister } from '../../store/filter.ts'
import { type Ordering, orderSql } from './listing.rules.ts'

/** A row's place in an order. */
export interface Key {
  id: string
  key: SqlValue
}
export interface Keyed extends Key {
  seq: number
}

/** What is walked along the index of one order. */
export type Walk = ReturnType<typeof walkOf>

// Rows that a walk examines for a lower bound of the matches.
const EXAMINED = 4000

export const keyedColumns = ({ key }: Ordering): string => `r.seq, r.id, ${key} AS key`

/** Rows with the same key as `at`, and those beyond it: apart, each is one range of the index. */
const tied = ({ key }: Ordering, at: Key): Condition => ({
  sql: `${key} = @atKey AND r.id > @atId`,
  params: { atKey: at.key, atId: at.id },
})
const beyond = ({ descending, key }: Ordering, at: Key): Condition => ({
  sql: `${key} ${descending ? '<' : '>'} @atKey`,
  params: { atKey: at.key },
})
/** Both at once, where there is no index to follow. */
export const behind = (order: Ordering, at: Key): Condition => ({
  sql: `(${beyond(order, at).sql}) OR (${tied(order, at).sql})`,
  params: { atKey: at.key, atId: at.id },
})

type Fetch = (more: Condition[], size: number, offset: number) => Keyed[]

/** Rows from an offset on; or those behind a row: first those tied with it, then the others. */
function onward(order: Ordering, place: Key | number, size: number, fetch: Fetch): Keyed[] {
  if (typeof place === 'number') return fetch([], size, place)
  const first = fetch([tied(order, place)], size, 0)
  const rest = size - first.length
  return rest === 0 ? first : [...first, ...fetch([beyond(order, place)], rest, 0)]
}

/** Pages and slices along the index of one order. `place` is an offset, or the row to go on behind. */
export function walkOf(db: Db, order: Ordering) {
  const from = `recordings r INDEXED BY ${order.index}`
  const keyed = new Lister<Keyed>(db, { columns: keyedColumns(order), from })
  const examined = new Lister<{ seq: number }>(db, {
    columns: 'r.seq',
    from: `(SELECT * FROM ${from} ORDER BY ${orderSql(order)} LIMIT ${EXAMINED}) r`,
  })
  const rowsFrom = (conditions: Condition[], size: number, place: Key | number): Keyed[] =>
    onward(order, place, size, (more, limit, offset) =>
      keyed.rows([...conditions, ...more], orderSql(order), limit, offset),
    )
  return {
    /** An offset beyond the middle is read from the other end. */
    page(conditions: Condition[], limit: number, place: Key | number, total: number): Keyed[] {
      if (typeof place !== 'number') return rowsFrom(conditions, limit, place)
      if (place >= total) return []
      const rest = total - place - limit
      if (place <= Math.max(rest, 0)) return rowsFrom(conditions, limit, place)
      const size = Math.min(limit, total - place)
      return keyed.rows(conditions, orderSql(order, true), size, Math.max(rest, 0)).reverse()
    },
    /** Rows and how many there are, as far as they are counted; `passed` lie before these, and a page has one less. */
    counted(conditions: Condition[], limit: number, place: Key | number, passed: number) {
      const rows = rowsFrom(conditions, limit, place)
      if (rows.length < limit && (rows.length > 0 || passed === 0))
        return { exact: true, rows, total: passed + rows.length }
      const seen = examined.count(conditions, EXAMINED)
      return { exact: false, rows, total: Math.max(seen, rows.length > 0 ? passed + rows.length : 0) }
    },
    *slices(conditions: Condition[], size: number, place: Key | number): Generator<number[]> {
      let rows = rowsFrom(conditions, size, place)
      while (rows.length > 0) {
        yield rows.map((row) => row.seq)
        rows = rowsFrom(conditions, size, rows.at(-1) as Keyed)
      }
    },
    merged: order.byCell ? merger(db, order, order.byCell) : undefined,
    // Only in the order of dates: for it folders have an index.
    folders: order.key === 'r.recorded_at' ? filer(db, order) : undefined,
  }
}

/** Merges the first rows of each cell. */
function merger(db: Db, order: Ordering, byCell: string) {
  const list = new Lister<Keyed>(db, {
    columns: keyedColumns(order),
    from: 'json_each(@cells) c CROSS JOIN recordings r',
  })
  return (cells: string, size: number, place: Key | number): Keyed[] =>
    onward(order, place, size, (more, limit, offset) =>
      list.rows(
        [firstOf(order, `${byCell} WHERE r.cell = c.value`, more, { cells, depth: offset + limit })],
        orderSql(order),
        limit,
        offset,
      ),
    )
}

/** The same of each folder. */
function filer(db: Db, order: Ordering) {
  const list = new Lister<Keyed>(db, {
    columns: keyedColumns(order),
    from: 'json_each(@folders) v CROSS JOIN recordings r',
  })
  const inFolder = new Lister<{ seq: number }>(db, {
    columns: 'r.seq',
    from: 'json_each(@folders) v CROSS JOIN recordings r INDEXED BY recordings_in_folder ON r.folder = v.value',
  })
  return {
    merged: (folders: string, conditions: Condition[], size: number, place: Key | number): Keyed[] =>
      onward(order, place, size, (more, limit, offset) =>
        list.rows(
          [
            firstOf(order, 'recordings_in_folder WHERE r.folder = v.value', [...conditions, ...more], {
              depth: offset + limit,
              folders,
            }),
          ],
          orderSql(order),
          limit,
          offset,
        ),
      ),
    count: (folders: string, conditions: Condition[], limit: number): number =>
      inFolder.count([...conditions, { sql: '1', params: { folders } }], limit),
  }
}

/** Rows that are among the first `depth` of their group. */
const firstOf = (order: Ordering, group: string, conditions: Condition[], params: Condition['params']): Condition => {
  const more = conditions.map((c) => ` AND (${c.sql})`).join('')
  return {
    sql: `r.seq IN (SELECT r.seq FROM recordings r INDEXED BY ${group}${more} ORDER BY ${orderSql(order)} LIMIT @depth)`,
    params: Object.assign({}, params, ...conditions.map((c) => c.params)),
  }
}
