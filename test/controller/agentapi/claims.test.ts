import assert from 'node:assert/strict'
import * as http from 'node:http'
import { test } from 'node:test'
import { topics } from '../../../src/controller/scheduler/notifier.ts'
import { listening } from '../../kit/http.ts'
import { type Kit, kit } from '../../kit/kit.ts'

const start = async (k: Kit, nodeId: string, more: object = {}) => {
  const answer = await k.as('admin').post('/recordings', { nodeId, durationSeconds: 10, ...more })
  assert.equal(answer.status, 202, answer.text)
  return { recording: answer.json.data, job: answer.json.job }
}
const job = async (k: Kit, id: string) => (await k.as('admin').get(`/recording-jobs/${id}`)).json.data

test('a claim leases the job to its node; a second claim finds nothing', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const { job: made } = await start(k, id)
  assert.equal((await agent.get(`/nodes/${id}/recording-jobs/next`)).json.data.status, 'queued')
  const claimed = await agent.post(`/nodes/${id}/recording-jobs/claim-next-group`, { holding: [] })
  assert.equal(claimed.status, 200)
  const [first] = claimed.json.data
  assert.deepEqual([first.id, first.status, first.claimedBy], [made.id, 'running', id])
  assert.equal(Date.parse(first.leaseExpiresAt) - Date.parse(first.startedAt), 30_000)
  assert.equal((await agent.post(`/nodes/${id}/recording-jobs/claim-next`, { holding: [made.id] })).status, 204)
  assert.equal((await agent.post(`/recording-jobs/${made.id}/claim`)).status, 409)
  await k.close()
})

test('twenty agents claim in parallel: each job goes to exactly one', async () => {
  const k = kit()
  const { id, agent } = await k.enroll('Many', { recordingCapacity: { maxConcurrentRecordings: 8 } })
  const channels = Array.from({ length: 8 }, (_, i) => ({
    systemName: `Card ${i}`,
    alias: `Card ${i}`,
    channelCount: 2,
  }))
  const { node } = (await agent.post(`/nodes/${id}/inventory`, { interfaces: channels })).json.data
  const ids = []
  for (const device of node.interfaces.filter((i: { absent?: true }) => !i.absent))
    ids.push((await start(k, id, { captureInterfaceId: device.id })).job.id)
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => agent.post(`/nodes/${id}/recording-jobs/claim-next`)),
  )
  const got = answers.filter((a) => a.status === 200).map((a) => a.json.data.id)
  assert.deepEqual(got.sort(), ids.sort())
  assert.equal(answers.filter((a) => a.status === 204).length, 12)
  await k.close()
})

test('disjoint channels of one device share a capture group and are claimed together', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const one = await start(k, id, { captureChannelSelection: [1] })
  const two = await start(k, id, { captureChannelSelection: [2] })
  assert.equal(one.job.command.captureGroupId, two.job.command.captureGroupId)
  const busy = await k
    .as('admin')
    .post('/recordings', { nodeId: id, captureChannelSelection: [2, 1], channelMode: 'stereo' })
  assert.equal(busy.status, 409)
  assert.deepEqual(
    [busy.json.reason, busy.json.busyChannels, busy.json.conflictingJobId],
    ['capture_channels_busy', [1], one.job.id],
  )
  const claimed = await agent.post(`/nodes/${id}/recording-jobs/claim-next-group`)
  assert.deepEqual(
    claimed.json.data.map((j: { id: string }) => j.id),
    [one.job.id, two.job.id],
  )
  await k.close()
})

test('a job that was handed out, never confirmed and is not held was lost on the way: it is handed out again', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const { job: made } = await start(k, id)
  const claim = (holding?: string[]) =>
    agent.post(`/nodes/${id}/recording-jobs/claim-next-group`, holding && { holding })
  await claim([])
  assert.equal((await claim()).status, 204)
  assert.equal((await claim([made.id])).status, 204)
  assert.equal((await claim([])).json.data[0].id, made.id)
  await agent.post(`/recording-jobs/${made.id}/heartbeat`)
  assert.equal((await claim([])).status, 204)
  await k.close()
})

