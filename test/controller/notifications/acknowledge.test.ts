// The link in a message: one button, good once, and nothing by itself.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acknowledgeLinks } from '../../../src/controller/notifications/acknowledge.store.ts'
import { listening } from '../../kit/http.ts'
import { keys } from '../../kit/kit.ts'
import { world } from './world.ts'

async function told(t: Parameters<typeof world>[0]) {
  const w = await world(t)
  await w.rule()
  const { id: nodeId } = await w.k.enroll()
  const event = await w.open(nodeId)
  await w.deliver()
  const [{ id } = { id: '' }] = w.k.rows<{ id: string }>(`SELECT id FROM notifications`)
  const link = `/a/${acknowledgeLinks(w.k.db, keys.node).tokenOf(id)}`
  const statusOf = async () => (await w.admin.get(`/health-events/${event}`)).json.data
  return { ...w, event, link, nodeId, statusOf }
}

test('opening a link changes nothing, its button acknowledges in the name of the rule, once', async (t) => {
  const { k, link, statusOf } = await told(t)
  for (let scanner = 0; scanner < 3; scanner++) {
    const page = await k.anonymous.get(link)
    assert.equal(page.status, 200)
    assert.match(page.text, /<form method="post"><button>/)
  }
  assert.equal((await statusOf()).status, 'open')
  k.forget()
  const pressed = await k.anonymous.post(link)
  assert.deepEqual([pressed.status, pressed.headers.get('location')], [302, '/a/done'])
  assert.equal((await k.anonymous.get('/a/done')).status, 200)
  const { acknowledgedBy, acknowledgedByName, status } = await statusOf()
  assert.deepEqual([status, acknowledgedBy, acknowledgedByName], ['acknowledged', 'notification_rule', 'Pager'])
  const [row] = k.rows<{ actor_id: string; actor_name: string }>(
    `SELECT actor_id, actor_name FROM audit_events WHERE action LIKE 'health.events.acknowledge%'`,
  )
  assert.deepEqual([row?.actor_id, row?.actor_name], ['notification_rule', 'Pager'])
  const again = await k.anonymous.post(link)
  assert.equal(again.status, 410)
  assert.match(again.text, /<h1>/)
  assert.equal((await k.anonymous.get(link)).status, 410)
})

test('a link that is made up, too old, or of what somebody else took care of is gone, with a page', async (t) => {
  const { admin, event, k, link } = await told(t)
  for (const path of ['/a/nothing', `/a/${'x'.repeat(5000)}`]) {
    assert.equal((await k.anonymous.get(path)).status, 410)
    assert.equal((await k.anonymous.post(path)).status, 410)
  }
  await admin.post(`/health-events/${event}/acknowledge`, {})
  assert.match((await k.anonymous.get(link)).text, /Already taken care of/)
  await admin.post(`/health-events/${event}/resolve`, {})
  await admin.post(`/health-events/${event}/reopen`, {})
  assert.equal((await k.anonymous.get(link)).status, 200)
  k.advance('49h')
  assert.equal((await k.anonymous.get(link)).status, 410)
  assert.equal((await k.anonymous.post(link)).status, 410)
})

test('the page says where it is and since when, in the zone of the site, as the message did', async (t) => {
  const { admin, k, link, nodeId } = await told(t)
  await admin.patch('/settings/controller', { timezone: 'Asia/Tokyo' })
  await admin.patch(`/nodes/${nodeId}`, { alias: 'Renamed' })
  const { text } = await k.anonymous.get(link)
  const facts = [...text.matchAll(/<dt>([^<]*)<\/dt><dd>([^<]*)<\/dd>/g)].map(([, name, value]) => [name, value])
  assert.deepEqual(facts, [
    ['Room', 'Hall'],
    ['Site', 'North'],
    ['Recorder', 'Hall recorder'],
    ['Since', '2 Mar 2026, 18:00'],
  ])
})

test('who presses too often is told so by a page', async (t) => {
  const { k, link } = await told(t)
  const { close, url } = await listening(k)
  t.after(close)
  const press = (path: string) => fetch(url.replace('/api/v1', path), { method: 'POST', redirect: 'manual' })
  for (let i = 0; i < 30; i++) assert.equal((await press('/a/nothing')).status, 410)
  const refused = await press(link)
  assert.equal(refused.status, 429)
  assert.match(refused.headers.get('content-type') ?? '', /^text\/html/)
  assert.match(await refused.text(), /<h1>Too many requests<\/h1>/)
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
})

test('the token is stored nowhere, and follows the message through every attempt', async (t) => {
  const { k, link } = await told(t)
  const token = link.slice('/a/'.length)
  const everything = k.rows<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%search%'`,
  )
  for (const { name } of everything) assert.ok(!JSON.stringify(k.rows(`SELECT * FROM "${name}"`)).includes(token), name)
})

test('the token is not in the audit log either, also when it is refused', async (t) => {
  const { admin, event, k, link } = await told(t)
  await admin.post(`/health-events/${event}/acknowledge`, {})
  assert.equal((await k.anonymous.post(link)).status, 410)
  assert.ok(k.trail().includes('notifications.acknowledge.failed denied already_handled'), k.trail().join('\n'))
  assert.ok(!JSON.stringify(k.rows('SELECT * FROM audit_events')).includes(link))
})
