// A node without a capture device says so, starts nothing, and is well as soon as there is one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

const BEAT = { agentVersion: 'agent-v1', hostname: 'hall', status: 'online' }
const DESK = { alias: 'Desk', backend: 'alsa', channelCount: 2, systemName: 'Desk', systemRef: 'hw:CARD=Desk,DEV=0' }
const PROBLEM = { code: 'no_capture_device', message: 'no capture device' }
const REFUSED = {
  error:
    'Node has no capture device: connect one to the recorder, or name what it records from in the audio defaults of the node',
  reason: 'no_capture_device',
}

/** A node that has been heard of and has no interface. */
async function bare(k: ReturnType<typeof kit>, extra: object = {}) {
  const made = await k.enroll('Hall', { interfaces: [], ...extra })
  await made.agent.post(`/nodes/${made.id}/inventory`, { interfaces: [] })
  await made.agent.post(`/nodes/${made.id}/heartbeat`, BEAT)
  const events = () =>
    k.rows<{ status: string }>(`SELECT status FROM health_events WHERE type = 'agent.audio_backend.unavailable'`)
  return { ...made, events: () => events().map((event) => event.status) }
}

test('a node without a device says so until one arrives; its health event opens and ends with that', async () => {
  const k = kit()
  const { agent, events, id } = await bare(k)
  const problems = async () => (await k.as('admin').get(`/nodes/${id}`)).json.data.problems
  const inventory = (interfaces: object[]) => agent.post(`/nodes/${id}/inventory`, { interfaces })
  assert.deepEqual(await problems(), [PROBLEM])
  assert.deepEqual(events(), ['open'])
  // The same news again, from the inventory and from the agent's own watch, is no other event.
  await inventory([])
  const told = { severity: 'warning', type: 'agent.audio_backend.unavailable' }
  assert.equal((await agent.post(`/nodes/${id}/health-events`, { id: 'one', ...told })).status, 201)
  assert.deepEqual(events(), ['open'])
  k.forget()
  await inventory([DESK])
  assert.equal(await problems(), undefined)
  assert.deepEqual(events(), ['resolved'])
  assert.deepEqual(k.trail(), [
    'nodes.inventory.reconciled succeeded',
    'nodes.detail.read allowed',
    'nodes.detail.read.succeeded succeeded',
  ])
  await inventory([])
  assert.deepEqual(await problems(), [PROBLEM])
  assert.deepEqual(events(), ['resolved', 'open'])
  await agent.post(`/nodes/${id}/health-events`, { severity: 'info', type: 'agent.audio_backend.recovered' })
  assert.deepEqual(events(), ['resolved', 'resolved'])
  await k.close()
})

test('a start is refused with that reason, and audited; so is the listen in', async () => {
  const k = kit()
  const { id } = await bare(k)
  k.forget()
  const answer = await k.as('admin').post('/recordings', { nodeId: id })
  assert.deepEqual([answer.status, answer.json], [409, REFUSED])
  assert.deepEqual(k.trail(), ['recordings.start allowed', 'recordings.start.failed failed no_capture_device'])
  const { actions } = (await k.as('admin').get(`/nodes/${id}/actions`)).json.data
  for (const name of ['startRecording', 'listen'])
    assert.deepEqual([actions[name].enabled, actions[name].reason], [false, 'no_capture_device'], name)
  await k.close()
})

test('who may not record there is told nothing of its devices', async () => {
  const k = kit()
  const { id } = await bare(k)
  assert.equal((await k.person('ann', ['operator']).post('/recordings', { nodeId: id })).status, 403)
  await k.close()
})

test('a device that the operator names is recorded from without a card', async () => {
  const k = kit()
  const { id } = await bare(k, { audioDefaults: { captureDevice: 'pulse' } })
  const node = (await k.as('admin').get(`/nodes/${id}`)).json.data
  assert.equal(node.problems, undefined)
  const { json, status } = await k.as('admin').post('/recordings', { nodeId: id })
  assert.deepEqual([status, json.job.command.captureDevice], [202, 'pulse'])
  await k.close()
})

test('a sound server may be asked for by its name', async () => {
  const k = kit()
  const { id } = await bare(k)
  const { status } = await k.as('admin').post('/recordings', { captureBackend: 'pipewire', nodeId: id })
  assert.equal(status, 202)
  await k.close()
})

