// What a recorder told before its agent started anew: ended when it is not told again.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HealthEvent } from '../../../../src/wire/health.ts'
import { kit } from '../../../kit/kit.ts'

async function world() {
  const k = kit()
  const { agent, id } = await k.enroll()
  const tell = async (type: string, details = {}, severity = 'warning', more = {}): Promise<HealthEvent> => {
    const report = { details, openedAt: k.now(), severity, type, ...more }
    const answer = await agent.post(`/nodes/${id}/health-events`, report)
    assert.ok([200, 201].includes(answer.status), answer.text)
    return answer.json.data
  }
  const start = async () => {
    k.advance('1s')
    await tell('agent.started', {}, 'info')
    k.advance('1s')
  }
  const open = async (): Promise<string[]> => {
    const { json } = await k.as('admin').get('/health-events?status=open')
    return (json.data as HealthEvent[]).map(({ details, type }) => `${type} ${details.device ?? ''}`.trim()).sort()
  }
  /** Two minutes later. */
  const settle = async () => {
    k.advance('2m')
    await k.tick('forgotten-faults')
  }
  return { agent, id, k, open, settle, start, tell }
}

test('a fault that a started agent does not tell again is over, with the reason and its row', async () => {
  const { k, open, settle, start, tell } = await world()
  const gone = await tell('agent.meter.device_unavailable', { device: 'hw:1' }, 'critical')
  await tell('agent.heartbeat.sync_failed')
  await tell('agent.system.disk_pressure')
  await start()
  k.advance('90s')
  await k.tick('forgotten-faults')
  assert.equal((await open()).length, 3, 'it may still tell them again')
  k.forget()
  await settle()
  assert.deepEqual(await open(), [])
  const { details, resolvedBy } = (await k.as('admin').get(`/health-events/${gone.id}`)).json.data
  assert.deepEqual([details.autoResolvedReason, resolvedBy], ['not_told_again', 'system:forgotten-faults'])
  assert.equal(k.trail().filter((row) => row.startsWith('health.forgotten_fault.resolved')).length, 3)
  await k.close()
})

test('what is told again stands, of each device by itself; so does a second word of the same', async () => {
  const { k, open, settle, start, tell } = await world()
  for (const device of ['hw:1', 'hw:2']) await tell('agent.meter.device_unavailable', { device }, 'critical')
  await tell('agent.encoder.missing')
  await start()
  await tell('agent.meter.device_unavailable', { device: 'hw:1' }, 'critical')
  await tell('agent.encoder.missing')
  await settle()
  const [once, twice] = ['agent.meter.device_unavailable hw:1', 'agent.encoder.missing']
  assert.deepEqual(await open(), [twice, once, once], 'hw:2 is well')
  await tell('agent.meter.capture_recovered', { device: 'hw:1' }, 'info')
  assert.deepEqual(await open(), [twice])
  await start()
  await settle()
  assert.deepEqual(await open(), [])
  await k.close()
})

test('what nobody tells again by itself stays: words of a take, of other kinds, and what has no start behind it', async () => {
  const { agent, id, k, open, settle, start, tell } = await world()
  const { id: recordingId } = (await k.as('admin').post('/recordings', { durationSeconds: 60, nodeId: id })).json.data
  await tell('agent.meter.flatline', {}, 'warning', { recordingId })
  await tell('agent.recording_job.capture_failed', {}, 'critical')
  await start()
  await tell('agent.meter.clipping')
  await settle()
  await settle()
  const left = ['agent.meter.clipping', 'agent.meter.flatline', 'agent.recording_job.capture_failed']
  assert.deepEqual(await open(), left)
  assert.equal((await agent.get(`/nodes/${id}/config`)).status, 200)
  await k.close()
})

test('a recorder without a device stays without one until its inventory has one', async () => {
  const { agent, id, k, open, settle, start } = await world()
  await agent.post(`/nodes/${id}/inventory`, { interfaces: [] })
  assert.deepEqual(await open(), ['agent.audio_backend.unavailable'])
  await start()
  await settle()
  assert.deepEqual(await open(), ['agent.audio_backend.unavailable'])
  await k.close()
})
