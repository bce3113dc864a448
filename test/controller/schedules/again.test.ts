// A scheduled take that its recorder could not begin: while the slot lasts, it is begun again.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { againAt } from '../../../src/controller/schedules/again.store.ts'
import { daily, type House, house, pass, takes } from './world.ts'

/** The lecture of 10:00 to 11:00 is due, and its recorder has no room. */
async function fullDisk(h: House) {
  await h.add()
  await pass(h.k, '1h')
  return failed(h)
}

/** Its recorder claims the job that waits, and cannot begin it. */
async function failed({ agent, k, nodeId }: House, reason = 'insufficient_capture_disk_space') {
  const { json, status } = await agent.post(`/nodes/${nodeId}/recording-jobs/claim-next`)
  assert.equal(status, 200)
  const { command, id, recordingId } = json.data
  assert.equal((await agent.post(`/recording-jobs/${id}/failed`, undefined, { 'x-svc-reason': reason })).status, 200)
  k.forget()
  return { id, recordingId, seconds: command.durationSeconds }
}

async function again({ k }: House, span: string): Promise<unknown> {
  k.advance(span)
  await k.tick('schedule-again')
  return k.ticker.status().find(({ name }) => name === 'schedule-again')?.lastResult
}

const alerts = ({ k }: House): string[] =>
  k
    .rows<{ status: string }>("SELECT status FROM health_events WHERE type = 'controller.recording.job_failed'")
    .map(({ status }) => status)

test('as soon as there may be room it is asked again, for the rest of the slot; it is one take, and told as late', async () => {
  const h = await house()
  const first = await fullDisk(h)
  assert.deepEqual(await again(h, '14s'), { begun: 0 })
  assert.deepEqual(await again(h, '6s'), { begun: 1 })
  assert.deepEqual(h.k.trail(), ['schedules.due_run.begun_again succeeded'])
  const [row] = h.k.rows<{ details: string }>("SELECT details FROM audit_events WHERE action LIKE '%.begun_again'")
  assert.deepEqual(JSON.parse(row!.details), {
    ...{ attempt: 2, durationSeconds: 3580, failureReason: 'insufficient_capture_disk_space', lateSeconds: 20 },
    occurrenceAt: '2026-03-02T10:00:00.000Z',
  })
  const { json } = await h.agent.post(`/nodes/${h.nodeId}/recording-jobs/claim-next`)
  assert.deepEqual([json.data.recordingId, json.data.command.durationSeconds], [first.recordingId, 3580])
  assert.notEqual(json.data.id, first.id)
  assert.equal(new Set(takes(h.k).map((take) => take.slice(0, 14))).size, 1)
  assert.deepEqual(await again(h, '10m'), { begun: 0 }, 'it is recorded now')
  await h.k.close()
})

const CHANGES: Record<string, object> = {
  'skipped today': { recurrence: { ...daily, exceptions: [{ action: 'skip', date: '2026-03-02' }] } },
  'moved to the afternoon': { recurrence: { ...daily, startTime: '14:00', endTime: '15:00' } },
  'cut to what is over': { recurrence: { ...daily, startTime: '10:00', endTime: '10:10' } },
  'held on another day': {
    recurrence: { daysOfWeek: ['tuesday'], endTime: '11:00', interval: 1, mode: 'weekly', startTime: '10:00' },
  },
  'recorded from other channels': { captureChannelSelection: [3, 4] },
}
for (const [what, change] of Object.entries(CHANGES))
  test(`a slot that is ${what} meanwhile is not begun again`, async () => {
    const h = await house()
    const { id } = await h.add()
    await pass(h.k, '1h')
    await failed(h)
    const { status, text } = await h.admin.patch(`/schedules/${id}`, change)
    assert.equal(status, 200, text)
    assert.deepEqual(await again(h, '15m'), { begun: 0 })
    await h.k.close()
  })

