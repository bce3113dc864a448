// What is said by another message, waits whether it passes, or ends without being over.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { healthStore } from '../../../src/controller/monitoring/health/health.store.ts'
import { digestMessage, eventMessage } from '../../../src/controller/notifications/compose.rules.ts'
import { PHRASES } from '../../../src/controller/notifications/phrases.ts'
import { randomIds } from '../../../src/kernel/ids.ts'
import type { HealthEvent } from '../../../src/wire/health.ts'
import { hookOf, world } from './world.ts'

test('trouble with the controller that is soon over is told to nobody; what lasts is', async (t) => {
  const { deliver, k, receiver, rule } = await world(t)
  await rule()
  const { agent, id } = await k.enroll()
  const report = (type: string, severity = 'warning') =>
    agent.post(`/nodes/${id}/health-events`, { severity, type: `agent.${type}` })
  for (const what of ['node_heartbeat.sync_failed', 'meter_frame.sync_failed', 'recording_job.claim_next_failed'])
    await report(what)
  await report('node_heartbeat.sync_recovered', 'info')
  await report('recording_job.claim_next_recovered', 'info')
  await deliver()
  assert.equal(receiver.asked.length, 0)
  k.advance('121s')
  await deliver()
  assert.deepEqual(
    receiver.asked.map((asked) => hookOf(asked).data.event.type),
    ['agent.meter_frame.sync_failed'],
  )
})

const [NINE, TEN, NOON] = ['2026-03-03T09:00:00.000Z', '2026-03-03T10:00:00.000Z', '2026-03-03T12:00:00.000Z']

test('details that are not what they should be do not stop a message', async (t) => {
  const { deliver, k, open, receiver, rule } = await world(t)
  await rule()
  const { id: nodeId } = await k.enroll()
  for (const nextStart of ['soon', '', -1, null, {}, NINE])
    await open(nodeId, { details: { message: 7, nextStart, remedy: [], result: null } })
  await deliver()
  assert.equal(receiver.asked.length, 6)
})

test('a message that cannot be put into words is given up, and the next one goes', async (t) => {
  const { deliver, k, open, receiver, rule } = await world(t)
  await rule()
  const { id: nodeId } = await k.enroll()
  await open(nodeId)
  k.sql("UPDATE notifications SET content = json_set(content, '$.event.openedAt', 'never')")
  const next = await open(nodeId, { type: 'room.next' })
  await deliver()
  assert.deepEqual(
    k.rows<{ status: string }>('SELECT status FROM notifications ORDER BY seq').map(({ status }) => status),
    ['failed', 'sent'],
  )
  assert.deepEqual(
    receiver.asked.map((asked) => hookOf(asked).data.event.id),
    [next],
  )
})

test('a silent recorder is one message, whoever notices it, until only one of them is over', async (t) => {
  const { deliver, k, receiver, rule } = await world(t)
  await rule()
  const { id: nodeId } = await k.enroll()
  const health = healthStore(k.db, randomIds, k.events)
  const open = async (type: string, nextStart: string) => {
    const opening = { details: { nextStart }, nodeId, openedAt: k.now(), severity: 'critical', type } as const
    return k.db.tx(() => health.open(opening, k.now()).event.id)
  }
  const end = (id: string, reason: string) =>
    k.db.tx(() => void health.autoResolve([id], { by: 'system:foresight', reason }, k.now()))
  const told = async () => {
    await deliver()
    const seen = receiver.asked.map((asked) => `${hookOf(asked).data.event.type} ${hookOf(asked).type}`)
    receiver.asked.length = 0
    return seen
  }
  const ahead = await open('foresight.recorder_offline', NINE)
  await open('watchdog.node_offline', NINE)
  assert.deepEqual(await told(), ['foresight.recorder_offline health.opened'])
  k.advance('10m')
  end(ahead, 'schedule_deleted')
  assert.deepEqual(await told(), ['foresight.recorder_offline health.resolved'])
  k.advance('151s')
  assert.deepEqual(await told(), ['watchdog.node_offline health.opened'], 'it still stands')
  await open('foresight.recorder_offline', NINE)
  assert.deepEqual(await told(), [])
  const next = await open('foresight.recorder_offline', TEN)
  assert.deepEqual(await told(), ['foresight.recorder_offline health.opened'], 'of another recording')
  const third = await open('foresight.recorder_offline', NOON)
  assert.deepEqual(await told(), [], 'a morning of lectures is one message')
  end(next, 'slot_ended')
  assert.deepEqual(await told(), ['foresight.recorder_offline health.resolved'])
  k.advance('151s')
  assert.deepEqual(await told(), ['foresight.recorder_offline health.opened'], 'the next one speaks for itself')
  end(third, 'risk_gone')
})

