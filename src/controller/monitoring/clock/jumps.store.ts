import { iso } from '../../../kernel/clock.ts'
import { ROWS_PER_MS } from '../../http/auditwriter.ts'
import type { Jump } from '../../scheduler/steady.ts'
import type { Db } from '../../store/db.ts'
import type { Course, Leap } from './trust.rules.ts'

// Rows per transaction.
const SLICE = 100
// No session, lease or pause is longer.
const LONGEST_SPAN_MS = 86_400_000
const LATEST = Date.parse('9999-12-31T23:59:59.999Z')
const KEY = 'clock'
const COURSE_KEY = 'clock-course'

const shifted = (at: string, by: number): string => iso(Math.min(Math.max(Date.parse(at) + by, 0), LATEST))

/** The columns of a table that are shifted. */
interface TimeColumn {
  /** Another time of the same row, shifted with it. */
  also?: string
  at: string
  key: string
  table: string
  where: string
}

// Retries, leases, grace periods and sessions are durations, stored as the time of their end. Times that people know as a
// date (bootstrap tokens, suppressions, schedules) are not shifted.
const TIME_COLUMNS: TimeColumn[] = [
  { at: 'expires_at', key: 'id', table: 'sessions', where: '' },
  { at: 'expires_at', key: 'token_hash', table: 'playback_tickets', where: '' },
  { at: 'expires_at', key: 'token_hash', table: 'sign_in_links', where: '' },
  { at: 'expires_at', key: 'node_id', table: 'pairing_codes', where: '' },
  {
    also: 'changed_at',
    at: 'join_at',
    key: 'recording_id',
    table: 'chunked_recordings',
    where: 'join_at IS NOT NULL AND ',
  },
  {
    also: 'due_at',
    at: 'next_attempt_at',
    key: 'id',
    table: 'notifications',
    where: `status = 'queued' AND held < 2 AND `,
  },
  ...['queued', 'retrying'].map((status) => ({
    at: 'next_attempt_at',
    key: 'id',
    table: 'upload_queue',
    where: `status = '${status}' AND `,
  })),
]

