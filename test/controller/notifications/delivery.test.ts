// From the queue to the receiver: again and again, in order, and no more than once under one id.
import assert from 'node:assert/strict'
import * as path from 'node:path'
import { test } from 'node:test'
import { kit } from '../../kit/kit.ts'
import { peer } from '../../kit/peer.ts'
import { scratchDir } from '../../kit/scratch.ts'
import { NO_SMTPD, smtpServer } from '../../kit/smtp.ts'
import { until } from '../../kit/whole.ts'
import { answering, hookOf, KEY, world } from './world.ts'

test('a receiver that is down is tried again, later and later, for a day; what comes after waits its turn', async (t) => {
  const { admin, channel, deliver, k, open, receiver, rule, told } = await world(t)
  await rule()
  const { id: nodeId } = await k.enroll()
  receiver.answers(answering(503))
  const first = await open(nodeId, { type: 'room.a' })
  await deliver()
  await open(nodeId, { type: 'room.b' })
  for (const pause of ['10s', '30s', '2m', '10m', '1h']) {
    await deliver()
    const { length } = receiver.asked
    k.advance(pause)
    await deliver()
    assert.equal(receiver.asked.length, length + 1, `again after ${pause}`)
  }
  const ids = new Set(receiver.asked.map(({ headers }) => headers['webhook-id']))
  assert.equal(ids.size, 1, 'one message at a time, under one id')
  const shown = (await admin.get(`/settings/notification-channels/${channel.id}`)).json.data
  assert.equal(shown.status, 'failing')
  assert.match(shown.lastError, /503/)
  receiver.answers(answering(204))
  k.advance('1h')
  await deliver()
  assert.deepEqual(
    receiver.asked.slice(-2).map((asked) => hookOf(asked).data.event.type),
    ['room.a', 'room.b'],
  )
  assert.equal((await admin.get(`/settings/notification-channels/${channel.id}`)).json.data.status, 'ready')
  assert.equal((await admin.get(`/notifications?healthEventId=${first}`)).json.data[0].attempts, 7)
  assert.equal(told().length, 8)
})

test('after a day it is given up, with an alert that is told by other channels alone, and ends when messages arrive again', async (t) => {
  const { admin, deliver, hook, k, open, receiver, rule } = await world(t)
  await rule({ name: 'Pager' })
  const other = await hook('Other', '/other')
  await rule({ channelId: other.id, name: 'Other', types: ['controller.*'] })
  const { id: nodeId } = await k.enroll()
  receiver.answers(({ url }, response) => void response.writeHead(url === '/other' ? 204 : 500).end())
  await open(nodeId)
  for (let hour = 0; hour < 30; hour++) {
    await deliver()
    k.advance('1h')
  }
  const [failed] = (await admin.get('/notifications?status=failed')).json.data
  assert.match(failed.lastError, /500/)
  const told = receiver.asked.filter(({ url }) => url === '/other').map((asked) => hookOf(asked).data.event.type)
  assert.deepEqual(told, ['controller.notification_failed'])
  assert.equal((await admin.post(`/notifications/${failed.id}/retry`)).status, 200)
  receiver.answers(answering(204))
  await deliver()
  assert.deepEqual(
    (await admin.get('/health-events?type=controller.notification_failed')).json.data.map(
      (e: { status: string }) => e.status,
    ),
    ['resolved'],
  )
  assert.equal((await admin.post(`/notifications/${failed.id}/retry`)).status, 409)
})

test('a receiver that wants no more disables its channel, and the channel says so', async (t) => {
  const { admin, channel, deliver, k, open, receiver, rule } = await world(t)
  await rule()
  const { id: nodeId } = await k.enroll()
  receiver.answers(answering(410))
  await open(nodeId)
  await deliver()
  await open(nodeId)
  await deliver()
  assert.equal(receiver.asked.length, 1)
  const shown = (await admin.get(`/settings/notification-channels/${channel.id}`)).json.data
  assert.deepEqual([shown.enabled, shown.status], [false, 'disabled'])
  assert.match(shown.lastError, /410/)
})

