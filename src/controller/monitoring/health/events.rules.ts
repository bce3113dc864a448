import type { HealthFilters, HealthStatus } from '../../../wire/health.ts'
import { type Condition, contains } from '../../store/filter.ts'
import { firstSeq, lastSeq } from './lifecycle.rules.ts'

/** A filter that matches at most this many events leads the query: the others are checked for those few. */
export const FEW = 4000
/** Events examined, per status, for counts that are not exact. */
export const MAX_EXAMINED = 2000
/** A search for one or two characters has no index: this many of the newest events are examined. */
const RECENT = 10_000

/** How a list is found: one condition leads through its index, the others are checked row by row. */
interface Plan {
  /** At most FEW events meet it. */
  few: boolean
  /** The leading condition; absent for a walk over all events. */
  lead?: Condition | undefined
  follow: Condition[]
  /** A common search text leads: `lead` is a match in the search index, which is in order of arrival. */
  words: boolean
  /** Only the newest events are examined. */
  recent: boolean
  status: HealthStatus | undefined
}

/** A plan together with the caller's scope, in pieces of SQL. */
export interface Choice {
  /** A bounded set to count in, as SQL with `@limit`; absent when counted status by status. */
  base: Condition | undefined
  conditions: Condition[]
  /** So few that all of them are examined. */
  few: boolean
  follow: Condition[]
  order: 'h.seq' | 'health_search.rowid'
  source: 'table' | 'words'
  status: HealthStatus | undefined
}

/** An equality or a range: as the leading condition (through its index), and as a following one (without). */
interface Filter {
  lead: Condition
  follow: Condition
  /** Its index is in the order of the list, so it may lead whatever its size. */
  ordered: boolean
}

const COLUMNS = {
  recordingId: 'h.recording_id',
  scheduleId: 'h.schedule_id',
  nodeId: 'h.node_id',
  type: 'h.type',
  severity: 'h.severity',
  status: 'h.status',
} as const

// Type and severity correlate: together they use one index.
function paired({ severity, type }: HealthFilters): Filter[] {
  if (severity === undefined || type === undefined) return []
  const both = (plus: string) => ({
    sql: `${plus}h.type = @type AND ${plus}h.severity = @severity`,
    params: { severity, type },
  })
  return [{ lead: both(''), follow: both('+'), ordered: true }]
}

const equalities = (f: HealthFilters): Filter[] =>
  (Object.entries(COLUMNS) as [keyof typeof COLUMNS, string][]).flatMap(([name, column]) => {
    const value = f[name]
    if (value === undefined) return []
    const params = { [name]: value }
    // `+`: not through the index of this column.
    return [
      {
        lead: { sql: `${column} = @${name}`, params },
        follow: { sql: `+${column} = @${name}`, params },
        ordered: name !== 'severity',
      },
    ]
  })

function resolution({ resolvedFrom, resolvedTo }: HealthFilters): Filter[] {
  if (resolvedFrom === undefined && resolvedTo === undefined) return []
  const params = { resolvedFrom: resolvedFrom ?? '', resolvedTo: resolvedTo ?? '~' }
  const range = (column: string) => ({ sql: `${column} >= @resolvedFrom AND ${column} <= @resolvedTo`, params })
  return [{ lead: range('h.resolved_at'), follow: range('+h.resolved_at'), ordered: false }]
}

/** The time of opening narrows every walk, as a range of the order itself. */
const opening = ({ openedFrom, openedTo }: HealthFilters): Condition[] => [
  ...(openedFrom === undefined
    ? []
    : [
        {
          sql: 'h.seq >= @fromSeq AND +h.opened_at >= @from',
          params: { from: openedFrom, fromSeq: firstSeq(openedFrom) },
        },
      ]),
  ...(openedTo === undefined
    ? []
    : [{ sql: 'h.seq <= @toSeq AND +h.opened_at <= @to', params: { to: openedTo, toSeq: lastSeq(openedTo) } }]),
]

// Terms of one match: further ones cost more than they exclude.
const TERMS = 5

const spread = (i: number, length: number): number => Math.round((i * (length - 1)) / (TERMS - 1))

/** Candidates in the search index: events with some trigrams of the text. */
function matched(text: string): Condition {
  const letters = [...text]
  const all = [...new Set(letters.slice(2).map((_, at) => letters.slice(at, at + 3).join('')))]
  const terms =
    all.length <= TERMS ? all : Array.from({ length: TERMS }, (_, i) => all[spread(i, all.length)] as string)
  const quoted = terms.map((term) => `"${term.replaceAll('"', '""')}"`)
  return { sql: 'health_search MATCH @match', params: { match: quoted.join(' AND ') } }
}

