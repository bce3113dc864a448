import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scheduleStore } from '../../../src/controller/schedules/schedules.store.ts'
import { zoneBook } from '../../../src/kernel/zones.ts'
import { daily, house, pass } from './world.ts'

type Row = { id: string; name: string }
const names = (answer: { json: { data: Row[] } }): string[] => answer.json.data.map((s) => s.name)

async function crowd() {
  const home = await house()
  const { add, k } = home
  for (const [name, more] of [
    ['Early mass', { captureBackend: 'alsa', tags: ['Chœur'] }],
    ['ÄRZTE-Runde', { enabled: false, timezone: 'Europe/Berlin' }],
    ['Evening talk', { captureChannelSelection: [3], room: 'Booth', folderTemplate: 'Talks/100%_real' }],
  ] as const) {
    await add({ name, ...more })
    k.advance('1s')
  }
  return home
}

test('the list is newest first, filtered, searched beyond ASCII, and paged leniently', async () => {
  const { admin, interfaceId, k, nodeId } = await crowd()
  const list = async (query: string) => names(await admin.get(`/schedules?${query}`))
  const all = ['Evening talk', 'ÄRZTE-Runde', 'Early mass']
  assert.deepEqual(await list(''), all)
  for (const [query, found] of [
    ['enabled=false', ['ÄRZTE-Runde']],
    ['captureBackend=alsa', ['Early mass']],
    [`captureInterfaceId=${interfaceId}&enabled=true`, ['Evening talk', 'Early mass']],
    [`nodeId=${nodeId}`, all],
    ['nodeId=x', []],
    ['search=ärzte', ['ÄRZTE-Runde']],
    ['search=CHŒUR', ['Early mass']],
    ['search=europe/ber', ['ÄRZTE-Runde']],
    ['search=100%25_r', ['Evening talk']],
    ['search=voice-mp3', all],
    ['search=booth', ['Evening talk']],
    ['limit=1&offset=1', ['ÄRZTE-Runde']],
    ['limit=x&offset=-3', all],
    ['limit=0', ['Evening talk']],
  ] as const)
    assert.deepEqual(await list(query), found, query)
  const { meta } = (await admin.get('/schedules?limit=9999')).json
  assert.deepEqual([meta.limit, meta.total, meta.hasNextPage], [200, 3, false])
  assert.equal((await admin.get('/schedules?enabled=maybe')).status, 400)
  await k.close()
})

test('exports: the filtered list, or the chosen ones in the order asked for', async () => {
  const { admin, k } = await crowd()
  const all = await admin.get('/schedules/export?enabled=true')
  const lines = all.text.split('\n')
  assert.match(
    all.headers.get('content-disposition') ?? '',
    /^attachment; filename="svc-schedules-2026-03-02T09-00-03-000Z\.csv"$/,
  )
  assert.equal(
    lines[0],
    '"id","name","enabled","nodeId","room","timezone","nextRunAt","captureBackend","captureInterfaceId","recordingProfileId","watchdogPolicyId","retentionPolicyId","uploadPolicyIds","tags"',
  )
  assert.deepEqual(
    lines.slice(1).map((line) => line.split(',')[1]),
    ['"Evening talk"', '"Early mass"'],
  )
  const ids = (await admin.get('/schedules')).json.data.map((s: Row) => s.id)
  const chosen = await admin.post('/schedules/export', { scheduleIds: [ids[2], ids[0], ids[2]] })
  assert.deepEqual(
    chosen.text
      .split('\n')
      .slice(1)
      .map((line) => line.split(',')[1]),
    ['"Early mass"', '"Evening talk"'],
  )
  k.forget()
  const missing = await admin.post('/schedules/export', { scheduleIds: [ids[0], 'nobody'] })
  assert.deepEqual([missing.status, missing.json.error], [404, 'One or more schedules are not visible'])
  assert.deepEqual(k.trail().slice(1), ['schedules.export_selected.failed denied schedule_not_visible'])
  for (const bad of [{}, { scheduleIds: [] }, { scheduleIds: ['a'], x: 1 }, { scheduleIds: Array(201).fill('a') }])
    assert.equal((await admin.post('/schedules/export', bad)).status, 400)
  await k.close()
})

