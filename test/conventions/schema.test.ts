import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { Db } from '../../src/controller/store/db.ts'
import { dumpSchema, migrate } from '../../src/controller/store/migrate.ts'
import { migrations } from '../kit/kit.ts'

const db = new Db(':memory:')
migrate(db, migrations)
after(() => db.close())

const all = <T>(sql: string, ...values: unknown[]) => db.raw.prepare(sql).all(...values) as T[]
const tables = all<{ name: string; strict: number }>(
  `SELECT name, strict FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND name NOT LIKE 'sqlite_%'`,
)

test('sql/schema.sql is the schema the migrations make (scripts/node test/conventions/schema.update.ts rewrites it)', () => {
  const file = readFileSync(path.resolve(import.meta.dirname, '../../sql/schema.sql'), 'utf8')
  assert.equal(file.replace(/^--.*\n\n/, ''), dumpSchema(db))
})

test('every table is STRICT', () => {
  assert.deepEqual(
    tables.filter((t) => t.strict !== 1).map((t) => t.name),
    [],
  )
  assert.ok(tables.length > 20)
})

test('every foreign key has an index that begins with its column', () => {
  const bare = tables.flatMap(({ name }) => {
    const first = new Set(
      all<{ name: string }>(`SELECT name FROM pragma_index_list(?)`, name).map(
        (index) => all<{ name: string }>(`SELECT name FROM pragma_index_info(?) WHERE seqno = 0`, index.name)[0]?.name,
      ),
    )
    const keys = all<{ column: string }>(`SELECT "from" AS column FROM pragma_foreign_key_list(?) WHERE seq = 0`, name)
    return keys.filter(({ column }) => !first.has(column)).map(({ column }) => `${name}.${column}`)
  })
  assert.deepEqual(bare, [])
})

test('every foreign key says what happens when its row goes', () => {
  const vague = tables.flatMap(({ name }) =>
    all<{ column: string; rule: string }>(
      `SELECT "from" AS column, on_delete AS rule FROM pragma_foreign_key_list(?)`,
      name,
    )
      .filter(({ rule }) => rule === 'NO ACTION')
      .map(({ column }) => `${name}.${column}`),
  )
  assert.deepEqual(vague, [])
})

test('no two indexes of a table begin with the same columns in the same order', () => {
  const doubled = tables.flatMap(({ name }) => {
    const lists = all<{ name: string; partial: number }>(`SELECT name, partial FROM pragma_index_list(?)`, name)
      .filter((index) => index.partial === 0)
      .map((index) => ({
        index: index.name,
        // Two directions are two orders.
        columns: all<{ name: string }>(
          `SELECT name || iif(desc, ' down', '') AS name FROM pragma_index_xinfo(?) WHERE key`,
          index.name,
        )
          .map((c) => c.name)
          .join(),
      }))
    return lists
      .filter((a) => lists.some((b) => a !== b && (b.columns === a.columns || b.columns.startsWith(`${a.columns},`))))
      .map((a) => a.index)
  })
  assert.deepEqual(doubled, [])
})

test('migrations are numbered from 1 without gaps and say what they make', () => {
  const names = migrations.map(({ name }) => path.basename(name))
  for (const [i, name] of names.entries())
    assert.match(name, new RegExp(`^${String(i + 1).padStart(4, '0')}_[a-z_]+\\.sql$`))
})

test('a database of a newer version is refused and left as it is', () => {
  const newer = new Db(':memory:')
  migrate(newer, migrations)
  newer.raw.pragma(`user_version = ${migrations.length + 1}`)
  assert.throws(() => migrate(newer, migrations), /start the version that wrote it, or a newer one/)
  assert.equal(newer.raw.pragma('user_version', { simple: true }), migrations.length + 1)
  newer.close()
})

test('a second start applies nothing; an older database gets what it lacks', () => {
  assert.equal(migrate(db, migrations), 0)
  const older = new Db(':memory:')
  assert.equal(migrate(older, migrations.slice(0, 3)), 3)
  assert.equal(migrate(older, migrations), migrations.length - 3)
  assert.equal(dumpSchema(older), dumpSchema(db))
  older.close()
})
