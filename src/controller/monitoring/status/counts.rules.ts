// The queries of counts.store.ts: the same three for each kind of thing; the first columns are what it is counted by.

/** A FROM and its columns. */
interface Query {
  columns: string
  from: string
}

export interface Kind {
  /** The individually named things by their cells, so that none counts twice. */
  byCell: Query
  /** Sums of cells: everything but what grants and refusals name individually. */
  cells: Query
  /** The first columns of each query, by name. */
  keys: readonly string[]
  /** The individually named things themselves. */
  visible: Query
}

const SCOPES = `(SELECT id AS scope_id, NULL AS id, nullif(node_id, '') AS node_id, nullif(room_id, '') AS room_id,
  nullif(schedule_id, '') AS schedule_id FROM recording_scopes) r`
const listed = (name: string): string => `(SELECT value FROM json_each(@${name}))`
const IN_RECORDINGS = listed('namedRecordings')
const COUNT = 'count(*) AS n'

const RECORDING = `coalesce(r.node_id, '') AS nodeId, r.status, r.cached, ${COUNT}`
/** A count cell as `r`: it has the columns by which a recording is in scope (0011_search.sql). */
export const RECORDINGS: Kind = {
  keys: ['nodeId', 'status', 'cached'],
  cells: {
    columns: `coalesce(r.node_id, '') AS nodeId, c.status, c.cached, sum(c.n) AS n`,
    from: `${SCOPES} CROSS JOIN recording_cells c ON c.scope_id = r.scope_id`,
  },
  visible: { columns: RECORDING, from: `(SELECT * FROM recordings WHERE id IN ${IN_RECORDINGS}) r` },
  byCell: {
    columns: RECORDING,
    from: `(SELECT NULL AS id, node_id, room_id, schedule_id, status, cached FROM recordings WHERE id IN ${IN_RECORDINGS}) r`,
  },
}

const JOB = 'j.node_id AS nodeId, j.status'
const NAMED_JOBS = `(SELECT seq FROM recording_jobs WHERE id IN ${listed('named')}
  UNION SELECT seq FROM recording_jobs WHERE recording_id IN ${IN_RECORDINGS}) named
  CROSS JOIN recording_jobs j ON j.seq = named.seq`
/** A count cell as `j`: it has the columns by which a job is in scope (0012_chunks.sql). */
export const JOBS: Kind = {
  keys: ['nodeId', 'status'],
  cells: {
    columns: `${JOB}, sum(r.n) AS n`,
    from: `(SELECT n, kind_id, NULL AS id, nullif(node_id, '') AS node_id, nullif(room_id, '') AS room_id,
      nullif(schedule_id, '') AS schedule_id FROM job_cells) r CROSS JOIN job_kinds j ON j.id = r.kind_id`,
  },
  visible: { columns: `${JOB}, ${COUNT}`, from: NAMED_JOBS },
  byCell: {
    columns: `${JOB}, ${COUNT}`,
    from: `${NAMED_JOBS} CROSS JOIN
      (SELECT id AS own, NULL AS id, node_id, room_id, schedule_id FROM recordings) r ON r.own = j.recording_id`,
  },
}

const EVENT = `t.type, coalesce(h.node_id, '') AS nodeId, h.severity, h.status`
const NAMED_EVENTS = `(SELECT seq FROM health_events WHERE id IN ${listed('named')}
  UNION SELECT seq FROM health_events WHERE recording_id IN ${IN_RECORDINGS}) named`
const EVENT_CELLS = `(SELECT id AS cell, scope_id, of_recording, nullif(node_id, '') AS node_id, nullif(schedule_id, '') AS schedule_id,
  type_id, severity, status, n, total FROM health_cells) h`
const OF_CELL = `CROSS JOIN health_types t ON t.id = h.type_id LEFT JOIN ${SCOPES} ON r.scope_id = h.scope_id`
/** A count cell as `h` (0014_counts.sql). Former states of an individually named event are unknown: its current one counts. */
export const HEALTH: Kind = {
  keys: ['type', 'nodeId', 'severity', 'status'],
  cells: { columns: `${EVENT}, sum(h.n) AS n, sum(h.total) AS total`, from: `${EVENT_CELLS} ${OF_CELL}` },
  visible: {
    columns: `${EVENT}, ${COUNT}, count(*) AS total`,
    from: `${NAMED_EVENTS} CROSS JOIN health_events h ON h.seq = named.seq
      CROSS JOIN health_cells k ON k.id = h.cell CROSS JOIN health_types t ON t.id = k.type_id`,
  },
  byCell: {
    columns: `${EVENT}, ${COUNT}, count(*) AS total`,
    from: `${NAMED_EVENTS} CROSS JOIN health_events e ON e.seq = named.seq CROSS JOIN ${EVENT_CELLS} ON h.cell = e.cell ${OF_CELL}`,
  },
}

const PENDING = `('queued', 'retrying', 'failed')`
const ITEM = `q.provider, q.status, ${COUNT}, 0 AS failures`
const FIRST_DUE = `(SELECT q.next_attempt_at FROM upload_queue q
  WHERE q.scope_id = c.scope_id AND q.status = c.status AND q.provider = c.provider AND q.recording_id NOT IN ${IN_RECORDINGS}
  ORDER BY q.next_attempt_at LIMIT 1)`
/** An upload is visible with its recording. */
export const UPLOADS: Kind = {
  keys: ['provider', 'status'],
  cells: {
    columns: `c.provider, c.status, sum(c.n) AS n, sum(c.failures) AS failures, min(iif(c.n > 0, ${FIRST_DUE}, NULL)) AS oldestAt`,
    from: `${SCOPES} CROSS JOIN upload_cells c ON c.scope_id = r.scope_id AND (c.failures > 0 OR c.status IN ${PENDING})`,
  },
  visible: {
    columns: `${ITEM}, min(q.next_attempt_at) AS oldestAt`,
    from: `${RECORDINGS.visible.from} CROSS JOIN upload_queue q ON q.recording_id = r.id AND q.status IN ${PENDING}`,
  },
  byCell: {
    columns: `${ITEM}, NULL AS oldestAt`,
    from: `(SELECT NULL AS id, id AS own, node_id, room_id, schedule_id FROM recordings WHERE id IN ${IN_RECORDINGS}) r
      CROSS JOIN upload_queue q ON q.recording_id = r.own AND q.status IN ${PENDING}`,
  },
}

/** Counts of one key, from several queries: added or subtracted. */
export interface Counted {
  failures?: number
  n: number
  oldestAt?: string | null
  sign: 1 | -1
  total?: number
}

const earlier = (a: string | null | undefined, b: string | null | undefined): string | null =>
  [a, b].filter((at) => typeof at === 'string').sort()[0] ?? null

/** One row per key: `n` and `total` added up with their sign, the earliest time; without zero rows. */
export function merged<R extends Omit<Counted, 'sign'>>(rows: readonly (R & Counted)[], keys: readonly string[]): R[] {
  const sums = new Map<string, R>()
  for (const { sign, ...row } of rows) {
    const key = JSON.stringify(keys.map((name) => row[name as keyof typeof row]))
    const before = sums.get(key)
    sums.set(key, {
      ...(row as unknown as R),
      failures: (before?.failures ?? 0) + (row.failures ?? 0),
      n: (before?.n ?? 0) + sign * row.n,
      oldestAt: earlier(before?.oldestAt, row.oldestAt),
      total: (before?.total ?? 0) + sign * (row.total ?? 0),
    })
  }
  return [...sums.values()]
}
