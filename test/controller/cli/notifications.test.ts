// The doctor of a controller on whether anybody hears of an alert.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { doctorFacts } from '../../../src/controller/cli/doctor/facts.store.ts'
import { judgeChannels, judgeLinks, judgeTold } from '../../../src/controller/cli/doctor/notifications.rules.ts'
import { kit } from '../../kit/kit.ts'

const SENDING = { SVC_NOTIFICATIONS_ENABLED: true, SVC_PUBLIC_URL: undefined }
const LINKED = { ...SENDING, SVC_PUBLIC_URL: 'https://roomtone.example' }

const NTFY = { topic: 'alerts', url: 'https://ntfy.example' }

async function world() {
  const k = kit()
  const owner = k.as('owner')
  const facts = doctorFacts(k.db)
  const made = async (path: string, fields: object): Promise<string> => {
    const { json, status } = await owner.post(`/settings/${path}`, fields)
    assert.equal(status, 201, JSON.stringify(json))
    return json.data.id
  }
  const channel = (fields: object = { kind: 'ntfy', ntfy: NTFY }) =>
    made('notification-channels', { name: 'Pager', ...fields })
  const rule = (channelId: string, fields: object = {}) =>
    made('notification-rules', { channelId, minSeverity: 'critical', name: 'All', ...fields })
  const rules = () => judgeTold(facts.told(), SENDING)
  return { channel, facts, k, owner, rule, rules }
}

test('nobody is told while there is no rule, or none that can tell', async () => {
  const { channel, k, owner, rule, rules } = await world()
  assert.equal(rules().status, 'warn', 'no channel')
  const id = await channel()
  assert.match(rules().message, /No rule tells anybody of a critical alert/)
  const misspelt = await rule(id, { types: ['watchdog.*'] })
  k.sql(`UPDATE notification_rules SET choice = json_set(choice, '$.types', json('["watchdogs.*"]'))`)
  assert.equal(rules().status, 'warn', 'no alert has such a type')
  await owner.patch(`/settings/notification-rules/${misspelt}`, { types: ['watchdog.*'] })
  assert.deepEqual(rules(), { message: 'Critical alerts are told by 1 rule', status: 'ok' })
  await owner.patch(`/settings/notification-channels/${id}`, { enabled: false })
  assert.equal(rules().status, 'warn', 'its channel rests')
  await owner.patch(`/settings/notification-channels/${id}`, { enabled: true })
  await owner.patch(`/settings/notification-rules/${misspelt}`, { enabled: false })
  assert.equal(rules().status, 'warn', 'the rule rests')
  assert.match(rules().fix ?? '', /Settings, Notifications/)
  await k.close()
})

test("people's own mail counts while a channel sends it", async () => {
  const { channel, k, owner, rules } = await world()
  const email = { from: 'room@example.org', host: 'mail.example.org', port: 587, security: 'starttls', to: [] }
  const id = await channel({ email, forPeople: true, kind: 'email', name: 'Mail' })
  await owner.patch('/auth/me/notifications', { email: { enabled: true } })
  assert.match(rules().message, /told by the own mail of 1 person$/)
  assert.equal(rules().status, 'ok')
  await owner.patch(`/settings/notification-channels/${id}`, { enabled: false })
  assert.equal(rules().status, 'warn')
  await k.close()
})

test('a switched off controller tells nobody', async () => {
  const { channel, facts, k, rule } = await world()
  await rule(await channel())
  const found = judgeTold(facts.told(), { ...SENDING, SVC_NOTIFICATIONS_ENABLED: false })
  assert.deepEqual([found.status, /switched off/.test(found.message)], ['warn', true])
  assert.match(found.fix ?? '', /SVC_NOTIFICATIONS_ENABLED=false .*\nsudo systemctl restart roomtone-controller/)
  await k.close()
})

test('a channel that fails is named with its error; so is one that was switched off while a rule relies on it', async () => {
  const { channel, facts, k, rule } = await world()
  const [pager, spare] = [await channel(), await channel({ kind: 'ntfy', name: 'Spare', ntfy: NTFY })]
  const judged = () => judgeChannels(facts.told())
  assert.equal(judged().status, 'ok')
  k.sql(`UPDATE notification_channels SET last_error = 'pager.example answered 500' WHERE id = '${pager}'`)
  assert.equal(judged().message, "'Pager' is failing: pager.example answered 500")
  k.sql(`UPDATE notification_channels SET last_error = 'gone (410)', enabled = 0 WHERE id = '${spare}'`)
  assert.equal(judged().message.includes('Spare'), false, 'nobody relies on it')
  await rule(spare)
  assert.match(judged().message, /; 'Spare' is switched off: gone \(410\)$/)
  assert.match(judged().fix ?? '', /mend the channel/)
  await k.close()
})

test('messages without an address of the console are told, once there are any', async () => {
  const { channel, facts, k, rule } = await world()
  assert.equal(judgeLinks(facts.told(), SENDING).status, 'skipped')
  await rule(await channel())
  const found = judgeLinks(facts.told(), SENDING)
  assert.equal(found.status, 'warn')
  assert.match(found.fix ?? '', /SVC_PUBLIC_URL/)
  assert.equal(judgeLinks(facts.told(), LINKED).status, 'ok')
  await k.close()
})
