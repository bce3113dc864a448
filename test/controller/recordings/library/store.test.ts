import assert from 'node:assert/strict'
import { test } from 'node:test'
import { visibilities } from '../../../../src/controller/http/visibility.ts'
import { downloadName, settledStatus } from '../../../../src/controller/recordings/library/recordings.rules.ts'
import { recordingStore } from '../../../../src/controller/recordings/library/recordings.store.ts'
import type { RecordingStatus } from '../../../../src/wire/recordings.ts'
import { RECORDING_SORTS } from '../../../../src/wire/recordings.ts'
import { kit } from '../../../kit/kit.ts'
import { pattern, takes } from './takes.ts'

test('a take that ended never takes back audio that is stored', () => {
  const rows: [RecordingStatus, 'cached' | 'completed' | 'failed', boolean, RecordingStatus][] = [
    ['recording', 'cached', true, 'cached'],
    ['failed', 'cached', true, 'cached'],
    ['recording', 'completed', false, 'completed'],
    ['cached', 'completed', true, 'cached'],
    ['recording', 'failed', false, 'failed'],
    ['completed', 'failed', false, 'failed'],
    ['recording', 'failed', true, 'partial'],
    ['uploaded', 'failed', true, 'uploaded'],
    ['partial', 'failed', true, 'partial'],
  ]
  for (const [from, to, hasFile, want] of rows) assert.equal(settledStatus(from, to, hasFile), want, `${from} ${to}`)
})

test('stop is a guarded move: it ends what runs and leaves what has ended', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1', { status: 'queued' })
  assert.deepEqual([t.store.begin('r1', k.now()), t.store.begin('r1', k.now())], [true, false])
  assert.deepEqual([t.store.finish('r1', k.now()), t.store.finish('r1', k.now())], [true, false])
  assert.deepEqual([t.store.get('r1').status, t.store.get('r1').durationSeconds], ['completed', 1])
  assert.equal(t.store.settle('r1', 'failed', k.now()), 'failed')
  assert.throws(() => t.store.settle('nope', 'failed', k.now()), /Recording not found/)
  await k.close()
})

test('a rendition that is uploaded again replaces its row and names the file to unlink', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  const path = t.file('r1', 'primary', pattern(8))
  const [stored] = t.store.files('r1')
  assert.ok(stored)
  const { storedAt: _, ...row } = stored
  assert.equal(t.store.attach(row, k.now()), undefined)
  assert.equal(t.store.attach({ ...row, path: 'ad-hoc/r1.flac', durationSeconds: 9 }, k.now()), path)
  assert.equal(t.store.files('r1').length, 1)
  assert.deepEqual([t.store.get('r1').cachePath, t.store.get('r1').durationSeconds], ['ad-hoc/r1.flac', 9])
  assert.deepEqual(t.store.restart('r1', '2026-05-01T00:00:00.000Z'), ['ad-hoc/r1.flac'])
  const { cached, durationSeconds, recordedAt, status } = t.store.get('r1')
  assert.deepEqual([cached, durationSeconds, recordedAt, status], [false, 0, '2026-05-01T00:00:00.000Z', 'recording'])
  await k.close()
})

test('a download is named after the recording, safely', () => {
  const name = '2026-03-02_09:00 UTC "Büro"/../会議'
  assert.deepEqual(downloadName({ name }, 'ad-hoc/r1.raw.flac'), {
    ascii: '2026-03-02_09_00 UTC _B_ro__..___.flac',
    unicode: '2026-03-02_09_00 UTC _Büro__.._会議.flac',
  })
})

test('a page is read along an index in the order asked for: nothing is sorted, whatever is filtered', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1', { tags: ['x'] })
  k.db.prepared.clear()
  // Nothing counts as few: every list goes its way for many.
  const store = recordingStore(k.db, -1)
  const visibility = visibilities(k.db)
  const principal = { allow: [{ type: 'node', id: 'n1' }], deny: [], roles: ['viewer'], rooms: new Map() } as never
  for (const sortBy of RECORDING_SORTS)
    for (const sortOrder of ['asc', 'desc'] as const)
      for (const more of [{}, { status: 'recording' }, { tag: 'x' }, { search: 'r1' }, { nodeId: 'n1' }] as const)
        assert.equal(
          store.list(visibility(principal, 'recording:read'), { ...more, sortBy, sortOrder }, 5).rows.length,
          1,
        )
  const walks = [...k.db.prepared].filter((sql) =>
    /^SELECT r\.seq, r\.id, \S+( COLLATE NOCASE)? AS key FROM recordings r INDEXED BY/.test(sql),
  )
  assert.ok(walks.length >= 14, String(walks.length))
  for (const sql of walks) {
    const named = Object.fromEntries([...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, null]))
    const plan = k.db.raw.prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(named)
    const steps = plan.map(({ detail }) => detail)
    assert.ok(!steps.some((step) => /TEMP B-TREE FOR ORDER BY/.test(step)), `${sql}: ${steps.join('; ')}`)
  }
  await k.close()
})
