import assert from 'node:assert/strict'
import { test } from 'node:test'
import { daily, type House, house, pass, takes } from './world.ts'

const reason = ({ json, status }: { json: { reason?: string }; status: number }) => [status, json?.reason]

test('a schedule is made, read, changed and deleted, each with its trail', async () => {
  const { admin, body, k } = await house()
  const made = await admin.post(
    '/schedules',
    body({ tags: [' a ', 'a', 'b'], uploadPolicyIds: ['upload-policy-stub'] }),
  )
  assert.equal(made.status, 201)
  const { id, ...rest } = made.json.data
  assert.deepEqual([rest.tags, rest.roomId, rest.nextRunAt], [['a', 'b'], 'hall', '2026-03-02T10:00:00.000Z'])
  assert.deepEqual([rest.enabled, rest.retentionPolicyId], [true, 'retention-keep-controller-cache'])
  assert.deepEqual([rest.anchorDate, rest.slotAt, rest.slotDate], [undefined, undefined, undefined])
  assert.deepEqual((await admin.get(`/schedules/${id}`)).json.data, made.json.data)
  const patched = await admin.patch(`/schedules/${id}`, {
    name: 'Vespers',
    captureChannelSelection: null,
    captureInterfaceId: null,
  })
  // The whole interface spans both rooms.
  assert.deepEqual(reason(patched), [400, 'schedule_channel_cross_room'])
  const renamed = await admin.patch(`/schedules/${id}`, { name: 'Vespers', captureChannelSelection: [3] })
  assert.deepEqual([renamed.json.data.name, renamed.json.data.roomId], ['Vespers', 'booth'])
  assert.equal((await admin.delete(`/schedules/${id}`)).status, 204)
  assert.deepEqual(reason(await admin.get(`/schedules/${id}`)), [404, undefined])
  assert.deepEqual(k.trail(), [
    ...['schedules.create allowed', 'schedules.create.succeeded succeeded'],
    ...['schedules.detail.read allowed', 'schedules.detail.read.succeeded succeeded'],
    ...['schedules.update allowed', 'schedules.update.failed failed schedule_channel_cross_room'],
    ...['schedules.update allowed', 'schedules.update.succeeded succeeded'],
    ...['schedules.delete allowed', 'schedules.delete.succeeded succeeded'],
    ...['schedules.detail.read allowed', 'schedules.detail.read.failed failed schedule_not_found'],
  ])
  await k.close()
})

const startOf = (recurrence: object) => ({ recurrence })
const weekly = { mode: 'weekly', daysOfWeek: ['monday'], startTime: '10:00', endTime: '11:00' }

