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

test('what is begun a moment late, or after its slot, is as long as it was to be', async () => {
  assert.equal(await claimedAfter('5s'), 3600)
  assert.equal(await claimedAfter('2h'), 3600)
})

test('a take that nobody scheduled is as long as it was asked for, however late', async () => {
  const { agent, k, nodeId } = await house()
  await k.as('admin').post('/recordings', { captureChannelSelection: [1, 2], durationSeconds: 60, nodeId })
  k.advance('50s')
  const { json } = await agent.post(`/nodes/${nodeId}/recording-jobs/claim-next`)
  assert.equal(json.data.command.durationSeconds, 60)
  await k.close()
})
