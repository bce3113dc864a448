import { JOB_STATUSES, type JobFilters, type JobStatus } from '../../../wire/recordings.ts'
import type { Visibility } from '../../http/visibility.ts'
import type { Db, SqlValue } from '../../store/db.ts'
import { type Condition, Lister, when } from '../../store/filter.ts'
import { gramQuery, onlyInWords, SMALL_SET } from './jobs.rules.ts'

export type Counts = Partial<Record<JobStatus, number>>

/** One page by `seq`, and counts by status; counts that are not exact are lower bounds. */
interface Board {
  counts: Counts
  exact: boolean
  /** Lower bound of the total. */
  least: number
  seqs: number[]
}

interface Picked {
  cells: string
  counts: Counts
  n: number
}
interface Named {
  cell: number
  createdAt: string
  seq: number
  status: JobStatus
}

/** How the rows of one query are found. */
interface Plan {
  conditions: Condition[]
  counts: Counts | undefined
  /** All matches, newest first, when they are few. */
  few: Named[] | undefined
}

// A count cell as `r` has the columns by which a recording is in scope; its kind, as `j`, has those of a job.
const CELLS = `(SELECT id AS cell, n, kind_id, NULL AS id, nullif(node_id, '') AS node_id, nullif(room_id, '') AS room_id,
  nullif(schedule_id, '') AS schedule_id FROM job_cells) r CROSS JOIN job_kinds j ON j.id = r.kind_id`
const each = (of: (status: JobStatus) => string): string =>
  JOB_STATUSES.map((status) => `${of(status)} AS ${status}`).join(', ')
const PICKED = `json_group_array(r.cell) AS cells,
  ${each((status) => `coalesce(sum(r.n) FILTER (WHERE j.status = '${status}'), 0)`)}`
const SEEN = each((status) => `count(*) FILTER (WHERE j.status = '${status}')`)
const NEWEST = 'j.created_at DESC, j.id DESC'
const IDS = `j.id || ' ' || j.recording_id || ' ' || coalesce(json_extract(j.command, '$.outputFileName'), '')`
const SAID = `lower(j.node_id || char(10) || j.status || char(10) || j.backend || char(10) || j.interface || char(10) || j.words)`
const NAMED = 'j.seq, j.cell, j.status, j.created_at AS createdAt'
// Rows that a walk examines for a lower bound of the matches.
const EXAMINED = 10_000

const listed = (name: string): string => `(SELECT value FROM json_each(@${name}))`

/**
 * Pages of a million jobs. Count cells give the number of matches (0012_chunks.sql) and so the fastest plan: few matches are
 * fetched and sorted, many are found quickly by walking from the newest on.
 */