// Body changes, and how each is refused. The order is that of the checks.
const REFUSED: [what: string, change: object, status: number, reason: string | undefined][] = [
  ['no name', { name: undefined }, 400, undefined],
  ['a zone that does not exist', { timezone: 'Mars/Olympus' }, 400, undefined],
  ['a bare offset', { timezone: '+02:00' }, 400, undefined],
  ['a time beyond the day', startOf({ ...daily, startTime: '99:99' }), 400, undefined],
  ['24:00', startOf({ ...daily, endTime: '24:00' }), 400, undefined],
  ['an absurd interval', startOf({ ...daily, interval: 100_000 }), 400, undefined],
  ['interval 0', startOf({ ...daily, interval: 0 }), 400, undefined],
  ['no day of the week', startOf({ ...weekly, daysOfWeek: [] }), 400, undefined],
  ['day 32', startOf({ ...daily, mode: 'monthly', dayOfMonth: 32 }), 400, undefined],
  ['a mode nobody knows', startOf({ mode: 'lunar' }), 400, undefined],
  ['a date that is none', startOf({ ...daily, exceptions: [{ action: 'skip', date: '2026-02-30' }] }), 400, undefined],
  [
    'a pause that ends before it starts',
    startOf({ ...daily, exceptions: [{ action: 'pause', startDate: '2026-03-02', endDate: '2026-03-01' }] }),
    400,
    undefined,
  ],
  [
    '367 exceptions',
    startOf({ ...daily, exceptions: Array(367).fill({ action: 'skip', date: '2026-03-02' }) }),
    400,
    undefined,
  ],
  ['a day and a second of early start', startOf({ ...daily, startEarlySeconds: 86_401 }), 400, undefined],
  ['channels twice', { captureChannelSelection: [1, 1] }, 400, undefined],
  ['a start that is no date', startOf({ mode: 'once', startsAt: 'soon' }), 400, 'invalid_next_run_at'],
  [
    'a start beyond all times',
    startOf({ mode: 'once', startsAt: '+275760-09-13T00:00:00Z' }),
    400,
    'invalid_next_run_at',
  ],
  ['a next run that is no date', { recurrence: undefined, nextRunAt: 'soon' }, 400, 'invalid_next_run_at'],
  ['an unknown node', { nodeId: 'nobody' }, 409, 'schedule_node_not_found'],
  ['an interface of nobody', { captureInterfaceId: 'nobody' }, 409, 'schedule_interface_not_found'],
  ['no channel', { captureChannelSelection: [] }, 400, 'channel_selection_empty'],
  ['channel 0', { captureChannelSelection: [0] }, 400, 'channel_selection_out_of_range'],
  ['channel 513', { captureChannelSelection: [513] }, 400, 'channel_selection_out_of_range'],
  ['channel 9 of 4', { captureChannelSelection: [9] }, 400, 'channel_selection_unknown_channel'],
  ['stereo of one', { captureChannelSelection: [1], channelMode: 'stereo' }, 400, 'channel_selection_mode_arity'],
  ['an unknown profile', { recordingProfileId: 'x' }, 404, undefined],
  ['an unknown watchdog', { watchdogPolicyId: 'x' }, 404, undefined],
  ['an unknown retention', { retentionPolicyId: 'x' }, 404, undefined],
  ['an unknown upload', { uploadPolicyIds: ['x'] }, 404, undefined],
  ['an unknown person', { assignedUserIds: ['x'] }, 400, 'unknown_assignee'],
  ['channels of two rooms', { captureChannelSelection: [2, 3] }, 400, 'schedule_channel_cross_room'],
  [
    'a rule without a day',
    startOf({ ...daily, exceptions: [{ action: 'pause', startDate: '2000-01-01', endDate: '2099-01-01' }] }),
    400,
    'recurrence_never_occurs',
  ],
]

test('what is refused, and why; nothing is left of it', async () => {
  const { admin, body, k } = await house()
  for (const [what, change, status, why] of REFUSED) {
    const answer = await admin.post('/schedules', body(change))
    assert.deepEqual(reason(answer), [status, why], `${what}: ${answer.text}`)
    if (status === 400) assert.ok(Array.isArray(answer.json.issues), what)
  }
  // Each check comes before the next: a body with two faults is refused for the first.
  const faults = REFUSED.slice(18)
  for (const [i, [what, change, status, why]] of faults.slice(0, -1).entries()) {
    const later = faults.slice(i + 1).find(([, other]) => !Object.keys(other).some((key) => key in change))?.[1]
    assert.deepEqual(reason(await admin.post('/schedules', body({ ...later, ...change }))), [status, why], what)
  }
  const { json } = await admin.post('/schedules', body({ assignedUserIds: ['x'], assignedGroupIds: ['y'] }))
  assert.deepEqual([json.unknownUserIds, json.unknownGroupIds], [['x'], ['y']])
  const unknown = await admin.post('/schedules', body({ uploadPolicyIds: ['x'] }))
  assert.equal(unknown.json.permission, 'schedule:manage')
  assert.equal(k.rows('SELECT 1 FROM schedules').length, 0)
  const told = ['recording_profile', 'watchdog_policy', 'retention_policy', 'upload_policy'].map(
    (t) => `${t}_not_found`,
  )
  for (const one of told) assert.ok(k.trail().includes(`schedules.create.failed failed ${one}`), one)
  await k.close()
})