/** Shifts stored times that mean a duration when the wall clock jumps. */
export function jumpStore(db: Db, offlineAfterSeconds: number) {
  const jobs = db.stmt<object, { heartbeat: string | null; id: string; lease: string | null; started: string | null }>(
    `SELECT id, lease_expires_at AS lease, last_heartbeat_at AS heartbeat, started_at AS started FROM recording_jobs
      WHERE status IN ('running', 'stop_requested')`,
  )
  const moveJob = db.stmt<{ heartbeat: string | null; id: string; lease: string | null; started: string | null }>(
    `UPDATE recording_jobs SET lease_expires_at = @lease, last_heartbeat_at = @heartbeat, started_at = @started WHERE id = @id`,
  )
  const nodes = db.stmt<{ since: string }, { id: string; seen: string }>(
    `SELECT id, last_seen_at AS seen FROM nodes WHERE last_seen_at > @since`,
  )
  const moveNode = db.stmt<{ id: string; seen: string }>(`UPDATE nodes SET last_seen_at = @seen WHERE id = @id`)
  const walks = TIME_COLUMNS.map((moving) => walker(db, moving))
  const audited = db.stmt<object, { at: number }>(
    `SELECT at / ${ROWS_PER_MS} AS at FROM audit_rows ORDER BY seq DESC LIMIT 1`,
  )
  const lastSeen = db.stmt<object, { at: string | null }>(`SELECT max(last_seen_at) AS at FROM nodes`)
  const read = db.stmt<{ key: string }, { value: string }>(`SELECT value FROM controller_state WHERE key = @key`)
  const write = db.stmt<{ key: string; value: string; now: string }>(
    `INSERT INTO controller_state (key, value, updated_at) VALUES (@key, @value, @now)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
  )

  return {
    /** Shifts what the next request or pass depends on: leases of running jobs, last contact of nodes. Call in a transaction. */
    moveNow({ before, by, now }: Jump): { jobs: number; nodes: number } {
      const move = (at: string | null) => (at === null ? null : shifted(at, by))
      const running = jobs.all({})
      for (const { heartbeat, id, lease, started } of running)
        moveJob.run({ heartbeat: move(heartbeat), id, lease: move(lease), started: move(started) })
      // Only nodes that were online; none may look online again because the clock went back.
      const since = shifted(before < now ? before : now, -offlineAfterSeconds * 1000)
      const online = nodes.all({ since })
      for (const { id, seen } of online) moveNode.run({ id, seen: shifted(seen, by) })
      return { jobs: running.length, nodes: online.length }
    },
    /** The rest, sessions first: steps of a few rows each, to be run in order, each in a transaction. */
    *moveRest(jump: Jump): Generator<() => void> {
      for (const walk of walks) yield* walk(jump)
    },
    /** The last sign of life in the database, Unix ms; undefined in a new one. */
    lastKnown(): number | undefined {
      const known = Math.max(audited.get({})?.at ?? 0, Date.parse(lastSeen.get({})?.at ?? iso(0)))
      return known > 0 ? known : undefined
    },
    /** The leap that an earlier process stored. */
    leap(): Leap | undefined {
      const row = read.get({ key: KEY })
      return row && (JSON.parse(row.value) as Leap)
    },
    /** What an earlier process knew of the clock. */
    course(): Course | undefined {
      const row = read.get({ key: COURSE_KEY })
      return row && (JSON.parse(row.value) as Course)
    },
    keepCourse: (course: Course, now: string): void =>
      void write.run({ key: COURSE_KEY, value: JSON.stringify(course), now }),
    keepLeap: (leap: Leap, now: string): void => void write.run({ key: KEY, value: JSON.stringify(leap), now }),
  }
}
export type JumpStore = ReturnType<typeof jumpStore>

/**
 * Walks a table in the order of time, starting at the end towards which rows are shifted: shifted rows lie behind, so that
 * none is met twice.
 */
function walker(db: Db, { also, at, key, table, where }: TimeColumn) {
  const columns = `${key} AS id, ${at} AS at, ${also ?? 'NULL'} AS also`
  type Row = { also: string | null; at: string; id: string }
  const forward = db.stmt<{ before: string; cursor: string; id: string; limit: number }, Row>(
    `SELECT ${columns} FROM ${table} WHERE ${where}${at} > @before AND (${at}, ${key}) < (@cursor, @id)
      ORDER BY ${at} DESC, ${key} DESC LIMIT @limit`,
  )
  const backward = db.stmt<{ cursor: string; id: string; limit: number }, Row>(
    `SELECT ${columns} FROM ${table} WHERE ${where}(${at}, ${key}) > (@cursor, @id) ORDER BY ${at}, ${key} LIMIT @limit`,
  )
  const move = db.stmt<{ also: string | null; at: string; id: string; seen: string }>(
    `UPDATE ${table} SET ${at} = @at${also ? `, ${also} = @also` : ''} WHERE ${key} = @id AND ${at} = @seen`,
  )
  return function* (jump: Jump): Generator<() => void> {
    const { before, by, now } = jump
    // After a large jump, rows written meanwhile by the new time lie beyond all that are to be shifted.
    let next = { cursor: by > 0 && by < LONGEST_SPAN_MS ? iso(LATEST) : now, id: '' }
    for (;;) {
      const rows: Row[] =
        by > 0 ? forward.all({ ...next, before, limit: SLICE }) : backward.all({ ...next, limit: SLICE })
      const last = rows.at(-1)
      if (!last) return
      next = { cursor: last.at, id: last.id }
      yield () => {
        for (const row of rows)
          move.run({ also: row.also && shifted(row.also, by), at: shifted(row.at, by), id: row.id, seen: row.at })
      }
    }
  }
}
