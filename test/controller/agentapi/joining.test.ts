import assert from 'node:assert/strict'
import { test } from 'node:test'
import { topics } from '../../../src/controller/scheduler/notifier.ts'
import { listening } from '../../kit/http.ts'
import { type Kit, kit } from '../../kit/kit.ts'
import { sound } from '../../kit/sound.ts'

// A device is never opened twice: who comes while it is open shares the capture or waits (docs/contract/recordings.md:
// Devices and groups).

async function world() {
  const k = kit()
  const card = { backend: 'alsa', channelCount: 8, sampleRates: [48_000] }
  const node = await k.enroll('Hall', {
    interfaces: [
      { ...card, alias: 'Desk', systemName: 'Desk', systemRef: 'hw:CARD=Desk,DEV=0' },
      { ...card, alias: 'Roof', systemName: 'Roof', systemRef: 'hw:CARD=Roof,DEV=0' },
    ],
    recordingCapacity: { maxConcurrentRecordings: 2 },
  })
  const [desk, roof] = node.node.interfaces.map((i: { id: string }) => i.id) as [string, string]
  const start = async (more: object = {}) => {
    const made = await k.as('admin').post('/recordings', {
      nodeId: node.id,
      captureInterfaceId: desk,
      channelMode: 'mono',
      durationSeconds: 60,
      ...more,
    })
    assert.equal(made.status, 202, made.text)
    return made.json.job as { id: string; recordingId: string; command: { captureGroupId: string } }
  }
  const path = `/nodes/${node.id}/recording-jobs`
  const claim = async (body: object = {}, route = 'claim-next-group') => {
    const answer = await node.agent.post(`${path}/${route}`, body)
    const found = answer.status === 204 ? [] : [answer.json.data].flat()
    return found.map((job: { id: string }) => job.id)
  }
  return { ...node, claim, desk, k, path, roof, start }
}
const channels = (...list: number[]) => ({ captureChannelSelection: list })

test('a late joiner that fits shares the running capture, also at capacity', async () => {
  const { claim, k, start } = await world()
  const first = await start(channels(4))
  assert.deepEqual(await claim({ joinOnly: true }), [], 'nothing runs that could be joined')
  assert.deepEqual(await claim(), [first.id])
  const late = await start(channels(2))
  assert.equal(late.command.captureGroupId, first.command.captureGroupId)
  assert.deepEqual(await claim({ holding: [first.id], joinOnly: true }), [late.id])
  await k.close()
})

test('a late joiner that needs more channels than are captured waits until the device is free', async () => {
  const { agent, claim, k, start } = await world()
  const first = await start(channels(2))
  await claim()
  const wide = await start(channels(3))
  assert.deepEqual([await claim(), await claim({ joinOnly: true }), await claim({}, 'claim-next')], [[], [], []])
  const byId = await agent.post(`/recording-jobs/${wide.id}/claim`)
  assert.deepEqual([byId.status, byId.json.reason], [409, 'job_not_claimable'])
  await agent.post(`/recording-jobs/${first.id}/failed`)
  assert.deepEqual(await claim(), [wide.id])
  await k.close()
})

test('an agent that shares an open device gets every job of it that opens it the same way', async () => {
  const { agent, claim, k, start } = await world()
  const first = await start(channels(2))
  const shares = true
  assert.deepEqual(await claim({ shares }), [first.id])
  const wide = await start(channels(3))
  assert.deepEqual(await claim({ holding: [first.id], joinOnly: true, shares }), [], 'a capture of its own, though')
  const byId = await agent.post(`/recording-jobs/${wide.id}/claim`)
  assert.equal(byId.status, 409, 'nobody said that this agent shares')
  assert.deepEqual(await claim({ holding: [first.id], shares }), [wide.id])
  await k.close()
})

test('the device is free when the take has its length, though its job still uploads', async () => {
  const { agent, claim, k, start } = await world()
  const first = await start({ ...channels(2), durationSeconds: 20 })
  await claim()
  const wide = await start(channels(3))
  for (let i = 0; i < 2; i++) {
    k.advance('10s')
    await agent.post(`/recording-jobs/${first.id}/heartbeat`)
    assert.deepEqual(await claim(), [])
  }
  k.advance('3s')
  await agent.post(`/recording-jobs/${first.id}/heartbeat`)
  assert.deepEqual(await claim(), [wide.id])
  await k.close()
})

test('a job of another group waits for a device that is open; one for another device does not', async () => {
  const { agent, claim, id, k, roof, start } = await world()
  const first = await start({ durationSeconds: 10 })
  // Its agent was away: the window of the first has passed when the second is made, and both are claimed late.
  k.advance('20s')
  const second = await start({ durationSeconds: 10 })
  assert.notEqual(second.command.captureGroupId, first.command.captureGroupId)
  assert.deepEqual(await claim(), [first.id])
  assert.deepEqual(await claim({ holding: [first.id] }), [])
  const other = await start({ captureInterfaceId: roof })
  assert.deepEqual(await claim({ joinOnly: true }), [])
  assert.deepEqual(await claim(), [other.id])
  assert.equal((await agent.get(`/nodes/${id}/recording-jobs/next`)).status, 204)
  await agent.put(`/recordings/${first.recordingId}/cache-file`, sound('x'), { 'x-svc-recording-job-id': first.id })
  assert.deepEqual(await claim(), [second.id])
  await k.close()
})

test('a stopped take gives its device free before it is uploaded', async () => {
  const { claim, k, start } = await world()
  const first = await start(channels(2))
  await claim()
  const wide = await start(channels(3))
  assert.deepEqual(await claim(), [])
  await k.as('admin').post(`/recordings/${first.recordingId}/stop`)
  assert.deepEqual(await claim(), [wide.id])
  await k.close()
})

test('members that were made together are one capture, as wide as the widest; so are those whose claim was lost', async () => {
  const { claim, k, start } = await world()
  const ids = [(await start(channels(1))).id, (await start(channels(8))).id, (await start(channels(3))).id]
  assert.deepEqual(await claim({ holding: [] }), ids)
  assert.deepEqual(await claim({ holding: [] }), ids, 'the answer never arrived')
  assert.deepEqual(await claim({ holding: ids }), [])
  await k.close()
})

test('a long poll hears at once that the device is free', async () => {
  const { claim, id, k, path, start, token, agent } = await world()
  const server = await listening(k)
  const first = await start(channels(2))
  await claim()
  const wide = await start(channels(3))
  const poll = fetch(`${server.url}${path}/claim-next-group?waitSeconds=30`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  })
  await heard(k, id)
  await agent.post(`/recording-jobs/${first.id}/failed`)
  const answer = (await (await poll).json()) as { data: { id: string }[] }
  assert.deepEqual(
    answer.data.map((job) => job.id),
    [wide.id],
  )
  await server.close()
  await k.close()
})

async function heard(k: Kit, id: string): Promise<void> {
  while (k.notifier.listeners(topics.jobs(id)) !== 1) await new Promise((resolve) => setImmediate(resolve))
}
