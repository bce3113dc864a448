import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { smallDisk } from '../../../kit/disk.ts'
import { type Kit, kit } from '../../../kit/kit.ts'

const dir = mkdtempSync(join(tmpdir(), 'roomtone-ready-'))
let worlds = 0
const world = () => {
  const file = join(dir, `${++worlds}.db`)
  return { file, k: kit({ file }) }
}
const ready = async (k: Kit, headers = {}) => {
  const { json, status } = await k.anonymous.get('/readyz', headers)
  return `${status} ${json?.database}`
}

test('ready while all is well', async () => {
  const { k } = world()
  assert.equal(await ready(k), '200 ready')
  await k.close()
})

test('not ready, and no bug, when the schema is gone, whatever the probe shows for a token', async () => {
  const { file, k } = world()
  const other = new Database(file)
  other.pragma('foreign_keys = OFF')
  for (const { name, type } of other
    .prepare(
      "SELECT name, type FROM sqlite_schema WHERE type IN ('view', 'trigger', 'table') AND name NOT LIKE 'sqlite_%'",
    )
    .all() as { name: string; type: string }[])
    other.exec(`DROP ${type} IF EXISTS "${name}"`)
  other.close()
  assert.equal(await ready(k), '503 unreachable')
  assert.equal(await ready(k, { authorization: 'Bearer svc_whoever' }), '503 unreachable')
  await k.close().catch(() => undefined)
})

test('not ready when the file is gone, or is another one', async () => {
  const { file, k } = world()
  renameSync(file, `${file}.away`)
  assert.equal(await ready(k), '503 unreachable')
  writeFileSync(file, 'not a database')
  assert.equal(await ready(k), '503 unreachable')
  rmSync(file)
  renameSync(`${file}.away`, file)
  assert.equal(await ready(k), '200 ready')
  await k.close()
})

test('not ready while the database is closed', async () => {
  const { k } = world()
  k.db.raw.close()
  assert.equal(await ready(k), '503 unreachable')
})

test('not ready on a full disk, and ready again when there is room', async (t) => {
  const disk = smallDisk(t, 8 << 20)
  if (!disk) return
  const k = kit({ file: join(disk, 'db') })
  const filler = join(disk, 'filler')
  const add = async (name: string) => (await k.as('admin').post('/rooms', { name, site: 'B' })).status
  assert.equal(await add('A'), 201)
  assert.throws(() => writeFileSync(filler, Buffer.alloc(8 << 20)), { code: 'ENOSPC' })
  for (let n = 0; (await add(`room ${n}`)) === 201; n++) assert.ok(n < 1000)
  assert.equal(await ready(k), '503 unreachable')
  rmSync(filler)
  assert.equal(await ready(k), '200 ready')
  assert.equal(await add('Z'), 201)
  await k.close()
})

test('not ready while nothing can be written, and ready again when somebody else lets go', async () => {
  const { file, k } = world()
  const admin = k.as('admin')
  const other = new Database(file)
  k.db.raw.pragma('busy_timeout = 0')
  other.exec('BEGIN IMMEDIATE')
  assert.equal((await admin.post('/rooms', { name: 'A', site: 'B' })).status, 503)
  assert.equal(await ready(k), '503 unreachable')
  other.exec('ROLLBACK')
  other.close()
  assert.equal(await ready(k), '200 ready')
  await k.close()
  rmSync(dir, { recursive: true })
})