test('an id may be given, once', async () => {
  const { admin, body, k } = await house()
  assert.equal((await admin.post('/schedules', body({ id: 'mine' }))).json.data.id, 'mine')
  assert.deepEqual(reason(await admin.post('/schedules', body({ id: 'mine' }))), [409, 'schedule_exists'])
  await k.close()
})

test('without a recurrence: a next run makes it once, nothing makes it manual', async () => {
  const { admin, body, k } = await house()
  const manual = await admin.post('/schedules', body({ recurrence: undefined }))
  assert.deepEqual([manual.json.data.recurrence, manual.json.data.nextRunAt], [{ mode: 'manual' }, undefined])
  const once = await admin.post('/schedules', body({ recurrence: undefined, nextRunAt: '2026-03-03T12:00:00+02:00' }))
  assert.deepEqual(once.json.data.recurrence, { mode: 'once', startsAt: '2026-03-03T10:00:00.000Z' })
  assert.equal(once.json.data.nextRunAt, '2026-03-03T10:00:00.000Z')
  const moved = await admin.patch(`/schedules/${once.json.data.id}`, { nextRunAt: '2026-03-04T10:00:00Z' })
  assert.equal(moved.json.data.recurrence.startsAt, '2026-03-04T10:00:00.000Z')
  const set = await admin.patch(`/schedules/${manual.json.data.id}`, { nextRunAt: '2026-03-04T10:00:00Z' })
  assert.equal(set.json.data.nextRunAt, '2026-03-04T10:00:00.000Z')
  await k.close()
})

test('a patch needs a field, and only the four capture fields can be cleared', async () => {
  const { add, admin, k } = await house()
  const { id } = await add({ captureChannelSelection: [1], captureBackend: 'alsa', channelMode: 'mono' })
  for (const bad of [{}, { unknown: 1 }, { name: null }, { roomId: 'booth' }])
    assert.equal((await admin.patch(`/schedules/${id}`, bad)).status, 400, JSON.stringify(bad))
  const { json } = await admin.patch(`/schedules/${id}`, { captureBackend: null, channelMode: null })
  assert.deepEqual([json.data.captureBackend, json.data.channelMode], [undefined, undefined])
  assert.deepEqual(json.data.recurrence, daily)
  await k.close()
})

test('a patch with the same recurrence keeps parity and the next run; a new rhythm counts from today', async () => {
  const { add, admin, k } = await house()
  const biweekly = { ...weekly, interval: 2 }
  const { id, nextRunAt } = await add({ recurrence: biweekly })
  assert.equal(nextRunAt, '2026-03-02T10:00:00.000Z')
  await pass(k, '1h')
  k.advance('7d')
  const patch = async (body: object) => (await admin.patch(`/schedules/${id}`, body)).json.data.nextRunAt
  assert.equal(await patch({ recurrence: biweekly }), '2026-03-16T10:00:00.000Z')
  assert.equal(
    await patch({ recurrence: { ...biweekly, endTime: '12:00', stopLateSeconds: 60 } }),
    '2026-03-16T10:00:00.000Z',
  )
  assert.equal(await patch({ timezone: 'Europe/Berlin' }), '2026-03-16T09:00:00.000Z')
  // Today is the Monday of the other week; 11:30 in Berlin is still to come, and starts a count of its own.
  assert.equal(
    await patch({ recurrence: { ...biweekly, startTime: '11:30', endTime: '12:00' } }),
    '2026-03-09T10:30:00.000Z',
  )
  await k.close()
})

test('an edit does not lose the run that is due', async () => {
  const { add, admin, get, k } = await house()
  const { id } = await add()
  k.advance('61m')
  await admin.patch(`/schedules/${id}`, { recurrence: { ...daily, stopLateSeconds: 60 } })
  assert.equal((await get(id)).nextRunAt, '2026-03-02T10:00:00.000Z')
  assert.deepEqual(await pass(k), { started: 1 })
  await k.close()
})

