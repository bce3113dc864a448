import * as path from 'node:path'
import { assetKeys, assetText } from '../../kernel/assets.ts'
import type { Log } from '../../kernel/log.ts'
import { copyDatabase } from './backup.ts'
import type { Db } from './db.ts'

/** Numbered SQL by file name (`0001_access.sql`), in the order they are applied. */
type Migrations = readonly { name: string; sql: string }[]

/** The migrations this program carries. */
export const embedded = (): Migrations =>
  assetKeys('sql')
    .filter((key) => /\/\d{4}_\w+\.sql$/.test(key))
    .map((key) => ({ name: key, sql: assetText(key) }))

/**
 * Brings the schema up to date and returns how many files were applied. `user_version` counts them and is read
 * inside the immediate transaction, so any number of first starts at once apply each file once.
 * @throws Error when the database was written by a newer version.
 */
export function migrate(db: Db, migrations: Migrations): number {
  return db.tx(() => {
    const have = schemaOf(db)
    if (have > migrations.length) {
      throw new Error(
        `The database has schema ${have}, this version knows ${migrations.length}: start the version that wrote it, or a newer one.`,
      )
    }
    for (const { sql } of migrations.slice(have)) db.raw.exec(sql)
    db.raw.pragma(`user_version = ${migrations.length}`)
    return migrations.length - have
  })
}

/** How many migrations were applied to a database. */
export const schemaOf = (db: Db): number => db.raw.pragma('user_version', { simple: true }) as number

/** The schema number of a database that an older version wrote; undefined when it is new or up to date. */
function outdated(db: Db, migrations: Migrations): number | undefined {
  const have = schemaOf(db)
  return have > 0 && have < migrations.length ? have : undefined
}

/** Brings the schema up to date; first copies the database as the older version left it. */
export async function upgraded(db: Db, dir: string, addon: object | undefined, log: Log): Promise<number> {
  const migrations = embedded()
  const have = outdated(db, migrations)
  if (have !== undefined) {
    const copy = path.join(dir, `roomtone.db.schema-${have}`)
    await copyDatabase(db, copy, addon)
    log.warn('upgrading the database schema; a copy of the old database is kept', { copy, from: have })
  }
  return migrate(db, migrations)
}

/** The schema as SQLite holds it, one statement per object, sorted: compared with sql/schema.sql. */
export function dumpSchema(db: Db): string {
  const rows = db.raw
    .prepare<[], { sql: string }>(
      `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
       ORDER BY CASE type WHEN 'table' THEN 0 WHEN 'view' THEN 1 WHEN 'index' THEN 2 ELSE 3 END, name`,
    )
    .all()
  return rows.map((row) => `${row.sql};\n`).join('\n')
}
