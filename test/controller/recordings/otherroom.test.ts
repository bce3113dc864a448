import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../kit/kit.ts'

test('without its device a schedule records no other room: it waits, with an alarm, and goes on when it is back', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id, agent } = await k.enroll()
  for (const room of ['hall', 'confessional']) await admin.post('/rooms', { id: room, name: room, site: 'North' })
  const device = (name: string) => ({
    ...{ alias: name, backend: 'alsa', channelCount: 2, sampleRates: [48000] },
    ...{ systemName: name, systemRef: `hw:CARD=${name},DEV=0` },
  })
  const report = (...names: string[]) => agent.post(`/nodes/${id}/inventory`, { interfaces: names.map(device) })
  const { interfaces } = (await report('Near', 'Far')).json.data.node as {
    interfaces: { id: string; systemName: string }[]
  }
  const idOf = (name: string) => interfaces.find(({ systemName }) => systemName === name)?.id
  const assignments = [
    { channelIndexes: [1, 2], interfaceId: idOf('Near'), roomId: 'hall' },
    { channelIndexes: [1, 2], interfaceId: idOf('Far'), roomId: 'confessional' },
  ]
  assert.equal((await admin.put(`/nodes/${id}/channel-rooms`, { assignments })).status, 200)
  await report('Near', 'Far')
  const made = await admin.post('/schedules', {
    ...{ name: 'Lecture', nodeId: id, room: 'Hall', timezone: 'UTC', recordingProfileId: 'voice-mp3-vbr' },
    ...{ titleTemplate: '{{schedule.name}}', folderTemplate: '{{room}}', watchdogPolicyId: 'scheduled-voice-watchdog' },
    recurrence: { endTime: '11:00', mode: 'daily', startTime: '10:00' },
  })
  assert.equal(made.status, 201, made.text)
  assert.equal(made.json.data.roomId, 'hall')
  await report('Far')
  const run = await admin.post(`/schedules/${made.json.data.id}/run-now`)
  assert.deepEqual([run.status, run.json.reason], [409, 'schedule_room_changed'])
  k.advance('61m')
  await k.tick('schedule')
  assert.equal((await admin.get('/recordings')).json.data.length, 0)
  const alarms = k.rows<{ type: string }>("SELECT type FROM health_events WHERE type LIKE 'schedule.%'")
  assert.equal(alarms.length, 1)
  await report('Near', 'Far')
  k.advance('6m')
  await k.tick('schedule')
  const [take] = (await admin.get('/recordings')).json.data
  assert.equal(take?.roomId, 'hall')
  await k.close()
})

test('a failed take whose channels are in another room now is not made again there', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id, node, agent } = await k.enroll()
  for (const room of ['hall', 'confessional']) await admin.post('/rooms', { id: room, name: room, site: 'North' })
  const [{ id: interfaceId }] = node.interfaces
  const put = (roomId: string) =>
    admin.put(`/nodes/${id}/channel-rooms`, { assignments: [{ channelIndexes: [1, 2], interfaceId, roomId }] })
  await put('hall')
  const { job } = (
    await admin.post('/recordings', { captureInterfaceId: interfaceId, durationSeconds: 60, nodeId: id })
  ).json
  await agent.post(`/recording-jobs/${job.id}/claim`)
  assert.equal((await agent.post(`/recording-jobs/${job.id}/failed`)).status, 200)
  await put('confessional')
  const retried = await admin.post(`/recording-jobs/${job.id}/retry`)
  assert.deepEqual([retried.status, retried.json.reason], [409, 'channels_moved'])
  assert.equal((await admin.post('/recording-jobs/bulk-retry', { jobIds: [job.id] })).status, 409)
  await put('hall')
  assert.equal((await admin.post(`/recording-jobs/${job.id}/retry`)).status, 201)
  await k.close()
})

test('a take that waits is not captured from channels that went to another room: it fails, with an alarm', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id, node, agent } = await k.enroll()
  for (const room of ['hall', 'confessional']) await admin.post('/rooms', { id: room, name: room, site: 'North' })
  const [{ id: interfaceId }] = node.interfaces
  const put = (roomId: string, channelIndexes = [1, 2]) =>
    admin.put(`/nodes/${id}/channel-rooms`, { assignments: [{ channelIndexes, interfaceId, roomId }] })
  await put('hall')
  const start = (selection: number[]) =>
    admin.post('/recordings', {
      ...{ captureChannelSelection: selection, captureInterfaceId: interfaceId, durationSeconds: 60, nodeId: id },
    })
  const [left, right] = [(await start([1])).json, (await start([2])).json]
  k.forget()
  await put('confessional', [2])
  assert.deepEqual(k.rows('SELECT id, status, failure_reason AS why FROM recording_jobs ORDER BY id'), [
    { id: left.job.id, status: 'queued', why: null },
    { id: right.job.id, status: 'failed', why: 'channels_moved' },
  ])
  assert.deepEqual(k.rows('SELECT type, severity, recording_id AS recording FROM health_events'), [
    { type: 'controller.recording.job_failed', severity: 'critical', recording: right.data.id },
  ])
  assert.ok(k.trail().includes('recording_jobs.channels_moved succeeded channels_moved'), k.trail().join('\n'))
  assert.equal((await agent.post(`/nodes/${id}/recording-jobs/claim-next`)).json.data.id, left.job.id)
  assert.equal((await agent.post(`/recording-jobs/${right.job.id}/claim`)).status, 409)
  // What runs goes on: it is what was in the room when it began.
  await put('confessional')
  assert.equal((await agent.get(`/recording-jobs/${left.job.id}`)).json.data.status, 'running')
  await k.close()
})