export function jobListing(db: Db, small = SMALL_SET) {
  const cells = new Lister<object>(db, { columns: 'r.cell', from: CELLS })
  const walk = new Lister<{ seq: number }>(db, { columns: 'j.seq', from: 'recording_jobs j INDEXED BY jobs_created' })
  const keyed = new Lister<Named & Record<string, SqlValue>>(db, {
    columns: NAMED,
    from: 'recording_jobs j INDEXED BY jobs_created',
  })
  const examined = new Lister<object>(db, {
    columns: 'j.status',
    from: `(SELECT * FROM recording_jobs j INDEXED BY jobs_created WHERE j.created_at >= @since AND j.created_at <= @until
      ORDER BY ${NEWEST} LIMIT ${EXAMINED}) j`,
  })
  const sets = new Lister<Named>(db, { columns: NAMED, from: 'recording_jobs j NOT INDEXED' })
  const likely = db.stmt<{ query: string; limit: number }, { seq: number }>(
    `SELECT rowid AS seq FROM job_grams WHERE job_grams MATCH @query LIMIT @limit`,
  )
  const ofCells = db.stmt<{ cells: string }, { seq: number }>(
    `SELECT j.seq FROM json_each(@cells) c CROSS JOIN recording_jobs j INDEXED BY jobs_cell ON j.cell = c.value`,
  )
  const total = db.stmt<object, { n: number }>(`SELECT coalesce(sum(n), 0) AS n FROM job_cells`)

  const pick = (conditions: Condition[]): Picked => {
    const { cells: ids, ...counts } = cells.aggregate<Counts & { cells: string }>(PICKED, conditions)
    return { cells: ids, counts, n: Object.values(counts).reduce((sum, n) => sum + n, 0) }
  }

  /** Jobs named individually by grants or denials, where that differs from the visibility of their cell. */
  const exceptions = (visibility: Visibility, dims: Condition[], picked: Picked): { also: Named[]; not: Named[] } => {
    const [jobs, recordings] = [visibility.named('recording_job'), visibility.named('recording')]
    if (jobs.length + recordings.length === 0) return { also: [], not: [] }
    const named: Condition = {
      sql: `j.seq IN (SELECT seq FROM recording_jobs WHERE id IN ${listed('jobs')}
        UNION SELECT seq FROM recording_jobs WHERE recording_id IN ${listed('recordings')})`,
      params: { jobs: JSON.stringify(jobs), recordings: JSON.stringify(recordings) },
    }
    const visible = sets.all([named, ...visibility.jobs(), ...dims], 'j.seq')
    const counted = sets.all([named, inCells(picked.cells)], 'j.seq')
    const [open, within] = [visible, counted].map((rows) => new Set(rows.map((row) => row.seq))) as [
      Set<number>,
      Set<number>,
    ]
    return { also: visible.filter((r) => !within.has(r.seq)), not: counted.filter((r) => !open.has(r.seq)) }
  }

  /** Free text: in the fields of cells, or in ids. Also returns the candidates when they are few. */
  const searched = (text: string, picked: Picked): { condition: Condition; seqs: number[] | undefined } => {
    const said = pick([
      { sql: `r.cell IN ${listed('within')}`, params: { within: picked.cells } },
      { sql: `instr(${SAID}, @text) > 0`, params: { text } },
    ])
    const ids = [...text].length < 3 ? undefined : likely.all({ query: gramQuery(text), limit: small + 1 })
    const inIds = { sql: `instr(lower(${IDS}), @text) > 0`, params: { text } }
    const few = ids !== undefined && ids.length <= small
    const wordsOnly = ids === undefined && onlyInWords(text) && (total.get({})?.n ?? 0) > small
    const own = few
      ? { sql: `+j.seq IN ${listed('grams')} AND ${inIds.sql}`, params: { ...inIds.params, grams: seqList(ids) } }
      : inIds
    const words = { sql: `+j.cell IN ${listed('said')}`, params: { said: said.cells } }
    const condition = wordsOnly
      ? words
      : { sql: `${words.sql} OR (${own.sql})`, params: { ...words.params, ...own.params } }
    const bounded = said.n <= small && (few || wordsOnly)
    const seqs = bounded ? [...ofCells.all({ cells: said.cells }), ...(ids ?? [])].map((row) => row.seq) : undefined
    return { condition, seqs }
  }

  const plan = (visibility: Visibility, f: JobFilters): Plan => {
    const dims = cellDims(f)
    const picked = pick([...visibility.jobCells(), ...dims])
    const { also, not } = exceptions(visibility, ownDims(f), picked)
    const whole = visibility.unrestricted && dims.length === 0
    const conditions = [...(whole ? [] : seen(picked, also, not)), ...dated(f)]
    const search = f.search?.toLowerCase()
    const text = search === undefined ? undefined : searched(search, picked)
    if (text) conditions.push(text.condition)
    const plain = !text && f.createdFrom === undefined && f.createdTo === undefined
    const counts = plain ? adjusted(picked.counts, also, not) : undefined
    const few =
      text?.seqs ??
      (!whole && picked.n + also.length <= small
        ? [...ofCells.all({ cells: picked.cells }), ...also].map((row) => row.seq)
        : undefined)
    return { conditions, counts, few: few && fetched(conditions, few) }
  }

  const fetched = (conditions: Condition[], seqs: number[]): Named[] => {
    const set = { sql: `j.seq IN ${listed('set')}`, params: { set: JSON.stringify(seqs) } }
    return sets.rows([...conditions, set], NEWEST, seqs.length, 0)
  }

  return {
    page(visibility: Visibility, filters: JobFilters, limit: number, offset: number): Board {
      const { conditions, counts, few } = plan(visibility, filters)
      if (few) {
        const page = few.slice(offset, offset + limit).map((row) => row.seq)
        return { counts: added(few.map((row) => [row.status, 1])), exact: true, least: 0, seqs: page }
      }
      const found = walk.rows(conditions, NEWEST, limit + 1, offset).map((row) => row.seq)
      const seqs = found.slice(0, limit)
      if (counts) return { counts, exact: true, least: 0, seqs }
      const span = { sql: '1', params: { since: filters.createdFrom ?? '', until: filters.createdTo ?? '9999' } }
      const exact = examined.count([span], EXAMINED) < EXAMINED
      const seen = examined.aggregate<Counts>(SEEN, [span, ...conditions])
      return { counts: seen, exact, least: exact ? 0 : offset + found.length, seqs }
    },
    /** Every match in slices, newest first; each slice is a short statement, however deep. */
    *slices(visibility: Visibility, filters: JobFilters, size: number): Generator<number[]> {
      const { conditions, few } = plan(visibility, filters)
      if (few) for (let at = 0; at < few.length; at += size) yield few.slice(at, at + size).map((row) => row.seq)
      else
        for (const rows of keyed.walk(conditions, { direction: 'DESC', keys: ['j.created_at', 'j.id'] }, size))
          yield rows.map((row) => row.seq)
    },
  }
}

