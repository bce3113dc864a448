// Alerts and activity in the console of the built executable, in a real browser.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, accessiblePages, fits, signIn, Visitor } from '../../kit/browser.ts'
import { Agent, Controller, House } from '../../kit/whole.ts'

const MARKUP = '<i>9.5</i> \u202E dB'

describe('alerts and activity', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  let nodeId: string
  let takeId: string
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    await controller.login()
    const node = await controller.enroll('Hall recorder')
    nodeId = node.id
    const env = { SVC_CONTROLLER_TOKEN: node.token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: node.id }
    new Agent(house, { ...env, SVC_HEARTBEAT_SECONDS: '1' }).start()
    await controller.online(nodeId)
    const { job, recording } = await controller.record(nodeId, await controller.plainProfile('flac'), 3, {
      name: 'Week 3',
    })
    takeId = recording.id
    await controller.delivered(takeId, job.id)
    for (const severity of ['critical', 'warning', 'warning'])
      await controller.post('/health-events', {
        details: { level: MARKUP, message: 'The pump is loud', remedy: `Close the door ${MARKUP}` },
        nodeId,
        severity,
        type: `watchdog.${severity}_noise`,
      })
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await house?.close()
  })

  test('every page, with an alert open beside the list', async () => {
    const [{ id }] = await controller.get('/health-events?severity=critical&search=noise')
    await accessiblePages(visitor, controller.url, ['/alerts', `/alerts?open=${id}`, '/activity', '/activity/uploads'])
  })

  test('an alert opens beside the queue, is silenced with a note and opened again; the back button closes it', async () => {
    const page = await visitor.signedIn()
    await page.getByRole('link', { exact: true, name: 'Alerts' }).click()
    await page.getByRole('button', { name: 'critical noise' }).click()
    const beside = page.getByRole('region', { name: 'critical noise' })
    await beside.getByText('The pump is loud').waitFor()
    await beside.getByText(`Close the door ${MARKUP}`).waitFor()
    await beside.getByText('Details').click()
    await beside.getByText(MARKUP, { exact: true }).waitFor()
    await beside.getByRole('button', { name: 'Suppress' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Until').fill('2030-01-02T10:00')
    await dialog.getByLabel('Note').fill('Builders next door')
    await accessible(page, 'suppressing')
    await fits(page, 'suppressing')
    await dialog.getByRole('button', { exact: true, name: 'Suppress' }).click()
    await beside.getByText('Suppressed until').waitFor()
    await beside.getByText('by Local Admin').waitFor()
    await beside.getByText('Builders next door').waitFor()
    await beside.getByRole('button', { name: 'Reopen' }).click()
    await beside.getByRole('button', { name: 'Acknowledge' }).waitFor()
    await page.goBack()
    await beside.waitFor({ state: 'detached' })
    await page.context().close()
  })

  test('several at once: what could not be changed stays selected', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/alerts?severity=warning&search=noise`)
    await page.getByRole('button', { exact: true, name: 'Select' }).click()
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
    await page.getByText('2 selected').waitFor()
    await page.getByRole('button', { name: 'Acknowledge' }).click()
    await page.getByText('2 alerts acknowledged.').waitFor()
    await page.getByText('0 selected').waitFor()
    assert.equal((await controller.get('/health-events?severity=warning&status=acknowledged&search=noise')).length, 2)
    await page.context().close()
  })

  test('a capture shows its parts and leads to its take', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/activity`)
    await page.getByRole('button', { name: 'Parts' }).first().click()
    await page.getByRole('dialog').waitFor()
    await accessible(page, 'parts')
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Week 3' }).click()
    await page.getByRole('heading', { level: 1, name: 'Week 3' }).waitFor()
    await page.context().close()
  })

  test('who may only look sees why a button does nothing', async () => {
    const person = { email: 'vera@example.org', password: 'a password for vera' }
    const { id: subjectId } = await controller.post('/auth/users', { ...person, name: 'Vera', roles: ['viewer'] })
    const room = await controller.post('/rooms', { name: 'Hall', site: 'North' })
    await controller.get(`/nodes/${nodeId}`, 'PATCH', { roomId: room.id })
    const entries = [{ capabilities: ['view'], subjectId, subjectType: 'user' }]
    await controller.get(`/rooms/${room.id}/roster`, 'PUT', { entries })
    const page = await visitor.visit()
    await signIn(page, person)
    await page.getByRole('link', { exact: true, name: 'Alerts' }).click()
    await page.getByRole('button', { name: 'critical noise' }).click()
    const button = page.getByRole('button', { name: 'Acknowledge' })
    await button.waitFor()
    assert.ok(await button.isDisabled())
    assert.match((await button.getAttribute('title')) ?? '', /health:acknowledge/)
    await page.context().close()
    assert.deepEqual(visitor.complaints, [])
  })
})
