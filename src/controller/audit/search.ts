import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AuditFilters } from '../../wire/audit.ts'
import type { Asked } from '../http/cursor.ts'
import type { Db } from '../store/db.ts'
import { COUNT_LIMIT, type Condition, Lister } from '../store/filter.ts'
import type { Readable } from './audit.rules.ts'
import { type AccessPath, type Plan, planner, type Span } from './plan.ts'

// Rows a search examines before it tries another access path: a few milliseconds.
const WINDOW = 20_000
// The same, for counting and per slice, where each row's target must be judged: that costs more.
const JUDGED_WINDOW = 1500
// An access path is not used above these: rows to sort, rows to judge or hold in memory, pairs of kind and actor.
const MAX_SORTED = 60_000
const MAX_HELD = 8000
const MAX_DEEDS = 20_000
// A window with fewer matches than SPARSE is followed by a larger one, up to what takes ten milliseconds.
const SPARSE = 100
const MAX_WINDOW = 24_000
const UNLIMITED = Number.MAX_SAFE_INTEGER

// `+`: no hint to the planner, see `withoutHints` in store/db.ts. The index is named, so there is nothing to guess.
const DURING = 'a.at >= +@since AND a.at <= +@until AND (a.at < +@until OR a.seq < +@below)'
const BY_TIME = 'audit_rows a INDEXED BY audit_time CROSS JOIN audit_deeds d ON d.id = a.deed'
// The rows of an access path (`b`), selected as if they were the table (`a`).
const GATHERED = 'b.at >= +@since AND b.at <= +@until AND (b.at < +@until OR b.seq < +@below)'
const DRIVE = `(
  SELECT b.seq, b.at, b.deed, b.target FROM json_each(@driveDeeds) w
    CROSS JOIN audit_rows b INDEXED BY audit_deed ON b.deed = w.value WHERE ${GATHERED}
  UNION ALL
  SELECT b.seq, b.at, b.deed, b.target FROM json_each(@driveTargets) w
    CROSS JOIN audit_rows b INDEXED BY audit_target ON b.target = w.value
   WHERE ${GATHERED} AND b.deed NOT IN (SELECT value FROM json_each(@driveDeeds))) a
  CROSS JOIN audit_deeds d ON d.id = a.deed`
const NEWEST = 'a.at DESC, a.seq DESC'

const during = (span: Span): Condition => ({ sql: DURING, params: { ...span } })

interface Found {
  /** `total` is a lower bound. */
  bounded: boolean
  /** There is at least one more row after these. */
  more: boolean
  /** Newest first. */
  seqs: number[]
  total: number
}

/** What the cursors of this list are made of: time and row number. */
export const AUDIT_KEYS = ['number', 'number'] as const

interface Seq {
  seq: number
}

const seqsOf = (rows: readonly Seq[]): number[] => rows.map((row) => row.seq)

type Page = Pick<Found, 'more' | 'seqs'>

/** With the keys of its last row: where the next page goes on. */
export interface Placed extends Found {
  last: readonly number[] | undefined
}

const NOTHING: Found = { bounded: false, more: false, seqs: [], total: 0 }

/**
 * Finds events among millions. The filters are looked up in the dictionaries; then the newest rows are tried, which is
 * enough when matches are common; then the access path with the fewest rows. What is neither common nor rare is scanned,
 * however long that takes: a result never skips a match.
 */
