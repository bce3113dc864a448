// The day in ten seconds, once a day.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hookOf, world } from './world.ts'

const AT = '2026-03-02T07:00:00.000Z'

test('the report counts what was due and made, and names what was lost', async (t) => {
  const { deliver, k, receiver, rule } = await world(t)
  const { id: nodeId } = await k.enroll()
  k.sql(
    `INSERT INTO schedules (id, name, node_id, created_at, updated_at) VALUES ('s', 'Lecture', ?, ?, ?)`,
    nodeId,
    AT,
    AT,
  )
  const take = (id: string, status: string, at: string, schedule: string | null = 's') =>
    k.sql(
      `INSERT INTO recordings (id, name, folder, source, status, recorded_at, node_id, schedule_id, updated_at)
       VALUES (?, ?, 'F', 'schedule', ?, ?, ?, ?, ?)`,
      ...[id, id, status, at, nodeId, schedule, at],
    )
  const slot = (at: string, outcome: string, recording: string | null) =>
    k.sql(`INSERT INTO schedule_runs VALUES ('s', ?, ?, ?, NULL, ?)`, at, outcome, recording, at)
  for (const [hour, id, status] of [
    [9, 'whole', 'cached'],
    [10, 'copied', 'uploaded'],
    [11, 'broken', 'partial'],
  ] as const) {
    const at = `2026-03-02T${String(hour).padStart(2, '0')}:00:00.000Z`
    take(id, status, at)
    slot(at, 'started', id)
  }
  slot('2026-03-02T12:00:00.000Z', 'missed', null)
  slot('2026-03-02T13:00:00.000Z', 'skipped', null)
  slot('2026-02-27T13:00:00.000Z', 'missed', null)
  take('spoken', 'failed', '2026-03-02T14:00:00.000Z', null)
  await rule({ dailyReport: { time: '18:00', timezone: 'Europe/Berlin' } })
  const [plannedAt, lateAt] = ['2026-03-02T10:00:00.000Z', '2026-03-02T10:00:20.000Z']
  const begunLate = { autoResolvedReason: 'take_began', plannedAt, recoveryEvaluation: { lateSeconds: 89 } }
  k.sql(
    `INSERT INTO health_events (seq, id, type, severity, status, recording_id, opened_at, resolved_at, details)
     VALUES (1, 'late', 'watchdog.take_not_begun', 'critical', 'resolved', 'copied', ?, ?, ?)`,
    ...[lateAt, lateAt, JSON.stringify(begunLate)],
  )
  await deliver()
  assert.equal(receiver.asked.length, 0)
  k.advance('8h')
  await deliver()
  await deliver()
  const [told, ...more] = receiver.asked.map(hookOf)
  assert.deepEqual(more, [])
  assert.equal(told?.type, 'report.daily')
  const { figures, late, lost } = told?.data.report ?? {}
  assert.equal(figures?.late, 1)
  assert.deepEqual(late, [{ at: plannedAt, lateSeconds: 89, name: 'copied', room: null }])
  assert.deepEqual([figures?.due, figures?.made, figures?.failedTakes], [4, 2, 1])
  assert.equal(lost?.length, 3)
  k.advance('1d')
  await deliver()
  assert.equal(receiver.asked.length, 2)
  assert.equal(hookOf(receiver.asked[1] as never).data.report?.figures.due, 0)
})

test('a rule without types tells of its report and of nothing else', async (t) => {
  const { admin, channel, deliver, k, open, receiver, rule } = await world(t)
  const none = { channelId: channel.id, minSeverity: 'info', name: 'Nothing', types: [] }
  const refused = await admin.post('/settings/notification-rules', none)
  assert.deepEqual([refused.status, refused.json.issues[0].path], [400, ['types']])
  await rule({ dailyReport: { time: '18:00', timezone: 'UTC' }, minSeverity: 'info', types: [] })
  await open((await k.enroll()).id, { severity: 'critical' })
  k.advance('1d')
  await deliver()
  assert.deepEqual(
    receiver.asked.map((asked) => hookOf(asked).type),
    ['report.daily'],
  )
})

test('a report that was due while the controller was off is made when it is back, once, and a wrong clock ends none', async (t) => {
  const { deliver, k, receiver, rule } = await world(t)
  await rule({ dailyReport: { time: '10:30', timezone: 'UTC' } })
  k.advance('5h')
  await deliver()
  assert.equal(receiver.asked.length, 1)
  await k.jump('400d')
  await deliver()
  await k.jump('-400d')
  const { length } = receiver.asked
  k.advance('1d')
  await deliver()
  assert.ok(receiver.asked.length > length)
})
