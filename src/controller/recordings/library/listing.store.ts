import { folded } from '../../../kernel/fold.ts'
import type { Recording, RecordingFilters } from '../../../wire/recordings.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, SqlValue } from '../../store/db.ts'
import { COUNT_LIMIT, type Condition, Lister } from '../../store/filter.ts'
import {
  cellConditions,
  cellsSaying,
  type Exceptions,
  ownConditions,
  type Picked,
  type RecordingCounts,
} from './counts.store.ts'
import { listFilters, type Residual } from './listfilters.store.ts'
import { merges, ORDERINGS, type Ordering, orderingOf, orderSql, SMALL_SET } from './listing.rules.ts'
import { gramQuery, gramsOf, searchText } from './search.rules.ts'

/** Rows of one page by `seq`, and how many there are; a total that is not exact is a lower bound. */
interface Paged {
  exact: boolean
  seqs: number[]
  total: number
}

/** How the rows of one query are found. */
interface Plan {
  conditions: Condition[]
  order: Ordering
  /** The few cells to merge a page from; only without further conditions. */
  cells: Picked | undefined
  /** The few folders to merge a page from, as a JSON array. */
  folders: string | undefined
  /** All candidates, when they are few. */
  set: number[] | undefined
  /** How many match, when the cells alone can tell. */
  total: number | undefined
}

interface Keyed {
  id: string
  key: SqlValue
  seq: number
}

const IN_SET = (seqs: readonly number[]): Condition => ({
  sql: 'r.seq IN (SELECT value FROM json_each(@set))',
  params: { set: JSON.stringify(seqs) },
})

// Maximum of rows per folder from which a page is merged.
const MAX_FILED = 500
// Rows that a walk examines for a lower bound of the matches.
const EXAMINED = 4000

/**
 * Lists of a million recordings. Count cells give the number of matches (0011_search.sql) and so the fastest plan: few matches
 * are fetched and sorted; many are found quickly by walking an index in the list's order; few cells are merged.
 */