const seqList = (rows: readonly { seq: number }[]): string => JSON.stringify(rows.map((row) => row.seq))

function added(pairs: readonly (readonly [JobStatus, number])[]): Counts {
  const counts: Counts = {}
  for (const [status, n] of pairs) counts[status] = (counts[status] ?? 0) + n
  return counts
}

const adjusted = (counts: Counts, also: Named[], not: Named[]): Counts =>
  added([
    ...(Object.entries(counts) as [JobStatus, number][]),
    ...also.map((row) => [row.status, 1] as const),
    ...not.map((row) => [row.status, -1] as const),
  ])

/** `+`: the cell is checked row by row, its index is not used. */
const inCells = (cells: string): Condition => ({ sql: `+j.cell IN ${listed('cells')}`, params: { cells } })

function seen({ cells }: Picked, also: Named[], not: Named[]): Condition[] {
  const own = inCells(cells)
  const named = { sql: `${own.sql} OR +j.seq IN ${listed('also')}`, params: { ...own.params, also: seqList(also) } }
  const refused = { sql: `+j.seq NOT IN ${listed('not')}`, params: { not: seqList(not) } }
  return [also.length > 0 ? named : own, ...(not.length > 0 ? [refused] : [])]
}

/** The filters that cells can answer, on a kind `j`. */
const cellDims = (f: JobFilters): Condition[] => [
  ...when(f.status, 'j.status = @status', (status) => ({ status })),
  ...when(f.nodeId, 'j.node_id = @nodeId', (nodeId) => ({ nodeId })),
  ...when(f.captureBackend, 'j.backend = @backend', (backend) => ({ backend })),
  ...when(f.captureInterfaceId, 'j.interface = @interfaceId', (interfaceId) => ({ interfaceId })),
]

/** The same on a job itself. */
const ownDims = (f: JobFilters): Condition[] => [
  ...when(f.status, 'j.status = @status', (status) => ({ status })),
  ...when(f.nodeId, 'j.node_id = @nodeId', (nodeId) => ({ nodeId })),
  ...when(f.captureBackend, 'j.capture_backend = @backend', (backend) => ({ backend })),
  ...when(f.captureInterfaceId, 'j.capture_interface = @interfaceId', (interfaceId) => ({ interfaceId })),
]

const dated = (f: JobFilters): Condition[] => [
  ...when(f.createdFrom, 'j.created_at >= @createdFrom', (createdFrom) => ({ createdFrom })),
  ...when(f.createdTo, 'j.created_at <= @createdTo', (createdTo) => ({ createdTo })),
]
