import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { createSqliteStore } from '../../../src/agent/health/sqlite.ts'
import type { StoredEvent } from '../../../src/agent/health/store.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { tempDir } from '../server.ts'

const event = (n: number, more: Partial<StoredEvent> = {}): StoredEvent => ({
  details: { n },
  id: `node_event_node_1_2026_${n}`,
  openedAt: '2026-03-01T12:00:00.000Z',
  severity: 'info',
  type: `agent.${n}`,
  ...more,
})

function store(t: TestContext, maxBytes = 0, file = path.join(tempDir(t), 'sub', 'health.sqlite3')) {
  const made = createSqliteStore({ clock: systemClock, file, maxBytes, nodeId: 'node_1' })
  t.after(() => made.close())
  return { file, made }
}

test('events are read back as they were, in the order of their numbers, by this process and the next', async (t) => {
  const { file, made } = store(t)
  assert.equal(await made.open(), 0)
  const all = [event(9), event(10, { recordingId: 'rec_1', severity: 'critical' }), event(11, { scheduleId: 's' })]
  await made.append(all.slice(0, 2))
  await made.append(all.slice(2))
  assert.deepEqual(await made.after(0, 50), all)
  assert.deepEqual(await made.after(9, 1), [all[1]])
  await made.close()
  const again = createSqliteStore({ clock: systemClock, file, maxBytes: 0, nodeId: 'node_1' })
  t.after(() => again.close())
  assert.equal(await again.open(), 11)
  // A batch that is written again after a failure is not there twice.
  await again.append(all)
  assert.equal((await again.after(0, 50)).length, 3)
})

test('the table and its indexes are those of the contract', async (t) => {
  const { file, made } = store(t)
  await made.append([event(1)])
  const db = new DatabaseSync(file, { readOnly: true })
  t.after(() => db.close())
  const columns = db.prepare('SELECT name FROM pragma_table_info(?)').all('agent_health_events')
  assert.deepEqual(
    columns.map(({ name }) => name),
    ['id', 'node_id', 'type', 'severity', 'opened_at', 'recording_id', 'schedule_id', 'details_json', 'created_at'],
  )
  const row = db.prepare('SELECT node_id, type, details_json FROM agent_health_events').get()
  assert.deepEqual({ ...row }, { details_json: '{"n":1}', node_id: 'node_1', type: 'agent.1' })
})

test('the oldest events go when it gets too large', async (t) => {
  const { file, made } = store(t, 100_000)
  for (let n = 1; n <= 400; n++) await made.append([event(n, { details: { text: 'x'.repeat(1000) } })])
  const left = await made.after(0, 1000)
  assert.ok(left.length > 30 && left.length < 120, `${left.length}`)
  assert.equal(left.at(-1)?.type, 'agent.400')
  await made.close()
  assert.ok(fs.statSync(file).size < 150_000)
})

test('a damaged database is put aside, and events go on', async (t) => {
  const { file, made } = store(t)
  fs.mkdirSync(path.dirname(file))
  fs.writeFileSync(file, 'no database at all, but long enough to be taken for one'.repeat(100))
  assert.equal(await made.open(), 0)
  await made.append([event(1)])
  assert.equal((await made.after(0, 10)).length, 1)
  assert.ok(fs.existsSync(`${file}.damaged`))
})
