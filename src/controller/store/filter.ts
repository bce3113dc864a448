import { folded } from '../../kernel/fold.ts'
import type { Db, Params, SqlValue, Stmt } from './db.ts'

/** A fixed piece of SQL and the named values it binds. The text never contains a value. */
export interface Condition {
  sql: string
  params: Params
}

/** The condition when the filter was given. */
export const when = <V>(value: V | undefined, sql: string, params: (value: V) => Params): Condition[] =>
  value === undefined ? [] : [{ sql, params: params(value) }]

/** A substring pattern for `LIKE ... ESCAPE '\'`: the caller's own wildcards are taken literally. */
export const contains = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** The rows of a small table, from `id` and `text` of all, whose text holds `search`: SQL folds no letters beyond ASCII. */
export const holding = (
  id: 'g.id' | 'rooms.id' | 'u.id',
  rows: readonly { id: string; text: string }[],
  search: string,
): Condition => ({
  sql: `${id} IN (SELECT value FROM json_each(@holding))`,
  params: {
    holding: JSON.stringify(rows.filter(({ text }) => folded(text).includes(folded(search))).map((row) => row.id)),
  },
})

interface Listing {
  columns: string
  from: string
}

/** An order for `walk`: columns that are never NULL, the last one (or all together) unique. */
export interface Order {
  direction: 'ASC' | 'DESC'
  keys: readonly string[]
}

/** Rows counted beyond a page; a total that reaches it is a lower bound. */
export const COUNT_LIMIT = 10_000

// Rows of a list without pages.
const MAX_UNPAGED = 100_000

// Prepared statements kept per list.
const MAX_STATEMENTS = 128

/**
 * A list that is filtered, ordered, counted and paged in SQL. Every combination of conditions is prepared once;
 * its text is made of the fixed pieces only.
 */
export class Lister<R> {
  private readonly db: Db
  private readonly listing: Listing
  private readonly statements = new Map<string, Stmt<Params, unknown>>()

  constructor(db: Db, listing: Listing) {
    this.db = db
    this.listing = listing
  }

  /** Rows `offset`..`offset + limit` in `order`, and the total before paging, counted to `COUNT_LIMIT` beyond the page. */
  page(conditions: Condition[], order: string, limit: number, offset: number): { rows: R[]; total: number } {
    const rows = this.rows(conditions, order, limit, offset)
    // A page that is not full is the last: the total follows from it.
    if (rows.length < limit && (rows.length > 0 || offset === 0)) return { rows, total: offset + rows.length }
    return { rows, total: this.count(conditions, offset + limit + COUNT_LIMIT) }
  }

  /** How many there are, but at most `limit`: the work is bounded however big the table. */
  count(conditions: Condition[], limit: number): number {
    const inner = `SELECT 1 FROM ${this.listing.from}${clause(conditions)} LIMIT @limit`
    const row = this.statement(`SELECT count(*) AS n FROM (${inner})`).get({ ...bound(conditions), limit })
    return (row as { n: number }).n
  }

  /** A list without paging, of things a fleet has few of. */
  all(conditions: Condition[], order: string): R[] {
    return this.rows(conditions, order, MAX_UNPAGED, 0)
  }

  rows(conditions: Condition[], order: string, limit: number, offset: number): R[] {
    const { columns, from } = this.listing
    const sql = `SELECT ${columns} FROM ${from}${clause(conditions)} ORDER BY ${order} LIMIT @limit OFFSET @offset`
    return this.statement(sql).all({ ...bound(conditions), limit, offset }) as R[]
  }

  /**
   * Every row in slices of `size`, by keyset: each slice is one short statement, however deep. Nothing is held
   * between slices, so rows that come or go meanwhile are seen or not, but none twice.
   */
  *walk(conditions: Condition[], { direction, keys }: Order, size: number): Generator<R[]> {
    const { columns, from } = this.listing
    const named = keys.map((key, i) => `${key} AS walk${i}`).join(', ')
    const order = keys.map((key) => `${key} ${direction}`).join(', ')
    const beyond = `(${keys.join(', ')}) ${direction === 'ASC' ? '>' : '<'} (${keys.map((_, i) => `@walk${i}`).join(', ')})`
    let last: Params | undefined
    for (;;) {
      const all = last ? [...conditions, { sql: beyond, params: last }] : conditions
      const sql = `SELECT ${columns}, ${named} FROM ${from}${clause(all)} ORDER BY ${order} LIMIT @limit`
      const rows = this.statement(sql).all({ ...bound(all), limit: size }) as (R & Params)[]
      const end = rows.at(-1)
      last = end && Object.fromEntries(keys.map((_, i) => [`walk${i}`, end[`walk${i}`] as SqlValue]))
      if (rows.length > 0) yield rows.map((row) => withoutWalkKeys(row, keys.length))
      if (rows.length < size) return
    }
  }

  /** One aggregate row over the filtered set, for example counts by status. */
  aggregate<A>(columns: string, conditions: Condition[]): A {
    const sql = `SELECT ${columns} FROM ${this.listing.from}${clause(conditions)}`
    return this.statement(sql).get(bound(conditions)) as A
  }

  private statement(sql: string): Stmt<Params, unknown> {
    const statement = this.statements.get(sql) ?? this.db.stmt<Params, unknown>(sql)
    // Least recently used goes: a caller who tries every combination must not fill the memory.
    this.statements.delete(sql)
    this.statements.set(sql, statement)
    if (this.statements.size > MAX_STATEMENTS) this.statements.delete(this.statements.keys().next().value as string)
    return statement
  }
}

const clause = (conditions: Condition[]): string =>
  conditions.length > 0 ? ` WHERE ${conditions.map((c) => `(${c.sql})`).join(' AND ')}` : ''

function withoutWalkKeys<R>(row: R & Params, keys: number): R {
  for (let i = 0; i < keys; i++) delete row[`walk${i}`]
  return row
}

const bound = (conditions: Condition[]): Params => Object.assign({}, ...conditions.map((c) => c.params))

/** A value for a column of JSON; absent is NULL. */
export const json = (value: unknown): string | null =>
  value === undefined || value === null ? null : JSON.stringify(value)

/** The object as JSON, with one more member that is JSON already: what is long is not read only to be written again. */
export const withMember = (object: object, name: string, member: string): string =>
  `${JSON.stringify(object).slice(0, -1)},${JSON.stringify(name)}:${member}}`

/** Drops keys whose value is null or undefined: optional fields are absent on the wire, never null. */
export function present<T extends object>(row: T): { [K in keyof T]: Exclude<T[K], null> } {
  const out: Record<string, unknown> = {}
  for (const key in row) if (row[key] !== null && row[key] !== undefined) out[key] = row[key]
  return out as { [K in keyof T]: Exclude<T[K], null> }
}
