// A node whose token ends while it waits for an answer: the answer it gets is that the token is worth nothing any more.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { topics } from '../../../src/controller/scheduler/notifier.ts'
import { kit } from '../../kit/kit.ts'

const PASS = () => new Promise((resolve) => setImmediate(resolve))

async function world() {
  const k = kit()
  const { id, agent } = await k.enroll()
  const admin = k.as('admin')
  const start = async () => (await admin.post('/recordings', { durationSeconds: 60, nodeId: id })).json.data
  const listening = async (topic: string) => {
    while (k.notifier.listeners(topic) === 0) await PASS()
  }
  return { admin, agent, id, k, listening, start }
}
const ENDS = {
  revoke: 'credentials/revoke',
  rotate: 'credentials/rotate',
}

for (const [name, path] of Object.entries(ENDS)) {
  test(`${name}: a poll for jobs under way claims nothing and is told of nothing`, async () => {
    for (const poll of ['claim-next', 'claim-next-group', 'next'] as const) {
      const { admin, agent, id, k, listening, start } = await world()
      const jobs = `/nodes/${id}/recording-jobs/${poll}?waitSeconds=30`
      const waiting = poll === 'next' ? agent.get(jobs) : agent.post(jobs, {})
      await listening(topics.jobs(id))
      assert.ok((await admin.post(`/nodes/${id}/${path}`)).status < 300)
      await start()
      const { json, status } = await waiting
      assert.deepEqual([poll, status, json.data], [poll, 401, undefined])
      assert.equal(k.rows("SELECT 1 FROM recording_jobs WHERE status <> 'queued'").length, 0, poll)
      await k.close()
    }
  })

  test(`${name}: the config and the state of a job are not told to a poll under way`, async () => {
    const { admin, agent, id, k, listening, start } = await world()
    await start()
    const [job] = (await agent.post(`/nodes/${id}/recording-jobs/claim-next-group`, {})).json.data
    const known = await agent.get(`/nodes/${id}/config`)
    const config = agent.get(`/nodes/${id}/config?waitSeconds=25`, {
      'if-none-match': known.headers.get('etag') as string,
    })
    const beat = agent.post(`/recording-jobs/${job.id}/heartbeat?waitSeconds=5`, {})
    await listening(topics.config(id))
    await listening(topics.jobs(id))
    assert.ok((await admin.post(`/nodes/${id}/${path}`)).status < 300)
    await admin.patch(`/nodes/${id}`, { audioDefaults: { captureChannels: 4 } })
    await admin.post(`/recordings/${job.recordingId}/stop`)
    for (const { json, status } of [await config, await beat]) assert.deepEqual([status, json.data], [401, undefined])
    await k.close()
  })
}
