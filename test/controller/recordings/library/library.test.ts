import assert from 'node:assert/strict'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'
import { pattern, takes } from './takes.ts'

const ids = (answer: { json: { data: { id: string }[] } }): string[] => answer.json.data.map((row) => row.id)

test('a recording reads as the contract has it: optional fields are absent, aggregates are ordered', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1', {
    name: 'Council',
    tags: ['Voice', 'b', 'voice', 'VOICE', ' ', 'a'],
    uploadPolicyIds: ['upload-policy-stub', 'upload-policy-stub'],
    recordingProfileId: 'voice-mp3-vbr',
  })
  const expected = {
    cached: false,
    durationSeconds: 0,
    folder: 'Ad Hoc',
    healthStatus: 'unknown',
    held: [],
    id: 'r1',
    name: 'Council',
    nodeId: 'n1',
    recordedAt: k.now(),
    recordingProfileId: 'voice-mp3-vbr',
    source: 'ad_hoc',
    status: 'recording',
    tags: ['Voice', 'b', 'a'],
    uploadPolicyIds: ['upload-policy-stub'],
  }
  const admin = k.as('admin')
  assert.deepEqual((await admin.get('/recordings/r1')).json, { data: expected })
  const raw = t.file('r1', 'raw', pattern(10))
  const playable = (await admin.get('/recordings/r1')).json.data
  assert.deepEqual([playable.cached, playable.cachePath, playable.rawCachePath], [true, raw, raw])
  assert.equal(playable.durationSeconds, 0)
  const enhanced = t.file('r1', 'enhanced', pattern(11), 'mp3')
  const whole = (await admin.get('/recordings/r1')).json.data
  assert.deepEqual([whole.cachePath, whole.enhancedCachePath, whole.rawCachePath], [enhanced, enhanced, raw])
  assert.match(whole.checksum, /^sha256:[0-9a-f]{64}$/)
  assert.equal(whole.durationSeconds, 7)
  await k.close()
})

test('without a limit every recording is listed and meta names no limit; up to 500 are a page', async () => {
  const k = kit()
  const t = takes(k)
  for (let i = 0; i < 210; i++) t.recording(`r${String(i).padStart(3, '0')}`)
  const admin = k.as('admin')
  const all = await admin.get('/recordings')
  assert.deepEqual(all.json.meta, { hasNextPage: false, hasPreviousPage: false, offset: 0, returned: 210, total: 210 })
  assert.deepEqual(ids(all).slice(0, 2), ['r000', 'r001'])
  const page = await admin.get('/recordings?limit=100&offset=100')
  const { nextCursor, ...meta } = page.json.meta
  assert.ok(nextCursor)
  assert.deepEqual(meta, {
    hasNextPage: true,
    hasPreviousPage: true,
    limit: 100,
    offset: 100,
    returned: 100,
    total: 210,
  })
  assert.equal((await admin.get('/recordings?limit=500')).json.data.length, 210)
  const beyond = await admin.get('/recordings?offset=300')
  assert.deepEqual([beyond.json.data, beyond.json.meta.total], [[], 210])
  for (const query of ['limit=0', 'limit=501', 'limit=x', 'offset=-1', 'status=gone', 'sortBy=id', 'recordedFrom=then'])
    assert.equal((await admin.get(`/recordings?${query}`)).status, 400, query)
  assert.equal((await admin.get('/recordings?limit=&offset=&status=&unknown=1')).status, 200)
  await k.close()
})

test('every filter selects, alone and together', async () => {
  const k = kit()
  const t = takes(k)
  t.node('n2', 'South', 'hall')
  k.sql("INSERT INTO schedules (id, name, created_at, updated_at) VALUES ('s1', 'Daily', '', '')")
  t.recording('r1', {
    name: 'Budget 100%',
    folder: 'Ad Hoc/2026',
    tags: ['Voice'],
    recordedAt: '2026-01-01T00:00:00.000Z',
  })
  t.recording('r2', {
    nodeId: 'n2',
    roomId: 'hall',
    scheduleId: 's1',
    source: 'schedule',
    recordedAt: '2026-02-01T00:00:00.000Z',
  })
  t.recording('r3', {
    recordingProfileId: 'voice-mp3-vbr',
    uploadPolicyIds: ['upload-policy-stub'],
    recordedAt: '2026-03-01T00:00:00.000Z',
  })
  t.file('r3', 'primary', pattern(4))
  t.store.edit('r1', { transcriptSnippets: ['the "quorum" is met'] }, k.now())
  k.sql(`UPDATE recordings SET status = 'completed', health_status = 'warning' WHERE id = 'r1'`)
  const admin = k.as('admin')
  const expected: Record<string, string[]> = {
    'search=budget': ['r1'],
    'search=100%25': ['r1'],
    'search=%25%25': [],
    'search=_': ['r3', 'r1'],
    'search=VOICE': ['r3', 'r1'],
    'search=%22quorum%22%20is': ['r1'],
    'search=upload-policy': ['r3'],
    'search=sched': ['r2'],
    'folder=2026': ['r1'],
    'status=completed': ['r1'],
    'healthStatus=warning': ['r1'],
    'cacheState=cached': ['r3'],
    'cacheState=missing': ['r2', 'r1'],
    'nodeId=n2': ['r2'],
    'recordingProfileId=voice-mp3-vbr': ['r3'],
    'scheduleId=s1': ['r2'],
    'trackGroupId=t': [],
    'uploadPolicyId=upload-policy-stub': ['r3'],
    'tag=VOICE': ['r1'],
    'recordedFrom=2026-02-01T01:00%2B01:00': ['r3', 'r2'],
    'recordedTo=2026-02-01': ['r2', 'r1'],
    'nodeId=n1&tag=voice&status=completed': ['r1'],
    'sortBy=name': ['r1', 'r2', 'r3'],
    'sortBy=durationSeconds': ['r3', 'r1', 'r2'],
    'sortBy=recordedAt&sortOrder=asc': ['r1', 'r2', 'r3'],
    'sortBy=source&sortOrder=desc': ['r2', 'r1', 'r3'],
    'sortBy=folder&limit=1': ['r2'],
  }
  for (const [query, want] of Object.entries(expected)) {
    const answer = await admin.get(`/recordings?${query}`)
    assert.deepEqual(ids(answer), want, query)
  }
  await k.close()
})

