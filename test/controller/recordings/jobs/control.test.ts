import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Kit, kit } from '../../../kit/kit.ts'
import { chunked, counted, wav } from '../chunks/world.ts'
import { takes } from '../library/takes.ts'

const HOUR = (n: number) => `2026-01-01T0${n}:00:00.000Z`
function world(k: Kit) {
  const t = takes(k)
  const job = (id: string, recordingId: string, status: string, more: object = {}) => {
    if (k.rows('SELECT 1 FROM recordings WHERE id = ?', recordingId).length === 0) t.recording(recordingId)
    t.job(id, recordingId, { status: status as never, ...more })
  }
  const statuses = () =>
    Object.fromEntries(
      k.rows<{ id: string; status: string }>('SELECT id, status FROM recording_jobs').map((r) => [r.id, r.status]),
    )
  return { ...t, job, statuses }
}

test('jobs are stopped all together: claimed ones are asked, waiting ones end, their recordings are completed', async () => {
  const k = kit()
  const t = world(k)
  t.job('a', 'r1', 'queued')
  t.job('b', 'r2', 'running')
  const answer = await k.as('admin').post('/recording-jobs/bulk-stop', { jobIds: ['b', 'a', 'b'] })
  assert.deepEqual([answer.status, answer.json.meta], [200, { stoppedCount: 2 }])
  assert.deepEqual(
    answer.json.data.map((j: { id: string; status: string }) => [j.id, j.status]),
    [
      ['b', 'stop_requested'],
      ['a', 'cancelled'],
    ],
  )
  assert.deepEqual(
    k.rows('SELECT status, duration_seconds FROM recordings'),
    Array(2).fill({ status: 'completed', duration_seconds: 1 }),
  )
  const [row] = k.rows<{ correlation: string }>(
    `SELECT correlation FROM audit_events WHERE action = 'recording_jobs.bulk_stop.succeeded'`,
  )
  assert.deepEqual(JSON.parse(row!.correlation), { jobId1: 'b', jobId2: 'a' })
  await k.close()
})

test('one job that cannot be stopped keeps all of them running', async () => {
  const k = kit()
  const t = world(k)
  t.job('live', 'r1', 'running')
  for (const status of ['stop_requested', 'cancelled', 'completed', 'failed']) {
    t.job(status, `r-${status}`, status)
    const answer = await k.as('admin').post('/recording-jobs/bulk-stop', { jobIds: ['live', status] })
    assert.deepEqual([answer.status, answer.json.reason], [409, 'recording_job_not_stoppable'], status)
  }
  assert.equal(t.statuses().live, 'running')
  await k.close()
})

test('jobs are retried all together, each as a new job with the same command', async () => {
  const k = kit()
  const t = world(k)
  t.job('a', 'r1', 'failed')
  t.job('b', 'r2', 'cancelled')
  t.file('r1', 'primary', new Uint8Array(10))
  const answer = await k.as('admin').post('/recording-jobs/bulk-retry', { jobIds: ['a', 'b'] })
  assert.deepEqual([answer.status, answer.json.meta], [201, { retriedCount: 2 }])
  assert.deepEqual(
    answer.json.data.map((j: Record<string, unknown>) => [j.recordingId, j.status]),
    [
      ['r1', 'queued'],
      ['r2', 'queued'],
    ],
  )
  assert.deepEqual(answer.json.data[0].command, {
    captureDevice: 'hw:1',
    captureFormat: 'S16_LE',
    outputFileName: 'r1.mp3',
  })
  assert.deepEqual([t.statuses().a, t.statuses().b], ['failed', 'cancelled'])
  assert.deepEqual(k.rows('SELECT 1 FROM recording_files'), [])
  await k.close()
})

