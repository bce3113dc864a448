// A screen on a wall: a link made in the console opens it, and revoking the link ends it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, fits, pictured, Visitor } from '../../kit/browser.ts'
import { Agent, Controller, House } from '../../kit/whole.ts'

describe('a display', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    await controller.login()
    const node = await controller.enroll('<b>Hall</b> recorder')
    const env = { SVC_CONTROLLER_TOKEN: node.token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: node.id }
    new Agent(house, { ...env, SVC_HEARTBEAT_SECONDS: '1' }).start()
    await controller.online(node.id)
    await controller.post('/rooms', { name: 'Hall', site: 'House' })
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await house?.close()
  })

  test('it shows the levels, survives a reload, opens nothing else, and ends with its link', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/access/displays`)
    await page.getByRole('button', { name: 'New display link' }).click()
    await page.getByLabel('Name', { exact: true }).fill('<i>Foyer</i>')
    await page.getByLabel('What it shows').selectOption('some rooms')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('name either a site or rooms').first().waitFor()
    await page.getByLabel('What it shows').selectOption('House')
    await page.getByLabel('Expires').fill('2099-01-01T00:00')
    await accessible(page, 'new display')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).dblclick()
    const address = await page.getByLabel('Address for the screen').inputValue()
    await page.keyboard.press('Escape')
    const screen = await visitor.visit()
    await screen.goto(address)
    await screen.getByText('<b>Hall</b> recorder').waitFor()
    assert.doesNotMatch(screen.url(), /svc_/)
    await screen.getByRole('meter').first().waitFor()
    await screen.locator('[role=meter]:not([aria-valuenow="-60"])').first().waitFor()
    await accessible(screen, 'display')
    await fits(screen, 'display')
    await pictured(screen, 'display')
    await screen.reload()
    await screen.getByText('<b>Hall</b> recorder').waitFor()
    await screen.goto(`${controller.url}/rooms`)
    await screen.getByLabel('E-mail').waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('listitem').filter({ hasText: '<i>Foyer</i>' }).waitFor({ state: 'detached' })
    await screen.goto(`${controller.url}/wall`)
    await screen.getByLabel('E-mail').waitFor()
    await screen.goto(address)
    await screen.getByText('This display link was revoked or has expired.').waitFor()
    await page.context().close()
    await screen.context().close()
    assert.deepEqual(
      visitor.complaints.filter((one) => !/status of 400/.test(one)),
      [],
    )
  })
})
