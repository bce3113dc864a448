import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { daily, finishAll, type House, house, pass } from './world.ts'

const ROOM = '/rooms/hall'
const sees = async (principal: ReturnType<House['k']['person']>) => (await principal.get(ROOM)).status === 200
const once = { mode: 'once', startsAt: '2026-03-02T10:00:00Z', durationSeconds: 600 }

test('who manages one schedule lets neither themselves nor others into its room', async () => {
  const { add, body, k, nodeId } = await house()
  const { id } = await add()
  k.person('cid', ['operator'])
  k.sql(`INSERT INTO access_groups VALUES ('crew', 'Crew', NULL, ?, ?)`, k.now(), k.now())
  const ann = k.person('ann', ['operator'], [['schedule', id]])
  assert.equal(await sees(ann), false)
  for (const named of [{ assignedUserIds: ['ann'] }, { assignedUserIds: ['cid'] }, { assignedGroupIds: ['crew'] }]) {
    const { json, status } = await ann.patch(`/schedules/${id}`, named)
    assert.deepEqual([status, json], [403, { error: 'Forbidden', permission: 'schedule:manage' }])
    assert.equal(k.trail().at(-1), 'schedules.update.failed denied missing_resource_scope')
  }
  assert.deepEqual([await sees(ann), k.rows('SELECT 1 FROM room_roster').length], [false, 0])
  assert.equal((await ann.patch(`/schedules/${id}`, { name: 'Still hers' })).status, 200)
  // Booking a room is not holding it.
  await k.as('admin').put(`${ROOM}/roster`, {
    entries: [{ capabilities: ['view', 'book'], subjectId: 'bob', subjectType: 'user' }],
  })
  const bob = k.person('bob', [])
  assert.equal((await bob.post('/schedules', body({ assignedUserIds: ['bob'] }))).status, 403)
  assert.equal((await bob.post('/schedules', body())).status, 201)
  for (const [name, grant] of [
    ['rita', ['room', 'hall']],
    ['nora', ['node', nodeId]],
    ['sina', ['site', 'North']],
  ] as [string, [string, string]][]) {
    const principal = k.person(name, ['operator'], [grant])
    const named = await principal.patch(`/schedules/${id}`, { assignedUserIds: [name] })
    assert.equal(named.status, 200, name)
  }
  await k.close()
})

test('somebody else’s choice stays, also in an edit by who may not make it', async () => {
  const { add, k } = await house()
  k.person('cid', ['viewer'])
  const { id } = await add({ assignedUserIds: ['cid'] })
  const ann = k.person('ann', ['operator'], [['schedule', id]])
  assert.equal((await ann.patch(`/schedules/${id}`, { assignedUserIds: ['cid'], name: 'X' })).status, 200)
  assert.equal((await ann.patch(`/schedules/${id}`, { assignedUserIds: [] })).status, 200)
  assert.equal((await ann.patch(`/schedules/${id}`, { assignedUserIds: ['cid'] })).status, 403)
  await k.close()
})

test('a schedule is moved into a room that one holds, and with its takes only by who may hear them', async () => {
  const { add, admin, k } = await house()
  k.person('cid', ['viewer'])
  const { id } = await add({ assignedUserIds: ['cid'] })
  const entry = (subjectId: string, ...capabilities: string[]) => ({ capabilities, subjectId, subjectType: 'user' })
  const booth = { captureChannelSelection: [3] }
  await admin.put('/rooms/hall/roster', { entries: [entry('ann', 'book', 'view', 'operate'), entry('bob', 'book')] })
  await admin.put('/rooms/booth/roster', { entries: [entry('ann', 'book')] })
  const ann = k.person('ann', ['viewer'])
  const bob = k.person('bob', ['operator'], [['room', 'booth']])
  assert.equal((await ann.patch(`/schedules/${id}`, booth)).status, 403, 'the booth is only hers to book')
  assert.equal((await bob.patch(`/schedules/${id}`, booth)).status, 403, 'the takes of the hall are not his to hear')
  await admin.put('/rooms/booth/roster', { entries: [entry('ann', 'book', 'view', 'operate')] })
  await admin.put('/rooms/booth/roster', { entries: [entry('ann', 'book', 'view', 'operate', 'delete')] })
  assert.equal((await ann.patch(`/schedules/${id}`, booth)).status, 403, 'its takes would be hers to delete only there')
  await admin.put('/rooms/booth/roster', { entries: [entry('ann', 'book', 'view', 'operate')] })
  assert.equal((await ann.patch(`/schedules/${id}`, booth)).status, 200)
  const rooms = k.rows<{ room: string }>(`SELECT DISTINCT room_id AS room FROM room_roster WHERE source = 'calendar'`)
  assert.deepEqual(rooms, [{ room: 'booth' }])
  await k.close()
})