test('a retry of many is refused in the order of the contract, and then nothing has changed', async () => {
  const k = kit()
  const t = world(k)
  t.job('a', 'r1', 'failed', { createdAt: HOUR(1) })
  t.job('a2', 'r1', 'cancelled', { createdAt: HOUR(2) })
  t.job('b', 'r2', 'failed', { createdAt: HOUR(1) })
  t.job('b2', 'r2', 'queued', { createdAt: HOUR(2) })
  t.job('c', 'r3', 'completed')
  const before = t.statuses()
  const retry = async (...jobIds: string[]) => {
    const { json, status } = await k.as('admin').post('/recording-jobs/bulk-retry', { jobIds })
    return [status, json.reason]
  }
  assert.deepEqual(await retry('a', 'a2', 'b', 'c'), [409, 'job_not_retryable'])
  assert.deepEqual(await retry('a', 'a2', 'b'), [409, 'duplicate_recording_selection'])
  assert.deepEqual(await retry('a', 'b'), [409, 'active_job_exists'])
  assert.equal((await retry('a', 'nope'))[0], 404)
  assert.deepEqual(t.statuses(), before)
  await k.close()
})

test('only the newest job of a recording is retried: what another one stored is never purged', async () => {
  const k = kit()
  const t = world(k)
  // A retry stored the take; an old job delivered late while its retry failed; two that brought nothing.
  t.job('old', 'r1', 'failed', { createdAt: HOUR(2) })
  t.job('stored', 'r1', 'completed', { createdAt: HOUR(1) })
  t.file('r1', 'primary', new Uint8Array(10))
  t.job('late', 'r2', 'completed')
  t.job('vain', 'r2', 'failed')
  t.job('first', 'r3', 'failed')
  t.job('second', 'r3', 'cancelled')
  const admin = k.as('admin')
  for (const id of ['old', 'vain', 'first']) {
    const one = await admin.post(`/recording-jobs/${id}/retry`)
    assert.deepEqual([one.status, one.json.reason], [409, 'superseded_by_retry'], id)
    assert.match(one.json.error, /start a new recording/)
    const many = await admin.post('/recording-jobs/bulk-retry', {
      jobIds: ['second', id].slice(Number(id === 'first')),
    })
    assert.deepEqual([many.status, many.json.reason], [409, 'superseded_by_retry'], id)
    const { actions } = (await admin.get(`/recording-jobs/${id}/actions`)).json.data
    assert.equal(actions.retry.reason, 'superseded_by_retry')
  }
  assert.equal(k.rows('SELECT 1 FROM recording_files').length, 1)
  assert.equal((await admin.post('/recording-jobs/second/retry')).status, 201)
  await k.close()
})

test('bulk calls reach what the caller may control, and change nothing when one job is out of reach', async () => {
  const k = kit()
  const t = world(k)
  t.node('n2', 'South')
  t.job('north', 'r1', 'running')
  t.recording('r2', { nodeId: 'n2' })
  t.job('south', 'r2', 'running', { nodeId: 'n2' })
  const ann = k.person('ann', ['operator'], [['site', 'South']])
  const denied = await ann.post('/recording-jobs/bulk-stop', { jobIds: ['south', 'north'] })
  assert.deepEqual([denied.status, denied.json.error], [404, 'One or more recording jobs are not visible'])
  assert.equal(t.statuses().south, 'running')
  assert.equal((await ann.post('/recording-jobs/bulk-stop', { jobIds: ['south'] })).status, 200)
  assert.ok(k.trail().includes('recording_jobs.bulk_stop.failed denied recording_job_not_visible'))
  for (const body of [{}, { jobIds: [] }, { jobIds: [''] }, { jobIds: 'a' }, { jobIds: ['a'], more: 1 }])
    assert.equal((await ann.post('/recording-jobs/bulk-stop', body)).status, 400, JSON.stringify(body))
  const many = Array.from({ length: 201 }, (_, i) => `j${i}`)
  assert.equal((await ann.post('/recording-jobs/bulk-retry', { jobIds: many })).status, 400)
  await k.close()
})