export function eventSearch(db: Db) {
  const planFor = planner(db)
  const choosePath = pathChooser(db)
  const walk = new Lister<Seq>(db, { columns: 'a.seq', from: BY_TIME })
  const driven = new Lister<Seq>(db, { columns: 'a.seq', from: DRIVE })
  const byIds = idFinder(db)
  const nth = db.stmt<Span & { rows: number }, { at: number }>(
    `SELECT a.at FROM audit_rows a INDEXED BY audit_time WHERE ${DURING} ORDER BY a.at DESC, a.seq DESC LIMIT 1 OFFSET @rows`,
  )
  const keys = db.stmt<{ seq: number }, { at: number }>(`SELECT at FROM audit_rows WHERE seq = @seq`)
  const lastOf = (seqs: readonly number[]): readonly number[] | undefined => {
    const seq = seqs.at(-1)
    const row = seq === undefined ? undefined : keys.get({ seq })
    return row && [row.at, seq as number]
  }
  /** The time of the row that follows the newest `rows`; undefined when there is none. */
  const behind = (span: Span, rows: number): number | undefined => nth.get({ ...span, rows })?.at

  const cut = (rows: Seq[], limit: number): Page => ({
    more: rows.length > limit,
    seqs: seqsOf(rows.slice(0, limit)),
  })

  const amongNewest = (plan: Plan, limit: number, offset: number, window = WINDOW): Found | undefined => {
    const { span, tests } = plan
    const end = behind(span, window)
    const conditions = [during(end === undefined ? span : { ...span, since: end + 1 }), ...tests]
    const page = cut(walk.rows(conditions, NEWEST, limit + 1, offset), limit)
    if (end === undefined && !page.more && tellsTotal(page, offset)) return exact(page, offset)
    if (end !== undefined && !page.more) return undefined
    const total = counted(plan, end, offset + limit)
    return { ...page, ...total, total: page.more ? Math.max(total.total, offset + limit + 1) : total.total }
  }

  /** Counts back to `end`, and less far where each row must be judged. */
  const counted = ({ judged, span, tests }: Plan, end: number | undefined, behindPage: number) => {
    const floor = judged ? behind(span, JUDGED_WINDOW) : end
    const limit = behindPage + COUNT_LIMIT
    const since = floor === undefined ? span.since : floor + 1
    const total = walk.count([during({ ...span, since }), ...tests], limit)
    return { total, bounded: floor !== undefined || total >= limit }
  }

  const byPath = ({ paths: drives, judged, span, tests }: Plan, limit: number, offset: number): Found | undefined => {
    const drive = choosePath(drives, span, tests.length > 1 ? MAX_HELD : MAX_SORTED)
    if (!drive) return undefined
    const conditions = [drive, ...tests]
    // All at once: every row has to be judged anyway to know the newest.
    if (judged) return pageOfAll(seqsOf(driven.rows(conditions, NEWEST, MAX_HELD, 0)), limit, offset)
    const page = cut(driven.rows(conditions, NEWEST, limit + 1, offset), limit)
    if (!page.more && tellsTotal(page, offset)) return exact(page, offset)
    return { ...page, total: driven.count(conditions, MAX_SORTED), bounded: false }
  }

  /** Every match in the span, newest first; each window is a short statement, and may be empty. */
  function* windows({ judged, span, tests }: Plan): Generator<Seq[]> {
    let size = judged ? JUDGED_WINDOW : WINDOW
    for (let until: number | undefined = span.until; until !== undefined; ) {
      const below = until === span.until ? span.below : UNLIMITED
      const end: number | undefined = behind({ ...span, below, until }, size)
      // More rows than a window share one instant (the last place of a millisecond is unlimited): they come in one window.
      const crowded: boolean = end === until
      const since = end === undefined ? span.since : crowded ? until : end + 1
      const found = walk.rows([during({ below, since, until }), ...tests], NEWEST, crowded ? UNLIMITED : size, 0)
      yield found
      until = crowded ? until - 1 : end
      // Few matches mean little judging: a larger window costs no more.
      size = found.length < SPARSE ? Math.min(size * 2, MAX_WINDOW) : Math.max(size / 2, JUDGED_WINDOW)
    }
  }

  // A rare match among millions may be far back: one window per turn of the event loop.
  const fullScan = async (plan: Plan, limit: number, offset: number): Promise<Found> => {
    const rows: Seq[] = []
    let passed = 0
    for (const found of windows(plan)) {
      const skipped = Math.min(found.length, offset - passed)
      passed += skipped
      rows.push(...found.slice(skipped, skipped + limit + 1 - rows.length))
      if (rows.length > limit) break
      await nextTurn()
    }
    const page = cut(rows, limit)
    return page.more ? { ...page, total: offset + limit + 1, bounded: true } : exact(page, Math.min(offset, passed))
  }

  const pageOf = async (
    filters: AuditFilters,
    readable: Readable | undefined,
    limit: number,
    offset: number,
    after: Asked['after'],
  ): Promise<Found> => {
    const planned = (list: boolean): Plan | undefined => behindRow(planFor(filters, readable, list), after)
    const judging = planned(false)
    if (!judging) return NOTHING
    if (filters.id !== undefined) return pageOfAll([...byIds([filters.id], judging).values()], limit, offset)
    // Without filters a page fills up sooner than the reader's scope could be listed.
    const open = readable !== undefined && judging.tests.length === 1
    const quick = open ? amongNewest(judging, limit, offset, JUDGED_WINDOW) : undefined
    const plan = readable && !quick ? planned(true) : judging
    if (quick || !plan) return quick ?? NOTHING
    return amongNewest(plan, limit, offset) ?? byPath(plan, limit, offset) ?? fullScan(plan, limit, offset)
  }

  return {
    /** A page; of one that goes on behind a row the total is what was passed and what lies behind. */
    async page(filters: AuditFilters, readable: Readable | undefined, limit: number, asked: Asked): Promise<Placed> {
      const { after, offset } = asked
      const page = await pageOf(filters, readable, limit, after ? 0 : offset, after)
      const passed = after ? offset : 0
      return { ...page, last: lastOf(page.seqs), total: passed + page.total }
    },

    /** Every match, newest first, in slices found by short statements; slices may be empty. */
    *walk(filters: AuditFilters, readable: Readable | undefined): Generator<number[]> {
      const plan = planFor(filters, readable, filters.id === undefined)
      if (!plan) return
      if (filters.id !== undefined) return yield [...byIds([filters.id], plan).values()]
      const { span, tests } = plan
      const drive = choosePath(plan.paths, span, MAX_HELD)
      if (drive) return yield seqsOf(driven.rows([drive, ...tests], NEWEST, MAX_HELD, 0))
      for (const rows of windows(plan)) yield seqsOf(rows)
    },

    /** Row numbers by id, of those events that the reader may see. */
    byIds(ids: readonly string[], readable: Readable | undefined): Map<string, number> {
      const plan = planFor({}, readable, false)
      return plan ? byIds(ids, plan) : new Map()
    },
  }
}

