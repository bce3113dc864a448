import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'
import { pattern, takes } from './takes.ts'

test('actions say what the state and the role allow, with links and jobs', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  const read = async (principal = k.as('admin'), id = 'r1') =>
    (await principal.get(`/recordings/${id}/actions`)).json.data
  const reasons = (data: { actions: Record<string, { reason?: string }> }) =>
    Object.fromEntries(Object.entries(data.actions).map(([name, { reason }]) => [name, reason ?? 'enabled']))
  t.job('j1', 'r1', { status: 'running' })
  assert.deepEqual(reasons(await read()), {
    delete: 'recording_active',
    download: 'recording_not_cached',
    editMetadata: 'enabled',
    playback: 'recording_not_cached',
    queueUpload: 'recording_not_cached',
    retryJob: 'active_job_exists',
    stop: 'enabled',
  })
  k.sql(`UPDATE recording_jobs SET status = 'failed'`)
  k.sql(`UPDATE recordings SET status = 'failed'`)
  const failed = await read()
  assert.deepEqual([failed.jobs.latest.id, failed.jobs.retryable.id, failed.jobs.active], ['j1', 'j1', undefined])
  assert.equal(failed.links.retryJob, '/api/v1/recording-jobs/j1/retry')
  assert.deepEqual(
    [failed.actions.retryJob.href, failed.actions.stop.reason],
    [failed.links.retryJob, 'recording_not_active'],
  )
  t.file('r1', 'primary', pattern(4))
  t.store.settle('r1', 'cached', k.now())
  k.sql(`UPDATE recording_jobs SET status = 'completed'`)
  const cached = await read()
  assert.deepEqual(reasons(cached), {
    delete: 'enabled',
    download: 'enabled',
    editMetadata: 'enabled',
    playback: 'enabled',
    queueUpload: 'enabled',
    retryJob: 'recording_job_not_retryable',
    stop: 'recording_not_active',
  })
  assert.equal(cached.actions.playback.href, '/api/v1/recordings/r1/playback')
  const viewer = reasons(await read(k.person('v', ['viewer'], [['node', 'n1']])))
  assert.deepEqual([viewer.delete, viewer.playback], ['missing_permission', 'enabled'])
  assert.equal((await k.as('admin').get('/recordings/nope/actions')).status, 404)
  await k.close()
})

test('the context holds a recording with its jobs, health events newest first, and uploads', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  t.job('j1', 'r1', { createdAt: '2026-01-01T00:00:00.000Z' })
  t.job('j2', 'r1', { createdAt: '2026-01-02T00:00:00.000Z' })
  for (let i = 0; i < 105; i++)
    await k.as('admin').post('/health-events', {
      type: `t${i}`,
      severity: 'info',
      recordingId: 'r1',
      openedAt: new Date(Date.parse(k.now()) + i).toISOString(),
    })
  const { data } = (await k.as('admin').get('/recordings/r1/context')).json
  assert.deepEqual(
    data.jobs.map((job: { id: string }) => job.id),
    ['j2', 'j1'],
  )
  assert.deepEqual([data.recording.id, data.uploadQueueItems], ['r1', []])
  assert.deepEqual([data.healthEvents.length, data.healthEvents[0].type], [100, 't104'])
  await k.close()
})

test('facets over the wire, most frequent first', async () => {
  const k = kit()
  const t = takes(k)
  for (const [id, tags] of [
    ['r1', ['b', 'a']],
    ['r2', ['a']],
    ['r3', ['c']],
  ] as const)
    t.recording(id, { tags })
  const { data } = (await k.as('admin').get('/recordings/facets')).json
  assert.deepEqual(data.tags, [
    { count: 2, value: 'a' },
    { count: 1, value: 'b' },
    { count: 1, value: 'c' },
  ])
  assert.deepEqual([data.nodes, data.trackGroups], [[{ count: 3, value: 'n1' }], []])
  const nobody = (await k.person('nobody', ['viewer']).get('/recordings/facets')).json.data
  assert.deepEqual(Object.values(nobody), [[], [], [], [], [], []])
  await k.close()
})

test('exports are the filtered list, or what was chosen in its order, safe for spreadsheets', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1', { name: '=SUM(A1)', tags: ['a', 'b'], recordedAt: '2026-01-01T00:00:00.000Z' })
  t.recording('r2', { name: 'Rat, "offen"', recordedAt: '2026-01-02T00:00:00.000Z' })
  t.recording('r3', { nodeId: 'n2' })
  t.store.edit('r1', { transcriptSnippets: ['one', 'two'] }, k.now())
  const operator = k.person('op', ['operator'], [['node', 'n1']])
  const all = await operator.get('/recordings/export?sortBy=name')
  assert.equal(all.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.match(all.headers.get('content-disposition') ?? '', /^attachment; filename="svc-recordings-[\dTZ-]+\.csv"$/)
  const [head, ...rows] = all.text.split('\n')
  assert.match(
    head ?? '',
    /^id,name,notes,transcriptSnippets,folder,tags,status,healthStatus,source,recordedAt,.*cached,cachePath,checksum$/,
  )
  assert.deepEqual(
    rows.map((row) => row.split(',')[0]),
    ['r1', 'r2'],
  )
  assert.match(rows[0] ?? '', /^r1,'=SUM\(A1\),,one \| two,Ad Hoc,a;b,recording,/)
  assert.match(rows[1] ?? '', /^r2,"Rat, ""offen""",/)
  const chosen = await operator.post('/recordings/export', { recordingIds: ['r2', 'r1', 'r2'] })
  assert.deepEqual(
    chosen.text
      .split('\n')
      .slice(1)
      .map((row) => row.split(',')[0]),
    ['r2', 'r1'],
  )
  k.forget()
  const refused = await operator.post('/recordings/export', { recordingIds: ['r1', 'r3'] })
  assert.deepEqual([refused.status, refused.json.error], [404, 'One or more recordings are not visible'])
  assert.deepEqual(k.trail(), [
    'recordings.export_selected allowed',
    'recordings.export_selected.failed denied recordings_not_visible',
  ])
  for (const bad of [{}, { recordingIds: [] }, { recordingIds: Array(201).fill('r1') }, { recordingIds: ['r1'], x: 1 }])
    assert.equal((await operator.post('/recordings/export', bad)).status, 400)
  assert.equal((await operator.get('/recordings/export?status=gone')).status, 400)
  await k.close()
})