test('occurrences: the one that waits first, then what follows; none of a disabled schedule', async () => {
  const { add, admin, interfaceId, k, nodeId } = await house()
  const { id } = await add({ recurrence: { ...daily, startEarlySeconds: 600, stopLateSeconds: 300 } })
  const read = async (query = '') => (await admin.get(`/schedules/${id}/occurrences${query}`)).json.data
  const first = {
    recordingEndAt: '2026-03-02T11:05:00.000Z',
    recordingStartAt: '2026-03-02T09:50:00.000Z',
    scheduledStartAt: '2026-03-02T10:00:00.000Z',
  }
  assert.deepEqual((await read())[0], first)
  const lengths = await Promise.all(['', '?limit=1', '?limit=99', '?limit=x', '?limit=0'].map((q) => read(q)))
  assert.deepEqual(
    lengths.map((list) => list.length),
    [5, 1, 20, 5, 1],
  )
  await admin.post('/recordings', {
    nodeId,
    captureInterfaceId: interfaceId,
    captureChannelSelection: [1],
    durationSeconds: 9000,
  })
  await pass(k, '1h')
  // Deferred, it is still the next one.
  assert.deepEqual((await read())[0], first)
  await admin.patch(`/schedules/${id}`, { enabled: false })
  assert.deepEqual(await read(), [])
  await k.close()
})

test('the calendar shows what starts in the window, sorted; disabled, manual and always_on give none', async () => {
  const { add, admin, k } = await house()
  const morning = await add({ name: 'M' })
  await add({ name: 'N', captureChannelSelection: [3], recurrence: { ...daily, startTime: '08:00', endTime: '09:00' } })
  await add({ name: 'O', recurrence: { mode: 'once', startsAt: '2026-03-03T09:00:00Z' } })
  await add({ name: 'P', recurrence: { mode: 'always_on' } })
  await add({ name: 'Q', recurrence: { mode: 'manual' }, nextRunAt: '2026-03-03T09:00:00Z' })
  await add({ name: 'R', enabled: false })
  const window = 'start=2026-03-03T00:00:00Z&end=2026-03-04T09:00:00Z'
  const { data, meta } = (await admin.get(`/schedules/calendar?${window}`)).json
  const shown = data.map(
    (item: Record<string, string>) => `${item.scheduleName} ${item.recordingStartAt?.slice(8, 16)}`,
  )
  assert.deepEqual(shown, ['N 03T08:00', 'O 03T09:00', 'M 03T10:00', 'N 04T08:00'])
  assert.deepEqual(meta, {
    ...{ start: '2026-03-03T00:00:00.000Z', end: '2026-03-04T09:00:00.000Z' },
    ...{ occurrenceCount: 4, scheduleCount: 5, truncated: false },
  })
  assert.deepEqual(data[2], {
    ...{
      enabled: true,
      nodeId: 'node_1',
      recurrenceMode: 'daily',
      room: 'Hall',
      roomId: 'hall',
      scheduleId: morning.id,
    },
    ...{ scheduleName: 'M', timezone: 'UTC', scheduledStartAt: '2026-03-03T10:00:00.000Z' },
    ...{ recordingStartAt: '2026-03-03T10:00:00.000Z', recordingEndAt: '2026-03-03T11:00:00.000Z' },
  })
  const default_ = (await admin.get('/schedules/calendar?search=booth')).json.meta
  assert.deepEqual([default_.start, default_.end], ['2026-03-02T09:00:00.000Z', '2026-04-13T09:00:00.000Z'])
  await k.close()
})

test('the calendar shows no dates before the schedule existed; one that was open then begins late', async () => {
  const { add, admin, k } = await house()
  k.advance('2d')
  await add({ name: 'M' })
  await add({ name: 'O', recurrence: { mode: 'once', startsAt: '2026-03-04T08:50:00Z', durationSeconds: 3600 } })
  const query = 'start=2026-03-01T00:00:00Z&end=2026-03-06T00:00:00Z'
  const { data } = (await admin.get(`/schedules/calendar?${query}`)).json
  assert.deepEqual(
    data.map((item: Record<string, string>) => `${item.scheduleName} ${item.recordingStartAt?.slice(8, 16)}`),
    ['O 04T08:50', 'M 04T10:00', 'M 05T10:00'],
  )
  await k.close()
})

