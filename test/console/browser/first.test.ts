// The first sign-in: a link that the controller prints, and the steps behind it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, fits, pictured, signIn, Visitor } from '../../kit/browser.ts'
import { ADMIN, Controller, House } from '../../kit/whole.ts'

describe('the first run', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  let link: string
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    link = /"signIn":"([^"]+)"/.exec(controller.program.said())?.[1] ?? ''
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await house?.close()
  })

  test('the link signs in, leaves the address, and leads through password, site and room', async () => {
    assert.match(link, /^http:\/\/127\.0\.0\.1:\d+\/#sign-in=svc_link_/)
    assert.equal((await fetch(link)).status, 200, 'who only looks spends nothing')
    const page = await visitor.visit({ size: 'phone' })
    await page.goto(link)
    await page.getByRole('heading', { level: 1, name: 'Welcome' }).waitFor()
    assert.doesNotMatch(page.url(), /svc_link/)
    await accessible(page, 'password')
    await fits(page, 'password')
    await pictured(page, 'welcome password')
    await page.getByLabel('New password').fill('my own password')
    await page.getByRole('button', { name: 'Save' }).dblclick()
    await page.getByLabel('Name of the site').fill('<b>Old</b> Court')
    await accessible(page, 'site')
    await page.reload()
    await page.getByLabel('Name of the site').fill('<b>Old</b> Court')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('A recorder and a name are all it takes.').waitFor()
    await accessible(page, 'room')
    await pictured(page, 'welcome room')
    await page.getByRole('button', { name: 'Go to Today' }).click()
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
    const left = page.getByRole('region', { name: 'To do' }).getByRole('link')
    await left.first().waitFor()
    await left.filter({ hasText: 'Name the site' }).waitFor({ state: 'detached' })
    assert.deepEqual(await left.allTextContents(), ['Bring the first room online'])
    await page.context().close()
  })

  test('spent, it leads to the sign-in, which says why; the chosen password counts', async () => {
    const page = await visitor.visit()
    await page.goto(link)
    await page.getByText('This link was used or has expired.').waitFor()
    assert.doesNotMatch(page.url(), /svc_link/)
    await accessible(page, 'spent')
    await signIn(page, { ...ADMIN, password: 'my own password' })
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
    await page.goto(`${controller.url}/me`)
    const sessions = page.getByRole('region', { name: 'Signed-in sessions' })
    await sessions.getByText('this session').waitFor()
    assert.equal(await sessions.getByRole('listitem').count(), 2)
    await accessible(page, 'sessions')
    await sessions.getByRole('button', { name: 'End all other sessions' }).dblclick()
    await sessions.getByRole('listitem').nth(1).waitFor({ state: 'detached' })
    await page.context().close()
    assert.deepEqual(visitor.complaints, [])
  })
})
