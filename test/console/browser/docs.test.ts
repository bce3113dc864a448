// The API as a page of the built executable, in a real browser.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, accessiblePages, fits, Visitor } from '../../kit/browser.ts'
import { Controller, House } from '../../kit/whole.ts'

describe('the page of the API', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await house?.close()
  })

  test('no violation of accessibility rules, in both themes, at both sizes and at 320 px', async () => {
    await accessiblePages(visitor, controller.url, ['/docs'])
  })

  test('one finds it under the own account, and a route by its family, without any script', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/me`)
    const opened = page.context().waitForEvent('page')
    await page.getByRole('link', { name: 'API for programs' }).click()
    const docs = await opened
    await docs.getByRole('heading', { level: 1, name: 'Roomtone controller: API' }).waitFor()
    assert.equal(await docs.evaluate('document.scripts.length'), 0)
    await docs.getByRole('link', { exact: true, name: 'rooms' }).click()
    assert.equal(new URL(docs.url()).hash, '#family-rooms')
    const family = docs.getByRole('region', { exact: true, name: 'rooms' })
    await family.getByRole('heading', { name: 'POST /api/v1/rooms', exact: true }).click()
    await family.getByText('rooms.create', { exact: true }).waitFor()
    await accessible(docs, 'a route that is open')
    await fits(docs, 'a route that is open')
    await family.getByRole('link', { exact: true, name: 'Room' }).filter({ visible: true }).first().click()
    assert.equal(new URL(docs.url()).hash, '#type-Room')
    await page.context().close()
  })

  test('everything on it, opened, fits a phone', async () => {
    const page = await visitor.signedIn({ size: 'phone' })
    await page.goto(`${controller.url}/docs`)
    await page.setViewportSize({ height: 640, width: 320 })
    await page.evaluate(`document.querySelectorAll('details').forEach((one) => { one.open = true })`)
    await fits(page, 'everything opened')
    await page.context().close()
  })

  test('nothing was complained of, and nothing was asked of anybody else', () => {
    assert.deepEqual(visitor.complaints, [])
  })
})