test('assigned people and groups view and operate the room as long as the schedule is there', async () => {
  const { add, admin, k } = await house()
  const ann = k.person('ann', [])
  const bob = k.person('bob', [])
  await admin.post('/auth/groups', { name: 'crew', memberIds: ['bob'] })
  const { id } = await add({ assignedUserIds: ['ann'], assignedGroupIds: ['crew'] })
  const roster = async (room: string) =>
    (await admin.get(`/rooms/${room}/roster`)).json.data.map((e: Record<string, unknown>) => [
      ...[e.subjectId, (e.capabilities as string[]).join(), e.source, e.sourceScheduleId],
    ])
  const rows = [
    ['ann', 'view,operate', 'calendar', id],
    ['crew', 'view,operate', 'calendar', id],
  ]
  assert.deepEqual(await roster('hall'), rows)
  for (const one of [ann, bob]) assert.equal((await one.get(`/schedules/${id}`)).status, 200)
  assert.equal((await ann.patch(`/schedules/${id}`, { name: 'X' })).status, 403)
  // Manual replacement does not touch them; another room takes them along.
  await admin.put('/rooms/hall/roster', { entries: [] })
  assert.deepEqual(await roster('hall'), rows)
  await admin.patch(`/schedules/${id}`, { captureChannelSelection: [3] })
  assert.deepEqual([await roster('hall'), await roster('booth')], [[], rows])
  assert.equal((await admin.delete('/auth/groups/crew')).status, 204)
  assert.deepEqual((await admin.get(`/schedules/${id}`)).json.data.assignedGroupIds, [])
  assert.deepEqual(await roster('booth'), rows.slice(0, 1))
  await admin.delete(`/schedules/${id}`)
  assert.deepEqual(await roster('booth'), [])
  await k.close()
})

test('a node whose channels move to another room takes its schedules and their roster along', async () => {
  const { add, admin, interfaceId, k, nodeId } = await house()
  k.person('ann', [])
  const { id } = await add({ assignedUserIds: ['ann'] })
  const assign = (roomId: string, channelIndexes: number[]) =>
    admin.put(`/nodes/${nodeId}/channel-rooms`, { assignments: [{ interfaceId, channelIndexes, roomId }] })
  assert.equal((await assign('booth', [1, 2])).status, 200)
  assert.equal((await admin.get(`/schedules/${id}`)).json.data.roomId, 'booth')
  assert.deepEqual(k.rows('SELECT DISTINCT room_id FROM room_roster'), [{ room_id: 'booth' }])
  // Across two rooms it stays where it was.
  await assign('hall', [1])
  assert.equal((await admin.get(`/schedules/${id}`)).json.data.roomId, 'booth')
  await k.close()
})

test('a room with schedules is not deleted', async () => {
  const { add, admin, k } = await house()
  await add()
  assert.deepEqual(reason(await admin.delete('/rooms/hall')), [409, 'room_in_use'])
  await k.close()
})

test('run-now makes a take of the whole length, and leaves the schedule as it is', async () => {
  const { add, admin, get, k } = await house()
  const { id } = await add({ recurrence: { ...daily, startEarlySeconds: 60 } })
  const before = await get(id)
  const { json, status } = await admin.post(`/schedules/${id}/run-now`)
  assert.equal(status, 202)
  assert.deepEqual([json.data.scheduleId, json.data.source, json.job.command.durationSeconds], [id, 'schedule', 3660])
  assert.deepEqual(json.segments, [
    {
      captureChannelSelection: [1, 2],
      captureGroupId: json.job.command.captureGroupId,
      captureInterfaceId: json.job.command.captureInterfaceId,
      durationSeconds: 3660,
      jobId: json.job.id,
      offsetSeconds: 0,
      recordingId: json.data.id,
    },
  ])
  assert.deepEqual(await get(id), before)
  const busy = await admin.post(`/schedules/${id}/run-now`)
  assert.deepEqual(reason(busy), [409, 'capture_channels_busy'])
  assert.deepEqual([busy.json.busyChannels, busy.json.conflictingJobId], [[1, 2], json.job.id])
  assert.equal(takes(k).length, 1)
  await k.close()
})