test('a node nobody has heard of yet is not judged', async () => {
  const k = kit()
  const { id } = await k.enroll('Hall', { interfaces: [] })
  assert.equal((await k.as('admin').get(`/nodes/${id}`)).json.data.problems, undefined)
  await k.close()
})

test('a schedule on it waits for a device as long as its slot lasts, and says why', async () => {
  const k = kit()
  const { agent, id } = await bare(k)
  const schedule = await k.as('admin').post('/schedules', {
    ...{ folderTemplate: 'Scheduled', name: 'Lecture', nodeId: id, room: 'Hall', timezone: 'UTC' },
    recurrence: { mode: 'daily', interval: 1, startTime: '09:30', endTime: '10:30' },
    ...{ recordingProfileId: 'voice-mp3-vbr', titleTemplate: '{{schedule.name}}' },
    watchdogPolicyId: 'scheduled-voice-watchdog',
  })
  assert.equal(schedule.status, 201, schedule.text)
  const run = await k.as('admin').post(`/schedules/${schedule.json.data.id}/run-now`)
  assert.deepEqual([run.status, run.json.reason], [409, 'no_capture_device'])
  k.advance('31m')
  k.forget()
  await k.tick('schedule')
  assert.deepEqual(k.trail(), ['schedules.due_run.deferred partial no_capture_device'])
  const [alarm] = k.rows(`SELECT type, severity FROM health_events WHERE schedule_id IS NOT NULL`)
  assert.deepEqual({ ...alarm }, { severity: 'critical', type: 'schedule.no_capture_device' })
  await agent.post(`/nodes/${id}/inventory`, { interfaces: [DESK] })
  k.advance('1s')
  await k.tick('schedule')
  assert.equal(k.rows('SELECT 1 FROM recordings').length, 1)
  const open = k.rows(`SELECT type FROM health_events WHERE status <> 'resolved'`)
  assert.deepEqual(open, [])
  await k.close()
})

test('a device that arrives starts what waits for it, without waiting for the next pass', {
  timeout: 20_000,
}, async () => {
  const k = kit()
  const { agent, id } = await bare(k)
  await k.as('admin').post('/schedules', {
    ...{ folderTemplate: 'Scheduled', name: 'Lecture', nodeId: id, room: 'Hall', timezone: 'UTC' },
    recurrence: { mode: 'daily', interval: 1, startTime: '09:30', endTime: '10:30' },
    ...{ recordingProfileId: 'voice-mp3-vbr', titleTemplate: '{{schedule.name}}' },
    watchdogPolicyId: 'scheduled-voice-watchdog',
  })
  k.advance('31m')
  k.ticker.start()
  const deferred = () => k.trail().includes('schedules.due_run.deferred partial no_capture_device')
  while (!deferred()) await new Promise((resolve) => setImmediate(resolve))
  // The clock of the kit stands still: no pass comes by itself.
  await agent.post(`/nodes/${id}/inventory`, { interfaces: [DESK] })
  while (k.rows('SELECT 1 FROM recordings').length === 0) await new Promise((resolve) => setImmediate(resolve))
  await k.stop()
  await k.close()
})

test('the reason of a failed job is in the row of its recording', async () => {
  const k = kit()
  const { agent, id } = await k.enroll()
  const { json } = await k.as('admin').post('/recordings', { nodeId: id })
  await agent.post(`/nodes/${id}/recording-jobs/claim-next`)
  const why = 'capture_start_failed: audio open error: No such device'
  await agent.post(`/recording-jobs/${json.job.id}/failed`, undefined, { 'x-svc-reason': why })
  const { data } = (await k.as('admin').get('/recordings')).json
  assert.deepEqual([data[0].status, data[0].failureReason], ['failed', why])
  const one = (await k.as('admin').get(`/recordings/${json.data.id}`)).json.data
  assert.equal(one.failureReason, why)
  // A retry begins anew, and with it what is said of it.
  await k.as('admin').post(`/recording-jobs/${json.job.id}/retry`)
  assert.equal((await k.as('admin').get(`/recordings/${json.data.id}`)).json.data.failureReason, undefined)
  await k.close()
})
