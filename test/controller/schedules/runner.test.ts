import assert from 'node:assert/strict'
import { test } from 'node:test'
import { topics } from '../../../src/controller/scheduler/notifier.ts'
import { daily, finishAll, house, pass, takes } from './world.ts'

const DUE = 'schedules.due_run'

test('a due schedule becomes a recording and a job, named by its templates, and waits for the next date', async () => {
  const { add, get, k } = await house()
  const { id, nextRunAt } = await add({ tags: ['mass'] })
  assert.equal(nextRunAt, '2026-03-02T10:00:00.000Z')
  assert.deepEqual(await pass(k), {})
  assert.deepEqual(await pass(k, '1h'), { started: 1 })
  const row = k.rows(`SELECT name, folder, source, status, room_id, schedule_id, recorded_at FROM recordings`)[0]
  assert.deepEqual(
    { ...row },
    {
      ...{ name: 'Service 2026-03-02 1000', source: 'schedule', status: 'recording' },
      ...{ folder: 'Scheduled/Hall', room_id: 'hall', schedule_id: id, recorded_at: '2026-03-02T10:00:00.000Z' },
    },
  )
  assert.equal((await get(id)).nextRunAt, '2026-03-03T10:00:00.000Z')
  assert.deepEqual(k.trail().slice(0, 1), [`${DUE}.succeeded succeeded`])
  const told = k.rows(`SELECT actor_id, target_id, permission FROM audit_events WHERE action = '${DUE}.succeeded'`)[0]
  assert.deepEqual({ ...told }, { actor_id: 'system:scheduler', target_id: id, permission: 'schedule:manage' })
  await k.close()
})

test('the recorder that waits hears of it at once', async () => {
  const { add, agent, k, nodeId } = await house()
  await add()
  k.advance('1h')
  const claim = agent.post(`/nodes/${nodeId}/recording-jobs/claim-next?waitSeconds=30`)
  while (k.notifier.listeners(topics.jobs(nodeId)) === 0) await new Promise((done) => setImmediate(done))
  await pass(k)
  const { json, status } = await claim
  assert.deepEqual([status, json.data.command.captureChannelSelection], [200, [1, 2]])
  await k.close()
})

test('double and parallel ticks make one recording', async () => {
  const { add, k } = await house()
  await add()
  k.advance('1h')
  await Promise.all([k.tick('schedule'), k.tick('schedule'), k.tick('schedule')])
  await pass(k, '30s')
  assert.equal(takes(k).length, 1)
  await k.close()
})

test('an occurrence that has run never runs again, whatever the row says it waits for', async () => {
  const { add, get, k } = await house()
  const { id } = await add()
  await pass(k, '1h')
  // As if the advance had been lost: the key of the run stands.
  k.sql(
    "UPDATE schedules SET next_run_at = '2026-03-02T10:00:00.000Z', slot_at = '2026-03-02T10:00:00.000Z', slot_date = '2026-03-02'",
  )
  finishAll(k)
  assert.deepEqual(await pass(k, '5m'), { stale: 1 })
  assert.equal(takes(k).length, 1)
  assert.equal((await get(id)).nextRunAt, '2026-03-03T10:00:00.000Z')
  await k.close()
})

test('recording, run and next date are one transaction: when one fails, none is there', async () => {
  const { add, get, k } = await house()
  const { id } = await add()
  k.sql(`CREATE TRIGGER no_jobs BEFORE INSERT ON recording_jobs BEGIN SELECT RAISE(FAIL, 'no'); END`)
  assert.deepEqual(await pass(k, '1h'), { failed: 1 })
  assert.deepEqual([takes(k).length, k.rows('SELECT * FROM schedule_runs').length], [0, 0])
  k.sql('DROP TRIGGER no_jobs')
  assert.equal((await get(id)).nextRunAt, '2026-03-02T10:05:00.000Z')
  assert.deepEqual(await pass(k, '5m'), { started: 1 })
  assert.deepEqual(takes(k), ['03-02T10:05:00 Service 2026-03-02 1000 3300'])
  await k.close()
})

test('buffers: it starts early and ends late', async () => {
  const { add, k } = await house()
  const { nextRunAt } = await add({ recurrence: { ...daily, startEarlySeconds: 600, stopLateSeconds: 300 } })
  assert.equal(nextRunAt, '2026-03-02T09:50:00.000Z')
  await pass(k, '50m')
  assert.deepEqual(takes(k), ['03-02T09:50:00 Service 2026-03-02 1000 4500'])
  await k.close()
})

