import { Fail, invalid } from '../../../kernel/fail.ts'
import type { HealthEvent, HealthFilters, HealthStatus, HealthSummary } from '../../../wire/health.ts'
import type { Asked } from '../../http/cursor.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, Params, SqlValue, Stmt } from '../../store/db.ts'
import { type Condition, Lister } from '../../store/filter.ts'
import { type Choice, choiceOf, FEW, MAX_EXAMINED, type Probe, planOf } from './events.rules.ts'
import { eventOf, HEALTH_COLUMNS, type HealthRow, LISTED_COLUMNS } from './health.store.ts'

type Mark = { critical: number; seq: number; status: HealthStatus }
type Tally = { critical: number; n: number; status: HealthStatus }

/** What the cursors of this list are made of: the place in the order, and in that of a search for common words, or 0. */
export const HEALTH_KEYS = ['number', 'number'] as const

interface HealthPage {
  /** Where the next page goes on. */
  last: readonly SqlValue[] | undefined
  /** Whether there are rows after this page. */
  more: boolean
  rows: HealthEvent[]
  summary: HealthSummary
}

const WORDS = 'health_search CROSS JOIN health_events h ON h.doc = health_search.rowid'
const TABLE = 'health_events h'

/** Pages, counts and walks over health events that stay fast however many there are. */
export function healthEvents(db: Db) {
  // First only `seq`, then the rows of the page: a deep offset is counted off in an index.
  const places = {
    table: new Lister<{ seq: number }>(db, { columns: 'h.seq', from: TABLE }),
    words: new Lister<{ seq: number }>(db, { columns: 'h.seq', from: WORDS }),
  }
  const whole = {
    table: new Lister<HealthRow>(db, { columns: HEALTH_COLUMNS, from: TABLE }),
    words: new Lister<HealthRow>(db, { columns: HEALTH_COLUMNS, from: WORDS }),
  }
  const rowsOf = db.stmt<{ seqs: string }, HealthRow>(
    `SELECT ${LISTED_COLUMNS} FROM json_each(@seqs) page CROSS JOIN health_events h ON h.seq = page.value ORDER BY page.key`,
  )
  const docOf = db.stmt<{ seq: number }, { doc: number }>(`SELECT doc FROM health_events WHERE seq = @seq`)
  const picked = new Lister<HealthRow>(db, {
    columns: HEALTH_COLUMNS,
    from: 'json_each(@ids) picked CROSS JOIN health_events h ON h.id = picked.value',
  })
  const hits = db.stmt<Params, { doc: number }>(
    `SELECT rowid AS doc FROM health_search WHERE health_search MATCH @match LIMIT ${FEW + 1}`,
  )
  const marked = new Lister<Mark>(db, { columns: `h.seq, h.status, h.severity = 'critical' AS critical`, from: TABLE })
  /** A small set as a whole: examined once, for the page and the counts. */
  const all = (conditions: Condition[]): { seqs: number[]; summary: HealthSummary } => {
    const marks = marked.rows(conditions, 'h.seq DESC', FEW + 1, 0)
    return {
      seqs: marks.map((mark) => mark.seq),
      summary: summed(
        marks.map((mark) => ({ ...mark, n: 1 })),
        false,
      ),
    }
  }
  const tally = tallies(db)
  const reached = visibleSeqs(db)

  const choice = (filters: HealthFilters, visibility: Visibility, byArrival = false): Choice => {
    const probe: Probe = {
      isFew: (condition) => places.table.count([condition], FEW + 1) <= FEW,
      hits: (match) => few(hits.all(match.params).map((hit) => hit.doc)),
      reached: () => reached(visibility),
    }
    // A cursor keeps its order, whether there are many or few by now.
    const plan = planOf(filters, byArrival ? MANY : probe)
    return choiceOf(plan, visibility.healthEvents())
  }

  const placesIn = ({ conditions, order, source }: Choice, behind: Condition[], limit: number, skipped: number) =>
    places[source].rows([...conditions, ...behind], `${order} DESC`, limit, skipped).map((row) => row.seq)

  return {
    /** One page of what the caller may see, newest first, and the counts over all of it. */
    page(visibility: Visibility, filters: HealthFilters, limit: number, { after, offset }: Asked): HealthPage {
      const [seq = 0, doc = 0] = (after ?? []) as number[]
      const plan = choice(filters, visibility, doc > 0)
      const words = plan.source === 'words'
      if (after && words !== doc > 0) throw changed()
      const { seqs, summary } = plan.few ? all(plan.conditions) : { seqs: undefined, summary: tally(plan) }
      const behind = after ? [{ sql: `${plan.order} < @behind`, params: { behind: words ? doc : seq } }] : []
      const skipped = after ? 0 : offset
      const found = seqs
        ? seqs.filter((one) => !after || one < seq).slice(skipped, skipped + limit + 1)
        : placesIn(plan, behind, limit + 1, skipped)
      // The count may have stopped at its bound before the end of the page.
      const seen = found.length > 0 ? offset + found.length : 0
      const shown = found.slice(0, limit)
      const last = shown.at(-1)
      return {
        last: last === undefined ? undefined : [last, words ? (docOf.get({ seq: last })?.doc ?? 0) : 0],
        more: found.length > limit,
        rows: rowsOf.all({ seqs: JSON.stringify(shown) }).map(eventOf),
        summary: seen > summary.total ? { ...summary, total: seen, totalIsLowerBound: true } : summary,
      }
    },
    /** Every match, newest first, in slices. */
    *walk(visibility: Visibility, filters: HealthFilters, size: number): Generator<HealthEvent[]> {
      const { conditions, order, source } = choice(filters, visibility)
      for (const rows of whole[source].walk(conditions, { direction: 'DESC', keys: [order] }, size))
        yield rows.map(eventOf)
    },
    /**
     * The named events in the order asked for, each once.
     * @throws Fail 404 with the first `eventId` that the caller does not see.
     */
    picked(visibility: Visibility, wanted: readonly string[]): HealthEvent[] {
      const ids = [...new Set(wanted)]
      const named = { sql: '1', params: { ids: JSON.stringify(ids) } }
      const events = picked.all([named, ...visibility.healthEvents()], 'picked.key').map(eventOf)
      const seen = new Set(events.map(({ id }) => id))
      const missing = ids.find((id) => !seen.has(id))
      if (missing === undefined) return events
      const extra = { body: { eventId: missing }, outcome: 'denied' } as const
      throw new Fail(404, 'health_event_not_visible', 'Health event not found', extra)
    },
  }
}
const MANY: Probe = { hits: () => undefined, isFew: () => false, reached: () => undefined }

