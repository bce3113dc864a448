import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Kit, kit } from '../../../kit/kit.ts'
import { chunked, counted, wav } from '../chunks/world.ts'

const total = async (k: Kit, principal = k.as('admin')) => {
  const { data } = (await principal.get('/recordings/undelivered')).json
  return [data.takes, data.growing, data.seconds]
}

test('of a take that runs the controller lacks what was captured, but for the chunks it has', async () => {
  const k = kit()
  const { put, recording } = await chunked(k)
  const since = k.now()
  k.advance('20s')
  assert.deepEqual(await total(k), [1, 1, 20])
  assert.equal((await put(0, wav(counted(0, 80_000)))).status, 201)
  assert.deepEqual(await total(k), [1, 1, 15])
  const until = new Date(Date.parse(since) + 60_000).toISOString()
  assert.deepEqual((await recording()).undelivered, { since, storedSeconds: 5, until })
  const [listed] = (await k.as('admin').get('/recordings?limit=5')).json.data
  assert.deepEqual(listed.undelivered, { since, storedSeconds: 5, until })
  k.advance('10m')
  assert.deepEqual(await total(k), [1, 0, 55], 'it has ended, and is not here yet')
  await k.close()
})

test('what is stored here, and what was deleted again, exists on no recorder only', async () => {
  const k = kit()
  const { agent, headers, id, path, recording } = await chunked(k)
  k.advance('60s')
  assert.equal((await agent.put(path, wav(counted(0, 80_000)), headers)).status, 201)
  assert.deepEqual(await total(k), [0, 0, 0])
  k.sql('DELETE FROM recording_files')
  assert.deepEqual(await total(k), [0, 0, 0])
  assert.equal((await recording()).undelivered, undefined)
  // One that nobody has claimed captured nothing yet.
  await k.as('admin').post('/recordings', { durationSeconds: 60, nodeId: id })
  k.advance('5s')
  assert.deepEqual(await total(k), [0, 0, 0])
  await k.close()
})

test('the take of a recorder that was cut off counts until it comes, or its recorder is retired', async () => {
  const k = kit()
  const { id, recording, recordingId } = await chunked(k)
  k.advance('30s')
  await k.as('admin').post(`/recordings/${recordingId}/stop`)
  k.advance('1h')
  await k.tick('job-lease')
  assert.equal((await recording()).undelivered.storedSeconds, 0)
  assert.deepEqual(await total(k), [1, 0, 30])
  assert.equal((await k.as('admin').post(`/nodes/${id}/retire`, {})).status, 200)
  assert.deepEqual(await total(k), [0, 0, 0])
  await k.close()
})

test('the sum counts what the lists of a person show', async () => {
  const k = kit()
  const { id } = await chunked(k)
  k.advance('10s')
  assert.deepEqual(await total(k, k.person('ann', ['viewer'], [['node', id]])), [1, 1, 10])
  assert.deepEqual(await total(k, k.person('bob', ['viewer'])), [0, 0, 0])
  await k.close()
})

test('a take says which device and which of its channels it is made with', async () => {
  const k = kit()
  const { id, node, recording } = await chunked(k, {}, { captureChannelSelection: [2] })
  const [device] = node.interfaces
  const all = await k.as('admin').get('/recordings?status=recording&limit=5')
  const expected = { channels: [2], interfaceId: device.id, interfaceName: 'Desk' }
  const { channelNames, ...capture } = all.json.data[0].capture
  assert.deepEqual(capture, expected)
  assert.equal(channelNames.length, 1)
  k.sql(`UPDATE channels SET alias = 'Judge' WHERE idx = 2`)
  assert.deepEqual((await recording()).capture, { ...expected, channelNames: ['Judge'] })
  k.sql(`UPDATE recording_jobs SET status = 'completed', completed_at = created_at`)
  assert.deepEqual((await recording()).capture.channels, [2], 'also when it is over, where one take is shown')
  const over = await k.as('admin').get('/recordings?limit=5')
  assert.equal(over.json.data[0].capture, undefined)
  const whole = await k.as('admin').post('/recordings', { durationSeconds: 60, nodeId: id })
  const { data: started } = (await k.as('admin').get(`/recordings/${whole.json.data.id}`)).json
  assert.deepEqual(started.capture.channels, [1, 2], 'without a choice all of them')
  await k.close()
})