// Beyond ASCII the index folds letters and LIKE does not: there the candidates are not confirmed.
const ASCII = /^[ -~]*$/
const confirmed = (text: string): Condition[] => (ASCII.test(text) ? [read(text)] : [])
const read = (text: string): Condition => ({
  sql: `(SELECT words FROM health_words w WHERE w.seq = h.seq) LIKE @text ESCAPE '\\'`,
  params: { text: contains(text) },
})
const oneOf = (column: 'h.doc' | 'h.seq', numbers: readonly number[]): Condition => ({
  sql: `${column} IN (SELECT value FROM json_each(@numbers))`,
  params: { numbers: JSON.stringify(numbers) },
})
const RECENTLY: Condition = {
  sql: `h.seq >= coalesce((SELECT seq FROM health_events ORDER BY seq DESC LIMIT 1 OFFSET ${RECENT - 1}), 0)`,
  params: {},
}

/** Whether the trigram index can find the text: it has at least three characters. */
const indexed = (text: string): boolean => [...text].length >= 3

/** Counts from the database, up to FEW. */
export interface Probe {
  isFew: (condition: Condition) => boolean
  /** Events whose text matches, in order of arrival; undefined when there are more than FEW. */
  hits: (match: Condition) => number[] | undefined
  /** `seq` of the events in the caller's scope; undefined when there are more than FEW, or too many to find out. */
  reached: () => number[] | undefined
}

/**
 * The leading condition: the search text when it is rare, else the first filter with few events, else the caller's scope
 * when that is small, else the text, else the first filter in list order, else everything newest first.
 */
export function planOf(f: HealthFilters, probe: Probe): Plan {
  const pair = paired(f)
  const single = pair.length > 0 ? { ...f, severity: undefined, type: undefined } : f
  const filters = [...equalities(single), ...pair, ...resolution(f)]
  const { search, status } = f
  const plan = { few: false, recent: false, status, words: false }
  const rest = (lead?: Filter) => [...filters.filter((one) => one !== lead).map((one) => one.follow), ...opening(f)]
  const match = search !== undefined && indexed(search) ? matched(search) : undefined
  const docs = match && probe.hits(match)
  if (docs) return { ...plan, few: true, lead: oneOf('h.doc', docs), follow: [...rest(), ...confirmed(search ?? '')] }
  const text = search === undefined ? [] : [read(search)]
  const rare = filters.find((one) => probe.isFew(one.lead))
  if (rare) return { ...plan, few: true, lead: rare.lead, follow: [...rest(rare), ...text] }
  const reached = probe.reached()
  if (reached) return { ...plan, few: true, lead: oneOf('h.seq', reached), follow: [...rest(), ...text] }
  if (match) return { ...plan, words: true, lead: match, follow: [...rest(), ...confirmed(search ?? '')] }
  if (search !== undefined) {
    const few = probe.isFew({ sql: 'h.seq >= 0', params: {} })
    return { ...plan, few, recent: !few, lead: RECENTLY, follow: [...rest(), ...text] }
  }
  const first = filters.find((one) => one.ordered)
  return { ...plan, lead: first?.lead, follow: rest(first) }
}

/** The pieces of a list's SQL: the plan and the caller's scope. */
export function choiceOf({ few, follow, lead, recent, status, words }: Plan, scope: Condition[]): Choice {
  const after = [...follow, ...scope]
  const order = words ? 'health_search.rowid' : 'h.seq'
  const base = (words || recent) && lead ? baseOf(lead, words) : undefined
  // Counted status by status, the status leads, and the leading filter follows.
  const led = lead && !base && lead.params.status === undefined ? [{ ...lead, sql: `+${lead.sql}` }] : []
  return {
    base,
    conditions: [...(lead ? [lead] : []), ...after],
    few,
    follow: base ? after : [...led, ...after],
    order,
    source: words ? 'words' : 'table',
    status,
  }
}

const baseOf = ({ sql, params }: Condition, words: boolean): Condition => ({
  sql: words
    ? `SELECT h.seq FROM (SELECT rowid AS doc FROM health_search WHERE ${sql} ORDER BY rowid DESC LIMIT @limit) hit
         CROSS JOIN health_events h ON h.doc = hit.doc`
    : `SELECT h.seq FROM health_events h WHERE ${sql} ORDER BY h.seq DESC LIMIT @limit`,
  params,
})
