// Who is told of what, and when.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hookOf, world } from './world.ts'

test('an event and its end are one conversation, each told once', async (t) => {
  const { deliver, k, open, receiver, resolve, rule, told } = await world(t)
  await rule()
  const { id: nodeId } = await k.enroll()
  const event = await open(nodeId, { details: { message: 'The projector hums' } })
  k.forget()
  await deliver()
  await deliver()
  assert.deepEqual(told(), ['health.opened /hook'])
  await resolve(event)
  await deliver()
  assert.deepEqual(told(), ['health.opened /hook', 'health.resolved /hook'])
  const [opened] = receiver.asked.map(hookOf)
  assert.equal(opened?.data.event.id, event)
  assert.equal(opened?.data.room?.name, 'Hall')
  assert.equal(opened?.data.url, `https://rooms.example/alerts?open=${event}`)
  assert.deepEqual(
    k.trail().filter((row) => row.startsWith('notifications')),
    ['notifications.delivered succeeded', 'notifications.delivered succeeded'],
  )
  const rows = k.rows<{ conversation: string | null; id: string }>(
    'SELECT id, conversation FROM notifications ORDER BY seq',
  )
  assert.deepEqual(
    rows.map((row) => row.conversation),
    [null, rows[0]?.id],
  )
})

test('a rule tells of its severity, its types and its places, and of nothing that began before it', async (t) => {
  const { deliver, k, open, receiver, rule } = await world(t)
  const north = await k.enroll('A')
  const south = await k.enroll('B', { location: { site: 'South', room: 'Attic' } })
  const before = await open(north.id)
  k.advance('1s')
  await rule({ includeResolved: false, siteNames: ['North'], types: ['room.*'] })
  const ids = [
    await open(north.id, { severity: 'critical' }),
    await open(south.id),
    await open(north.id, { severity: 'info' }),
    await open(north.id, { type: 'door.open' }),
  ]
  await k.as('admin').post(`/health-events/${before}/resolve`, {})
  await k.as('admin').post(`/health-events/${ids[0]}/resolve`, {})
  await deliver()
  assert.deepEqual(
    receiver.asked.map((asked) => hookOf(asked).data.event.id),
    [ids[0]],
  )
})

test('more severe is news, once; reopened is news again', async (t) => {
  const { deliver, k, receiver, rule } = await world(t)
  await rule()
  const { id: nodeId } = await k.enroll()
  const id = (await k.as('admin').post('/health-events', { nodeId, severity: 'warning', type: 'room.remark' })).json
    .data.id
  await deliver()
  await k.as('admin').post(`/health-events/${id}/resolve`, {})
  await k.as('admin').post(`/health-events/${id}/reopen`, {})
  await deliver()
  assert.deepEqual(
    receiver.asked.map((asked) => hookOf(asked).type),
    ['health.opened', 'health.resolved', 'health.opened'],
  )
})

test('within the throttle nobody is told twice, but of what is still open at its end', async (t) => {
  const { deliver, k, open, receiver, resolve, rule } = await world(t)
  await rule({ throttleSeconds: 300 })
  const { id: nodeId } = await k.enroll()
  const first = await open(nodeId)
  await deliver()
  await resolve(first)
  k.advance('10s')
  const blip = await open(nodeId)
  await resolve(blip)
  k.advance('10s')
  const lasting = await open(nodeId)
  await deliver()
  const ids = () => receiver.asked.map((asked) => `${hookOf(asked).type} ${hookOf(asked).data.event.id}`)
  assert.deepEqual(ids(), [`health.opened ${first}`, `health.resolved ${first}`])
  k.advance('281s')
  await deliver()
  assert.deepEqual(ids().slice(2), [`health.opened ${lasting}`])
})

test('quiet hours hold back what is not severe enough; what is still open is told at their end', async (t) => {
  const { deliver, k, open, resolve, rule, told } = await world(t)
  // 09:00 UTC is 10:00 in Berlin.
  await rule({ quietHours: { exceptSeverity: 'critical', from: '09:30', timezone: 'Europe/Berlin', to: '11:00' } })
  const { id: nodeId } = await k.enroll()
  const over = await open(nodeId, { type: 'room.a' })
  await open(nodeId, { type: 'room.b' })
  await resolve(over)
  await deliver()
  assert.deepEqual(told(), [])
  await open(nodeId, { severity: 'critical', type: 'room.c' })
  await deliver()
  assert.deepEqual(told().length, 1)
  k.advance('61m')
  await deliver()
  assert.deepEqual(told().length, 2)
})

