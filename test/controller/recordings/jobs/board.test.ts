import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jobStore } from '../../../../src/controller/recordings/jobs/jobs.store.ts'
import { kit } from '../../../kit/kit.ts'
import { takes } from '../library/takes.ts'

const ids = (answer: { json: { data: { id: string }[] } }): string[] => answer.json.data.map((row) => row.id)

test('a job reads as the contract has it; what never happened is absent', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  t.job('j1', 'r1', { status: 'queued' })
  const answer = await k.as('viewer').get('/recording-jobs/j1')
  assert.equal(answer.status, 403)
  assert.deepEqual((await k.as('admin').get('/recording-jobs/j1')).json, {
    data: {
      command: { captureDevice: 'hw:1', captureFormat: 'S16_LE', outputFileName: 'r1.mp3' },
      createdAt: k.now(),
      id: 'j1',
      nodeId: 'n1',
      recordingId: 'r1',
      status: 'queued',
    },
  })
  const missing = await k.as('admin').get('/recording-jobs/nope')
  assert.deepEqual([missing.status, missing.json.error], [404, 'Recording job not found'])
  assert.deepEqual(k.trail(), [
    'recording_jobs.detail.read denied missing_resource_scope',
    'recording_jobs.detail.read allowed',
    'recording_jobs.detail.read.succeeded succeeded',
    'recording_jobs.detail.read allowed',
    'recording_jobs.detail.read.failed failed recording_job_not_found',
  ])
  await k.close()
})

test('jobs are listed newest first; the page is clamped, the summary counts the whole filtered set', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  t.recording('r2')
  for (let i = 0; i < 230; i++)
    t.job(`j${i}`, 'r1', {
      status: i % 2 ? 'failed' : 'completed',
      createdAt: `2026-01-01T00:00:00.${String(i).padStart(3, '0')}Z`,
    })
  t.job('live', 'r1', { status: 'running' })
  t.job('stopping', 'r2', { status: 'stop_requested' })
  const admin = k.as('admin')
  const first = await admin.get('/recording-jobs')
  assert.deepEqual(ids(first).slice(0, 3), ['stopping', 'live', 'j229'])
  assert.equal(first.json.data[0].recordingName, (await admin.get('/recordings/r2')).json.data.name)
  assert.deepEqual(first.json.meta, {
    hasNextPage: true,
    hasPreviousPage: false,
    limit: 50,
    offset: 0,
    returned: 50,
    total: 232,
  })
  assert.deepEqual(first.json.summary, {
    active: 2,
    cancelled: 0,
    completed: 115,
    failed: 115,
    queued: 0,
    running: 1,
    stopRequested: 1,
    total: 232,
  })
  assert.deepEqual((await admin.get('/recording-jobs?limit=500&offset=200')).json.meta, {
    hasNextPage: false,
    hasPreviousPage: true,
    limit: 200,
    offset: 200,
    returned: 32,
    total: 232,
  })
  const none = await admin.get('/recording-jobs?search=nothing')
  assert.deepEqual([none.json.data, none.json.summary.total, none.json.summary.active], [[], 0, 0])
  for (const query of ['limit=501', 'limit=0', 'status=leased', 'createdFrom=2026-01-01', 'captureBackend=oss'])
    assert.equal((await admin.get(`/recording-jobs?${query}`)).status, 400, query)
  await k.close()
})

test('every filter selects', async () => {
  const k = kit()
  const t = takes(k)
  t.node('n2')
  t.recording('r1')
  t.recording('r2', { nodeId: 'n2' })
  t.job('a', 'r1', { createdAt: '2026-01-01T00:00:00.000Z', failureReason: 'lease_expired', status: 'failed' })
  const command = { captureBackend: 'jack', captureInterfaceId: 'i2', channelMap: { templateName: 'Podium 50%' } }
  t.job('b', 'r2', {
    nodeId: 'n2',
    createdAt: '2026-02-01T00:00:00.000Z',
    claimedBy: 'claimer',
    command: command as never,
  })
  const admin = k.as('admin')
  const expected: Record<string, string[]> = {
    'status=failed': ['a'],
    'captureBackend=alsa': ['a'],
    'captureBackend=jack': ['b'],
    'captureInterfaceId=i2': ['b'],
    'nodeId=n2': ['b'],
    'createdFrom=2026-02-01T01:00:00%2B01:00': ['b'],
    'createdTo=2026-01-31T00:00:00Z': ['a'],
    'search=LEASE': ['a'],
    'search=claimer': ['b'],
    'search=50%25': ['b'],
    'search=hw:1': ['b', 'a'],
    'search=r2.mp3': ['b'],
    'search=alsa': ['a'],
    'search=S16': ['b', 'a'],
    'nodeId=n1&status=completed': [],
  }
  for (const [query, want] of Object.entries(expected))
    assert.deepEqual(ids(await admin.get(`/recording-jobs?${query}`)), want, query)
  await k.close()
})

test('a job is visible where its recording is', async () => {
  const k = kit()
  const t = takes(k)
  t.node('n1', 'North', 'hall')
  t.node('n2', 'South')
  t.recording('r1', { roomId: 'hall' })
  t.recording('r2', { nodeId: 'n2' })
  t.job('a', 'r1')
  t.job('b', 'r2', { nodeId: 'n2', status: 'failed' })
  const job = k.person('one', ['viewer'], [['recording_job', 'a']])
  const [only] = (await job.get('/recording-jobs')).json.data
  assert.deepEqual([only.id, only.recordingName], ['a', undefined], 'a recording that is not theirs has no name')
  const south = await k.person('south', ['viewer'], [['site', 'South']]).get('/recording-jobs')
  assert.deepEqual([ids(south), south.json.summary.total, south.json.summary.failed], [['b'], 1, 1])
  assert.deepEqual(ids(await k.person('own', ['viewer'], [['recording', 'r1']]).get('/recording-jobs')), ['a'])
  k.sql("INSERT INTO room_roster VALUES ('hall', 'user', 'member', 'view', 'manual', '')")
  const member = k.person('member', [])
  assert.equal((await member.get('/recording-jobs/a')).status, 200)
  assert.equal((await member.get('/recording-jobs/b')).status, 403)
  k.sql("INSERT INTO access_policies VALUES ('p', 1, 'deny', 'everyone', NULL, 'node', 'n2', NULL)")
  assert.deepEqual(ids(await k.as('admin').get('/recording-jobs')), ['a'])
  await k.close()
})

test('the jobs of a recording, and the one that is making it', async () => {
  const k = kit()
  const t = takes(k)
  const jobs = jobStore(k.db)
  t.recording('r1')
  t.job('old', 'r1', { status: 'failed', createdAt: '2026-01-01T00:00:00.000Z' })
  assert.equal(jobs.activeOf('r1'), undefined)
  t.job('new', 'r1', { status: 'queued' })
  assert.deepEqual(
    jobs.ofRecording('r1').map((job) => job.id),
    ['new', 'old'],
  )
  assert.equal(jobs.activeOf('r1')?.id, 'new')
  await k.close()
})
