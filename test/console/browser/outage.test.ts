// The controller is killed and started again while a page is open.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as net from 'node:net'
import { after, before, describe, test } from 'node:test'
import { accessible, Visitor } from '../../kit/browser.ts'
import { Controller, House, until } from '../../kit/whole.ts'

/** The same after a restart: a page knows its controller by its address. */
async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

describe('an outage', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  before(async () => {
    house = await House.open()
    controller = await new Controller(house, { SVC_PORT: String(await freePort()) }).start()
    await controller.login()
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await house?.close()
  })

  test('is told, ends by itself, and takes neither the session nor what was typed', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/rooms`)
    await page.getByRole('button', { name: 'New room' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Half typed')
    await dialog.getByLabel('Site').fill('North')
    const killedAt = performance.now()
    await controller.program.end('SIGKILL')
    const banner = page.getByText(/Not connected since/)
    await banner.waitFor()
    assert.ok(performance.now() - killedAt >= 2900, 'a short outage is not worth a word')
    const save = dialog.getByRole('button', { name: 'Save' })
    await until('what cannot be sent to be refused', () => save.isDisabled())
    await accessible(page, 'not connected')
    await controller.start()
    await banner.waitFor({ state: 'detached' })
    assert.equal(await page.getByText('Sign in again').count(), 0)
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'Half typed')
    await save.click()
    await page.getByRole('heading', { level: 1, name: 'Half typed' }).waitFor()
    await controller.login()
    await controller.post('/rooms', { name: 'Made elsewhere', site: 'North' })
    await page.getByRole('link', { name: 'Rooms' }).click()
    await page.getByRole('link', { name: 'Made elsewhere' }).waitFor()
    await page.context().close()
  })

  test('after it another version is loaded: by itself where nothing is typed, else it is offered', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/rooms`)
    // What another release would tell; the stream of this one is what the page has heard before.
    const next = (): Promise<unknown> =>
      page.route('**/api/v1/events', (route) =>
        route.fulfill({
          body: 'event: hello\ndata: {"bootId":"another","version":"0.0.0-next"}\n\n',
          contentType: 'text/event-stream',
        }),
      )
    await page.getByRole('button', { name: 'New room' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Half typed')
    await next()
    await controller.program.end('SIGKILL')
    await controller.start()
    await page.getByRole('button', { name: 'Reload to get the new version' }).waitFor()
    assert.equal(await page.getByRole('dialog').getByLabel('Name').inputValue(), 'Half typed')
    await page.keyboard.press('Escape')
    const loaded = page.waitForEvent('load')
    await page.getByRole('link', { name: 'Library' }).click()
    await loaded
    await page.getByRole('heading', { level: 1, name: 'Library' }).waitFor()
    await page.context().close()
    const unreachable = /Failed to load resource: net::ERR_/
    assert.deepEqual(
      visitor.complaints.filter((what) => !unreachable.test(what)),
      [],
    )
  })
})