test('what an assignment gives ends with it: unnamed, moved, left, deleted', async () => {
  const { add, admin, k } = await house()
  const cid = k.person('cid', ['viewer'])
  const make = () => add({ assignedUserIds: ['cid'] })
  const ends: [string, (id: string) => Promise<unknown>][] = [
    ['unnamed', (id) => admin.patch(`/schedules/${id}`, { assignedUserIds: [] })],
    ['moved', (id) => admin.patch(`/schedules/${id}`, { captureChannelSelection: [3] })],
    ['deleted', (id) => admin.delete(`/schedules/${id}`)],
  ]
  for (const [what, end] of ends) {
    const { id } = await make()
    assert.equal(await sees(cid), true, what)
    await end(id)
    assert.equal(await sees(cid), false, what)
  }
  await admin.post('/auth/groups', { memberIds: ['cid'], name: 'Crew' })
  await add({ assignedGroupIds: ['crew'] })
  assert.equal(await sees(cid), true)
  await admin.put('/auth/groups/crew/members', { memberIds: [] })
  assert.equal(await sees(cid), false)
  await k.close()
})

test('what an assignment to a single date gives ends when its time is over', async () => {
  const { add, admin, k } = await house()
  const cid = k.person('cid', ['viewer'])
  const { id } = await add({ assignedUserIds: ['cid'], recurrence: once })
  await pass(k, '1h')
  assert.equal(k.rows(`SELECT 1 FROM recordings WHERE schedule_id = ?`, id).length, 1)
  await pass(k, '9m')
  assert.equal(await sees(cid), true, 'the slot lasts')
  await pass(k, '2m')
  assert.equal(await sees(cid), true, 'its take goes on')
  finishAll(k)
  k.forget()
  await pass(k)
  assert.equal(await sees(cid), false)
  assert.deepEqual(k.trail()[0], 'schedules.assignment.ended succeeded')
  assert.deepEqual((await admin.get(`/schedules/${id}`)).json.data.assignedUserIds, ['cid'])
  // An edit does not bring it back; another date does, by who holds the room.
  await admin.patch(`/schedules/${id}`, { name: 'Past' })
  assert.equal(await sees(cid), false)
  const again = { enabled: true, recurrence: { ...once, startsAt: '2026-03-09T10:00:00Z' } }
  const ann = k.person('ann', ['operator'], [['schedule', id]])
  assert.equal((await ann.patch(`/schedules/${id}`, again)).status, 403)
  for (const recurrence of [{ mode: 'manual' }, { mode: 'always_on' }, daily])
    for (const enabled of [true, false])
      assert.equal((await ann.patch(`/schedules/${id}`, { enabled, recurrence })).status, 403, recurrence.mode)
  assert.equal(await sees(cid), false)
  assert.equal((await admin.patch(`/schedules/${id}`, again)).status, 200)
  assert.equal(await sees(cid), true)
  await k.close()
})

test('many assignments that end at once are taken away one at a time: others have their turn in between', async () => {
  const { add, k } = await house()
  const ended = () => k.trail().filter((row) => row.startsWith('schedules.assignment.ended')).length
  k.person('cid', ['viewer'])
  const ids = [(await add({ assignedUserIds: ['cid'], recurrence: once })).id]
  for (let n = 0; n < 5; n++) ids.push((await add({ assignedUserIds: ['cid'], recurrence: once })).id)
  k.sql(`UPDATE schedules SET next_run_at = NULL`)
  let [over, seen] = [false, 0]
  const ticking = k.tick('schedule').then(() => {
    over = true
  })
  while (!over) {
    await nextTurn()
    if (seen > 0) continue
    seen = ended()
    // Whoever is scheduled again meanwhile keeps what the new date gives.
    k.sql(`UPDATE schedules SET next_run_at = '2026-03-09T10:00:00.000Z'`)
  }
  await ticking
  assert.ok(seen > 0 && seen < ids.length, `${seen} of ${ids.length} ended before anybody else had a turn`)
  assert.equal(ended(), seen)
  const held = k.rows(`SELECT DISTINCT schedule_id FROM room_roster WHERE source = 'calendar'`).length
  assert.equal(held, ids.length - seen)
  await k.close()
})

test('a date that is skipped, missed or moved away from ends what it gave', async () => {
  const { add, admin, k } = await house()
  const cid = k.person('cid', ['viewer'])
  const { id } = await add({ assignedUserIds: ['cid'], recurrence: once })
  assert.equal((await admin.post(`/schedules/${id}/skip-next`)).status, 200)
  assert.equal(await sees(cid), false)
  await add({ assignedUserIds: ['cid'], recurrence: once })
  assert.equal(await sees(cid), true)
  await pass(k, '2h')
  assert.equal(await sees(cid), false)
  await k.close()
})