test('what was under way when the controller ended is sent again, under the same id', async (t) => {
  const file = path.join(scratchDir('roomtone-notify-'), 'k.db')
  const receiver = await peer((_, response) => void response.destroy())
  const env = { SVC_WEBHOOK_ALLOW_PRIVATE: '1' }
  const first = kit({ env, file })
  const admin = first.as('admin')
  const channel = await admin.post('/settings/notification-channels', {
    kind: 'webhook',
    name: 'P',
    secret: KEY,
    webhook: { url: receiver.url },
  })
  await admin.post('/settings/notification-rules', { channelId: channel.json.data.id, minSeverity: 'info', name: 'R' })
  const { id: nodeId } = await first.enroll()
  await admin.post('/health-events', { nodeId, severity: 'warning', type: 'room.remark' })
  // As after kill -9 between the receiver's answer and the mark.
  first.sql(`UPDATE notifications SET status = 'sending', attempts = 1`)
  await first.close()
  const second = kit({ env, file })
  t.after(async () => {
    await second.close()
    await receiver.close()
  })
  await second.start()
  receiver.answers(answering(204))
  const arrived = receiver.next()
  await second.tick('notifications')
  await arrived
  const [{ id } = { id: '' }] = second.rows<{ id: string }>('SELECT id FROM notifications')
  assert.equal(receiver.asked[0]?.headers['webhook-id'], id)
})

test('a clock that is set back delays nothing but what waits for a time of day', async (t) => {
  const { deliver, k, open, receiver, rule } = await world(t)
  await rule()
  const { id: nodeId } = await k.enroll()
  receiver.answers(answering(503))
  await open(nodeId)
  await deliver()
  await k.jump('-6h')
  receiver.answers(answering(204))
  k.advance('11s')
  await deliver()
  assert.equal(receiver.asked.length, 2)
})

test('who may not read an event does not see its message; history outlives channel and rule', async (t) => {
  const { admin, channel, deliver, k, open, rule } = await world(t)
  const { id: ruleId } = await rule()
  const { id: nodeId } = await k.enroll()
  await open(nodeId)
  await deliver()
  const seen = async (person: typeof admin) => (await person.get('/notifications')).json.data.length
  assert.equal(await seen(k.person('ann', ['viewer'], [['site', 'North']])), 1)
  assert.equal(await seen(k.person('bob', ['viewer'], [['site', 'South']])), 0)
  await admin.post(`/settings/notification-channels/${channel.id}/test`)
  assert.deepEqual([await seen(admin), await seen(k.as('viewer'))], [2, 0], 'a test is for who manages')
  await open(nodeId, { type: 'room.waiting' })
  assert.equal((await admin.delete(`/settings/notification-channels/${channel.id}`)).status, 409)
  await admin.delete(`/settings/notification-rules/${ruleId}`)
  assert.equal((await admin.delete(`/settings/notification-channels/${channel.id}`)).status, 204)
  const rows = (await admin.get('/notifications')).json.data
  assert.deepEqual(
    rows.map(({ eventType, status }: { eventType?: string; status: string }) => [eventType, status]),
    [
      ['room.waiting', 'failed'],
      [undefined, 'sent'],
      ['room.remark', 'sent'],
    ],
  )
  assert.match(rows[0].lastError, /deleted/)
})

test('how an attempt ended could not be stored: the controller lives, and the message is sent again', async (t) => {
  const { deliver, k, open, receiver, rule } = await world(t)
  await rule()
  const { id: nodeId } = await k.enroll()
  await open(nodeId)
  k.sql(`CREATE TRIGGER full BEFORE UPDATE OF status ON notifications WHEN new.status = 'sent'
    BEGIN SELECT RAISE(ABORT, 'disk full'); END`)
  const arrived = receiver.next()
  await k.tick('notifications')
  await arrived
  await until('the log line', () => k.logged.some((line) => line.includes('could not be stored')))
  k.sql('DROP TRIGGER full')
  await deliver()
  assert.deepEqual(k.rows('SELECT status FROM notifications'), [{ status: 'sent' }])
  const ids = receiver.asked.map(({ headers }) => headers['webhook-id'])
  assert.deepEqual([ids.length, new Set(ids).size], [2, 1])
})

