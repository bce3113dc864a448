import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HealthEvent } from '../../../../src/wire/health.ts'
import { kit } from '../../../kit/kit.ts'

async function world() {
  const k = kit()
  const { agent, id } = await k.enroll()
  const tell = async (type: string, severity: string, details = {}): Promise<HealthEvent> => {
    const answer = await agent.post(`/nodes/${id}/health-events`, { details, severity, type })
    assert.equal(answer.status, 201)
    return answer.json.data
  }
  const open = async (): Promise<string[]> => {
    const answer = await k.as('admin').get('/health-events?status=open')
    return (answer.json.data as HealthEvent[]).map(({ type }) => type).sort()
  }
  return { agent, id, k, open, tell }
}

test('a pressure that is over is no alert any more, and neither is the word that it is over', async () => {
  const { open, tell } = await world()
  await tell('agent.system.cpu_pressure', 'warning')
  await tell('agent.system.cpu_pressure', 'critical')
  await tell('agent.system.disk_pressure', 'warning')
  assert.equal((await open()).length, 3)
  const over = await tell('agent.system.cpu_recovered', 'info')
  assert.equal(over.status, 'resolved')
  assert.deepEqual(await open(), ['agent.system.disk_pressure'])
})

test('a device that is well again says nothing of another one', async () => {
  const { open, tell } = await world()
  await tell('agent.meter.clipping', 'warning', { interfaceId: 'a' })
  await tell('agent.meter.clipping', 'warning', { interfaceId: 'b' })
  await tell('agent.meter.device_unavailable', 'critical', { device: 'hw:1' })
  await tell('agent.meter.clipping_recovered', 'info', { interfaceId: 'a' })
  await tell('agent.meter.capture_recovered', 'info', { device: 'hw:2' })
  assert.deepEqual(await open(), ['agent.meter.clipping', 'agent.meter.device_unavailable'])
  await tell('agent.meter.capture_recovered', 'info', { device: 'hw:1' })
  assert.deepEqual(await open(), ['agent.meter.clipping'])
})

test('what came after a recovery that was told late still stands; what happened to a take stays told', async () => {
  const { agent, id, k, open, tell } = await world()
  const before = k.now()
  k.advance('1m')
  await tell('agent.meter.flatline', 'warning')
  const late = { details: {}, openedAt: before, severity: 'info', type: 'agent.meter.flatline_recovered' }
  assert.equal((await agent.post(`/nodes/${id}/health-events`, late)).status, 201)
  await tell('agent.recording_job.capture_device_lost', 'warning')
  await tell('agent.recording_job.capture_device_recovered', 'info')
  assert.deepEqual(await open(), ['agent.meter.flatline', 'agent.recording_job.capture_device_lost'])
})

test('an outage between a recorder and the controller is over for the take, and for the claims, that it met', async () => {
  const { agent, id, k, open } = await world()
  const recordingId = (await k.as('admin').post('/recordings', { nodeId: id })).json.data.id
  const job = async (what: string, severity: string, more: object = {}) => {
    const body = { severity, type: `agent.recording_job.${what}`, ...more }
    assert.equal((await agent.post(`/nodes/${id}/health-events`, body)).status, 201)
  }
  await job('claim_next_failed', 'warning')
  await job('control_plane_failed', 'warning', { recordingId })
  await job('control_plane_recovered', 'info')
  await job('claim_next_recovered', 'info')
  assert.deepEqual(await open(), ['agent.recording_job.control_plane_failed'])
  await job('control_plane_recovered', 'info', { recordingId })
  assert.deepEqual(await open(), [])
})

test('what only informs is kept and asks nothing of anybody, until somebody reopens it', async () => {
  const { k, open, tell } = await world()
  const told = await tell('agent.recording_job.output_rendered', 'info')
  assert.deepEqual([told.status, told.details.autoResolvedReason], ['resolved', 'nothing_to_do'])
  assert.deepEqual(await open(), [])
  assert.equal((await k.as('admin').post(`/health-events/${told.id}/reopen`, {})).status, 200)
  assert.deepEqual(await open(), ['agent.recording_job.output_rendered'])
})