test('who only manages a single date they are assigned to does not put its end off; who holds the room does', async () => {
  const { add, admin, k } = await house()
  const id = 'lesson'
  const entries = [{ capabilities: ['book'], subjectId: 'ann', subjectType: 'user' }]
  await admin.put(`${ROOM}/roster`, { entries })
  const ann = k.person('ann', ['operator'], [['schedule', id]])
  await add({ assignedUserIds: ['ann'], id, recurrence: once })
  const later = [
    { recurrence: { ...once, durationSeconds: 601 } },
    { recurrence: { ...once, stopLateSeconds: 1 } },
    { recurrence: { ...once, startsAt: '2026-03-02T10:00:01Z' } },
    { recurrence: { mode: 'once', startsAt: once.startsAt } },
    { recurrence: daily },
    { recurrence: { mode: 'manual' } },
    { nextRunAt: '2026-03-02T10:00:01Z' },
  ]
  for (const patch of later)
    assert.equal((await ann.patch(`/schedules/${id}`, patch)).status, 403, JSON.stringify(patch))
  const move = { newStartAt: '2026-03-02T10:30:00Z', occurrenceStartAt: once.startsAt }
  assert.equal((await ann.post(`/schedules/${id}/move-occurrence`, move)).status, 403)
  const earlier = { ...once, startEarlySeconds: 60, startsAt: '2026-03-02T09:59:00Z' }
  assert.equal((await ann.patch(`/schedules/${id}`, { name: 'Hers', recurrence: earlier })).status, 200)
  assert.equal((await ann.patch(`/schedules/${id}`, { recurrence: once })).status, 403, 'what was given back is gone')
  const rita = k.person('rita', ['operator'], [['room', 'hall']])
  assert.equal((await rita.patch(`/schedules/${id}`, later[0])).status, 200)
  const moved = { ...move, newStartAt: '2026-03-02T11:00:00Z' }
  assert.equal((await rita.post(`/schedules/${id}/move-occurrence`, moved)).status, 200)
  await k.close()
})

test('a single date that is switched off gives nothing once it has come', async () => {
  const { add, admin, k } = await house()
  const id = 'lesson'
  const ann = k.person('ann', ['operator'], [['schedule', id]])
  await add({ assignedUserIds: ['ann'], id, recurrence: once })
  assert.equal((await ann.patch(`/schedules/${id}`, { enabled: false })).status, 200)
  await pass(k, '59m')
  assert.equal(await sees(ann), true)
  await pass(k, '1m')
  assert.equal(await sees(ann), false)
  assert.equal((await ann.patch(`/schedules/${id}`, { name: 'Hers' })).status, 200)
  assert.equal(await sees(ann), false)
  assert.equal((await ann.patch(`/schedules/${id}`, { enabled: true })).status, 403)
  assert.equal((await admin.patch(`/schedules/${id}`, { enabled: true })).status, 200)
  assert.equal(await sees(ann), true)
  await k.close()
})

test('an assignment gives nobody the right to make another that outlives it', async () => {
  const { add, admin, body, k } = await house()
  k.person('cid', ['viewer'])
  const entries = [{ capabilities: ['book'], subjectId: 'ann', subjectType: 'user' }]
  await admin.put(`${ROOM}/roster`, { entries })
  const id = 'class'
  const ann = k.person('ann', ['operator'], [['schedule', id]])
  await add({ assignedUserIds: ['ann', 'cid'], id })
  assert.equal(await sees(ann), true)
  const move = { newStartAt: '9000-01-01T00:00:00Z', occurrenceStartAt: '2026-03-03T10:00:00Z' }
  const moving = await ann.post(`/schedules/${id}/move-occurrence`, move)
  assert.deepEqual([moving.status, moving.json.permission], [403, 'schedule:manage'])
  assert.equal((await ann.post('/schedules', body({ assignedUserIds: ['ann'] }))).status, 403)
  assert.equal(k.rows('SELECT 1 FROM schedules').length, 1)
  assert.deepEqual((await admin.get(`/schedules/${id}`)).json.data.recurrence.exceptions, undefined)
  // Without people it opens nothing.
  const { id: bare } = await add()
  const bob = k.person('bob', ['operator'], [['schedule', bare]])
  // Whoever moves a schedule by its id alone has its node out of sight.
  assert.equal((await bob.post(`/schedules/${bare}/move-occurrence`, move)).status, 409)
  assert.equal((await ann.post(`/schedules/${bare}/move-occurrence`, move)).status, 201)
  const rita = k.person('rita', ['operator'], [['room', 'hall']])
  assert.equal((await rita.post(`/schedules/${id}/move-occurrence`, move)).status, 201)
  await k.close()
})