/** So many more match meanwhile that they are listed in another order. */
const changed = (): Fail =>
  invalid('Invalid cursor', ['cursor'], 'the list has changed too much: begin again without it', 'invalid_cursor')

export type HealthEvents = ReturnType<typeof healthEvents>

const few = (numbers: number[]): number[] | undefined => (numbers.length > FEW ? undefined : numbers)

// With more recordings in scope than this, events are walked instead.
const MAX_RECORDINGS = 5000

const NAMED = 'h.recording_id IN (SELECT value FROM json_each(@recordings))'

/** `seq` of the events within a small scope: of its nodes, recordings and schedules, and those granted themselves. */
function visibleSeqs(db: Db) {
  const limit = FEW + 1
  const events = (kind: 'node' | 'recording' | 'schedule', alias: 'n' | 'r' | 's') =>
    new Lister<{ seq: number }>(db, {
      columns: 'h.seq',
      from: `${kind}s ${alias} CROSS JOIN health_events h ON h.${kind}_id = ${alias}.id`,
    })
  const ofNodes = events('node', 'n')
  const ofRecordings = events('recording', 'r')
  const ofSchedules = events('schedule', 's')
  const recordings = new Lister<{ id: string }>(db, { columns: 'r.id', from: 'recordings r' })
  const named = new Lister<{ seq: number }>(db, { columns: 'x.seq', from: 'health_events x' })
  const ofNamed = new Lister<{ seq: number }>(db, { columns: 'h.seq', from: TABLE })

  return (visibility: Visibility): number[] | undefined => {
    // Without a narrowing grant the scope is everything but the refusals.
    if (!visibility.healthEvents().some(({ sql }) => !sql.startsWith('NOT '))) return undefined
    // Every recording, deleted ones included: only the events themselves tell.
    if (visibility.recordings().some(({ sql }) => sql === '1')) return undefined
    const seqs = new Set<number>()
    const add = (lister: Lister<{ seq: number }>, conditions: Condition[]): boolean => {
      for (const { seq } of lister.rows(conditions, '1', limit, 0)) seqs.add(seq)
      return seqs.size <= FEW
    }
    const small =
      add(named, visibility.own('health_event')) &&
      add(ofNamed, [{ sql: NAMED, params: { recordings: JSON.stringify(visibility.named('recording')) } }]) &&
      add(ofNodes, visibility.nodes()) &&
      add(ofSchedules, visibility.schedules()) &&
      recordings.count(visibility.recordings(), MAX_RECORDINGS + 1) <= MAX_RECORDINGS &&
      add(ofRecordings, visibility.recordings())
    return small ? [...seqs] : undefined
  }
}

