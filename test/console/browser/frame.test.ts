// What stands around every page: the keys, and the end of a session told in time.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, fits, signIn, Visitor } from '../../kit/browser.ts'
import { ADMIN, Controller, House } from '../../kit/whole.ts'

describe('the frame of the console', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    await controller.login()
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await house?.close()
  })

  test('the keys are told by one key, found by another, and can be switched off', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/library`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keyboard' })
    await help.getByText('Go to the search field').waitFor()
    await accessible(page, 'keyboard help')
    await fits(page, 'keyboard help')
    await page.keyboard.press('Escape')
    await page.keyboard.press('/')
    const search = page.getByRole('searchbox').first()
    assert.ok(await search.evaluate((field) => field.matches(':focus')))
    await page.keyboard.type('?/')
    assert.equal(await search.inputValue(), '?/', 'where one types they are letters')
    await page.goto(`${controller.url}/me`)
    await page.getByRole('button', { name: 'Keyboard' }).click()
    await help.getByLabel('Enable single-key').uncheck()
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    assert.equal(await help.count(), 0)
    await page.context().close()
  })

  test('ten minutes before a session ends a bar says so; who signs in again stays, and what was typed too', async () => {
    const page = await visitor.visit()
    await page.clock.install()
    await page.reload()
    await signIn(page, ADMIN)
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
    await page.goto(`${controller.url}/settings`)
    await page.getByLabel('Name of the site').fill('Half a name')
    assert.equal(await page.getByText(/Your session ends at/).count(), 0)
    await page.clock.fastForward('11:51:00')
    await page.getByText(/Your session ends at/).waitFor()
    await page.getByRole('button', { name: 'Stay signed in' }).click()
    const dialog = page.getByRole('dialog', { name: 'Sign in' })
    await accessible(page, 'signing in again')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Stay signed in' }).click()
    await signIn(page, ADMIN)
    await dialog.waitFor({ state: 'detached' })
    await page.getByText(/Your session ends at/).waitFor({ state: 'detached' })
    assert.equal(await page.getByLabel('Name of the site').inputValue(), 'Half a name')
    await page.context().close()
  })
  test('nothing complained', () => assert.deepEqual(visitor.complaints, []))
})