test('once is switched off after its run; manual, always_on and open-ended takes have the default length', async () => {
  const { add, get, k } = await house()
  const once = await add({
    name: 'A',
    recurrence: { mode: 'once', startsAt: '2026-03-02T09:30:00Z', durationSeconds: 60 },
  })
  const manual = await add({
    name: 'B',
    captureChannelSelection: [3],
    recurrence: { mode: 'manual' },
    nextRunAt: '2026-03-02T09:30:00Z',
  })
  const always = await add({ name: 'C', captureChannelSelection: [4], recurrence: { mode: 'always_on' } })
  const open = await add({
    name: 'D',
    captureChannelSelection: [2],
    recurrence: { mode: 'once', startsAt: '2026-03-02T08:00:00Z' },
  })
  assert.equal(always.nextRunAt, '2026-03-02T09:00:00.000Z')
  // Only B, C and D use other channels; A takes 1 and 2, which D holds: it is moved to channel 1.
  k.sql("UPDATE schedules SET capture_channels = '[1]' WHERE id = ?", once.id)
  assert.deepEqual(await pass(k), { started: 2 })
  assert.deepEqual(await pass(k, '30m'), { started: 2 })
  assert.deepEqual(takes(k).sort(), [
    '03-02T09:00:00 C 2026-03-02 0900 3600',
    '03-02T09:00:00 D 2026-03-02 0800 3600',
    '03-02T09:30:00 A 2026-03-02 0930 60',
    '03-02T09:30:00 B 2026-03-02 0930 3600',
  ])
  for (const { id } of [once, open]) assert.equal((await get(id)).enabled, false)
  for (const { id } of [manual, always]) assert.equal((await get(id)).enabled, true)
  for (const { id } of [once, manual, open]) assert.equal((await get(id)).nextRunAt, undefined)
  // What is always on goes on where its take ends.
  assert.equal((await get(always.id)).nextRunAt, '2026-03-02T10:00:00.000Z')
  assert.deepEqual(await pass(k, '30m'), { started: 1 })
  assert.deepEqual(takes(k).sort()[4], '03-02T10:00:00 C 2026-03-02 1000 3600')
  await k.close()
})

test('a late start is shortened to the slot; a second is rounded up', async () => {
  const { add, k } = await house()
  await add()
  k.advance('1h')
  k.advance('90500ms')
  await pass(k)
  assert.deepEqual(takes(k), ['03-02T10:01:30 Service 2026-03-02 1000 3510'])
  await k.close()
})

test('after an outage: one late run inside of its slot, the missed ones are told, nothing is made up for', async () => {
  const { add, get, k } = await house()
  const { id } = await add()
  assert.deepEqual(await pass(k, '4d'), { missed: 1 })
  assert.deepEqual(takes(k), [])
  assert.equal((await get(id)).nextRunAt, '2026-03-06T10:00:00.000Z')
  assert.deepEqual(k.trail().slice(0, 1), [`${DUE}.failed failed schedule_occurrence_missed`])
  const [row] = k.rows<{ details: string }>(`SELECT details FROM audit_events WHERE action = '${DUE}.failed'`)
  assert.equal(JSON.parse(row?.details ?? '').missedCount, 4)
  k.forget()
  k.advance('2d')
  assert.deepEqual(await pass(k, '105m'), { started: 1 })
  assert.deepEqual(takes(k), ['03-08T10:45:00 Service 2026-03-08 1000 900'])
  assert.deepEqual(k.trail(), [`${DUE}.failed failed schedule_occurrence_missed`, `${DUE}.succeeded succeeded`])
  await k.close()
})

test('busy channels defer it; the alarm is one, and over when it runs', async () => {
  const { add, admin, get, interfaceId, k, nodeId } = await house()
  const { id } = await add()
  await admin.post('/recordings', {
    nodeId,
    captureInterfaceId: interfaceId,
    captureChannelSelection: [2],
    durationSeconds: 7200,
  })
  k.forget()
  assert.deepEqual(await pass(k, '1h'), { deferred: 1 })
  assert.equal((await get(id)).nextRunAt, '2026-03-02T10:05:00.000Z')
  assert.deepEqual(await pass(k, '5m'), { deferred: 1 })
  const events = () =>
    k.rows(`SELECT type, severity, status, schedule_id, resolved_by FROM health_events`).map((e) => Object.values(e))
  const busy = ['schedule.capture_channels_busy', 'warning']
  assert.deepEqual(events(), [[...busy, 'open', id, null]])
  const deferred = `${DUE}.deferred partial capture_channels_busy`
  assert.deepEqual(
    k.trail().filter((line) => line.startsWith(DUE)),
    [deferred, deferred],
  )
  finishAll(k)
  assert.deepEqual(await pass(k, '5m'), { started: 1 })
  assert.deepEqual(takes(k)[1], '03-02T10:10:00 Service 2026-03-02 1000 3000')
  assert.deepEqual(events(), [[...busy, 'resolved', id, 'system:scheduler']])
  await k.close()
})

