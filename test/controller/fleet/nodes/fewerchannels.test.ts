import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

interface Shown {
  alias: string
  index: number
  roomId?: string
}

test('a device that tells of fewer channels for a while loses no names and no rooms', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id, agent } = await k.enroll()
  for (const room of ['hall', 'confessional']) await admin.post('/rooms', { id: room, name: room, site: 'North' })
  await admin.patch(`/nodes/${id}`, { roomId: 'hall' })
  const device = {
    alias: 'USB 4',
    backend: 'alsa',
    sampleRates: [48000],
    systemName: 'USB 4',
    systemRef: 'hw:CARD=Four,DEV=0',
  }
  const report = async (channelCount: number): Promise<{ channels: Shown[]; id: string }> => {
    const answer = await agent.post(`/nodes/${id}/inventory`, { interfaces: [{ ...device, channelCount }] })
    assert.equal(answer.status, 202, answer.text)
    const found = answer.json.data.node.interfaces as { channels: Shown[]; id: string; systemName: string }[]
    return found.find(({ systemName }) => systemName === 'USB 4') as { channels: Shown[]; id: string }
  }
  const { id: iid } = await report(4)
  const channels = [{ index: 3, alias: 'Confessional L' }]
  assert.equal((await admin.patch(`/nodes/${id}/interfaces/${iid}`, { channels })).status, 200)
  const assignments = [{ channelIndexes: [3, 4], interfaceId: iid, roomId: 'confessional' }]
  assert.equal((await admin.put(`/nodes/${id}/channel-rooms`, { assignments })).status, 200)
  const told = ({ channels }: { channels: Shown[] }) =>
    channels.map(({ alias, index, roomId }) => `${index} ${alias} ${roomId}`)
  const before = told(await report(4))
  assert.deepEqual(before.slice(2), ['3 Confessional L confessional', '4 Channel 4 confessional'])
  assert.equal((await report(2)).channels.length, 2)
  // Only who may record the confessional may record its channels, also when they come back.
  const start = { captureChannelSelection: [3, 4], captureInterfaceId: iid, durationSeconds: 60, nodeId: id }
  assert.notEqual((await admin.post('/recordings', start)).status, 202)
  assert.deepEqual(told(await report(4)), before)
  k.person('ann', [])
  for (const capability of ['view', 'operate', 'listen'])
    k.sql(
      `INSERT INTO room_roster (room_id, subject_type, subject_id, capability, source) VALUES ('hall', 'user', 'ann', ?, 'manual')`,
      capability,
    )
  assert.equal((await k.bearer('svc_ann').post('/recordings', start)).status, 403)
  await k.close()
})
