// The health log as a database, for those who query it on the recorder (docs/contract/health.md: Local log).
import * as fsp from 'node:fs/promises'
import * as path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Clock, iso } from '../../kernel/clock.ts'
import { counterOf, type HealthStore, type StoredEvent } from './store.ts'

interface SqliteStoreOptions {
  clock: Clock
  file: string
  /** Size from which the oldest events go; 0 = never. */
  maxBytes: number
  nodeId: string
}

// The number of an event is its rowid: the order in which events were reported, for the whole life of the log.
const SCHEMA = `
  PRAGMA auto_vacuum = FULL;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS agent_health_events (
    id TEXT PRIMARY KEY, node_id TEXT NOT NULL, type TEXT NOT NULL, severity TEXT NOT NULL, opened_at TEXT NOT NULL,
    recording_id TEXT, schedule_id TEXT, details_json TEXT NOT NULL, created_at TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS agent_health_events_opened ON agent_health_events (opened_at);
  CREATE INDEX IF NOT EXISTS agent_health_events_type ON agent_health_events (type, severity);
`
const INSERT = `INSERT OR REPLACE INTO agent_health_events
  (rowid, id, node_id, type, severity, opened_at, recording_id, schedule_id, details_json, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const AFTER = `SELECT id, type, severity, opened_at AS openedAt, recording_id AS recordingId, schedule_id AS scheduleId,
  details_json AS details FROM agent_health_events WHERE rowid > ? ORDER BY rowid LIMIT ?`
/** A tenth at a time, so that it is not done with every event. */
const SHORTEN = `DELETE FROM agent_health_events WHERE rowid IN
  (SELECT rowid FROM agent_health_events ORDER BY rowid LIMIT 1 + (SELECT count(*) FROM agent_health_events) / 10)`

const bytesOf = (db: DatabaseSync): number => {
  const { bytes } = db.prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size').get()!
  return bytes as number
}

async function openDatabase(file: string): Promise<DatabaseSync> {
  await fsp.mkdir(path.dirname(file), { recursive: true })
  try {
    return withSchema(file)
  } catch (e) {
    // SQLITE_CORRUPT or SQLITE_NOTADB: keep it for inspection and continue with a new one.
    if (![11, 26].includes((e as { errcode?: number }).errcode ?? 0)) throw e
    await fsp.rename(file, `${file}.damaged`)
    return withSchema(file)
  }
}

function withSchema(file: string): DatabaseSync {
  const db = new DatabaseSync(file)
  try {
    db.exec(SCHEMA)
    return db
  } catch (e) {
    db.close()
    throw e
  }
}

const present = (row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))

/** Few, short statements, so they may run on the event loop. */
export function createSqliteStore({ clock, file, maxBytes, nodeId }: SqliteStoreOptions): HealthStore {
  let opened: DatabaseSync | undefined
  const db = async () => {
    opened ??= await openDatabase(file)
    return opened
  }
  const append = (to: DatabaseSync, events: StoredEvent[]): void => {
    const insert = to.prepare(INSERT)
    for (const event of events) {
      const { details, id, openedAt, recordingId = null, scheduleId = null, severity, type } = event
      const about = [id, nodeId, type, severity, openedAt, recordingId, scheduleId]
      insert.run(counterOf(event), ...about, JSON.stringify(details), iso(clock.now()))
    }
    if (maxBytes > 0 && bytesOf(to) > maxBytes) to.exec(SHORTEN)
  }
  return {
    after: async (counter, limit) => {
      const rows = (await db()).prepare(AFTER).all(counter, limit)
      return rows.map((row) => ({ ...present(row), details: JSON.parse(row.details as string) }) as StoredEvent)
    },
    append: async (events) => {
      const to = await db()
      to.exec('BEGIN IMMEDIATE')
      try {
        append(to, events)
        to.exec('COMMIT')
      } catch (e) {
        // A full disk may have rolled it back already.
        if (to.isTransaction) to.exec('ROLLBACK')
        throw e
      }
    },
    close: async () => {
      opened?.close()
      opened = undefined
    },
    open: async () => {
      const { last } = (await db()).prepare('SELECT max(rowid) AS last FROM agent_health_events').get()!
      return (last as number | null) ?? 0
    },
  }
}
