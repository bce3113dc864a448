import assert from 'node:assert/strict'
import * as http from 'node:http'
import { test } from 'node:test'
import { topics } from '../../../src/controller/scheduler/notifier.ts'
import { listening } from '../../kit/http.ts'
import { type Kit, kit } from '../../kit/kit.ts'
import { sound } from '../../kit/sound.ts'

async function claimed(k: Kit) {
  const { agent, id, token } = await k.enroll()
  const admin = k.as('admin')
  const { data, job } = (await admin.post('/recordings', { nodeId: id })).json
  await agent.post(`/nodes/${id}/recording-jobs/claim-next`)
  const path = `/recording-jobs/${job.id}/heartbeat`
  return {
    admin,
    agent,
    beat: (seconds: number) => agent.post(`${path}?waitSeconds=${seconds}`, { progress }),
    id,
    jobId: job.id as string,
    path,
    recordingId: data.id as string,
    token,
  }
}

const progress = { percent: 10, stage: 'capturing' }

/** The open request has arrived when somebody waits for jobs. */
async function waiting(k: Kit, nodeId: string, count = 1): Promise<void> {
  while (k.notifier.listeners(topics.jobs(nodeId)) !== count) await new Promise((resolve) => setImmediate(resolve))
}

test('a waiting heartbeat renews the lease first, and answers as soon as an operator stops the take', async () => {
  const k = kit()
  const t = await claimed(k)
  k.advance('5s')
  const answer = t.beat(2)
  await waiting(k, t.id)
  // Nothing is held while it waits: others read what it wrote, and write.
  const during = (await t.agent.get(`/recording-jobs/${t.jobId}`)).json.data
  assert.deepEqual([during.lastHeartbeatAt, during.progress.percent], [k.now(), 10])
  await t.admin.post(`/recordings/${t.recordingId}/stop`)
  const { json, status } = await answer
  assert.deepEqual([status, json.data.status], [200, 'stop_requested'])
  // The end is known: what follows does not wait, while the take is rendered and sent.
  assert.equal((await t.beat(30)).json.data.status, 'stop_requested')
  await k.close()
})

const ENDS: [string, (t: Awaited<ReturnType<typeof claimed>>) => Promise<unknown>, string][] = [
  ['a stop of jobs', (t) => t.admin.post('/recording-jobs/bulk-stop', { jobIds: [t.jobId] }), 'stop_requested'],
  ['a failure', (t) => t.agent.post(`/recording-jobs/${t.jobId}/failed`), 'failed'],
  ['a cancellation', (t) => t.agent.post(`/recording-jobs/${t.jobId}/cancelled`), 'cancelled'],
  [
    'a finished upload',
    (t) => t.agent.put(`/recordings/${t.recordingId}/cache-file`, sound('x'), named(t.jobId)),
    'completed',
  ],
]
const named = (jobId: string) => ({ 'x-svc-file-name': 'a.wav', 'x-svc-recording-job-id': jobId })
for (const [what, act, status] of ENDS)
  test(`a waiting heartbeat hears of ${what}`, async () => {
    const k = kit()
    const t = await claimed(k)
    const answer = t.beat(2)
    await waiting(k, t.id)
    await act(t)
    assert.equal((await answer).json.data.status, status)
    await k.close()
  })

test('without a wait it answers at once; other news of the node do not end one, the end of the controller does', async () => {
  const k = kit()
  const t = await claimed(k)
  assert.equal((await t.agent.post(t.path)).json.data.status, 'running')
  assert.equal((await t.beat(0)).json.data.status, 'running')
  for (const wrong of ['31', '-1', 'x', '1.5'])
    assert.equal((await t.agent.post(`${t.path}?waitSeconds=${wrong}`)).status, 400, wrong)
  let answered = false
  const answer = t.beat(10).finally(() => {
    answered = true
  })
  await waiting(k, t.id)
  k.notifier.notify(topics.jobs(t.id))
  await t.admin.get('/recordings')
  assert.equal(answered, false)
  k.notifier.close()
  assert.deepEqual([(await answer).status, (await answer).json.data.status], [200, 'running'])
  await k.close()
})

test('a heartbeat that waits never outlasts its lease', async () => {
  const k = kit({ env: { SVC_RECORDING_JOB_LEASE_SECONDS: '3' } })
  const t = await claimed(k)
  const answer = t.beat(30)
  await waiting(k, t.id)
  k.advance('1s')
  k.notifier.notify(topics.jobs(t.id))
  assert.equal((await answer).json.data.status, 'running')
  await k.close()
})

test('an agent that has gone leaves nothing waiting', async () => {
  const k = kit()
  const server = await listening(k)
  const t = await claimed(k)
  const { hostname, port } = new URL(server.url)
  const headers = { authorization: `Bearer ${t.token}` }
  const path = `/api/v1${t.path}?waitSeconds=30`
  const request = http.request({ headers, hostname, method: 'POST', path, port }).on('error', () => {})
  request.end()
  await waiting(k, t.id)
  request.destroy()
  await waiting(k, t.id, 0)
  await server.close()
  await k.close()
})
