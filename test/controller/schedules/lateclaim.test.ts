// A scheduled take that its recorder begins late.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { house, pass } from './world.ts'

/** The seconds a recorder is told to record that claims the lecture of 10:00 to 11:00 so long after it is due. */
async function claimedAfter(span: string): Promise<number> {
  const { add, agent, k, nodeId } = await house()
  await add()
  await pass(k, '1h')
  k.advance(span)
  const { json, status } = await agent.post(`/nodes/${nodeId}/recording-jobs/claim-next`)
  assert.equal(status, 200)
  await k.close()
  return json.data.command.durationSeconds
}

test('what is begun late ends with its slot, and leaves the device to the next one', async () => {
  assert.equal(await claimedAfter('5m'), 3300)
  assert.equal(await claimedAfter('59m'), 60)
})

test('what is begun a moment late is as long as it was to be', async () => {
  assert.equal(await claimedAfter('5s'), 3600)
})

test('what nobody has begun by the end of its slot is not begun any more; people may still want it', async () => {
  const { add, admin, agent, k, nodeId } = await house()
  await add()
  await pass(k, '1h')
  k.advance('61m')
  const claim = () => agent.post(`/nodes/${nodeId}/recording-jobs/claim-next`)
  assert.equal((await claim()).status, 204)
  k.forget()
  await k.tick('job-lease')
  assert.ok(k.trail().includes('recording_jobs.slot_ended succeeded slot_ended'), k.trail().join('\n'))
  const [job] = k.rows<{ id: string; reason: string; status: string }>(
    'SELECT id, status, failure_reason AS reason FROM recording_jobs',
  )
  assert.deepEqual([job?.status, job?.reason], ['failed', 'slot_ended'])
  assert.deepEqual(
    k.rows('SELECT status FROM recordings').map(({ status }) => status),
    ['failed'],
  )
  assert.ok((await admin.post(`/recording-jobs/${job?.id}/retry`)).status < 300)
  assert.equal((await claim()).json.data.command.durationSeconds, 3600)
  await k.close()
})

test('a take that nobody scheduled is as long as it was asked for, however late', async () => {
  const { agent, k, nodeId } = await house()
  await k.as('admin').post('/recordings', { captureChannelSelection: [1, 2], durationSeconds: 60, nodeId })
  k.advance('50s')
  const { json } = await agent.post(`/nodes/${nodeId}/recording-jobs/claim-next`)
  assert.equal(json.data.command.durationSeconds, 60)
  await k.close()
})