test('a long poll answers as soon as a job is made, and a client that has gone loses none', async () => {
  const k = kit()
  const server = await listening(k)
  const { id, token, agent } = await k.enroll()
  const poll = (signal?: AbortSignal) =>
    fetch(`${server.url}/nodes/${id}/recording-jobs/claim-next?waitSeconds=30`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      ...(signal ? { signal } : {}),
    })
  const gone = new AbortController()
  const left = poll(gone.signal).catch(() => 'gone')
  await waitingFor(k, id, 1)
  gone.abort()
  assert.equal(await left, 'gone')
  const waiting = poll()
  await waitingFor(k, id, 1)
  const { job: made } = await start(k, id)
  const answer = (await (await waiting).json()) as { data: { id: string } }
  assert.equal(answer.data.id, made.id)
  assert.equal((await job(k, made.id)).status, 'running')
  assert.equal((await agent.get(`/recording-jobs/${made.id}`)).json.data.claimedBy, id)
  await server.close()
  await k.close()
})

// The poll has arrived when somebody waits for jobs; asking the notifier itself leaves nothing to luck.
async function waitingFor(k: Kit, nodeId: string, count: number): Promise<void> {
  while (k.notifier.listeners(topics.jobs(nodeId)) !== count) await new Promise((resolve) => setImmediate(resolve))
}

test('a claim whose answer cannot be delivered goes back to the queue', async () => {
  const k = kit()
  const server = await listening(k)
  const { id, token } = await k.enroll()
  const { hostname, port } = new URL(server.url)
  // The request is sent and the connection dies before the answer can be written.
  const path = `/api/v1/nodes/${id}/recording-jobs/claim-next?waitSeconds=30`
  const request = http.request({ hostname, port, path, method: 'POST', headers: { authorization: `Bearer ${token}` } })
  request.on('error', () => {})
  request.end()
  await waitingFor(k, id, 1)
  const { job: made } = await start(k, id)
  request.destroy()
  while ((await job(k, made.id)).status !== 'queued') {
    // Delivered before the connection died is legal too: then the agent's next claim says it does not hold it.
    const again = await k.bearer(token).post(`/nodes/${id}/recording-jobs/claim-next`, { holding: [] })
    if (again.status === 200) break
    await new Promise((resolve) => setImmediate(resolve))
  }
  await server.close()
  await k.close()
})

test('heartbeats keep the lease; an expired one fails the job, its recording, and says so', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const { job: made, recording } = await start(k, id)
  await agent.post(`/nodes/${id}/recording-jobs/claim-next`)
  for (let i = 0; i < 5; i++) {
    k.advance('20s')
    await k.tick('job-lease')
    assert.equal((await agent.post(`/recording-jobs/${made.id}/heartbeat`)).status, 200)
  }
  k.advance('30s')
  k.forget()
  await k.tick('job-lease')
  assert.deepEqual(k.trail(), ['recording_jobs.lease_expired succeeded lease_expired'])
  const ended = await job(k, made.id)
  assert.deepEqual([ended.status, ended.failureReason], ['failed', 'lease_expired'])
  const after = (await k.as('admin').get(`/recordings/${recording.id}`)).json.data
  assert.deepEqual([after.status, after.healthStatus], ['failed', 'critical'])
  assert.equal((await agent.post(`/recording-jobs/${made.id}/heartbeat`)).status, 409)
  await k.close()
})

test('after a restart a running lease gets one full lease before it can expire', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const { job: made } = await start(k, id)
  await agent.post(`/nodes/${id}/recording-jobs/claim-next`)
  k.advance('10m')
  k.leases.grace(k.now())
  await k.tick('job-lease')
  assert.equal((await job(k, made.id)).status, 'running')
  k.advance('30s')
  await k.tick('job-lease')
  assert.equal((await job(k, made.id)).status, 'failed')
  await k.close()
})

test('stop asks a claimed job to end and ends an unclaimed one at once', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id, agent } = await k.enroll()
  const waiting = await start(k, id)
  assert.equal((await admin.post(`/recordings/${waiting.recording.id}/stop`)).json.data.status, 'completed')
  assert.deepEqual(
    [(await job(k, waiting.job.id)).status, (await job(k, waiting.job.id)).failureReason],
    ['cancelled', 'controller_stop_requested'],
  )
  const running = await start(k, id)
  await agent.post(`/nodes/${id}/recording-jobs/claim-next`)
  await admin.post(`/recordings/${running.recording.id}/stop`)
  const beat = await agent.post(`/recording-jobs/${running.job.id}/heartbeat`)
  assert.deepEqual([beat.status, beat.json.data.status], [200, 'stop_requested'])
  assert.equal(
    (
      await agent.post(`/recording-jobs/${running.job.id}/cancelled`, undefined, {
        'x-svc-reason': 'controller_stop_requested',
      })
    ).status,
    200,
  )
  assert.equal((await admin.post(`/recordings/${running.recording.id}/stop`)).status, 200)
  assert.equal(k.rows('SELECT * FROM health_events').length, 0)
  await k.close()
})

