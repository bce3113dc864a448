// Channels and rules: what is refused, who may write them, and what is shown of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listening } from '../../kit/http.ts'
import { NO_SMTPD, smtpServer } from '../../kit/smtp.ts'
import { answering, hookOf, KEY, world } from './world.ts'

const CHANNELS = '/settings/notification-channels'
const RULES = '/settings/notification-rules'
const MAIL = {
  from: 'rooms@example.org',
  host: 'mail.example.org',
  port: 587,
  security: 'starttls',
  to: ['a@example.org'],
}

test('a channel has the options of its kind, and what contradicts itself is refused with what to change', async (t) => {
  const { admin } = await world(t)
  const refused: [object, RegExp][] = [
    [{ kind: 'email', name: 'M' }, /options of the kind email/],
    [{ email: MAIL, kind: 'webhook', name: 'M' }, /kind webhook/],
    [{ email: { ...MAIL, to: [] }, kind: 'email', name: 'M' }, /recipients/],
    [{ email: { ...MAIL, username: 'u' }, kind: 'email', name: 'M' }, /password/],
    [{ kind: 'webhook', name: 'M', webhook: { url: 'https://x.example' } }, /signing key/],
    [{ kind: 'webhook', name: 'M', secret: 'short', webhook: { url: 'https://x.example' } }, /whsec_/],
    [{ kind: 'webhook', name: 'M', secret: KEY, webhook: { url: 'https://a:b@x.example' } }, /no credentials/],
    [
      { forPeople: true, kind: 'webhook', name: 'M', secret: KEY, webhook: { url: 'https://x.example' } },
      /mail channel/,
    ],
    [{ kind: 'ntfy', name: 'M', ntfy: { topic: 'a/b', url: 'https://x.example' } }, /letters, digits/],
    [{ email: { ...MAIL, from: 'a@b.example\r\nBcc: c@d.example' }, kind: 'email', name: 'M' }, /e-mail address/],
  ]
  for (const [body, why] of refused) {
    const { json, status } = await admin.post(CHANNELS, body)
    assert.equal(status, 400, JSON.stringify(body))
    assert.match(JSON.stringify(json.issues), why)
  }
  const none = await admin.post(RULES, { channelId: 'nowhere', minSeverity: 'info', name: 'R' })
  assert.equal(none.status, 400)
})

test('a secret stays where it was entered for, and is never shown', async (t) => {
  const { admin, k } = await world(t)
  const body = { email: { ...MAIL, username: 'rooms' }, kind: 'email', name: 'Mail', secret: 'the-password' }
  const made = (await admin.post(CHANNELS, body)).json.data
  assert.equal(made.hasSecret, true)
  const moved = { email: { ...MAIL, host: 'evil.example.org', username: 'rooms' } }
  const refused = await admin.patch(`${CHANNELS}/${made.id}`, moved)
  assert.equal(refused.json.reason, 'notification_channel_secret_required')
  assert.equal((await admin.patch(`${CHANNELS}/${made.id}`, { ...moved, secret: 'another-password' })).status, 200)
  assert.doesNotMatch(
    JSON.stringify(k.rows('SELECT * FROM audit_rows')) + k.logged.join(),
    /the-password|another-password/,
  )
})

test('an address that may be a secret is shown to who manages it, and not in the audit log', async (t) => {
  const { admin, k } = await world(t)
  const url = 'https://hooks.example.org/services/T00/B00/deadbeef'
  const { id } = (await admin.post(CHANNELS, { kind: 'webhook', name: 'Chat', secret: KEY, webhook: { url } })).json
    .data
  assert.equal((await admin.get(`${CHANNELS}/${id}`)).json.data.webhook.url, url)
  assert.equal((await k.as('viewer').get(`${CHANNELS}/${id}`)).status, 403)
  const viewer = k.person('vera', ['viewer'], [['notification_channel', id]])
  assert.equal((await viewer.get(`${CHANNELS}/${id}`)).json.data.webhook.url, 'https://hooks.example.org/...')
  assert.doesNotMatch(JSON.stringify(k.rows('SELECT * FROM audit_rows')), /deadbeef/)
})

test('who is refused a part of the site decides about nobody being told', async (t) => {
  const { channel, k } = await world(t)
  const bound = k.person('dan', ['admin'])
  k.sql(`INSERT INTO access_policies (id, position, effect, subject_type, subject_id, resource_type, resource_id)
    VALUES ('p', 1, 'deny', 'user', 'dan', 'room', 'secret')`)
  const answers = [
    await bound.post(RULES, { channelId: channel.id, minSeverity: 'info', name: 'R' }),
    await bound.patch(`${CHANNELS}/${channel.id}`, { name: 'Mine' }),
    await bound.post(CHANNELS, { email: MAIL, kind: 'email', name: 'Mine' }),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [403, 403, 403],
  )
})

test('a test says whether it arrived, and why not', async (t) => {
  const { admin, channel, receiver } = await world(t)
  const tried = async () => (await admin.post(`${CHANNELS}/${channel.id}/test`)).json.data
  assert.deepEqual(await tried(), { ok: true })
  assert.equal(hookOf(receiver.asked[0] as never).type, 'test')
  receiver.answers(answering(404))
  const { error, ok } = await tried()
  assert.equal(ok, false)
  assert.match(error, /404/)
  const rows = (await admin.get('/notifications')).json.data
  assert.deepEqual(
    rows.map((row: { kind: string; status: string }) => [row.kind, row.status]),
    [
      ['test', 'failed'],
      ['test', 'sent'],
    ],
  )
})