test('run-now is refused for a disabled schedule, without a node, and across rooms', async () => {
  const { add, admin, k } = await house()
  const { id } = await add({ enabled: false })
  const run = async () => reason(await admin.post(`/schedules/${id}/run-now`))
  assert.deepEqual(await run(), [409, 'schedule_disabled'])
  await admin.patch(`/schedules/${id}`, { enabled: true })
  k.sql("UPDATE channels SET room_id = 'booth' WHERE idx = 2")
  assert.deepEqual(await run(), [409, 'channel_selection_cross_room'])
  k.sql('UPDATE schedules SET node_id = NULL')
  assert.deepEqual(await run(), [409, 'schedule_node_not_found'])
  await k.close()
})

test('skip-next takes the next date out; a once is switched off; then there is nothing to skip', async () => {
  const { add, admin, get, k } = await house()
  const { id } = await add()
  const skip = (which: string) => admin.post(`/schedules/${which}/skip-next`)
  const { json, status } = await skip(id)
  assert.deepEqual([status, json.data.nextRunAt], [200, '2026-03-03T10:00:00.000Z'])
  assert.deepEqual(json.data.recurrence.exceptions, [{ action: 'skip', date: '2026-03-02' }])
  assert.deepEqual(await pass(k, '1h'), {})
  const [row] = k.rows<{ details: string }>(
    `SELECT details FROM audit_events WHERE action = 'schedules.skip_next.succeeded'`,
  )
  assert.equal(JSON.parse(row?.details ?? '').skippedDate, '2026-03-02')
  const once = await add({ recurrence: { mode: 'once', startsAt: '2026-03-05T10:00:00Z' } })
  assert.equal((await skip(once.id)).json.data.enabled, false)
  assert.deepEqual(reason(await skip(once.id)), [409, 'no_next_occurrence'])
  assert.equal((await get(once.id)).nextRunAt, undefined)
  await k.close()
})

test('skip-next ends the deferral of a busy slot, and its alarm', async () => {
  const { add, admin, interfaceId, k, nodeId } = await house()
  const { id } = await add()
  await admin.post('/recordings', {
    nodeId,
    captureInterfaceId: interfaceId,
    captureChannelSelection: [1],
    durationSeconds: 7200,
  })
  await pass(k, '1h')
  const { json } = await admin.post(`/schedules/${id}/skip-next`)
  assert.equal(json.data.nextRunAt, '2026-03-03T10:00:00.000Z')
  assert.deepEqual(k.rows('SELECT status FROM health_events'), [{ status: 'resolved' }])
  await k.close()
})

test('366 exceptions are the most: past ones make room, then it is 409', async () => {
  const { add, admin, k } = await house()
  const days = (from: string, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      action: 'skip',
      date: new Date(Date.parse(from) + i * 86_400_000).toISOString().slice(0, 10),
    }))
  const old = await add({ recurrence: { ...daily, exceptions: days('2024-01-01', 366) } })
  const { json } = await admin.post(`/schedules/${old.id}/skip-next`)
  assert.deepEqual(json.data.recurrence.exceptions, [{ action: 'skip', date: '2026-03-02' }])
  const full = await add({
    captureChannelSelection: [3],
    recurrence: { ...daily, exceptions: days('2026-03-03', 366) },
  })
  assert.deepEqual(reason(await admin.post(`/schedules/${full.id}/skip-next`)), [409, 'too_many_exceptions'])
  await k.close()
})

const moveTo = ({ admin }: House, id: string, occurrenceStartAt: string, newStartAt: string) =>
  admin.post(`/schedules/${id}/move-occurrence`, { newStartAt, occurrenceStartAt })

