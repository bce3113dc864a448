import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { checkpoint } from '../../../src/controller/store/checkpoint.ts'
import { Db } from '../../../src/controller/store/db.ts'
import { scratchDir } from '../../kit/scratch.ts'

test('the log of a replicated database is brought in beside whoever writes, and begins anew with the next commit', async () => {
  const file = path.join(scratchDir('roomtone-checkpoint-'), 'roomtone.db')
  const db = new Db(file, undefined, { replicated: true })
  db.raw.exec('CREATE TABLE rows (text TEXT)')
  const insert = db.stmt<{ text: string }>('INSERT INTO rows (text) VALUES (@text)')
  const write = (rows: number) => {
    for (let n = 0; n < rows; n++) db.tx(() => insert.run({ text: 'x'.repeat(3000) }), false)
  }
  write(3000)
  const [database, log] = [fs.statSync(file).size, fs.statSync(`${file}-wal`).size]
  assert.ok(log > 8 * 1024 * 1024, 'nobody has brought it in')
  // It writes while the thread works.
  const done = checkpoint({ addonPath: undefined, file })
  write(10)
  const { checkpointed } = await done
  assert.ok(checkpointed >= 3000)
  assert.ok(fs.statSync(file).size > database)
  await checkpoint({ addonPath: undefined, file })
  write(3000)
  assert.equal(db.raw.prepare('SELECT count(*) FROM rows').pluck().get(), 6010)
  assert.ok(fs.statSync(`${file}-wal`).size < 1.2 * log, 'it began anew')
  db.close()
})
