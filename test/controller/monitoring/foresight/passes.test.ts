// How what is foreseen is followed: it does not blink, does not double, ends when its occurrence does, and is told to whom it concerns.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { desk, lines, watched } from './world.ts'

const times = (startTime: string, endTime: string) => ({ mode: 'daily', interval: 1, startTime, endTime })

test('a device or recorder that blinks is not told, and one that comes for a moment is not well', async () => {
  const world = await watched()
  const { add, k, pass, plug } = world
  await add()
  for (let i = 0; i < 10; i++) {
    await plug()
    await pass(20)
    await plug(desk)
    await pass(20)
  }
  assert.deepEqual(lines(world), [])
  await plug()
  await pass(60)
  assert.deepEqual(lines(world), ['device_gone warning open'])
  for (let i = 0; i < 10; i++) {
    await plug(desk)
    await pass(20)
    await plug()
    await pass(20)
  }
  assert.deepEqual(lines(world), ['device_gone warning open'])
  await k.close()
})

test('a day of two hundred schedules that are well stays quiet, and writes nothing', async () => {
  const world = await watched()
  const { add, k, pass } = world
  const slots = Array.from({ length: 100 }, (_, i) => [Math.floor((i * 14) / 60), (i * 14) % 60] as const)
  const clock = (hour: number, minute: number) => `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`
  for (const [hour, minute] of slots) {
    const end = minute + 14
    const recurrence = times(clock(hour, minute), clock((hour + Math.floor(end / 60)) % 24, end % 60))
    for (const channel of [1, 3]) await add({ captureChannelSelection: [channel], recurrence })
  }
  await pass(40)
  k.forget()
  const changed = () => k.rows<{ n: number }>('SELECT total_changes() AS n')[0]?.n ?? 0
  const quiet = async () => {
    const before = changed()
    for (let i = 0; i < 3; i++) {
      k.advance('10s')
      await k.tick('foresight')
    }
    return changed() - before
  }
  assert.equal(await quiet(), 0)
  for (let hour = 0; hour < 24; hour++) {
    // Every recording ends as planned.
    k.sql("UPDATE recording_jobs SET status = 'completed'")
    for (let minute = 0; minute < 60; minute += 7) {
      k.advance('7m')
      await world.beat()
      k.sql("UPDATE recording_jobs SET status = 'completed' WHERE json_extract(command, '$.durationSeconds') < 841")
      for (const runner of ['schedule', 'foresight']) await k.tick(runner)
    }
  }
  assert.deepEqual(lines(world), [])
  assert.deepEqual(
    k.trail().filter((line) => line.startsWith('health.')),
    [],
  )
  await k.close()
})

test('while recorders have had no time to report since the controller started, none is offline', async () => {
  const world = await watched()
  const { add, k, pass } = world
  await add()
  // The controller stands still for a quarter of an hour; its recorders could not reach it.
  k.advance('15m')
  await pass(110, true)
  assert.deepEqual(lines(world), [])
  await pass(60)
  assert.deepEqual(lines(world), [])
  await pass(170, true)
  assert.deepEqual(lines(world), ['recorder_offline warning open'], 'now it is')
  await k.close()
})

