import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { Db } from '../../src/controller/store/db.ts'
import { embedded, migrate } from '../../src/controller/store/migrate.ts'
import { Replicator, restored, rowsOf } from './replicator.ts'

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-replica-'))
after(() => fs.rmSync(dir, { recursive: true, force: true }))

function world(name: string, replicated: boolean) {
  const file = path.join(dir, `${name}.db`)
  const db = new Db(file, undefined, { replicated })
  migrate(db, embedded())
  db.raw.exec('CREATE TABLE load (n INTEGER PRIMARY KEY, body BLOB) STRICT')
  let n = 0
  const insert = db.raw.prepare('INSERT INTO load VALUES (?, randomblob(3500))')
  /** So many commits of about a page each. */
  const write = (commits: number): void => {
    for (let i = 0; i < commits; i++) db.tx(() => insert.run(++n), false)
  }
  return { db, file, write }
}

test("a replicator that is there before the schema is in nobody's way", () => {
  const file = path.join(dir, 'first.db')
  const db = new Db(file, undefined, { replicated: true })
  const replicator = new Replicator(file)
  assert.equal(migrate(db, embedded()), embedded().length)
  same(replicator, replicator.moment(), 'first')
  assert.equal(replicator.generations.length, 1)
  replicator.close()
  db.close()
})

function same(replicator: Replicator, wanted: Map<string, string[]>, name: string): void {
  const file = path.join(dir, `${name}.restored.db`)
  restored(replicator, file)
  const copy = new Db(file, undefined, { plain: true })
  assert.equal(copy.raw.pragma('integrity_check', { simple: true }), 'ok')
  const rows = rowsOf(copy)
  copy.close()
  assert.deepEqual([...rows.keys()], [...wanted.keys()])
  for (const [table, own] of wanted) assert.deepEqual(rows.get(table), own, table)
}

for (const mode of ['PASSIVE', 'RESTART', 'TRUNCATE'] as const)
  test(`what a replicator copied is the database, through its own checkpoints (${mode})`, () => {
    const { db, file, write } = world(mode, true)
    write(300)
    const replicator = new Replicator(file)
    const sizes: number[] = []
    for (let round = 0; round < 4; round++) {
      write(400)
      replicator.sync()
      write(400)
      replicator.checkpoint(mode)
      sizes.push(fs.statSync(`${file}-wal`).size)
      write(50)
    }
    assert.ok(sizes[3]! <= sizes[0]!, `the WAL is given back, it does not grow: ${sizes}`)
    const wanted = replicator.moment()
    assert.equal(wanted.get('load')!.length, 300 + 4 * 850)
    same(replicator, wanted, mode)
    if (mode !== 'TRUNCATE') assert.equal(replicator.generations.length, 1, 'never a whole copy again')
    replicator.close()
    db.close()
  })

test('while it lets go for a moment, a controller told so leaves its WAL alone', () => {
  const { db, file, write } = world('told', true)
  const replicator = new Replicator(file)
  replicator.release()
  // More than SQLite's own limit of a thousand pages, where it would checkpoint by itself.
  write(1500)
  write(10)
  replicator.hold()
  assert.equal(replicator.generations.length, 1)
  same(replicator, replicator.moment(), 'told')
  replicator.close()
  db.close()
})

test('a controller that was not told checkpoints by itself: nothing is lost, but everything is copied again', () => {
  const { db, file, write } = world('untold', false)
  const replicator = new Replicator(file)
  replicator.release()
  write(1500)
  write(10)
  replicator.hold()
  assert.equal(replicator.generations.length, 2)
  same(replicator, replicator.moment(), 'untold')
  replicator.close()
  db.close()
})

test('a backup under way holds up checkpoints, and nothing else', () => {
  const { db, file, write } = world('reader', true)
  const replicator = new Replicator(file)
  write(50)
  const backup = new Db(file, undefined, { plain: true })
  backup.raw.exec('BEGIN')
  const before = backup.raw.prepare('SELECT count(*) FROM load').pluck().get()
  for (const mode of ['PASSIVE', 'RESTART', 'TRUNCATE'] as const) {
    write(50)
    replicator.checkpoint(mode)
  }
  assert.equal(backup.raw.prepare('SELECT count(*) FROM load').pluck().get(), before, 'it sees its own moment')
  backup.close()
  write(50)
  replicator.checkpoint('RESTART')
  same(replicator, replicator.moment(), 'reader')
  replicator.close()
  db.close()
})

test('a controller that stops while the replicator runs leaves it the WAL', () => {
  const { db, file, write } = world('stopped', true)
  const replicator = new Replicator(file)
  write(20)
  db.close()
  assert.ok(fs.statSync(`${file}-wal`).size > 20 * 4096)
  const again = new Db(file, undefined, { replicated: true })
  again.raw.exec("UPDATE load SET body = x'00' WHERE n = 7")
  same(replicator, replicator.moment(), 'stopped')
  assert.equal(replicator.generations.length, 1)
  replicator.close()
  again.close()
})

test('without its replicator a WAL ends at a gigabyte, and by itself', () => {
  const { db } = world('alone', true)
  assert.equal(db.raw.pragma('wal_autocheckpoint', { simple: true }), 2 ** 30 / 4096)
  assert.equal(db.raw.pragma('page_size', { simple: true }), 4096)
  db.close()
})
