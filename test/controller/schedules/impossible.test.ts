import assert from 'node:assert/strict'
import { test } from 'node:test'
import { house, pass } from './world.ts'

const wide = { captureChannelSelection: undefined, channelMode: 'multichannel' }

test('a schedule whose takes could not be made is refused when it is written', async () => {
  const { admin, body, k, nodeId } = await house()
  k.sql("UPDATE channels SET room_id = 'hall'")
  const reasonOf = async (more: object) => {
    const { json, status } = await admin.post('/schedules', body(more))
    return [status, json.reason]
  }
  const three = { captureChannelSelection: [1, 2, 3] }
  assert.deepEqual(await reasonOf({ ...three, channelMode: 'stereo' }), [400, 'channel_selection_mode_arity'])
  assert.deepEqual(await reasonOf({ ...three, channelMode: 'multichannel' }), [400, 'codec_channel_limit'])
  await admin.patch(`/nodes/${nodeId}`, { audioDefaults: { captureChannels: 4 } })
  assert.deepEqual(await reasonOf(wide), [400, 'codec_channel_limit'])
  await admin.patch(`/nodes/${nodeId}`, { audioDefaults: { captureSampleRate: 192_000 } })
  assert.deepEqual(await reasonOf({}), [400, 'sample_rate_unsupported'])
  await k.close()
})

test('what has become impossible is told once, critical, with the sentence, and ends with the next take', async () => {
  const { add, admin, agent, k, nodeId } = await house()
  const { id } = await add()
  await admin.patch(`/nodes/${nodeId}`, { audioDefaults: { captureSampleRate: 192_000 } })
  assert.deepEqual(await pass(k, '61m'), { failed: 1 })
  await pass(k, '6m')
  const alarms = () =>
    k.rows<{ details: string; severity: string; status: string }>(
      `SELECT severity, status, details FROM health_events WHERE type = 'schedule.capture_impossible'`,
    )
  const [alarm, ...more] = alarms()
  assert.deepEqual([alarm?.severity, alarm?.status, more], ['critical', 'open', []])
  const { message, reason } = JSON.parse(alarm?.details ?? '')
  assert.equal(reason, 'sample_rate_unsupported')
  assert.equal(
    message,
    'Desk has no sample rate of 192000 Hz: it has 48000; change the capture sample rate of the node',
  )
  assert.equal((await admin.post(`/schedules/${id}/run-now`)).json.reason, 'sample_rate_unsupported')
  // Whoever wants to end it can, and a change of its name is no take.
  assert.equal((await admin.patch(`/schedules/${id}`, { name: 'Later' })).status, 200)
  assert.equal((await admin.patch(`/schedules/${id}`, { recordingProfileId: 'voice-mp3-vbr', room: 'X' })).status, 200)
  await admin.patch(`/nodes/${nodeId}`, { audioDefaults: {} })
  await pass(k, '6m')
  assert.equal(alarms()[0]?.status, 'resolved')
  assert.equal((await agent.post(`/nodes/${nodeId}/recording-jobs/claim-next`)).status, 200)
  await k.close()
})