/** The plan for what lies behind a row. */
function behindRow(plan: Plan | undefined, after: Asked['after']): Plan | undefined {
  if (!plan || !after) return plan
  const [until, below] = after as [number, number]
  // A cursor is bound to its filters, so it never lies beyond their end.
  return { ...plan, span: { ...plan.span, below, until: Math.min(until, plan.span.until) } }
}

// The last page tells the total, unless it is empty and not the first.
const tellsTotal = (page: Page, offset: number): boolean => page.seqs.length > 0 || offset === 0
const exact = (page: Page, offset: number): Found => ({ ...page, total: offset + page.seqs.length, bounded: false })
const pageOfAll = (seqs: number[], limit: number, offset: number): Found => ({
  bounded: false,
  more: seqs.length > offset + limit,
  seqs: seqs.slice(offset, offset + limit),
  total: seqs.length,
})

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function idFinder(db: Db): (ids: readonly string[], plan: Plan) => Map<string, number> {
  const events = new Lister<Seq & { id: string }>(db, {
    columns: 'a.seq, w.value AS id',
    from: `json_each(@ids) w CROSS JOIN audit_rows a ON a.id = unhex(replace(w.value, '-', ''))
      CROSS JOIN audit_deeds d ON d.id = a.deed`,
  })
  return (ids, { span, tests }) => {
    const wanted = ids.filter((id) => UUID.test(id))
    const named: Condition = { sql: DURING, params: { ...span, ids: JSON.stringify(wanted) } }
    return new Map(events.all([named, ...tests], NEWEST).map((row) => [row.id, row.seq]))
  }
}

/** The access path with the fewest rows, as the parameters of its FROM; undefined when each has more than `limit`. */
function pathChooser(db: Db): (drives: readonly AccessPath[], span: Span, limit: number) => Condition | undefined {
  const deeds = new Lister<never>(db, { columns: '', from: 'audit_deeds d' })
  const rows = new Lister<Seq>(db, { columns: 'a.seq', from: DRIVE })

  const bindingOf = (drive: AccessPath, span: Span): Condition | undefined => {
    const columns = 'json_group_array(d.id) AS driveDeeds, count(*) AS n'
    const { driveDeeds, n } = deeds.aggregate<{ driveDeeds: string; n: number }>(columns, drive.deeds)
    if (n > MAX_DEEDS) return undefined
    return { sql: '1', params: { ...span, driveDeeds, driveTargets: JSON.stringify(drive.targets) } }
  }

  return (drives, span, limit) => {
    let [best, least]: [Condition | undefined, number] = [undefined, limit]
    for (const drive of drives) {
      const binding = bindingOf(drive, span)
      const count = binding ? rows.count([binding], least) : least
      if (count < least) [best, least] = [binding, count]
    }
    return best
  }
}