export function listingStore(db: Db, cells: RecordingCounts, search: SearchStore, small = SMALL_SET) {
  const walks = new Map<Ordering, Walk>()
  for (const order of ORDERINGS.values()) walks.set(order, walkOf(db, order))
  const sets = new Lister<Keyed>(db, { columns: 'r.seq', from: 'recordings r NOT INDEXED' })
  const narrow = listFilters(db)
  const ofCells = db.stmt<{ cells: string }, { seq: number }>(
    `SELECT r.seq FROM json_each(@cells) c CROSS JOIN recordings r ON r.cell = c.value`,
  )
  const walkFor = (order: Ordering): Walk => walks.get(order) as Walk

  const plan = (visibility: Visibility, filters: RecordingFilters): Plan => {
    const order = orderingOf(filters)
    const dims = cellConditions(filters)
    const residuals = narrow(filters, small)
    const within = visibility.unrestricted ? [] : visibility.recordings()
    const whole = within.length === 0 && dims.length === 0
    const picked = cells.pick([...within, ...dims])
    const exceptions = whole ? { also: [], not: [] } : cells.exceptions(visibility)
    const conditions = [
      ...(whole ? [] : inCells(picked, exceptions, filters)),
      ...residuals.map((r) => r.condition),
      ...searched(filters, picked.ids),
    ]
    const plain = residuals.length === 0 && filters.search === undefined
    const mergeable = plain && !whole && exceptions.also.length === 0 && exceptions.not.length === 0
    const [only] = residuals
    return {
      conditions: [...conditions, ...(exceptions.also.length === 0 ? bounds(order, picked) : [])],
      order,
      cells: mergeable ? picked : undefined,
      folders: residuals.length === 1 && filters.search === undefined ? only?.folders : undefined,
      set: fewest(filters, whole ? undefined : picked, exceptions, residuals),
      total: plain && (whole || mergeable) ? picked.n : undefined,
    }
  }

  /** Free text: in the fields of cells, or by its grams in the recording's text. */
  const searched = ({ search: asked }: RecordingFilters, within: string): Condition[] => {
    if (asked === undefined) return []
    const text = folded(asked)
    const said = cells.pick([
      cellsSaying(text),
      { sql: 'c.id IN (SELECT value FROM json_each(@within))', params: { within } },
    ])
    return [
      {
        sql: `+r.cell IN (SELECT value FROM json_each(@said))
          OR instr((SELECT text FROM recording_texts WHERE seq = r.seq), @text) > 0`,
        params: { said: said.ids, text },
      },
    ]
  }

  /** All candidates of the most selective filter, when there are few. */
  const fewest = (
    filters: RecordingFilters,
    picked: Picked | undefined,
    { also }: Exceptions,
    residuals: Residual[],
  ): number[] | undefined => {
    const ways: { n: number; seqs: () => number[] }[] = residuals.filter((r) => r.n <= small)
    if (picked && picked.n + also.length <= small)
      ways.push({
        n: picked.n + also.length,
        seqs: () => [...ofCells.all({ cells: picked.ids }).map((row) => row.seq), ...also],
      })
    const [best] = ways.sort((a, b) => a.n - b.n)
    if (best) return [...new Set(best.seqs())]
    return textSet(filters)
  }

  // Tag and folder are in the text as well: together they may be few where each alone is frequent.
  const textSet = ({ folder, search: asked, tag }: RecordingFilters): number[] | undefined => {
    const said = asked === undefined ? undefined : cells.pick([cellsSaying(folded(asked))])
    if (said && said.n > small) return undefined
    const needed = [folder, tag, said?.n === 0 ? asked : undefined].filter((text) => text !== undefined)
    const texts = (needed.length > 0 ? needed : [asked ?? '']).map(folded).filter((text) => text.length > 0)
    if (texts.length === 0 || (asked === undefined && texts.length < 2)) return undefined
    const likely = search.likely(texts, small + 1)
    if (likely.length > small) return undefined
    return [...new Set([...likely, ...(said ? ofCells.all({ cells: said.ids }).map((row) => row.seq) : [])])]
  }

  const sorted = ({ conditions, order, set = [] }: Plan): number[] =>
    sets.rows([...conditions, IN_SET(set)], orderSql(order), set.length, 0).map((row) => row.seq)

  return {
    page(visibility: Visibility, filters: RecordingFilters, limit: number, offset: number): Paged {
      const way = plan(visibility, filters)
      if (way.set) {
        const all = sorted(way)
        return { exact: true, seqs: all.slice(offset, offset + limit), total: all.length }
      }
      const walk = walkFor(way.order)
      if (way.folders && walk.filed && offset + limit <= MAX_FILED) {
        const seqs = walk.filed(way.folders, way.conditions, limit, offset)
        const total = walk.countFiled(way.folders, way.conditions, offset + limit + COUNT_LIMIT)
        return { exact: total < offset + limit + COUNT_LIMIT, seqs, total }
      }
      if (way.total !== undefined) {
        const merged = way.cells && merges(way.order, way.cells.cells, offset + limit)
        const seqs = merged
          ? walk.merged(way.cells?.ids ?? '[]', limit, offset)
          : walk.page(way.conditions, limit, offset, way.total)
        return { exact: true, seqs, total: way.total }
      }
      return walk.counted(way.conditions, limit, offset)
    },
    /** Every match in slices of `size`, from `offset` on; each slice is a short statement, however deep. */
    *slices(visibility: Visibility, filters: RecordingFilters, size: number, offset = 0): Generator<number[]> {
      const way = plan(visibility, filters)
      if (way.set) {
        const all = sorted(way)
        for (let at = offset; at < all.length; at += size) yield all.slice(at, at + size)
        return
      }
      yield* walkFor(way.order).slices(way.conditions, size, offset)
    },
  }
}