test('moving an occurrence of a series takes its date out and makes a schedule that runs once', async () => {
  const home = await house()
  const { add, get, k } = home
  const { id } = await add({ recurrence: { ...daily, startEarlySeconds: 600, stopLateSeconds: 300 } })
  const { json, status } = await moveTo(home, id, '2026-03-03T09:50:00Z', '2026-03-03T14:00:00Z')
  assert.equal(status, 201)
  assert.deepEqual(json.data.recurrence, { mode: 'once', startsAt: '2026-03-03T14:00:00.000Z', durationSeconds: 4500 })
  assert.deepEqual([json.data.name, json.data.nextRunAt], ['Service (moved)', '2026-03-03T14:00:00.000Z'])
  assert.deepEqual(json.source.recurrence.exceptions, [
    { action: 'skip', date: '2026-03-03', movedTo: json.data.id, reason: 'moved' },
  ])
  // It was not the next one: that stands.
  assert.equal((await get(id)).nextRunAt, '2026-03-02T09:50:00.000Z')
  for (const span of ['1h', '1d', '5h']) {
    await pass(k, span)
    k.sql("UPDATE recording_jobs SET status = 'completed'")
  }
  assert.deepEqual(
    takes(k).map((take) => take.slice(0, 11)),
    ['03-02T10:00', '03-03T15:00'],
  )
  await k.close()
})

test('moving the next occurrence, or the run of a once: newStartAt is the start of the recording', async () => {
  const home = await house()
  const { add, get } = home
  const { id } = await add()
  await moveTo(home, id, '2026-03-02T10:00:00Z', '2026-03-02T12:00:00Z')
  assert.equal((await get(id)).nextRunAt, '2026-03-03T10:00:00.000Z')
  const once = await add({
    captureChannelSelection: [3],
    recurrence: { mode: 'once', startsAt: '2026-03-05T10:00:00Z', durationSeconds: 60, startEarlySeconds: 600 },
  })
  const { json, status } = await moveTo(home, once.id, '2026-03-05T09:50:00Z', '2026-03-06T09:00:00Z')
  assert.deepEqual([status, json.data.id, json.source], [200, once.id, undefined])
  assert.equal(json.data.nextRunAt, '2026-03-06T09:00:00.000Z')
  assert.equal(json.data.recurrence.startsAt, '2026-03-06T09:10:00.000Z')
  const [again] = [await moveTo(home, once.id, '2026-03-06T09:00:00Z', '2026-03-07T09:00:00Z')]
  assert.equal(again?.json.data.name, 'Service')
  await home.k.close()
})

test('what is no occurrence to come cannot be moved', async () => {
  const home = await house()
  const { add, admin, k } = home
  const { id } = await add()
  const move = async (which: string, from: string, to = '2026-03-09T09:00:00Z') =>
    reason(await moveTo(home, which, from, to))
  for (const wrong of ['2026-03-02T10:00:01Z', '2026-03-01T10:00:00Z', '2026-03-02T11:00:00Z'])
    assert.deepEqual(await move(id, wrong), [409, 'occurrence_not_movable'], wrong)
  assert.deepEqual(await move(id, '2026-03-02T10:00:00Z', '2026-03-01T09:00:00Z'), [400, 'invalid_next_run_at'])
  for (const recurrence of [{ mode: 'manual' }, { mode: 'always_on' }]) {
    const { id: other } = await add({ recurrence, nextRunAt: '2026-03-02T10:00:00Z' })
    assert.deepEqual(await move(other, '2026-03-02T10:00:00Z'), [409, 'occurrence_not_movable'])
  }
  for (const bad of [{}, { newStartAt: 'x', occurrenceStartAt: 'y' }, { newStartAt: 1, occurrenceStartAt: 2 }])
    assert.equal((await admin.post(`/schedules/${id}/move-occurrence`, bad)).status, 400)
  await admin.patch(`/schedules/${id}`, { enabled: false })
  assert.deepEqual(await move(id, '2026-03-02T10:00:00Z'), [409, 'occurrence_not_movable'])
  k.sql('UPDATE schedules SET node_id = NULL')
  assert.deepEqual(await move(id, '2026-03-02T10:00:00Z'), [409, 'schedule_node_not_found'])
  await k.close()
})