test('what nobody acknowledges is told to others, once; an acknowledgement ends that', async (t) => {
  const { admin, deliver, hook, k, open, resolve, rule, told } = await world(t)
  const boss = await hook('Boss', '/boss')
  await rule({ escalateAfterSeconds: 600, escalateChannelId: boss.id })
  const { id: nodeId } = await k.enroll()
  const ignored = await open(nodeId, { type: 'room.a' })
  const seen = await open(nodeId, { type: 'room.b' })
  await deliver()
  await admin.post(`/health-events/${seen}/acknowledge`, {})
  k.advance('601s')
  await deliver()
  assert.deepEqual(told(), ['health.opened /hook', 'health.opened /hook', 'health.escalated /boss'])
  await resolve(ignored)
  await deliver()
  assert.deepEqual(told().slice(3).sort(), ['health.resolved /boss', 'health.resolved /hook'])
})

test('beyond fifteen messages a minute the rest is one digest', async (t) => {
  const { deliver, k, open, receiver, rule } = await world(t)
  await rule()
  const { id: nodeId } = await k.enroll()
  for (let i = 0; i < 60; i++) await open(nodeId, { type: `room.remark_${i % 3}` })
  await deliver()
  const types = receiver.asked.map((asked) => hookOf(asked).type)
  assert.equal(types.filter((type) => type === 'health.opened').length, 15)
  assert.equal(types.filter((type) => type === 'health.digest').length, 1)
  assert.equal(hookOf(receiver.asked.at(-1) as never).data.events?.length, 45)
  for (let i = 0; i < 5; i++) await open(nodeId)
  await deliver()
  assert.equal(receiver.asked.length, 16, 'one digest a minute')
  k.advance('61s')
  await deliver()
  assert.ok(receiver.asked.length > 16)
  assert.deepEqual(k.rows(`SELECT DISTINCT status FROM notifications`), [{ status: 'sent' }])
})

test('people hear by their own mail what they may read, and nothing else', async (t) => {
  const { admin, deliver, k, open } = await world(t)
  const mail = { from: 'rooms@example.org', host: '127.0.0.1', port: 1, security: 'none', to: [] }
  await admin.post('/settings/notification-channels', { email: mail, forPeople: true, kind: 'email', name: 'Mail' })
  const ann = k.person('ann', ['viewer'], [['site', 'North']])
  const bob = k.person('bob', ['viewer'], [['site', 'South']])
  for (const person of [ann, bob])
    assert.equal(
      (await person.patch('/auth/me/notifications', { email: { enabled: true, minSeverity: 'warning' } })).status,
      200,
    )
  assert.deepEqual((await ann.get('/auth/me/notifications')).json.data, {
    email: { enabled: true, minSeverity: 'warning' },
    isDelivered: true,
  })
  const told = async (person: typeof ann) => (await person.get('/auth/me/notifications')).json.data.undelivered
  const nowhere = k.person('cat', ['viewer'], [])
  assert.deepEqual([await told(ann), await told(nowhere)], [undefined, 'nothing_to_read'])
  const { id: nodeId } = await k.enroll()
  await open(nodeId)
  await deliver()
  assert.deepEqual(k.rows('SELECT user_id AS who, kind FROM notifications'), [{ kind: 'event', who: 'ann' }])
  k.sql(`DELETE FROM user_grants WHERE user_id = 'ann'`)
  k.advance('11s')
  await deliver()
  assert.deepEqual(k.rows('SELECT user_id AS who FROM notifications'), [])
})

test('what is more severe is not held back by what quiet hours hold, nor by the throttle', async (t) => {
  const { deliver, k, open, receiver, rule } = await world(t)
  await rule({
    quietHours: { exceptSeverity: 'critical', from: '09:00', timezone: 'UTC', to: '17:00' },
    throttleSeconds: 3600,
  })
  const { id: nodeId } = await k.enroll()
  await open(nodeId)
  k.advance('1h')
  const critical = await open(nodeId, { severity: 'critical' })
  await deliver()
  assert.deepEqual(
    receiver.asked.map((asked) => hookOf(asked).data.event.id),
    [critical],
  )
})

test('a clock that was ahead silences nobody once it is right', async (t) => {
  const { deliver, k, open, rule, told } = await world(t)
  await k.jump('2d')
  await rule({ throttleSeconds: 300 })
  const { id: nodeId } = await k.enroll()
  await open(nodeId)
  await deliver()
  await k.jump('-2d')
  k.advance('1m')
  await open(nodeId)
  await deliver()
  assert.equal(told().length, 2)
})

test('the throttle counts from when something was told, not from when it was held', async (t) => {
  const { deliver, k, open, resolve, rule, told } = await world(t)
  await rule({ includeResolved: false, throttleSeconds: 300 })
  const { id: nodeId } = await k.enroll()
  await open(nodeId)
  await deliver()
  k.advance('10s')
  const held = await open(nodeId)
  k.advance('291s')
  await deliver()
  assert.equal(told().length, 2)
  await resolve(held)
  k.advance('20s')
  await open(nodeId)
  await deliver()
  assert.equal(told().length, 2)
})
