import { folded } from '../../../kernel/fold.ts'
import type { Recording, RecordingFilters } from '../../../wire/recordings.ts'
import { type Asked, FROM_THE_FIRST } from '../../http/cursor.ts'
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
import { behind, type Key, type Keyed, keyedColumns, type Walk, walkOf } from './walks.store.ts'

/** Rows of one page by `seq`, and how many there are; a total that is not exact is a lower bound. */
interface Paged {
  exact: boolean
  /** Key and id of the last row: where the next page goes on. */
  last: readonly SqlValue[] | undefined
  more: boolean
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

const IN_SET = (seqs: readonly number[]): Condition => ({
  sql: 'r.seq IN (SELECT value FROM json_each(@set))',
  params: { set: JSON.stringify(seqs) },
})

// Maximum of rows per folder from which a page is merged.
const MAX_FILED = 500

/**
 * Lists of a million recordings. Count cells give the number of matches (0011_search.sql) and so the fastest plan: few matches
 * are fetched and sorted; many are found quickly by walking an index in the list's order; few cells are merged.
 */
export function listingStore(db: Db, cells: RecordingCounts, search: SearchStore, small = SMALL_SET) {
  const walks = new Map<Ordering, Walk>()
  for (const order of ORDERINGS.values()) walks.set(order, walkOf(db, order))
  const sets = new Map<Ordering, Lister<Keyed>>()
  const setsIn = (order: Ordering): Lister<Keyed> => {
    const columns = keyedColumns(order)
    const known = sets.get(order) ?? new Lister<Keyed>(db, { columns, from: 'recordings r NOT INDEXED' })
    sets.set(order, known)
    return known
  }
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

  const sorted = ({ conditions, order, set = [] }: Plan, more: Condition[] = []): Keyed[] =>
    setsIn(order).rows([...conditions, ...more, IN_SET(set)], orderSql(order), set.length, 0)

  /** All matches, when they are few: counted and cut here. */
  const ofSet = (way: Plan, limit: number, { after, offset }: Asked): Found => {
    const all = sorted(way)
    if (!after) return { exact: true, rows: all.slice(offset, offset + limit + 1), total: all.length }
    return { exact: true, rows: sorted(way, [behind(way.order, keyOf(after))]).slice(0, limit + 1), total: all.length }
  }

  /** One row more than the page has, where there is one. */
  const found = (way: Plan, limit: number, { after, offset }: Asked): Found => {
    if (way.set) return ofSet(way, limit, { after, offset })
    const walk = walkFor(way.order)
    const place = after ? keyOf(after) : offset
    const depth = (after ? 0 : offset) + limit
    if (way.folders && walk.folders && depth <= MAX_FILED) {
      const most = offset + limit + COUNT_LIMIT
      const total = walk.folders.count(way.folders, way.conditions, most)
      return { exact: total < most, rows: walk.folders.merged(way.folders, way.conditions, limit + 1, place), total }
    }
    if (way.total === undefined) return walk.counted(way.conditions, limit + 1, place, offset)
    const merged = way.cells && merges(way.order, way.cells.cells, depth) ? walk.merged : undefined
    const rows = merged
      ? merged(way.cells?.ids ?? '[]', limit + 1, place)
      : walk.page(way.conditions, limit + 1, place, way.total)
    return { exact: true, rows, total: way.total }
  }

  return {
    page(visibility: Visibility, filters: RecordingFilters, limit: number, asked: Asked = FROM_THE_FIRST): Paged {
      const { exact, rows, total } = found(plan(visibility, filters), limit, asked)
      const page = rows.slice(0, limit)
      const last = page.at(-1)
      return {
        exact,
        last: last && [last.key, last.id],
        more: rows.length > limit,
        seqs: page.map((row) => row.seq),
        total,
      }
    },
    /** Every match in slices of `size`, from there on; each slice is a short statement, however deep. */
    *slices(
      visibility: Visibility,
      filters: RecordingFilters,
      size: number,
      { after, offset }: Asked = FROM_THE_FIRST,
    ): Generator<number[]> {
      const way = plan(visibility, filters)
      if (!way.set) return yield* walkFor(way.order).slices(way.conditions, size, after ? keyOf(after) : offset)
      const all = after ? sorted(way, [behind(way.order, keyOf(after))]) : sorted(way).slice(offset)
      for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size).map((row) => row.seq)
    },
  }
}

interface Found {
  exact: boolean
  rows: Keyed[]
  total: number
}

/** @param keys as a cursor gives them: the types are those of `RECORDING_KEYS` */
const keyOf = ([key, id]: readonly SqlValue[]): Key => ({ id: id as string, key: key as SqlValue })

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