test('a list shows what grants, room capabilities and denials leave', async () => {
  const k = kit()
  const t = takes(k)
  t.node('n1', 'North', 'a')
  t.node('n2', 'South', 'b')
  t.recording('r1', { nodeId: 'n1', roomId: 'a' })
  t.recording('r2', { nodeId: 'n2', roomId: 'b' })
  t.recording('r3', { nodeId: 'n2' })
  const list = async (name: string, ...grants: [string, string][]) =>
    ids(await k.person(name, ['viewer'], grants).get('/recordings'))
  assert.deepEqual(await list('none'), [])
  assert.deepEqual(await list('site', ['site', 'South']), ['r2', 'r3'])
  assert.deepEqual(await list('room', ['room', 'a']), ['r1'])
  assert.deepEqual(await list('own', ['recording', 'r3']), ['r3'])
  k.sql("INSERT INTO room_roster VALUES ('a', 'user', 'member', 'view', 'manual', '')")
  assert.deepEqual(await list('member'), ['r1'])
  k.sql("INSERT INTO access_policies VALUES ('p', 1, 'deny', 'everyone', NULL, 'recording', 'r2', NULL)")
  assert.deepEqual(await list('site'), ['r3'])
  assert.deepEqual(ids(await k.as('admin').get('/recordings')), ['r1', 'r3'])
  assert.equal((await k.person('room', []).get('/recordings/r3')).status, 403)
  assert.equal((await k.as('admin').get('/recordings/r2')).status, 403)
  assert.equal((await k.as('admin').get('/recordings/nope')).status, 404)
  await k.close()
})

test('delete removes rows and files, and the trail keeps what was there', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1', { name: 'Council', tags: ['x'] })
  t.job('j1', 'r1', { status: 'completed' })
  const files = [t.file('r1', 'raw', pattern(4)), t.file('r1', 'enhanced', pattern(4), 'mp3')]
  t.store.settle('r1', 'cached', k.now())
  rmSync(join(t.root, files[0] as string))
  const answer = await k.as('admin').delete('/recordings/r1')
  assert.deepEqual([answer.status, answer.text], [204, ''])
  for (const file of files) assert.ok(!existsSync(join(t.root, file)))
  for (const table of ['recordings', 'recording_files', 'recording_jobs', 'recording_tags'])
    assert.deepEqual(k.rows(`SELECT * FROM ${table}`), [])
  assert.deepEqual(k.trail(), ['recordings.delete allowed', 'recordings.delete.succeeded succeeded'])
  const [row] = k.rows<{ before: string; target_name: string }>(
    "SELECT * FROM audit_events WHERE outcome = 'succeeded'",
  )
  assert.equal(JSON.parse(row?.before ?? '').name, 'Council')
  assert.deepEqual(k.logged, [])
  await k.close()
})

test('what is being recorded, or still has a job, is not deleted', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  t.recording('r2')
  t.job('j2', 'r2', { status: 'stop_requested' })
  assert.ok(t.store.finish('r2', k.now()))
  for (const id of ['r1', 'r2']) {
    const answer = await k.as('admin').delete(`/recordings/${id}`)
    assert.deepEqual([answer.status, answer.json.reason], [409, 'recording_active'])
  }
  assert.equal(k.rows('SELECT * FROM recordings').length, 2)
  assert.equal((await k.as('operator').delete('/recordings/r1')).status, 403)
  assert.equal((await k.as('admin').delete('/recordings/nope')).status, 404)
  await k.close()
})

test('a file that cannot be unlinked is told in the log, the recording is gone all the same', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  const path = t.file('r1', 'primary', pattern(4))
  t.store.settle('r1', 'cached', k.now())
  rmSync(join(t.root, path))
  mkdirSync(join(t.root, path))
  assert.equal((await k.as('admin').delete('/recordings/r1')).status, 204)
  assert.deepEqual(k.rows('SELECT * FROM recordings'), [])
  assert.equal(k.logged.length, 1)
  assert.match(k.logged[0] ?? '', /could not be removed.*ad-hoc\/r1\.wav/)
  await k.close()
})

test('a whole list comes slice by slice: other requests are answered in between', async () => {
  const k = kit()
  const t = takes(k)
  for (let i = 0; i < 1200; i++) t.recording(`r${String(i).padStart(4, '0')}`)
  const admin = k.as('admin')
  let answered = 0
  const others = async () => {
    for (; answered < 3; answered++) await admin.get('/recordings/r0000')
  }
  const [all] = await Promise.all([admin.get('/recordings'), others()])
  assert.equal(new Set(ids(all)).size, 1200)
  assert.equal(all.json.meta.total, 1200)
  assert.equal(answered, 3)
  await k.close()
})