test('mail is from the product and the installation, and a test names both', { skip: NO_SMTPD }, async (t) => {
  const { admin } = await world(t)
  const { mails, port } = await smtpServer(t, { security: 'none' })
  const email = { from: 'alerts@example.org', host: '127.0.0.1', port, security: 'none', to: ['ann@example.org'] }
  const { id } = (await admin.post(CHANNELS, { email, kind: 'email', name: 'Post' })).json.data
  const tried = async () => {
    assert.deepEqual((await admin.post(`${CHANNELS}/${id}/test`)).json.data, { ok: true })
    const { headers = [] } = mails.at(-1) ?? {}
    return ['From', 'Subject'].map((name) => headers.find(([one]) => one === name)?.[1])
  }
  assert.deepEqual(await tried(), ['Roomtone <alerts@example.org>', 'Test message from Roomtone'])
  await admin.patch('/settings/controller', { siteName: 'Old Court' })
  assert.deepEqual(await tried(), ['Roomtone Old Court <alerts@example.org>', 'Test message from Roomtone Old Court'])
  assert.match(mails[1]?.text ?? '', /what Roomtone Old Court has to tell arrives here/)
})

test('a rule that could never tell anything is refused, with what may have been meant', async (t) => {
  const { admin, channel, k, open } = await world(t)
  const { id: nodeId } = await k.enroll()
  const made = (fields: object) =>
    admin.post(RULES, { channelId: channel.id, minSeverity: 'warning', name: 'Rule', ...fields })
  const refused = async (fields: object) => {
    const { json, status } = await made(fields)
    assert.equal(status, 400)
    return [json.issues[0].path.join('.'), json.issues[0].message]
  }
  assert.deepEqual(await refused({ types: ['watchdog.*', 'watchdog.flatlin'] }), [
    'types.1',
    'no alert has the type watchdog.flatlin: did you mean watchdog.flatline?',
  ])
  assert.deepEqual(await refused({ types: ['watchdgo.*'] }), [
    'types.0',
    'no alert has a type like watchdgo.*: did you mean watchdog.*?',
  ])
  assert.deepEqual(await refused({ types: ['room.*'] }), ['types.0', 'no alert has a type like room.*'])
  assert.deepEqual(await refused({ siteNames: ['North', 'Nort'] }), [
    'siteNames.1',
    'no room and no recorder is at the site Nort: did you mean North?',
  ])
  const types = ['room.*', '*.clipping', 'foresight.preflight', 'controller.notification_failed']
  await open(nodeId)
  const { json, status } = await made({ siteNames: ['North'], types })
  assert.equal(status, 201, JSON.stringify(json))
  k.sql('DELETE FROM health_events')
  k.sql(`UPDATE health_types SET type = 'other things' WHERE type = 'room.remark'`)
  const patched = await admin.patch(`${RULES}/${json.data.id}`, { name: 'Other', types: [...types, 'door.*'] })
  assert.deepEqual(patched.json.issues[0].path, ['types', 4], 'what it said already stays good')
  k.sql(`UPDATE nodes SET site = 'Elsewhere'`)
  assert.equal((await admin.patch(`${RULES}/${json.data.id}`, { enabled: false, types })).status, 200)
})

test('a preview says what a rule would have sent, within what its writer may read', async (t) => {
  const { admin, k, open } = await world(t)
  const { id: nodeId } = await k.enroll()
  for (let i = 0; i < 6; i++) {
    await open(nodeId, { severity: i % 2 ? 'warning' : 'critical', type: `room.remark_${i % 3}` })
    k.advance('1m')
  }
  const preview = async (rule: object) => (await admin.post(`${RULES}/preview`, rule)).json.data
  assert.deepEqual(await preview({ minSeverity: 'warning' }), { days: 30, events: 6, messages: 6 })
  assert.deepEqual(await preview({ minSeverity: 'critical' }), { days: 30, events: 3, messages: 3 })
  assert.deepEqual(await preview({ minSeverity: 'warning', throttleSeconds: 3600 }), {
    days: 30,
    events: 6,
    messages: 3,
  })
  assert.deepEqual(await preview({ minSeverity: 'warning', siteNames: ['South'] }), {
    days: 30,
    events: 0,
    messages: 0,
  })
})

test('the controller does not call itself at a port it was given by the system', async (t) => {
  const { admin, k } = await world(t, { SVC_PORT: '0', SVC_PUBLIC_URL: 'https://rooms.example' })
  const server = await listening(k)
  t.after(server.close)
  const webhook = { url: `${server.url}/auth/login` }
  const { id } = (await admin.post(CHANNELS, { kind: 'webhook', name: 'Itself', secret: KEY, webhook })).json.data
  const { error, ok } = (await admin.post(`${CHANNELS}/${id}/test`)).json.data
  assert.deepEqual([ok, /is this controller itself/.test(error)], [false, true], error)
})