test('a slot whose end was moved is begun again until then, whatever else of its schedule is changed', async () => {
  const h = await house()
  const { id } = await h.add()
  await pass(h.k, '1h')
  await failed(h)
  const recurrence = { ...daily, endTime: '10:30', startTime: '10:00' }
  assert.equal((await h.admin.patch(`/schedules/${id}`, { name: 'Renamed', recurrence })).status, 200)
  assert.deepEqual(await again(h, '15m'), { begun: 1 })
  const { json } = await h.agent.post(`/nodes/${h.nodeId}/recording-jobs/claim-next`)
  assert.equal(json.data.command.durationSeconds, 900)
  await h.k.close()
})

test('the pauses grow, one alert is open at a time, and with the slot it ends', async () => {
  const h = await house()
  await fullDisk(h)
  let attempts = 1
  for (let minute = 0; minute < 70; minute++) {
    const { begun } = (await again(h, '1m')) as { begun: number }
    if (begun === 0) continue
    attempts++
    await failed(h)
    assert.equal(alerts(h).filter((status) => status !== 'resolved').length, 1)
  }
  assert.ok(attempts >= 10 && attempts <= 17, `${attempts} attempts in an hour`)
  assert.equal(h.k.rows('SELECT 1 FROM recordings').length, 1)
  await h.k.close()
})

test('the first pause is a quarter of a minute, the longest that of the setting', () => {
  const failedAt = '2026-03-02T10:00:00.000Z'
  const pauses = [1, 2, 3, 4, 5, 6, 90].map((attempts) => Date.parse(againAt({ attempts, failedAt }, 300)))
  assert.deepEqual(
    pauses.map((at) => (at - Date.parse(failedAt)) / 1000),
    [15, 30, 60, 120, 240, 300, 300],
  )
})

test('what may still arrive, was stopped by a person, or was not scheduled is left alone', async () => {
  const cut = await house({ env: { SVC_RECORDING_JOB_LEASE_SECONDS: '30' } })
  await cut.add()
  await pass(cut.k, '1h')
  await cut.agent.post(`/nodes/${cut.nodeId}/recording-jobs/claim-next`)
  cut.k.advance('2m')
  await cut.k.tick('job-lease')
  assert.deepEqual(await again(cut, '5m'), { begun: 0 })
  await cut.k.close()

  const stopped = await house()
  await stopped.add()
  await pass(stopped.k, '1h')
  const [{ id }] = stopped.k.rows<{ id: string }>('SELECT id FROM recordings') as [{ id: string }]
  await stopped.admin.post(`/recordings/${id}/stop`)
  assert.deepEqual(await again(stopped, '5m'), { begun: 0 })
  await stopped.k.close()

  const both = await house()
  await both.add()
  await pass(both.k, '1h')
  const { json } = await both.agent.post(`/nodes/${both.nodeId}/recording-jobs/claim-next`)
  await both.admin.post(`/recordings/${json.data.recordingId}/stop`)
  await both.agent.post(`/recording-jobs/${json.data.id}/failed`, undefined, { 'x-svc-reason': 'capture_failed' })
  assert.deepEqual(await again(both, '5m'), { begun: 0 })
  await both.k.close()

  const asked = await house()
  const { nodeId } = asked
  await asked.admin.post('/recordings', { captureChannelSelection: [1, 2], durationSeconds: 600, nodeId })
  await failed(asked)
  assert.deepEqual(await again(asked, '5m'), { begun: 0 })
  await asked.k.close()
})

test('what is called off between two attempts is not begun again: by a stop, or by switching the schedule off', async () => {
  const stopped = await house()
  const { recordingId } = await fullDisk(stopped)
  assert.equal((await stopped.admin.post(`/recordings/${recordingId}/stop`)).status, 200)
  assert.deepEqual(await again(stopped, '5m'), { begun: 0 })
  await stopped.k.close()

  const off = await house()
  await fullDisk(off)
  const [{ id }] = off.k.rows<{ id: string }>('SELECT id FROM schedules') as [{ id: string }]
  assert.equal((await off.admin.patch(`/schedules/${id}`, { enabled: false })).status, 200)
  assert.deepEqual(await again(off, '5m'), { begun: 0 })
  assert.equal((await off.admin.patch(`/schedules/${id}`, { enabled: true })).status, 200)
  assert.deepEqual(await again(off, '1m'), { begun: 1 })
  await off.k.close()
})