test('when the other take ends sooner than the retry, it is tried a second after', async () => {
  const { add, admin, get, interfaceId, k, nodeId } = await house()
  const { id } = await add()
  await admin.post('/recordings', {
    nodeId,
    captureInterfaceId: interfaceId,
    captureChannelSelection: [2],
    durationSeconds: 3660,
  })
  assert.deepEqual(await pass(k, '1h'), { deferred: 1 })
  assert.equal((await get(id)).nextRunAt, '2026-03-02T10:01:01.000Z')
  assert.deepEqual(await pass(k, '61s'), { started: 1 })
  await k.close()
})

test('deferral ends with the slot: it is missed, and the alarm is over', async () => {
  const { add, admin, get, interfaceId, k, nodeId } = await house()
  const { id } = await add()
  await admin.post('/recordings', {
    nodeId,
    captureInterfaceId: interfaceId,
    captureChannelSelection: [2],
    durationSeconds: 86_400,
  })
  for (const span of ['1h', '58m']) assert.deepEqual(await pass(k, span), { deferred: 1 })
  assert.equal((await get(id)).nextRunAt, '2026-03-02T11:00:00.000Z')
  k.forget()
  assert.deepEqual(await pass(k, '2m'), { missed: 1 })
  assert.equal((await get(id)).nextRunAt, '2026-03-03T10:00:00.000Z')
  assert.deepEqual(k.rows(`SELECT status FROM health_events`), [{ status: 'resolved' }])
  assert.equal(k.trail()[0], `${DUE}.failed failed schedule_occurrence_missed`)
  await k.close()
})

test('an older slot that was deferred over an outage is not told twice', async () => {
  const { add, admin, interfaceId, k, nodeId } = await house()
  await add()
  await admin.post('/recordings', {
    nodeId,
    captureInterfaceId: interfaceId,
    captureChannelSelection: [2],
    durationSeconds: 2_000_000,
  })
  k.forget()
  k.advance('2d')
  for (const span of ['1h', '5m', '5m']) assert.deepEqual(await pass(k, span), { deferred: 1 })
  const told = k.trail()
  assert.equal(told.filter((line) => line.includes('missed')).length, 1)
  assert.equal(k.rows(`SELECT 1 FROM health_events`).length, 1)
  await k.close()
})

test('a node at capacity defers like busy channels', async () => {
  const { add, k, nodeId } = await house()
  await add()
  k.sql(
    `INSERT INTO recordings (id, name, folder, source, status, recorded_at, node_id, updated_at) VALUES ('x', 'x', 'x', 'ad_hoc', 'recording', ?, ?, ?)`,
    ...[k.now(), nodeId, k.now()],
  )
  k.sql(
    `INSERT INTO recording_jobs (id, recording_id, node_id, status, command, created_at) VALUES ('j', 'x', ?, 'queued', '{"durationSeconds":60,"captureInterfaceId":"other"}', ?)`,
    ...[nodeId, k.now()],
  )
  assert.deepEqual(await pass(k, '1h'), { deferred: 1 })
  assert.ok(k.trail().includes(`${DUE}.deferred partial node_capture_capacity_reached`))
  await k.close()
})

test('channels that moved to two rooms defer it, with one alarm of its own', async () => {
  const { add, k } = await house()
  await add()
  k.sql("UPDATE channels SET room_id = 'booth' WHERE idx = 2")
  for (const span of ['1h', '5m']) assert.deepEqual(await pass(k, span), { deferred: 1 })
  const line = `${DUE}.deferred partial channel_selection_cross_room`
  assert.deepEqual(k.trail(), [line, line])
  assert.deepEqual(k.rows(`SELECT type, status FROM health_events`), [
    { type: 'schedule.capture_channels_cross_room', status: 'open' },
  ])
  k.sql("UPDATE channels SET room_id = 'booth' WHERE idx = 1")
  assert.deepEqual(await pass(k, '5m'), { started: 1 })
  // The room is the one of now.
  assert.deepEqual(k.rows(`SELECT room_id FROM recordings`), [{ room_id: 'booth' }])
  assert.deepEqual(k.rows(`SELECT status FROM health_events`), [{ status: 'resolved' }])
  await k.close()
})

test('without its node it fails, and is tried again', async () => {
  const { add, get, k } = await house()
  const { id } = await add()
  k.sql('UPDATE schedules SET node_id = NULL')
  assert.deepEqual(await pass(k, '1h'), { failed: 1 })
  assert.equal(k.trail()[0], `${DUE}.failed failed schedule_node_not_found`)
  assert.equal((await get(id)).nextRunAt, '2026-03-02T10:05:00.000Z')
  await k.close()
})