test('a terminal report is repeated without effect and refused in the other direction', async () => {
  const k = kit()
  const { id, agent } = await k.enroll()
  const { job: made } = await start(k, id)
  await agent.post(`/nodes/${id}/recording-jobs/claim-next`)
  const failed = await agent.post(`/recording-jobs/${made.id}/failed`, undefined, { 'x-svc-reason': 'capture_failed' })
  assert.deepEqual([failed.status, failed.json.data.failureReason], [200, 'capture_failed'])
  const again = await agent.post(`/recording-jobs/${made.id}/failed`, undefined, { 'x-svc-reason': 'other' })
  assert.deepEqual([again.status, again.json.data.failureReason], [200, 'capture_failed'])
  assert.equal((await agent.post(`/recording-jobs/${made.id}/cancelled`)).status, 409)
  assert.equal(k.rows('SELECT * FROM health_events').length, 1)
  await k.close()
})

test('a retry is a new job with the same command; two at once are one too many', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id, agent } = await k.enroll()
  const { job: made } = await start(k, id)
  assert.equal((await admin.post(`/recording-jobs/${made.id}/retry`)).json.reason, 'job_not_retryable')
  await agent.post(`/nodes/${id}/recording-jobs/claim-next`)
  await agent.post(`/recording-jobs/${made.id}/failed`)
  const retried = await admin.post(`/recording-jobs/${made.id}/retry`)
  assert.equal(retried.status, 201)
  assert.deepEqual(retried.json.data.command, made.command)
  assert.equal((await admin.post(`/recording-jobs/${made.id}/retry`)).json.reason, 'active_job_exists')
  await k.close()
})

test('what a codec cannot carry is refused at creation, and says what to change', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id, agent } = await k.enroll()
  await agent.post(`/nodes/${id}/inventory`, {
    interfaces: [{ alias: 'Rack', systemName: 'Rack', systemRef: 'hw:CARD=Rack,DEV=0', channelCount: 12 }],
  })
  const rack = (await admin.get(`/nodes/${id}`)).json.data.interfaces.find(
    (i: { alias: string }) => i.alias === 'Rack',
  ).id
  const flac = (await admin.post('/settings/recording-profiles', { name: 'Flac', codec: 'flac', enhancement: null }))
    .json.data.id
  const wav = (await admin.post('/settings/recording-profiles', { name: 'Wav', codec: 'wav', enhancement: null })).json
    .data.id
  const wish = (count: number, recordingProfileId?: string) =>
    admin.post('/recordings', {
      nodeId: id,
      captureInterfaceId: rack,
      captureChannelSelection: Array.from({ length: count }, (_, i) => i + 1),
      channelMode: 'multichannel',
      ...(recordingProfileId ? { recordingProfileId } : {}),
    })
  const mp3 = await wish(3)
  assert.deepEqual([mp3.status, mp3.json.reason], [400, 'codec_channel_limit'])
  assert.match(mp3.json.error, /mp3 carries at most 2 channels, this take has 3/)
  assert.equal((await wish(9, flac)).status, 400)
  assert.equal((await wish(9, wav)).status, 202)
  await k.close()
})

test('capacity and devices: a second device beyond the capacity is refused', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id, agent } = await k.enroll()
  const two = [1, 2].map((n) => ({ alias: `Card ${n}`, systemName: `Card ${n}`, channelCount: 2 }))
  const { node } = (await agent.post(`/nodes/${id}/inventory`, { interfaces: two })).json.data
  const [a, b] = node.interfaces.filter((i: { absent?: true }) => !i.absent)
  await start(k, id, { captureInterfaceId: a.id })
  const busy = await admin.post('/recordings', { nodeId: id, captureInterfaceId: a.id })
  assert.deepEqual(
    [busy.json.reason, busy.json.error],
    ['capture_channels_busy', 'Capture interface is already in use'],
  )
  const full = await admin.post('/recordings', { nodeId: id, captureInterfaceId: b.id })
  assert.deepEqual(
    [full.status, full.json.reason, full.json.maxConcurrentRecordings],
    [409, 'node_capture_capacity_reached', 1],
  )
  assert.equal((await admin.post('/recordings', { nodeId: id, captureInterfaceId: 'nope' })).status, 409)
  assert.equal((await admin.post('/recordings', { nodeId: 'node_9' })).status, 404)
  assert.equal((await admin.post('/recordings', { nodeId: id, recordingProfileId: 'nope' })).status, 404)
  assert.equal(k.rows('SELECT * FROM recordings').length, 1)
  await k.close()
})