test('the calendar of a site, a room, a node, a schedule, and of who asks; within reach', async () => {
  const { add, admin, k, nodeId } = await house()
  const ann = k.person('ann', ['viewer'], [['site', 'North']])
  const group = (await k.as('owner').post('/auth/groups', { name: 'Choir' })).json.data.id
  k.sql('INSERT INTO group_members (group_id, user_id) VALUES (?, ?)', group, 'ann')
  const hall = await add({ name: 'hall', assignedUserIds: ['ann'] })
  await add({ name: 'booth', assignedGroupIds: [group], captureChannelSelection: [3] })
  await add({ name: 'both', captureChannelSelection: [4] })
  k.sql("INSERT INTO rooms (id, site, name, created_at, updated_at) VALUES ('far', 'South', 'Far', '', '')")
  k.sql("UPDATE schedules SET room_id = 'far' WHERE name = 'both'")
  const names = async (query: string, principal = admin) => {
    const { json, status } = await principal.get(`/schedules/calendar?end=2026-03-02T23:00:00Z&${query}`)
    assert.equal(status, 200)
    assert.equal(json.meta.scheduleCount, json.data.length)
    return json.data
      .map((item: { scheduleName: string }) => item.scheduleName)
      .sort()
      .join()
  }
  assert.equal(await names(''), 'booth,both,hall')
  assert.equal(await names('site=north'), 'booth,hall')
  assert.equal(await names('site=South'), 'both')
  assert.equal(await names('roomId=booth'), 'booth')
  assert.equal(await names(`nodeId=${nodeId}&roomId=hall`), 'hall')
  assert.equal(await names(`scheduleId=${hall.id}`), 'hall')
  assert.equal(await names('mine=1', ann), 'booth,hall')
  assert.equal(await names('mine=1'), '')
  assert.equal((await admin.get('/schedules/calendar?mine=0')).status, 400)
  k.sql("UPDATE schedules SET room_id = NULL WHERE name = 'both'")
  assert.equal(await names('site=North'), 'booth,both,hall')
  await k.close()
})

