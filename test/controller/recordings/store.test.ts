import assert from 'node:assert/strict'
import { test } from 'node:test'
import { downloadName, settledStatus } from '../../../src/controller/recordings/recordings.rules.ts'
import type { RecordingStatus } from '../../../src/wire/recordings.ts'
import { kit } from '../../kit/kit.ts'
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

test('filtered lists search an index; only free text looks at every row', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  k.db.prepared.clear()
  const ann = k.person('ann', ['viewer'], [['node', 'n1']])
  const queries = [
    'status=failed',
    'healthStatus=critical',
    'nodeId=n1',
    'recordingProfileId=p',
    'scheduleId=s',
    'uploadPolicyId=u',
    'tag=x',
    'recordedFrom=2026-01-01',
  ]
  for (const query of queries) await k.as('admin').get(`/recordings?${query}&limit=1`)
  await ann.get('/recordings?limit=1')
  for (const query of ['status=failed', 'nodeId=n1', 'captureInterfaceId=i', 'createdFrom=2026-01-01T00:00:00Z'])
    await k.as('admin').get(`/recording-jobs?${query}`)
  await ann.get('/recording-jobs')
  const lists = [...k.db.prepared].filter((sql) => /FROM (recordings r|recording_jobs j)/.test(sql))
  assert.ok(lists.length >= queries.length + 5)
  const scans = lists.flatMap((sql) => {
    const named = Object.fromEntries([...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, null]))
    const steps = k.db.raw.prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(named)
    return steps
      .filter(({ detail }) => /^SCAN (r|j)\b/.test(detail))
      .map(({ detail }) => `${detail}: ${sql.replace(/^.*? FROM (recordings|recording_jobs)/s, '$1')}`)
  })
  assert.deepEqual(scans, [])
  await k.close()
})
