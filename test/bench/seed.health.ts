// A million health events of a busy fleet, and what makes them: written straight into the tables, without their triggers.
import type Database from 'better-sqlite3'

const TYPES = `json_array('watchdog.scheduled_low_signal', 'agent.meter.xrun', 'agent.capture.silence', 'watchdog.node_offline',
  'controller.recording.job_failed', 'agent.disk.low', 'schedule.capture_channels_busy', 'upload.failed', 'agent.clock.skew', 'agent.capture.clipping')`
const FROM_MS = 1_600_000_000_000
const APART_MS = 150_000
const RECENT = 2000
const drawn = (below: number, salt: number): string => `((n * 1103515245 + ${salt} * 12345) / 65536 % ${below})`

export interface HealthSeed {
  events: number
  nodes: number
  schedules: number
}

/**
 * Six of ten about recordings (which must be there), the others about nodes and schedules; all but some two thousand are
 * resolved. Triggers and indexes of `health_events` must be away.
 */
export function seedHealth(db: Database.Database, { events, nodes, schedules }: HealthSeed): void {
  db.exec(`WITH RECURSIVE k (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < ${events}),
    d AS (SELECT n, ${FROM_MS} + n * ${APART_MS} AS ms, ${drawn(10, 1)} AS about, ${drawn(1000, 2)} AS luck, ${drawn(10, 3)} AS kind,
      1 + ${drawn(nodes, 4)} AS node, 1 + ${drawn(schedules, 5)} AS plan FROM k),
    e AS (SELECT *, strftime('%Y-%m-%dT%H:%M:%fZ', ms / 1000.0, 'unixepoch') AS at,
      CASE WHEN n > ${events - RECENT} AND luck < 700 OR luck = 0 THEN 'open' WHEN luck = 1 THEN 'acknowledged' WHEN luck = 2 THEN 'suppressed'
        ELSE 'resolved' END AS state FROM d)
    INSERT INTO health_events (seq, doc, id, type, severity, status, node_id, recording_id, schedule_id, opened_at, resolved_at, resolved_by, details, cell)
    SELECT ms * 1024 + n % 1024, n, printf('%08x-0000-4000-8000-%012x', (n * 2654435761) & 4294967295, n), json_extract(${TYPES}, '$[' || kind || ']'),
      CASE WHEN luck < 100 THEN 'critical' WHEN luck < 700 THEN 'warning' ELSE 'info' END, state,
      iif(about < 8, 'node_' || node, NULL), (SELECT r.id FROM recordings r WHERE r.seq = e.n AND about < 6), iif(about >= 8, 'sched_' || plan, NULL),
      at, iif(state = 'resolved', at, NULL), iif(state = 'resolved', 'system', NULL),
      json_object('message', 'Level was below the threshold', 'reading', kind * 7 - 60, 'channel', n % 8), NULL FROM e`)
  db.exec(`
    INSERT OR IGNORE INTO health_types (type) SELECT DISTINCT type FROM health_events;
    INSERT INTO health_cells (scope_id, of_recording, node_id, schedule_id, type_id, severity, status, n, total)
      SELECT scope_id, of_recording, node_id, schedule_id, type_id, severity, status, count(*), count(*) FROM health_places GROUP BY 1, 2, 3, 4, 5, 6, 7;
    CREATE TEMP TABLE placed (seq INTEGER PRIMARY KEY, id INTEGER);
    INSERT INTO placed SELECT p.seq, c.id FROM health_places p JOIN health_cells c USING (scope_id, of_recording, node_id, schedule_id,
      type_id, severity, status);
    UPDATE health_events SET cell = (SELECT p.id FROM placed p WHERE p.seq = health_events.seq);
    DROP TABLE placed;
    INSERT INTO health_search (rowid, words) SELECT doc, words FROM health_words;
    INSERT INTO health_search (health_search) VALUES ('optimize')`)
}
