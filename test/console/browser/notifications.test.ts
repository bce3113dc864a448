// Who is told of alerts, in the console of the built executable: with a receiver that takes messages, and one that does not.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { de } from '../../../src/console/words/de.ts'
import { accessible, accessiblePages, fits, pictured, signIn, Visitor } from '../../kit/browser.ts'
import { peer } from '../../kit/peer.ts'
import { Controller, House, until } from '../../kit/whole.ts'

const PASSWORD = 'a password for all'
const SET_UP = '/settings/notifications'
const SENT = `${SET_UP}/deliveries`

/** Saves the dialog, and waits until it is gone. */
async function save(page: Page): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

const rowOf = (page: Page, name: string) => page.getByRole('listitem').filter({ hasText: name })

describe('notifications', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  let receiver: Awaited<ReturnType<typeof peer>>
  let nodeId: string
  before(async () => {
    house = await House.open()
    controller = await new Controller(house, { SVC_WEBHOOK_ALLOW_PRIVATE: '1' }).start()
    await controller.login()
    const room = await controller.post('/rooms', { name: 'Hall', site: 'North' })
    const node = await controller.enroll('Hall recorder')
    nodeId = node.id
    await controller.get(`/nodes/${nodeId}`, 'PATCH', { roomId: room.id })
    await controller.get('/settings/controller', 'PATCH', { siteName: 'Old Court', timezone: 'Europe/Berlin' })
    receiver = await peer((_, response) => void response.writeHead(204).end())
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await receiver?.close()
    await house?.close()
  })

  /** What a form is told is wrong with it is no complaint. */
  const complaints = (): string[] => visitor.complaints.filter((one) => !/status of 400/.test(one))
  const alert = (type: string): Promise<{ id: string }> =>
    controller.post('/health-events', { nodeId, severity: 'critical', type })

  test('Today says once that nobody is told, and no more when that is wanted', async () => {
    const page = await visitor.signedIn()
    const link = page.getByRole('link', { name: 'Say who is told when something goes wrong' })
    await link.waitFor()
    await pictured(page, 'today nobody told')
    await link.click()
    await page.getByText('No channel yet: nobody can be told of anything.').waitFor()
    await page.getByText('A rule needs a channel: make one first.').waitFor()
    await pictured(page, 'notifications empty')
    await page.goto(controller.url)
    await page.getByRole('button', { name: 'Not needed' }).click()
    await link.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('Nothing is recording.').waitFor()
    assert.equal(await link.count(), 0)
    await page.context().close()
  })

  test('a webhook with a key made here is tested, told of an alert by a rule, and the message is listed', async () => {
    const page = await visitor.signedIn()
    await page.goto(controller.url + SET_UP)
    await page.getByRole('button', { name: 'New channel' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Pager')
    await page.getByLabel('Kind').selectOption('webhook')
    await page.getByLabel('Address').fill(`${receiver.url}/hook`)
    await page.getByText('set SVC_WEBHOOK_ALLOW_PRIVATE=1 on the controller').waitFor()
    await page.getByRole('button', { name: 'Make a new key' }).click()
    const key = await page.getByLabel('The new key').inputValue()
    assert.match(key, /^whsec_[A-Za-z0-9+/]{43}=$/)
    await accessible(page, 'a new webhook')
    await fits(page, 'a new webhook')
    await pictured(page, 'webhook form')
    await save(page)
    const pager = rowOf(page, 'Pager')
    await pager.getByText('ready').waitFor()
    await pager.getByText('Nothing sent yet').waitFor()
    await pager.getByRole('button', { name: 'Edit' }).click()
    await page.getByText('Never shown. Leave empty to keep it.').waitFor()
    assert.equal(await page.getByLabel('Signing key', { exact: true }).inputValue(), '')
    await save(page)
    await pager.getByRole('button', { name: 'Send a test' }).dblclick()
    await pager.getByText('The test message was accepted.').waitFor()
    assert.deepEqual(
      receiver.asked.map(({ body }) => JSON.parse(body).type),
      ['test'],
      'a double click is one wish',
    )
    await alert('room.remark')
    await page.getByRole('button', { name: 'New rule' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Everything bad')
    await page.getByText('In the last 30 days this would have sent 1 message about 1 alert.').waitFor()
    await page.getByRole('checkbox', { exact: true, name: 'Everything' }).uncheck()
    await page.getByText('Choose what is told, and see here').waitFor()
    await page.getByRole('checkbox', { exact: true, name: 'Watchdog' }).check()
    await page.getByText('In the last 30 days this would have sent nothing.').waitFor()
    await page.getByLabel('Others by their type').fill('room.*, what is this')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.locator('[name=types][aria-invalid]').waitFor()
    await page.getByLabel('Others by their type').fill('room.*')
    await page.getByText('In the last 30 days this would have sent 1 message about 1 alert.').waitFor()
    await page.getByText('Only at certain places').click()
    await page.getByRole('combobox', { name: 'Add a room' }).fill('Hal')
    await page.getByRole('option', { name: /Hall/ }).click()
    await accessible(page, 'a new rule')
    await fits(page, 'a new rule')
    await pictured(page, 'rule form')
    await save(page)
    await page.getByText('Warnings and critical · Watchdog, room.* · 1 place · Pager').waitFor()
    const { id } = await alert('room.remark.loud')
    await until('the alert to be told', () => receiver.asked.some(({ body }) => body.includes(id)))
    await pager.getByText('Last message sent').waitFor()
    await page.getByRole('link', { name: 'Sent messages' }).click()
    const row = page.getByRole('row').filter({ hasText: 'Everything bad' })
    await row.getByText('sent', { exact: true }).waitFor()
    await page.getByRole('row').filter({ hasText: 'Test message' }).waitFor()
    await row.getByRole('link', { name: 'room remark loud' }).click()
    await page.getByRole('link', { name: 'Messages about it' }).click()
    await row.waitFor()
    assert.equal(await page.getByRole('row').count(), 2, 'the head, and the one message of this alert')
    await page.context().close()
  })

  test('a rule shows its rooms by name, and changes what it says: others are told when nobody reacts', async () => {
    await controller.post('/settings/notification-channels', {
      ...{ kind: 'ntfy', name: 'Phone of the boss', ntfy: { topic: 'boss', url: receiver.url } },
    })
    const page = await visitor.signedIn({ size: 'phone' })
    await page.goto(controller.url + SET_UP)
    const row = rowOf(page, 'Everything bad').last()
    await row.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove: Hall' }).waitFor()
    await page.getByLabel('When nobody acknowledges it, also tell').selectOption('Phone of the boss')
    await page.getByLabel('After (minutes)').fill('10')
    await page.getByLabel('Quiet hours').check()
    await page.getByLabel('From', { exact: true }).fill('07:00')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('quiet hours begin and end at different times').first().waitFor()
    assert.equal(await page.getByLabel('To', { exact: true }).getAttribute('aria-invalid'), 'true')
    await page.getByLabel('From', { exact: true }).fill('22:00')
    await page.getByLabel('Daily report').check()
    await fits(page, 'a whole rule')
    await accessible(page, 'a whole rule')
    await pictured(page, 'rule form phone')
    await save(page)
    const [rule] = await controller.get('/settings/notification-rules')
    assert.equal(rule.escalateAfterSeconds, 600)
    assert.deepEqual(rule.quietHours, {
      ...{ exceptSeverity: 'critical', from: '22:00', timezone: 'Europe/Berlin', to: '07:00' },
    })
    assert.deepEqual([rule.roomIds.length, rule.nodeIds, rule.types], [1, undefined, ['watchdog.*', 'room.*']])
    assert.equal(rule.dailyReport.timezone, 'Europe/Berlin')
    await rowOf(page, 'Phone of the boss').first().getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Used by 1 rule: Everything bad').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Rules use this channel: give them another one, or delete them, first.').waitFor()
    await pictured(page, 'channel in use')
    await page.context().close()
  })

  test('a receiver that refuses makes its channel fail, in words; what was lost is sent again', async () => {
    receiver.answers((_, response) => void response.writeHead(404).end())
    const { id } = await alert('room.lost')
    const page = await visitor.signedIn()
    await page.goto(controller.url + SET_UP)
    const pager = rowOf(page, 'Pager').first()
    await pager.getByText('failing').waitFor()
    const host = new URL(receiver.url).host
    await pager.getByText(`Last error: ${host} answered 404: check the address and the secret of the channel`).waitFor()
    await pager.getByRole('button', { name: 'Send a test' }).click()
    await pager.getByText('The test message did not arrive:').waitFor()
    await accessible(page, 'a failing channel')
    await pictured(page, 'channel failing')
    await page.goto(`${controller.url}${SENT}?status=failed&healthEventId=${id}`)
    const row = page.getByRole('row').filter({ hasText: 'Everything bad' })
    await row.getByText('answered 404').waitFor()
    receiver.answers((_, response) => void response.writeHead(204).end())
    await row.getByRole('button', { name: 'Send again' }).click()
    await row.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Clear filters' }).click()
    const lost = page.getByRole('link', { exact: true, name: 'room lost' })
    const alerts = page.getByRole('row').filter({ has: lost, hasText: 'Alert' })
    await alerts.first().getByText('sent', { exact: true }).waitFor()
    await page.goto(controller.url + SET_UP)
    await pager.getByText('ready').waitFor()
    await page.context().close()
    assert.deepEqual(complaints(), [])
  })

  test('everybody asks for their own mail, and is told while nothing carries it', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/me`)
    const mail = page.getByRole('region', { name: 'Mail about alerts' })
    await mail.getByText('Nothing is sent so far').waitFor()
    await mail.getByLabel('Mail me about alerts').check()
    await mail.getByLabel('From which severity').selectOption('Warnings and critical')
    await accessible(page, 'own mail')
    await mail.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    const mine = await controller.get('/auth/me/notifications')
    assert.deepEqual(mine, {
      email: { enabled: true, minSeverity: 'warning' },
      isDelivered: false,
      undelivered: 'no_channel',
    })
    await mail.getByRole('link', { name: 'Channels and rules' }).click()
    await page.getByRole('button', { name: 'New channel' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Post')
    await page.getByLabel('Mail server').fill('127.0.0.1')
    assert.equal(await page.getByLabel('Port').inputValue(), '587')
    await page.getByLabel('Port').fill('2525')
    await page.getByLabel('Encryption').selectOption('none: everything can be read on the way')
    await page.getByLabel('Sender').fill('roomtone@example.org')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('the channel has no recipients: enter at least one address').waitFor()
    await page.getByLabel('Carries people’s own mail').check()
    await accessible(page, 'a mail channel')
    await pictured(page, 'mail form')
    await save(page)
    await rowOf(page, 'Post').getByText('E-mail · carries people’s own mail · Nothing sent yet').waitFor()
    await page.goto(`${controller.url}/me`)
    await mail.getByText('Nothing is sent so far').waitFor({ state: 'detached' })
    assert.equal(await mail.getByLabel('Mail me about alerts').isChecked(), true)
    await page.context().close()
  })

  test('every page, in both themes, at both sizes', async () => {
    await accessiblePages(visitor, controller.url, [SET_UP, SENT, '/me'])
    assert.deepEqual(complaints(), [])
  })

  test('who may only read sees channels and rules, and no button that changes them', async () => {
    await controller.post('/auth/users', {
      ...{ email: 'viewer@example.org', name: 'Viewer', password: PASSWORD, roles: ['viewer'] },
      resourceGrants: [{ resourceId: '*', resourceType: '*' }],
    })
    const page = await visitor.visit()
    await signIn(page, { email: 'viewer@example.org', password: PASSWORD })
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
    await page.goto(controller.url + SET_UP)
    await page.getByText('Warnings and critical · Watchdog, room.*').waitFor()
    const buttons = await page.getByRole('main').getByRole('button').allInnerTexts()
    assert.deepEqual([...new Set(buttons)], ['View'])
    await rowOf(page, 'Pager').first().getByRole('button', { name: 'View' }).click()
    await page.getByText(`${receiver.url}/...`).waitFor()
    await page.keyboard.press('Escape')
    await rowOf(page, 'Everything bad').last().getByRole('button', { name: 'View' }).click()
    await page.getByText('22:00–07:00, Europe/Berlin').waitFor()
    await accessible(page, 'a rule that is read')
    await page.goto(controller.url + SENT)
    await page.getByRole('row').filter({ hasText: 'Everything bad' }).first().waitFor()
    assert.equal(await page.getByRole('button', { name: 'Send again' }).count(), 0)
    await page.context().close()
  })

  test('in German, the error of a receiver included', async () => {
    receiver.answers((_, response) => void response.writeHead(503).end())
    await alert('room.again')
    const page = await visitor.signedIn({ size: 'phone' })
    await page.goto(`${controller.url}/me`)
    await page.getByRole('combobox', { name: 'Language' }).selectOption('Deutsch')
    await page.getByRole('heading', { level: 1, name: de.me.title }).waitFor()
    await page.goto(controller.url + SET_UP)
    const host = new URL(receiver.url).host
    await page.getByText(`${host} antwortete 503: Es kann gerade keine Nachrichten annehmen`).first().waitFor()
    await fits(page, 'German')
    await accessible(page, 'German')
    await pictured(page, 'notifications German phone')
    await page.goto(controller.url + SENT)
    await page.getByText('wartet', { exact: true }).first().waitFor()
    await fits(page, 'German messages')
    await pictured(page, 'deliveries German phone')
    await page.context().close()
    assert.deepEqual(complaints(), [])
  })
})