const STATUSES = ['open', 'acknowledged', 'suppressed', 'resolved'] as const satisfies HealthStatus[]

/** Counts by status. Unresolved events are counted first and nearly always completely; resolved ones up to a bound. */
function tallies(db: Db) {
  const kept = new Map<string, Stmt<Params, unknown>>()
  const rows = (sql: string, conditions: Condition[], limit: number): Tally[] => {
    const statement = kept.get(sql) ?? db.stmt<Params, unknown>(sql)
    // One text per combination of filters and views; the oldest is evicted.
    kept.delete(sql)
    kept.set(sql, statement)
    if (kept.size > MAX_STATEMENTS) kept.delete(kept.keys().next().value as string)
    return statement.all(Object.assign({ limit }, ...conditions.map((c) => c.params))) as Tally[]
  }

  return ({ base, follow, status }: Choice): HealthSummary => {
    if (base) {
      const counted = rows(tallySql(base.sql, follow), [base, ...follow], MAX_EXAMINED)
      return summed(counted, true)
    }
    const limit = follow.length > 0 ? MAX_EXAMINED : COUNTED
    const asked = STATUSES.filter((one) => status === undefined || one === status)
    const counts = asked.map((one) => {
      const critical = one === 'resolved' ? [] : rows(statusSql(one, true, follow), follow, limit)
      const all = rows(statusSql(one, false, follow), follow, limit)
      return { status: one, critical: critical[0]?.n ?? 0, n: all[0]?.n ?? 0, cut: (all[0]?.critical ?? 0) >= limit }
    })
    const total = (of: (c: (typeof counts)[number]) => number) => counts.reduce((sum, c) => sum + of(c), 0)
    return {
      activeCritical: total((c) => c.critical),
      open: total((c) => (c.status === 'open' ? c.n : 0)),
      resolved: total((c) => (c.status === 'resolved' ? c.n : 0)),
      suppressed: total((c) => (c.status === 'suppressed' ? c.n : 0)),
      total: total((c) => c.n),
      ...(counts.some((c) => c.cut) ? { totalIsLowerBound: true as const } : {}),
    }
  }
}

// Rows counted of a status without other filters: its index alone is read.
const COUNTED = 10_000
const MAX_STATEMENTS = 128

const where = (conditions: Condition[]): string =>
  conditions.length > 0 ? ` WHERE ${conditions.map((c) => `(${c.sql})`).join(' AND ')}` : ''

/** Counts within a bounded set. */
const tallySql = (base: string, follow: Condition[]): string =>
  `SELECT h.status, h.severity = 'critical' AS critical, count(*) AS n FROM (${base}) base
   CROSS JOIN health_events h ON h.seq = base.seq${where(follow)} GROUP BY 1, 2`

/** The newest events of a status, up to a bound, and how many of them meet the other filters. */
const statusSql = (status: HealthStatus, critical: boolean, follow: Condition[]): string => {
  const one = critical
    ? `h.severity = 'critical' AND h.status = '${status}' AND h.status <> 'resolved'`
    : `h.status = '${status}'`
  const base = `SELECT h.seq FROM health_events h WHERE ${one} ORDER BY h.seq DESC LIMIT @limit`
  return follow.length > 0
    ? `WITH base AS MATERIALIZED (${base}) SELECT count(*) AS n, (SELECT count(*) FROM base) AS critical FROM base
       CROSS JOIN health_events h ON h.seq = base.seq${where(follow)}`
    : `SELECT count(*) AS n, count(*) AS critical FROM (${base})`
}

function summed(counted: Tally[], bounded: boolean): HealthSummary {
  const total = (fits: (t: Tally) => boolean) => counted.filter(fits).reduce((sum, t) => sum + t.n, 0)
  const of = (status: HealthStatus) => total((t) => t.status === status)
  return {
    activeCritical: total((t) => t.critical === 1 && t.status !== 'resolved'),
    open: of('open'),
    resolved: of('resolved'),
    suppressed: of('suppressed'),
    total: total(() => true),
    ...(bounded ? { totalIsLowerBound: true as const } : {}),
  }
}