test('what was foreseen and is due with its trouble ends, and is not called over', () => {
  const sender = { phrases: PHRASES.en, timezone: 'UTC' }
  const part = { createdAt: NINE, id: 'notification_1', kind: 'resolved' } as const
  const titled = (type: string, autoResolvedReason: string) => {
    const event = { details: { autoResolvedReason }, openedAt: NINE, resolvedAt: TEN, severity: 'critical', type }
    const { severity, title } = eventMessage(sender, part, { event: event as unknown as HealthEvent })
    return `${title.split(':')[0]}, ${severity}`
  }
  assert.deepEqual(
    [
      titled('foresight.device_gone', 'take_began'),
      titled('foresight.device_gone', 'slot_ended'),
      titled('foresight.device_gone', 'risk_gone'),
      titled('foresight.recorder_offline', 'take_began'),
      titled('foresight.recorder_offline', 'take_never_began'),
    ],
    ['Time is up, critical', 'Time is up, critical', 'Over, info', 'Over, info', 'Time is up, critical'],
  )
})

test('a recorder whose clock is far behind is heard, and what was known before a rule is not told', async (t) => {
  const { deliver, k, open, receiver, rule } = await world(t)
  const { agent, id } = await k.enroll()
  await open(id)
  k.advance('1s')
  await rule()
  const report = { openedAt: '2020-01-01T00:00:00Z', severity: 'critical', type: 'agent.system.disk_pressure' }
  assert.equal((await agent.post(`/nodes/${id}/health-events`, report)).status, 201)
  await deliver()
  assert.deepEqual(
    receiver.asked.map((asked) => hookOf(asked).data.event.type),
    ['agent.system.disk_pressure'],
  )
})

test('a flood of one recorder hides no other in a digest: the worst comes first, each recorder in turn', () => {
  const sender = { phrases: PHRASES.en, timezone: 'UTC' }
  const part = { createdAt: NINE, id: 'notification_1', kind: 'event' } as const
  const subject = (node: string, type: string, severity: 'critical' | 'warning') => ({
    event: { details: {}, id: type, openedAt: NINE, severity, status: 'open', type } as unknown as HealthEvent,
    kind: 'event' as const,
    node: { id: node, name: node },
  })
  const flood = Array.from({ length: 100 }, (_, i) =>
    subject('Loud', `agent.flood_${i}`, i % 2 ? 'warning' : 'critical'),
  )
  const { paragraphs } = digestMessage(sender, part, [...flood, subject('Other', 'agent.memory', 'critical')])
  assert.deepEqual(
    paragraphs.slice(1, 3).map((line) => line.split(' — ')[1]),
    ['Loud', 'Other'],
  )
  assert.equal(paragraphs.filter((line) => line.startsWith('Warning')).length, 0)
})

test('people who are told in their turn hear nothing of what is over by then', async (t) => {
  const { admin, deliver, k, open, resolve } = await world(t)
  const mail = { from: 'a@example.org', host: 'localhost', port: 1, security: 'starttls', to: [] }
  await admin.post('/settings/notification-channels', { email: mail, forPeople: true, kind: 'email', name: 'Mail' })
  const { id: nodeId } = await k.enroll()
  await admin.patch('/auth/me/notifications', { email: { enabled: true, minSeverity: 'warning' } })
  await resolve(await open(nodeId, { type: 'agent.meter_frame.sync_failed' }))
  const acknowledged = await open(nodeId)
  await admin.post(`/health-events/${acknowledged}/acknowledge`, {})
  await deliver()
  k.advance('3m')
  await deliver()
  assert.deepEqual(k.rows('SELECT 1 FROM notifications'), [])
})

test('a take that arrives late ends the alarm that it had not, and nobody was told for two minutes', async (t) => {
  const { deliver, k, receiver, rule } = await world(t)
  await rule()
  const { agent, id } = await k.enroll()
  const { data } = (await k.as('admin').post('/recordings', { nodeId: id })).json
  const [{ id: jobId }] = k.rows<{ id: string }>('SELECT id FROM recording_jobs') as [{ id: string }]
  const report = { details: { jobId, willRetry: true }, recordingId: data.id, severity: 'warning' }
  await agent.post(`/nodes/${id}/health-events`, { ...report, type: 'agent.recording_job.cache_upload_failed' })
  await deliver()
  assert.equal(receiver.asked.length, 0)
  k.db.tx(() => healthStore(k.db, randomIds, k.events).resolveDelivered(data.id, jobId, k.now()))
  k.advance('3m')
  await deliver()
  assert.equal(receiver.asked.length, 0)
  assert.deepEqual(k.rows(`SELECT type FROM health_events WHERE status <> 'resolved'`), [])
})