test('a take that begins, is skipped, or whose schedule is edited, disabled or deleted ends what was foreseen of it', async () => {
  const world = await watched()
  const { add, admin, k, pass, plug } = world
  const names = ['edited', 'skipped', 'disabled', 'deleted', 'begun']
  const ids: Record<string, string> = {}
  for (const [i, name] of names.entries())
    ids[name] = (await add({ name, captureChannelSelection: [2], recurrence: times(`1${i}:00`, `1${i}:30`) })).id
  await plug()
  await admin.patch('/settings/foresight', { kinds: { device_gone: { leadMinutes: 600 } } })
  await pass(60)
  assert.equal(lines(world).length, 5)
  assert.ok((await admin.post(`/schedules/${ids.skipped}/skip-next`, {})).status < 300)
  await admin.patch(`/schedules/${ids.disabled}`, { enabled: false })
  assert.equal((await admin.delete(`/schedules/${ids.deleted}`)).status, 204)
  await admin.patch(`/schedules/${ids.edited}`, { recurrence: times('20:00', '20:30') })
  k.sql('UPDATE schedules SET enabled = 0 WHERE id = ?', ids.begun)
  const ends = () =>
    Object.fromEntries(world.told().map(({ details, reason, status }) => [details.scheduleName, reason ?? status]))
  await pass(90)
  assert.deepEqual(ends(), {
    ...{ begun: 'schedule_disabled', deleted: 'schedule_deleted', disabled: 'schedule_disabled' },
    ...{ edited: 'not_due_yet', skipped: 'occurrence_skipped' },
  })
  await k.close()
})

test('what is foreseen of a lecture ends when it begins or is refused, and is told anew of the next one only in its time', async () => {
  const world = await watched()
  const { add, agent, k, nodeId, pass, plug, runtime } = world
  runtime.clock = { synced: false }
  await add()
  await pass(3600)
  assert.deepEqual(lines(world), ['unsynced warning open'], 'due, and not begun')
  await agent.post(`/nodes/${nodeId}/recording-jobs/claim-next`)
  await pass(30)
  assert.deepEqual(lines(world), ['unsynced warning take_began'])
  runtime.clock = { synced: true }
  await add({ name: 'Refused', captureChannelSelection: [3], recurrence: times('10:10', '10:50') })
  await plug()
  await pass(60)
  assert.deepEqual(lines(world).slice(1), ['device_gone critical open'])
  await pass(600)
  assert.deepEqual(lines(world).slice(1), ['device_gone critical start_refused'])
  const standing = k.rows<{ type: string }>(
    "SELECT type FROM health_events WHERE status <> 'resolved' AND schedule_id IS NOT NULL",
  )
  assert.deepEqual(standing, [{ type: 'schedule.no_capture_device' }], 'the alarm of the schedule goes on from there')
  await k.close()
})

test('an event that a person ended is not told again of the same occurrence', async () => {
  const world = await watched()
  const { add, admin, k, pass, plug, told } = world
  await add()
  await plug()
  await pass(60)
  const [event] = told()
  assert.equal((await admin.post(`/health-events/${event?.id}/resolve`, { note: 'known' })).status, 200)
  await pass(300)
  assert.deepEqual(lines(world), ['device_gone warning resolved'])
  const { nextRunAt } = k.rows<{ nextRunAt: string }>('SELECT next_run_at AS nextRunAt FROM schedules')[0] ?? {}
  assert.equal(nextRunAt, '2026-03-02T10:00:00.000Z')
  await k.close()
})

test('a recorder that is retired ends what was foreseen of its schedules', async () => {
  const world = await watched()
  const { add, admin, k, nodeId, pass } = world
  await add()
  await pass(300, true)
  assert.deepEqual(lines(world), ['recorder_offline warning open'])
  assert.equal((await admin.post(`/nodes/${nodeId}/retire`, {})).status, 200)
  await pass(10, true)
  assert.deepEqual(lines(world), ['recorder_offline warning node_retired'])
  await k.close()
})

test('a jump of the clock neither opens nor ends anything, and dates stay', async () => {
  const world = await watched()
  const { add, k, pass, plug, told } = world
  await add()
  await add({ name: 'Far', captureChannelSelection: [3], recurrence: times('20:00', '21:00') })
  await pass(60)
  await k.jump('30m')
  await pass(60)
  assert.deepEqual(lines(world), [])
  await plug()
  await pass(60)
  await k.jump('-10m')
  await pass(60)
  assert.deepEqual(lines(world), ['device_gone warning open'])
  assert.equal(told()[0]?.details.nextStart, '2026-03-02T10:00:00.000Z')
  await k.close()
})

