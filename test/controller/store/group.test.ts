import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type TestContext, test } from 'node:test'
import { Db } from '../../../src/controller/store/db.ts'
import { CommitGroup } from '../../../src/controller/store/group.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { cannotMount, PowerDisk } from '../../e2e/disks.ts'

function tempDir(t: TestContext): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-group-'))
  t.after(() => fs.rmSync(dir, { recursive: true }))
  return dir
}

function opened(file: string) {
  const db = new Db(file)
  db.raw.exec('CREATE TABLE IF NOT EXISTS notes (text TEXT NOT NULL)')
  const insert = db.stmt<{ text: string }>('INSERT INTO notes (text) VALUES (@text)')
  const group = new CommitGroup(db, systemClock)
  return { db, group, note: (text: string) => () => insert.run({ text }) }
}

const notesIn = (file: string): string[] => {
  const db = new Db(file)
  try {
    return db.raw.prepare<[], string>('SELECT text FROM notes ORDER BY text').pluck().all()
  } finally {
    db.close()
  }
}

test('who asks seldom does not wait behind who asks all the time', async (t) => {
  const { db } = opened(path.join(tempDir(t), 'group.db'))
  // Each look at the clock is a second later: one is run in each slice.
  let seconds = 0
  const group = new CommitGroup(db, { ...systemClock, monotonic: () => ++seconds * 1000 })
  const order: string[] = []
  const ask = (caller: string) => group.submit(() => order.push(caller), false, undefined, caller)
  const crowd = Array.from({ length: 4 }, () => ask('crowd'))
  await crowd[0]
  await ask('node')
  // Just served: not before the others again.
  await ask('node')
  await Promise.all(crowd)
  assert.deepEqual(order, ['crowd', 'node', 'crowd', 'node', 'crowd', 'crowd'])
  db.close()
})

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-mount-'))
const why = cannotMount(scratch)
fs.rmSync(scratch, { recursive: true })

test('what was answered as durable survives a power cut', { skip: why }, async (t) => {
  const dir = tempDir(t)
  const [at, again] = ['disk', 'again'].map((name) => path.join(dir, name)) as [string, string]
  for (const one of [at, again]) fs.mkdirSync(one)
  const disk = new PowerDisk(path.join(dir, 'disk.img'), at, 16 << 20)
  const { db, group, note } = opened(path.join(at, 'group.db'))
  try {
    const told: string[] = []
    for (let n = 0; n < 8; n++) {
      const all = [`${n} a`, `${n} b`].map((text) => group.submit(note(text)).then(() => told.push(text)))
      void group.submit(note(`${n} telemetry`), false)
      await Promise.all(all)
      const left = disk.remembered(again)
      try {
        const found = new Set(notesIn(path.join(again, 'group.db')))
        assert.deepEqual(
          told.filter((text) => !found.has(text)),
          [],
        )
      } finally {
        left.unmount()
      }
    }
  } finally {
    db.close()
    disk.unmount()
  }
})

test('while the log cannot be synced nothing durable is acknowledged; afterwards the log begins anew', async (t) => {
  const file = path.join(tempDir(t), 'group.db')
  const { db, group, note } = opened(file)
  await group.submit(note('telemetry'), false)
  fs.renameSync(`${file}-wal`, `${file}-away`)
  await assert.rejects(group.submit(note('unsafe')), { status: 503, reason: 'database_unavailable' })
  assert.equal(group.failing(), true)
  fs.renameSync(`${file}-away`, `${file}-wal`)
  await group.submit(note('safe'))
  assert.equal(group.failing(), false)
  // What the log held before has moved into the database: the log holds the last commit alone.
  fs.copyFileSync(file, `${file}-copy`)
  assert.deepEqual(notesIn(`${file}-copy`), ['telemetry', 'unsafe'])
  db.close()
})

test('what was committed while a sync failed is not acknowledged by the next one', async (t) => {
  const file = path.join(tempDir(t), 'group.db')
  const { db, group, note } = opened(file)
  await group.submit(note('before'), false)
  fs.renameSync(`${file}-wal`, `${file}-away`)
  const unsafe = assert.rejects(group.submit(note('unsafe')), { status: 503 })
  // Committed while the sync of the other is under way; by then the WAL can be opened again.
  await group.submit(note('telemetry'), false)
  const next = group.submit(note('next'))
  await unsafe
  fs.renameSync(`${file}-away`, `${file}-wal`)
  await next
  fs.copyFileSync(file, `${file}-copy`)
  // What the doubtful log held is in the file itself; what was committed behind it may be in a log that is safe again.
  const safe = notesIn(`${file}-copy`).filter((said) => said !== 'next')
  assert.deepEqual(safe, ['before', 'telemetry', 'unsafe'])
  for (const end of ['', '-wal']) fs.copyFileSync(`${file}${end}`, `${file}-both${end}`)
  assert.deepEqual(notesIn(`${file}-both`), ['before', 'next', 'telemetry', 'unsafe'])
  db.close()
})

test('a reader that holds the WAL does not hold the loop: what cannot be made safe is refused at once', async (t) => {
  const file = path.join(tempDir(t), 'group.db')
  const { db, group, note } = opened(file)
  const reader = new Db(file)
  reader.raw.exec('BEGIN; SELECT count(*) FROM notes')
  await group.submit(note('telemetry'), false)
  fs.renameSync(`${file}-wal`, `${file}-away`)
  await assert.rejects(group.submit(note('unsafe')), { status: 503 })
  fs.renameSync(`${file}-away`, `${file}-wal`)
  const delays = monitorEventLoopDelay({ resolution: 5 })
  delays.enable()
  await assert.rejects(group.submit(note('refused')), { status: 503 })
  delays.disable()
  // It would wait for five seconds.
  assert.ok(delays.max < 2e9, `${delays.max} ns`)
  reader.raw.exec('COMMIT')
  reader.close()
  await group.submit(note('safe'))
  db.close()
})
