// Pages that are left, people who follow each other at one screen, and an address that may not ask for now.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Browser, chromium, type Page } from 'playwright-core'
import { CHROMIUM, signIn, Visitor } from '../../kit/browser.ts'
import { ADMIN, Controller, House } from '../../kit/whole.ts'

const OTHER = { email: 'vera@example.org', name: 'Vera', password: 'a long password', roles: ['admin'] }
const password = (page: Page) => page.getByLabel('Password', { exact: true })
const heading = (page: Page, name: string): Promise<void> => page.getByRole('heading', { level: 1, name }).waitFor()

describe('leaving the console', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  let browser: Browser
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    await controller.login()
    await controller.post('/auth/users', OTHER)
    visitor = await Visitor.open(controller)
    // As people have it: pages that are left are kept for the back button.
    browser = await chromium.launch({
      args: ['--no-sandbox', '--disable-gpu'],
      executablePath: CHROMIUM,
      ignoreDefaultArgs: ['--disable-back-forward-cache'],
    })
  })
  after(async () => {
    await browser?.close()
    await visitor?.close()
    await house?.close()
  })

  test('pages that were left keep no connection: the tenth opens like the first', async () => {
    const page = await browser.newPage()
    await page.goto(controller.url)
    await signIn(page, ADMIN)
    await heading(page, 'Today')
    for (let n = 0; n < 5; n++)
      for (const [address, title] of [
        ['/alerts', 'Alerts'],
        ['/wall', 'Wall'],
      ] as const) {
        await page.goto(controller.url + address)
        await heading(page, title)
      }
    await page.close()
  })

  test('after signing out the back button shows no page of the person who left', async () => {
    const page = await browser.newPage()
    await page.goto(`${controller.url}/access`)
    await signIn(page, ADMIN)
    await page.getByText(OTHER.email).waitFor()
    await page.goto(`${controller.url}/me`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await password(page).waitFor()
    await page.goBack()
    await page.goBack()
    await password(page).waitFor()
    assert.equal(await page.getByText(OTHER.email).count(), 0)
    await page.close()
  })

  test('another person signs in over an ended session and finds pages of their own', async () => {
    const page = await visitor.visit()
    await signIn(page, ADMIN)
    await heading(page, 'Today')
    await page.getByRole('link', { name: 'Rooms' }).click()
    await heading(page, 'Rooms')
    const sessions: { id: string; kind: string }[] = await controller.get('/auth/sessions')
    for (const { id, kind } of sessions) if (kind === 'cookie') await controller.ask('DELETE', `/auth/sessions/${id}`)
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('E-mail').fill(OTHER.email)
    await dialog.getByLabel('Password').fill(OTHER.password)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await dialog.waitFor({ state: 'detached' })
    await heading(page, 'Rooms')
    assert.deepEqual(visitor.complaints, [])
    await page.context().close()
  })

  test('an address that has asked too often is told so, and can sign in', async () => {
    const page = await visitor.visit()
    await page.route('**/api/v1/auth/me', (route) =>
      route.fulfill({ json: { error: 'Too Many Requests', message: 'Wait 30 s' }, status: 429 }),
    )
    await page.reload()
    await password(page).waitFor()
    await page.unroute('**/api/v1/auth/me')
    await signIn(page, ADMIN)
    await heading(page, 'Today')
    await page.context().close()
  })

  test('a page stays when who is there cannot be asked for a moment', async () => {
    const page = await visitor.visit()
    await signIn(page, ADMIN)
    await page.getByRole('link', { name: 'Library' }).click()
    await heading(page, 'Library')
    const refused: string[] = []
    await page.route('**/api/v1/auth/me', (route) => {
      refused.push(route.request().url())
      return route.fulfill({ json: {}, status: 503 })
    })
    // Another stream, which ends at once: each greeting after the first has everything asked anew.
    await page.route('**/api/v1/events', (route) =>
      route.fulfill({
        body: 'event: hello\ndata: {"bootId":"another","version":"0"}\n\n',
        contentType: 'text/event-stream',
      }),
    )
    await page.evaluate(`dispatchEvent(new Event('pagehide')), document.dispatchEvent(new Event('visibilitychange'))`)
    while (refused.length < 2) await page.waitForTimeout(100)
    await heading(page, 'Library')
    await page.context().close()
  })
})
