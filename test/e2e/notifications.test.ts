// Messages of the built controller to real receivers, while it is killed again and again: each exactly once by its id.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { executable } from '../kit/executable.ts'
import { peer } from '../kit/peer.ts'
import { certificate, type Mail, NO_SMTPD, smtpServer } from '../kit/smtp.ts'
import { Controller, House, until } from '../kit/whole.ts'

const KEY = `whsec_${Buffer.from('k'.repeat(32)).toString('base64')}`
const LOGIN = { password: 'password of the mail server', username: 'rooms@example.org' }

const headerOf = ({ headers }: Mail, name: string): string =>
  headers.find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1]?.trim() ?? ''

async function site(t: TestContext) {
  const tls = certificate()
  const mail = await smtpServer(t, { login: LOGIN, security: 'starttls', tls })
  const receiver = await peer((_, response) => void response.writeHead(200).end('{}'))
  const house = await House.open(await executable())
  t.after(async () => {
    await house.close()
    await receiver.close()
  })
  const controller = new Controller(house, {
    SVC_PUBLIC_URL: 'https://rooms.example.org',
    SVC_TRUSTED_CA_FILE: tls.ca,
    SVC_WEBHOOK_ALLOW_PRIVATE: '1',
  })
  await (await controller.start()).login()
  const add = async (fields: object): Promise<string> =>
    (await controller.post('/settings/notification-channels', fields)).id
  const email = { from: 'rooms@example.org', host: 'localhost', port: mail.port, security: 'starttls' }
  const channels = {
    mail: await add({
      email: { ...email, to: ['ann@example.org'], username: LOGIN.username },
      kind: 'email',
      name: 'Mail',
      secret: LOGIN.password,
    }),
    ntfy: await add({ kind: 'ntfy', name: 'Phones', ntfy: { topic: 'rooms', url: receiver.url }, secret: 'tk_token' }),
    webhook: await add({ kind: 'webhook', name: 'Hook', secret: KEY, webhook: { url: `${receiver.url}/hook` } }),
  }
  for (const channelId of [channels.mail, channels.ntfy])
    await controller.post('/settings/notification-rules', { channelId, minSeverity: 'warning', name: channelId })
  await controller.post('/settings/notification-rules', {
    channelId: channels.webhook,
    escalateAfterSeconds: 10,
    escalateChannelId: channels.mail,
    minSeverity: 'warning',
    name: 'Hook',
  })
  const { id: nodeId } = await controller.enroll('Recorder')
  return { channels, controller, mail, nodeId, receiver }
}

/** Kills the controller at some moment of what it does, and starts it again. */
async function struck(controller: Controller, afterMs: number): Promise<void> {
  await sleep(afterMs)
  await controller.program.end('SIGKILL')
  await controller.start()
}

test('opened, escalated, acknowledged and resolved, each once, under kill -9 at every step', {
  skip: NO_SMTPD,
}, async (t) => {
  const { controller, mail, nodeId, receiver } = await site(t)
  const report = (type: string) => controller.post('/health-events', { nodeId, severity: 'critical', type })
  const ignored: { id: string } = await report('room.ignored')
  await struck(controller, 0)
  const handled: { id: string } = await report('room.handled')
  await struck(controller, 40)
  const mails = (part: string) => mail.mails.filter((one) => headerOf(one, 'Subject').includes(part))
  const opened = await until(
    'the mails of both',
    () => [mails('room ignored')[0], mails('room handled')[0]].every(Boolean) && mail.mails,
  )
  const link = /https:\/\/rooms\.example\.org(\/a\/[\w-]+)/.exec(mails('room handled')[0]?.text ?? '')?.[1]
  assert.ok(link && opened, 'a mail has a link that acknowledges')
  const pressed = await fetch(`${controller.url}${link}`, { method: 'POST', redirect: 'manual' })
  assert.equal(pressed.status, 302)
  assert.equal((await controller.get(`/health-events/${handled.id}`)).status, 'acknowledged')
  await struck(controller, 120)
  await until('the escalation', () => mails('Nobody has acknowledged')[0], 60)
  for (const { id } of [ignored, handled]) await controller.post(`/health-events/${id}/resolve`)
  await struck(controller, 10)
  const isQuiet = async () => {
    const { json } = await controller.ask('GET', '/notifications?limit=100')
    return json.data.length > 0 && json.data.every(({ status }: { status: string }) => status === 'sent') && json.data
  }
  const rows = await until('everything to be sent', isQuiet, 90)
  // Three channels, two events, begun and over; one escalation and its end.
  assert.equal(rows.length, 3 * 2 * 2 + 2)
  assert.deepEqual(distinct(rows.map((row: { id: string }) => row.id)).length, rows.length)
  const hooks = receiver.asked.filter(({ url }) => url === '/hook')
  for (const { body, headers } of hooks) new Webhook(KEY).verify(body, headers as Record<string, string>)
  assert.equal(distinct(hooks.map(({ headers }) => String(headers['webhook-id']))).length, 4)
  const messageIds = distinct(mail.mails.map((one) => headerOf(one, 'Message-ID')))
  assert.equal(messageIds.length, 6)
  const answers = mail.mails.filter((one) => headerOf(one, 'In-Reply-To') !== '')
  assert.ok(answers.length >= 3, 'ends answer what began')
  assert.deepEqual(
    answers.map((one) => headerOf(one, 'In-Reply-To')).filter((id) => !messageIds.includes(id)),
    [],
    messageIds.join('\n'),
  )
  const pushed = receiver.asked.filter(({ url }) => url === '/').map(({ body }) => JSON.parse(body))
  assert.equal(distinct(pushed.map(({ sequence_id, title }) => `${sequence_id} ${title}`)).length, 4)
  assert.equal(distinct(pushed.map(({ sequence_id }) => sequence_id)).length, 2)
})

const MINUTE_MS = 60_000

test('the daily report goes once, under kill -9 before it is due, as it is due and after', {
  skip: NO_SMTPD,
}, async (t) => {
  const { channels, controller, mail } = await site(t)
  // Due at the next minute that leaves time to make the rule.
  const dueAt = Math.ceil((Date.now() + 5000) / MINUTE_MS) * MINUTE_MS
  const dailyReport = { time: new Date(dueAt).toISOString().slice(11, 16), timezone: 'UTC' }
  const rule = { channelId: channels.mail, dailyReport, minSeverity: 'critical', name: 'Every day' }
  const { id: ruleId } = await controller.post('/settings/notification-rules', rule)
  await sleep(dueAt - Date.now() - 300)
  await struck(controller, 0)
  for (const afterMs of [0, 40, 120, 400]) await struck(controller, afterMs)
  const reports = () => mail.mails.filter((one) => headerOf(one, 'Subject').includes('Nothing was scheduled'))
  await until('the report', () => reports()[0], 90)
  const ofRule = async () =>
    (await controller.get(`/notifications?ruleId=${ruleId}`)) as { kind: string; status: string }[]
  await until('it to be noted as sent', async () => (await ofRule()).every(({ status }) => status === 'sent'), 90)
  await struck(controller, 0)
  await struck(controller, 1000)
  assert.deepEqual(
    (await ofRule()).map(({ kind, status }) => [kind, status]),
    [['report', 'sent']],
  )
  assert.equal(distinct(reports().map((one) => headerOf(one, 'Message-ID'))).length, 1)
  assert.match(reports()[0]?.text ?? '', /Disk of the controller: .* free/)
})

const distinct = (all: readonly string[]): string[] => [...new Set(all)]
