import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Kit, kit } from '../../kit/kit.ts'
import { sound } from '../../kit/sound.ts'

async function claimed(k: Kit) {
  const { agent, id } = await k.enroll()
  const { data, job } = (await k.as('admin').post('/recordings', { nodeId: id })).json
  await agent.post(`/nodes/${id}/recording-jobs/claim-next`)
  const of = async (path: string) => (await k.as('admin').get(path)).json.data
  return {
    agent,
    beat: (body?: unknown) => agent.post(`/recording-jobs/${job.id}/heartbeat`, body),
    id: job.id as string,
    job: () => of(`/recording-jobs/${job.id}`),
    jobs: () => of('/recording-jobs'),
    recording: () => of(`/recordings/${data.id}`),
    recordingId: data.id as string,
    recordings: () => of('/recordings'),
  }
}

test('the progress a heartbeat tells is shown on job and recording, wherever they are', async () => {
  const k = kit()
  const t = await claimed(k)
  k.advance('5s')
  const answer = await t.beat({ progress: { percent: 12.5, stage: 'capturing' } })
  const progress = { at: k.now(), percent: 12.5, stage: 'capturing' }
  assert.deepEqual([answer.status, answer.json.data.progress], [200, progress])
  for (const shown of [await t.job(), (await t.jobs())[0], await t.recording(), (await t.recordings())[0]])
    assert.deepEqual(shown.progress, progress)
  await k.close()
})

test('a heartbeat that says nothing, or nothing to be read, renews the lease and leaves the progress', async () => {
  const k = kit()
  const t = await claimed(k)
  await t.beat({ progress: { percent: 50, stage: 'rendering' } })
  const { progress } = await t.job()
  const mute = [undefined, {}, [], 'x', { progress: null }, { progress: { percent: 101, stage: 'rendering' } }]
  for (const body of [...mute, { progress: { percent: 1, stage: 'dreaming' } }, { other: 1 }]) {
    k.advance('5s')
    const answer = await t.beat(body === undefined ? undefined : JSON.stringify(body))
    assert.equal(answer.status, 200, JSON.stringify(body))
    const job = await t.job()
    assert.deepEqual([job.lastHeartbeatAt, job.progress], [k.now(), progress])
  }
  await k.close()
})

test('what has ended has no progress, also when it is revived', async () => {
  const k = kit()
  const t = await claimed(k)
  await t.beat({ progress: { percent: 99, stage: 'uploading' } })
  k.advance('1m')
  await k.tick('job-lease')
  assert.deepEqual([(await t.job()).status, (await t.job()).progress], ['failed', undefined])
  assert.equal((await t.recording()).progress, undefined)
  const late = { 'x-svc-recording-job-id': t.id, 'x-svc-file-name': 'a.wav' }
  assert.equal((await t.agent.put(`/recordings/${t.recordingId}/cache-file`, sound('take'), late)).status, 201)
  assert.deepEqual([(await t.job()).status, (await t.job()).progress], ['completed', undefined])
  await k.close()
})

test('a stopped take still tells how far its recorder is', async () => {
  const k = kit()
  const t = await claimed(k)
  await k.as('admin').post(`/recordings/${t.recordingId}/stop`)
  await t.beat({ progress: { percent: 30, stage: 'enhancing' } })
  const { progress, status } = await t.recording()
  assert.deepEqual([status, progress.stage, progress.percent], ['completed', 'enhancing', 30])
  await k.close()
})