test('others have their turn while the calendar of schedules with long lists of exceptions is made', async () => {
  const { add, admin, k } = await house()
  const exceptions = Array.from({ length: 365 }, (_, i) => ({
    action: 'pause',
    endDate: new Date(Date.UTC(2020, 0, 1 + i)).toISOString().slice(0, 10),
    startDate: new Date(Date.UTC(2020, 0, 1 + i)).toISOString().slice(0, 10),
  }))
  const { id } = await add({ recurrence: { ...daily, exceptions } })
  const columns = k.rows<{ name: string }>("SELECT name FROM pragma_table_info('schedules') WHERE name <> 'id'")
  const names = columns.map(({ name }) => name).join()
  k.sql(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
     INSERT INTO schedules (id, ${names}) SELECT 'copy_' || i, ${names} FROM n, schedules WHERE schedules.id = ?`,
    id,
  )
  let turns = 0
  const counting = setImmediate(function count() {
    turns++
    next = setImmediate(count)
  })
  let next = counting
  const { meta } = (await admin.get('/schedules/calendar?start=2026-03-03T00:00:00Z&end=2026-06-01T00:00:00Z')).json
  clearImmediate(next)
  assert.equal(meta.scheduleCount, 151)
  assert.ok(turns > 6, `${turns} turns`)
  await k.close()
})

test('a calendar window must be one', async () => {
  const { admin, k } = await house()
  for (const [query, reason] of [
    ['start=soon', 'invalid_start'],
    ['end=later', 'invalid_end'],
    ['start=2026-03-02T00:00:00Z&end=2026-03-01T00:00:00Z', 'end_before_start'],
    ['start=2026-03-02T00:00:00Z&end=2026-06-03T00:00:00Z', 'window_too_large'],
    ['start=%2B275760-09-13T00:00:00Z', 'invalid_start'],
  ]) {
    const { json, status } = await admin.get(`/schedules/calendar?${query}`)
    assert.deepEqual([status, json.error, json.reason], [400, 'Invalid calendar window', reason], query)
  }
  const most = await admin.get('/schedules/calendar?start=2026-03-02T00:00:00Z&end=2026-06-02T00:00:00Z')
  assert.equal(most.status, 200)
  await k.close()
})

test('the calendar ends at the earliest 2,000', async () => {
  const { add, admin, k } = await house()
  await add()
  const columns = 'name, node_id, room_id, recurrence, timezone, created_at, updated_at'
  k.sql(`INSERT INTO schedules (id, ${columns}) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
    SELECT 's' || i, ${columns} FROM schedules, n`)
  const { data, meta } = (await admin.get('/schedules/calendar')).json
  assert.deepEqual([data.length, meta.occurrenceCount, meta.truncated, meta.scheduleCount], [2000, 2000, true, 1501])
  const days = new Set(data.map((item: { recordingStartAt: string }) => item.recordingStartAt.slice(0, 10)))
  assert.deepEqual([...days], ['2026-03-02', '2026-03-03'])
  await k.close()
})

test('actions say what can be done, and why not', async () => {
  const { add, admin, k } = await house()
  const { id } = await add({ recurrence: { mode: 'manual' } })
  const read = async (principal = admin) => (await principal.get(`/schedules/${id}/actions`)).json.data
  const { actions, links, node, schedule } = await read()
  assert.deepEqual(Object.keys(actions).sort(), ['delete', 'edit', 'occurrences', 'runNow', 'skipNext'])
  assert.deepEqual(Object.keys(links).sort(), ['delete', 'detail', 'occurrences', 'runNow', 'skipNext', 'update'])
  assert.deepEqual([node.id, schedule.id, actions.runNow.href], ['node_1', id, `/api/v1/schedules/${id}/run-now`])
  assert.deepEqual([actions.runNow.enabled, actions.skipNext.reason], [true, 'no_next_occurrence'])
  k.sql('UPDATE schedules SET node_id = NULL')
  assert.equal((await read()).actions.runNow.reason, 'schedule_node_not_found')
  k.sql('UPDATE schedules SET enabled = 0')
  assert.equal((await read()).actions.runNow.reason, 'schedule_disabled')
  const viewer = k.person('vera', ['viewer'], [['room', 'hall']])
  assert.equal((await read(viewer)).actions.edit.reason, 'missing_permission')
  await k.close()
})

test('who is live where: assigned people and members of groups, while the slot lasts', async () => {
  const { add, admin, k } = await house()
  for (const name of ['ann', 'bob', 'cid']) k.person(name, [])
  await admin.post('/auth/groups', { name: 'crew', memberIds: ['bob', 'ann'] })
  const { id } = await add({ assignedUserIds: ['ann'], assignedGroupIds: ['crew'] })
  await add({ captureChannelSelection: [3], assignedUserIds: ['cid'], recurrence: { mode: 'always_on' } })
  await add({ assignedUserIds: ['cid'], recurrence: { mode: 'manual' }, nextRunAt: '2026-03-02T09:00:00Z' })
  const store = scheduleStore(k.db, zoneBook())
  const live = (at: string) => store.liveAssignments(`2026-03-02T${at}:00.000Z`)
  const booth = { roomId: 'booth', userIds: ['cid'] }
  assert.deepEqual(live('09:59'), [booth])
  assert.deepEqual(
    live('10:00').sort((a, b) => a.roomId.localeCompare(b.roomId)),
    [booth, { roomId: 'hall', userIds: ['ann', 'bob'] }],
  )
  assert.deepEqual(live('11:00'), [booth])
  await admin.patch(`/schedules/${id}`, { enabled: false })
  assert.deepEqual(live('10:00'), [booth])
  await k.close()
})

test('a once is live while its slot lasts, though its run has switched it off', async () => {
  const { add, k } = await house()
  k.person('ann', [])
  await add({
    assignedUserIds: ['ann'],
    recurrence: { mode: 'once', startsAt: '2026-03-02T09:00:00Z', durationSeconds: 60 },
  })
  await pass(k)
  const store = scheduleStore(k.db, zoneBook())
  const live = (at: string) => store.liveAssignments(`2026-03-02T${at}.000Z`)
  assert.deepEqual([live('09:00:59').length, live('09:01:00').length], [1, 0])
  await k.close()
})
