// The database that is being made: in a file of its own until it is whole, and without what slows down filling it.
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { syncDir, syncFile } from '../../../kernel/durable.ts'
import { fillCells, fillTexts } from '../../recordings/library/refill.store.ts'
import { DATABASE_SUFFIXES, Db } from '../../store/db.ts'
import { embedded, migrate } from '../../store/migrate.ts'

// Tables of a row per recording, or of several: filled several times as fast without their indexes.
const LARGE = [
  ...['recordings', 'recording_tags', 'recording_upload_policies', 'recording_files', 'recording_chunk_files'],
  ...['recording_facets', 'upload_queue'],
]

interface Draft {
  db: Db
  /** Nothing is left of it. */
  discard(): Promise<void>
  /** Makes it what a controller works with; `tell` gets what is being done. */
  complete(tell: (line: string) => void): void
  /** Closes it and gives it its name. */
  putInPlace(target: string): Promise<void>
}

/** An empty database at `file`; what a broken-off rebuild left there is thrown away. */
export async function openDraft(file: string, addon: object | undefined): Promise<Draft> {
  const remove = async () => {
    for (const suffix of DATABASE_SUFFIXES) await fs.rm(file + suffix, { force: true })
  }
  await remove()
  const db = new Db(file, addon, { plain: true })
  // A draft that was broken off is thrown away: it need not survive anything before it is whole.
  for (const pragma of [
    'journal_mode = MEMORY',
    'synchronous = OFF',
    'cache_size = -128000',
    'locking_mode = EXCLUSIVE',
  ])
    db.raw.pragma(pragma)
  migrate(db, embedded())
  const restore = dropIndexesAndTriggers(db)
  return {
    db,
    discard: async () => {
      db.close()
      await remove()
    },
    complete: (tell) => complete(db, restore, tell),
    putInPlace: async (target) => {
      db.raw.exec('ANALYZE; PRAGMA journal_mode = DELETE')
      db.close()
      await syncFile(file)
      await fs.rename(file, target)
      await syncDir(path.dirname(target))
    },
  }
}

/** Takes away all triggers and the indexes of large tables. @returns what makes them again */
function dropIndexesAndTriggers(db: Db): () => void {
  const parts = db.raw
    .prepare<[string], { name: string; sql: string; type: string }>(
      `SELECT type, name, sql FROM sqlite_schema WHERE type = 'trigger'
        OR (type = 'index' AND sql IS NOT NULL AND tbl_name IN (SELECT value FROM json_each(?))) ORDER BY type`,
    )
    .all(JSON.stringify(LARGE))
  for (const { name, type } of parts) db.raw.exec(`DROP ${type} ${name}`)
  return () => {
    for (const { sql } of parts) db.raw.exec(sql)
  }
}

/** What triggers would have kept, from what is there; then indexes and triggers. */
function complete(db: Db, restore: () => void, tell: (line: string) => void): void {
  // From here on nothing is rolled back.
  db.raw.pragma('journal_mode = OFF')
  tell('counting')
  db.raw.exec(`DELETE FROM manifest_walks;
    UPDATE nodes SET room_id = (SELECT id FROM rooms WHERE rooms.site = nodes.site AND rooms.name = nodes.room)`)
  fillCells(db.raw)
  fillTexts(db.raw, (done) => tell(`search index: ${done} takes so far`))
  tell('indexes')
  restore()
  // Their triggers count them.
  db.raw.exec(`UPDATE upload_queue AS q SET scope_id = (
    SELECT c.scope_id FROM recordings r JOIN recording_cells c ON c.id = r.cell WHERE r.id = q.recording_id)`)
}