/** `+`: the cell is checked row by row, its index is not used. */
function inCells(picked: Picked, { also, not }: Exceptions, filters: RecordingFilters): Condition[] {
  const ids = { cells: picked.ids }
  const listed = '+r.cell IN (SELECT value FROM json_each(@cells))'
  const own = ownConditions(filters)
  const named: Condition = {
    sql: ['+r.seq IN (SELECT value FROM json_each(@also))', ...own.map((c) => c.sql)].join(' AND '),
    params: Object.assign({ also: JSON.stringify(also) }, ...own.map((c) => c.params)),
  }
  const seen: Condition =
    also.length === 0
      ? { sql: listed, params: ids }
      : { sql: `${listed} OR (${named.sql})`, params: { ...ids, ...named.params } }
  if (not.length === 0) return [seen]
  return [seen, { sql: '+r.seq NOT IN (SELECT value FROM json_each(@not))', params: { not: JSON.stringify(not) } }]
}

/** The range of the picked cells within an order that cells cover. */
function bounds({ key }: Ordering, picked: Picked): Condition[] {
  const known = /^r\.(health|source|status)/.exec(key)?.[1] as 'health' | 'source' | 'status' | undefined
  if (!known) return []
  const sql = `${key} >= @boundFrom AND ${key} <= @boundTo`
  return [{ sql, params: { boundFrom: picked[`${known}From`], boundTo: picked[`${known}To`] } }]
}

type Walk = ReturnType<typeof walkOf>

/** Pages and slices along the index of one order. */
function walkOf(db: Db, order: Ordering) {
  const { byCell, descending, index, key } = order
  const list = new Lister<{ seq: number }>(db, { columns: 'r.seq', from: `recordings r INDEXED BY ${index}` })
  const keyed = new Lister<Keyed>(db, {
    columns: `r.seq, r.id, ${key} AS key`,
    from: `recordings r INDEXED BY ${index}`,
  })
  const examined = new Lister<{ seq: number }>(db, {
    columns: 'r.seq',
    from: `(SELECT * FROM recordings r INDEXED BY ${index} ORDER BY ${orderSql(order)} LIMIT ${EXAMINED}) r`,
  })
  const inner = `SELECT r.seq FROM recordings r INDEXED BY ${byCell} WHERE r.cell = c.value ORDER BY ${orderSql(order)} LIMIT @depth`
  const merge = byCell
    ? db.stmt<{ cells: string; limit: number; offset: number; depth: number }, { seq: number }>(
        `SELECT r.seq FROM json_each(@cells) c CROSS JOIN recordings r ON r.seq IN (${inner})
          ORDER BY ${orderSql(order)} LIMIT @limit OFFSET @offset`,
      )
    : undefined
  const filed = new Lister<{ seq: number }>(db, {
    columns: 'r.seq',
    from: 'json_each(@folders) v CROSS JOIN recordings r',
  })
  const inFolder = new Lister<{ seq: number }>(db, {
    columns: 'r.seq',
    from: 'json_each(@folders) v CROSS JOIN recordings r INDEXED BY recordings_in_folder ON r.folder = v.value',
  })
  const seqs = (rows: { seq: number }[]): number[] => rows.map((row) => row.seq)
  const after = ({ id, key: at }: Keyed, tied: boolean): Condition =>
    tied
      ? { sql: `${key} = @at AND r.id > @id`, params: { at, id } }
      : { sql: `${key} ${descending ? '<' : '>'} @at`, params: { at } }
  return {
    merged: (ids: string, limit: number, offset: number): number[] =>
      seqs(merge?.all({ cells: ids, limit, offset, depth: offset + limit }) ?? []),
    /** Merges the first rows of each folder; only in the order of dates, for which folders have an index. */
    filed:
      key === 'r.recorded_at'
        ? (folders: string, conditions: Condition[], limit: number, offset: number): number[] => {
            const best = `SELECT r.seq FROM recordings r INDEXED BY recordings_in_folder
              WHERE r.folder = v.value AND ${conditions.map((c) => `(${c.sql})`).join(' AND ')} ORDER BY ${orderSql(order)} LIMIT @depth`
            const params = Object.assign({ folders, depth: offset + limit }, ...conditions.map((c) => c.params))
            return seqs(filed.rows([{ sql: `r.seq IN (${best})`, params }], orderSql(order), limit, offset))
          }
        : undefined,
    countFiled: (folders: string, conditions: Condition[], limit: number): number =>
      inFolder.count([...conditions, { sql: '1', params: { folders } }], limit),
    /** An offset beyond the middle is read from the other end. */
    page(conditions: Condition[], limit: number, offset: number, total: number): number[] {
      if (offset >= total) return []
      const rest = total - offset - limit
      if (offset <= Math.max(rest, 0)) return seqs(list.rows(conditions, orderSql(order), limit, offset))
      const size = Math.min(limit, total - offset)
      return seqs(list.rows(conditions, orderSql(order, true), size, Math.max(rest, 0))).reverse()
    },
    counted(conditions: Condition[], limit: number, offset: number): Paged {
      const rows = list.rows(conditions, orderSql(order), limit + 1, offset)
      const page = seqs(rows.slice(0, limit))
      if (rows.length <= limit && (rows.length > 0 || offset === 0))
        return { exact: true, seqs: page, total: offset + rows.length }
      const seen = examined.count(conditions, EXAMINED)
      return { exact: false, seqs: page, total: Math.max(seen, rows.length > 0 ? offset + rows.length : 0) }
    },
    *slices(conditions: Condition[], size: number, offset: number): Generator<number[]> {
      let rows = keyed.rows(conditions, orderSql(order), size, offset)
      while (rows.length > 0) {
        yield seqs(rows)
        const last = rows.at(-1) as Keyed
        // First the remaining ties with the last row, then the rows after it.
        const tied = keyed.rows([...conditions, after(last, true)], 'r.id', size, 0)
        const rest = size - tied.length
        rows = rest > 0 ? [...tied, ...keyed.rows([...conditions, after(last, false)], orderSql(order), rest, 0)] : tied
      }
    },
  }
}