test('a test that arrives ends the alarm of its channel; a channel that is deleted takes its alarm along', async (t) => {
  const { admin, channel, deliver, k, open, receiver, rule } = await world(t)
  const { id: ruleId } = await rule()
  const { id: nodeId } = await k.enroll()
  receiver.answers(answering(404))
  await open(nodeId)
  await deliver()
  const alarms = async () =>
    (await admin.get('/health-events?type=controller.notification_failed')).json.data.map(
      ({ status }: { status: string }) => status,
    )
  assert.deepEqual(await alarms(), ['open'])
  receiver.answers(answering(204))
  await admin.post(`/settings/notification-channels/${channel.id}/test`)
  assert.deepEqual(await alarms(), ['resolved'])
  const shown = (await admin.get(`/settings/notification-channels/${channel.id}`)).json.data
  assert.deepEqual([shown.status, shown.lastError], ['ready', undefined])
  receiver.answers(answering(404))
  await open(nodeId, { type: 'room.again' })
  await deliver()
  assert.deepEqual((await alarms()).sort(), ['open', 'resolved'])
  await admin.delete(`/settings/notification-rules/${ruleId}`)
  await admin.delete(`/settings/notification-channels/${channel.id}`)
  assert.deepEqual(await alarms(), ['resolved', 'resolved'])
})

test('what is over is not told once more', async (t) => {
  const { admin, deliver, k, open, receiver, resolve, rule } = await world(t)
  await rule()
  const { id: nodeId } = await k.enroll()
  receiver.answers(answering(404))
  const event = await open(nodeId)
  await deliver()
  await resolve(event)
  const [{ id }] = (await admin.get('/notifications?status=failed')).json.data
  assert.equal((await admin.post(`/notifications/${id}/retry`)).status, 409)
})

test('a mailbox that refuses is its owner’s affair: nobody else is told', { skip: NO_SMTPD }, async (t) => {
  const { admin, deliver, k, open, rule } = await world(t)
  const refuse = { 'admin@example.org': '550 5.1.1 no such mailbox' }
  const server = await smtpServer(t, { refuse, security: 'none' })
  const mail = { from: 'rooms@example.org', host: '127.0.0.1', port: server.port, security: 'none', to: [] }
  await admin.post('/settings/notification-channels', { email: mail, forPeople: true, kind: 'email', name: 'Mail' })
  await rule({ types: ['controller.*'] })
  await admin.patch('/auth/me/notifications', { email: { enabled: true, minSeverity: 'info' } })
  const { id: nodeId } = await k.enroll()
  await open(nodeId)
  await deliver()
  assert.deepEqual(k.rows(`SELECT status FROM notifications`), [{ status: 'failed' }])
  assert.deepEqual(k.rows(`SELECT type FROM health_events WHERE type LIKE 'controller.%'`), [])
})

test('who no longer wants mail gets none, also of what waits', async (t) => {
  const { admin, deliver, k, open, receiver } = await world(t)
  const mail = { from: 'rooms@example.org', host: '127.0.0.1', port: 1, security: 'none', to: [] }
  await admin.post('/settings/notification-channels', { email: mail, forPeople: true, kind: 'email', name: 'Mail' })
  await admin.patch('/auth/me/notifications', { email: { enabled: true, minSeverity: 'info' } })
  const { id: nodeId } = await k.enroll()
  await open(nodeId)
  await deliver()
  await admin.patch('/auth/me/notifications', { email: { enabled: false } })
  k.advance('11s')
  await deliver()
  assert.deepEqual([k.rows('SELECT id FROM notifications'), receiver.asked], [[], []])
})