test('a paused once is skipped and switched off; a paused always_on waits for the end of the pause', async () => {
  const { add, get, k } = await house()
  const pause = { action: 'pause', startDate: '2026-03-01', endDate: '2026-03-03' }
  const { id } = await add({ recurrence: { mode: 'once', startsAt: '2026-03-02T10:00:00Z', exceptions: [pause] } })
  const always = await add({ timezone: 'Europe/Berlin', recurrence: { mode: 'always_on', exceptions: [pause] } })
  assert.equal(always.nextRunAt, '2026-03-03T23:00:00.000Z')
  assert.deepEqual(await pass(k, '1h'), { skipped: 1 })
  assert.deepEqual(k.trail(), [`${DUE}.skipped succeeded schedule_occurrence_skipped`])
  assert.equal((await get(id)).enabled, false)
  await k.close()
})

test('disabled schedules are left alone, and start anew when enabled', async () => {
  const { add, admin, get, k } = await house()
  const { id } = await add({ enabled: false })
  assert.deepEqual(await pass(k, '3d'), {})
  await admin.patch(`/schedules/${id}`, { enabled: true })
  assert.equal((await get(id)).nextRunAt, '2026-03-05T10:00:00.000Z')
  await k.close()
})

test('many due at once are all started, each in a transaction of its own', async () => {
  const { add, k } = await house()
  await add()
  k.sql(`INSERT INTO nodes (id, alias, hostname, site, room, last_seen_at, created_at, updated_at)
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
    SELECT 'n' || i, 'n' || i, 'h', 'North', 'R', '', '', '' FROM n`)
  k.sql(`INSERT INTO schedules (id, name, node_id, recurrence, next_run_at, slot_at, slot_date, created_at, updated_at)
    SELECT 's' || id, 'S', id, '{"mode":"daily","interval":1,"startTime":"10:00","endTime":"11:00"}',
      '2026-03-02T10:00:00.000Z', '2026-03-02T10:00:00.000Z', '2026-03-02', '', '' FROM nodes WHERE id LIKE 'n%' AND length(id) < 5`)
  k.advance('1h')
  assert.deepEqual([await pass(k), await pass(k)], [{ started: 200 }, { started: 101 }])
  assert.equal(takes(k).length, 301)
  await k.close()
})

test('a row that says when but not what waits for what its rule says, and is not asked again and again', async () => {
  const { add, get, k } = await house()
  const { id } = await add()
  k.sql("UPDATE schedules SET slot_at = NULL, slot_date = NULL, next_run_at = '2026-03-02T08:00:00.000Z'")
  assert.deepEqual([await pass(k), await pass(k)], [{ stale: 1 }, {}])
  assert.equal((await get(id)).nextRunAt, '2026-03-02T10:00:00.000Z')
  await k.close()
})

test('runs of long ago are forgotten, the recordings stay', async () => {
  const { add, k } = await house()
  const { id } = await add()
  k.sql("INSERT INTO schedule_runs VALUES (?, '2024-01-01T10:00:00.000Z', 'started', NULL, NULL, '')", id)
  await pass(k, '1h')
  assert.deepEqual(k.rows('SELECT occurrence_at AS at FROM schedule_runs'), [{ at: '2026-03-02T10:00:00.000Z' }])
  await k.close()
})

test('a schedule that cannot be worked out keeps no other from starting, and is tried again', async () => {
  const { add, k } = await house()
  const { id } = await add()
  await add({
    captureChannelSelection: [3, 4],
    name: 'Booth',
    room: 'Booth',
    recurrence: { ...daily, startTime: '10:01' },
  })
  k.sql("UPDATE schedules SET timezone = 'Mars/Olympus' WHERE id = ?", id)
  assert.deepEqual(await pass(k, '62m'), { failed: 1, started: 1 })
  assert.deepEqual(await pass(k), {}, 'it waits')
  assert.deepEqual(await pass(k, '6m'), { failed: 1 })
  const alarms = () => k.rows<{ status: string }>('SELECT status FROM health_events WHERE schedule_id = ?', id)
  assert.deepEqual(alarms(), [{ status: 'open' }])
  assert.equal(k.trail().filter((row) => row === 'schedules.due_run.failed failed internal_error').length, 2)
  k.sql("UPDATE schedules SET timezone = 'UTC' WHERE id = ?", id)
  assert.deepEqual(await pass(k, '6m'), { started: 1 })
  assert.deepEqual(alarms(), [{ status: 'resolved' }])
  await k.close()
})