test('over the change to summer time a lecture is foreseen by its wall time', async () => {
  const world = await watched()
  const { add, k, pass, plug, told } = world
  // Sunday, 2026-03-29: at 02:00 it is 03:00 in Berlin; ten o'clock is 08:00 UTC.
  await add({ timezone: 'Europe/Berlin' })
  for (let day = 0; day < 26; day++) {
    k.advance('1d')
    await world.beat()
    k.sql("UPDATE recording_jobs SET status = 'completed'")
    await k.tick('schedule')
  }
  await plug()
  await pass(60)
  assert.deepEqual(lines(world), [])
  const { at } = k.rows<{ at: string }>('SELECT next_run_at AS at FROM schedules')[0] ?? {}
  assert.equal(at, '2026-03-29T08:00:00.000Z')
  for (let hour = 0; hour < 18; hour++) {
    k.advance('1h')
    await world.beat()
  }
  await pass(60)
  assert.deepEqual(
    told()
      .filter(({ status }) => status === 'open')
      .map(({ details }) => details.nextStart),
    [],
  )
  k.advance('1h')
  await pass(60)
  const open = told().filter(({ status }) => status === 'open')
  assert.deepEqual(
    open.map(({ details, kind }) => [kind, details.nextStart]),
    [['device_gone', '2026-03-29T08:00:00.000Z']],
  )
  await k.close()
})

test('who may not read the schedule is not told of it', async () => {
  const world = await watched()
  const { add, k, pass, plug } = world
  await add()
  await plug()
  await pass(60)
  const seen = async (name: string, grant: [string, string]) =>
    (await k.person(name, ['viewer', 'operator'], [grant]).get('/health-events')).json.data.map(
      ({ type }: { type: string }) => type,
    )
  assert.ok((await seen('hall', ['room', 'hall'])).includes('foresight.device_gone'))
  assert.ok(!(await seen('booth', ['room', 'booth'])).includes('foresight.device_gone'))
  await k.close()
})

test('the calendar names what is foreseen with its occurrence, to those who may read health events', async () => {
  const world = await watched()
  const { add, admin, k, pass, runtime } = world
  await add()
  runtime.clock = { synced: false }
  await pass(60)
  const foreseen = async (who: typeof admin) =>
    (await who.get('/schedules/calendar')).json.data.slice(0, 2).map((item: { foreseen?: string[] }) => item.foreseen)
  assert.deepEqual(await foreseen(admin), [['unsynced'], undefined])
  const viewer = k.person('hall', ['viewer'], [['room', 'hall']])
  assert.deepEqual(await foreseen(viewer), [['unsynced'], undefined])
  await k.close()
})

test('kinds are switched off, seen further ahead and made less severe, by those who manage settings', async () => {
  const world = await watched()
  const { add, admin, k, pass, plug } = world
  const viewer = k.person('ann', ['viewer'], [['site', 'North']])
  assert.equal((await viewer.patch('/settings/foresight', { kinds: { clash: { enabled: false } } })).status, 403)
  for (const kinds of [
    {},
    { nonsense: { enabled: true } },
    { clash: {} },
    { clash: { leadMinutes: 0 } },
    { clash: { more: 1 } },
  ])
    assert.equal((await admin.patch('/settings/foresight', { kinds })).status, 400, JSON.stringify(kinds))
  await add()
  await plug()
  await pass(60)
  k.forget()
  const change = (rule: object) => admin.patch('/settings/foresight', { kinds: { device_gone: rule } })
  const { data } = (await change({ severity: 'info' })).json
  assert.deepEqual(data.kinds.device_gone, { enabled: true, leadMinutes: 240, severity: 'info' })
  assert.deepEqual(k.trail(), ['settings.foresight.update allowed', 'settings.foresight.update.succeeded succeeded'])
  await pass(3300)
  assert.deepEqual(lines(world), ['device_gone info open'], 'what is only to be told stays so')
  await change({ enabled: false })
  await pass(10)
  assert.deepEqual(lines(world), ['device_gone info foresight_disabled'])
  await k.close()
})