type Searched = Pick<Recording, 'folder' | 'id' | 'name' | 'notes' | 'tags' | 'transcriptSnippets' | 'uploadPolicyIds'>

/** The full-text index: call `put` in the transaction of every write that changes a recording's words. */
export function searchStore(db: Db) {
  const seqOf = db.stmt<{ id: string }, { seq: number }>(`SELECT seq FROM recordings WHERE id = @id`)
  const write = db.stmt<{ seq: number; text: string }>(
    `INSERT INTO recording_texts (seq, text) VALUES (@seq, @text) ON CONFLICT DO UPDATE SET text = excluded.text`,
  )
  const forget = db.stmt<{ seq: number }>(`DELETE FROM recording_grams WHERE rowid = @seq`)
  const index = db.stmt<{ seq: number; grams: string }>(
    `INSERT INTO recording_grams (rowid, grams) VALUES (@seq, @grams)`,
  )
  const likely = db.stmt<{ query: string; limit: number }, { seq: number }>(
    `SELECT rowid AS seq FROM recording_grams WHERE recording_grams MATCH @query LIMIT @limit`,
  )
  return {
    put(recording: Searched): void {
      const seq = seqOf.get({ id: recording.id })?.seq
      if (seq === undefined) return
      const { folder, id, name, notes, tags, transcriptSnippets = [], uploadPolicyIds } = recording
      const text = searchText([name, folder, notes, ...tags, ...transcriptSnippets, ...uploadPolicyIds, id])
      write.run({ seq, text })
      forget.run({ seq })
      index.run({ seq, grams: gramsOf(text) })
    },
    /** At most `limit` recordings that have all grams of these folded texts: a superset of those that contain them. */
    likely: (texts: readonly string[], limit: number): number[] =>
      likely.all({ query: gramQuery(texts), limit }).map((row) => row.seq),
  }
}
export type SearchStore = ReturnType<typeof searchStore>