test('the actions of a job say what can be done, and why not', async () => {
  const k = kit()
  const t = world(k)
  t.job('old', 'r1', 'failed', { createdAt: HOUR(1) })
  t.job('live', 'r1', 'running', { createdAt: HOUR(2) })
  t.job('lost', 'r2', 'failed')
  const admin = k.as('admin')
  const of = async (id: string, principal = admin) => (await principal.get(`/recording-jobs/${id}/actions`)).json.data
  const live = await of('live')
  assert.deepEqual(live.actions.stop, {
    enabled: true,
    href: '/api/v1/recording-jobs/bulk-stop',
    method: 'POST',
    payload: { jobIds: ['live'] },
    permission: 'recording:control',
  })
  assert.equal(live.actions.retry.reason, 'recording_job_not_retryable')
  assert.deepEqual(live.links, {
    bulkRetry: '/api/v1/recording-jobs/bulk-retry',
    bulkStop: '/api/v1/recording-jobs/bulk-stop',
    detail: '/api/v1/recording-jobs/live',
    exportSelected: '/api/v1/recording-jobs/export',
    retry: '/api/v1/recording-jobs/live/retry',
  })
  assert.deepEqual([live.job.id, live.recording.id, live.retryConflict], ['live', 'r1', undefined])
  const old = await of('old')
  assert.deepEqual(
    [old.actions.retry.reason, old.actions.stop.reason],
    ['active_job_exists', 'recording_job_not_stoppable'],
  )
  assert.equal(old.retryConflict.jobId, 'live')
  assert.equal((await of('lost')).actions.retry.enabled, true)
  const viewer = k.person('v', ['viewer'], [['recording_job', 'lost']])
  const seen = await of('lost', viewer)
  assert.deepEqual([seen.actions.retry.reason, seen.recording], ['missing_permission', undefined])
  assert.equal((await admin.get('/recording-jobs/nope/actions')).status, 404)
  await k.close()
})

test('a take whose lease ran out goes on: a stop reaches its recorder, and what it has still arrives', async () => {
  const k = kit()
  const t = await chunked(k)
  const admin = k.as('admin')
  k.advance('1h')
  await k.tick('job-lease')
  const stop = async () => (await admin.get(`/recordings/${t.recordingId}/actions`)).json.data.actions.stop.enabled
  assert.equal(await stop(), true)
  assert.equal((await admin.post(`/recordings/${t.recordingId}/stop`)).status, 200)
  assert.equal(await stop(), false)
  const [{ id }] = k.rows<{ id: string }>('SELECT id FROM recording_jobs') as [{ id: string }]
  const told = async () => {
    const { failureReason, status } = (await t.agent.get(`/recording-jobs/${id}`)).json.data
    return [status, failureReason]
  }
  assert.deepEqual(await told(), ['cancelled', 'stop_request_lease_expired'])
  assert.equal((await t.agent.put(t.path, wav(counted(0, 2000)), t.headers)).status, 201)
  assert.deepEqual(await told(), ['completed', undefined])
  assert.equal((await admin.get(`/recordings/${t.recordingId}`)).json.data.status, 'cached')
  await k.close()
})

test('a stop of a job whose lease ran out does not end the take that was begun anew', async () => {
  const k = kit()
  const t = await chunked(k)
  const admin = k.as('admin')
  k.advance('1h')
  await k.tick('job-lease')
  const [{ id }] = k.rows<{ id: string }>('SELECT id FROM recording_jobs') as [{ id: string }]
  assert.equal((await admin.post(`/recording-jobs/${id}/retry`)).status, 201)
  assert.equal((await admin.post('/recording-jobs/bulk-stop', { jobIds: [id] })).status, 200)
  const jobs = k.rows<{ status: string }>('SELECT status FROM recording_jobs ORDER BY status')
  assert.deepEqual(jobs, [{ status: 'cancelled' }, { status: 'queued' }])
  assert.match((await admin.get(`/recordings/${t.recordingId}`)).json.data.status, /queued|recording/)
  await k.close()
})
