// Access and audit in the console of the built executable.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { wallTimeOf } from '../../../src/console/time/wall.rules.ts'
import { accessible, fits, signIn, Visitor } from '../../kit/browser.ts'
import { Controller, House } from '../../kit/whole.ts'

/** Saves the dialog, and waits until it is gone. */
async function save(page: Page): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

describe('access and audit', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    await controller.login()
    await controller.post('/rooms', { name: 'Hall', site: 'North' })
    await controller.post('/rooms', { name: 'Barn', site: 'South' })
    await controller.enroll('Calibration box')
    await controller.get('/settings/controller', 'PATCH', { siteName: 'Old Court', timezone: 'Europe/Berlin' })
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await house?.close()
  })

  test('a technician of one site: who, what, where, read back, and true', async () => {
    const page = await visitor.signedIn()
    await page.getByRole('link', { name: 'Access' }).click()
    await page.getByRole('button', { name: 'New person' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('Tom')
    await dialog.getByLabel('E-mail').fill('tom@example.org')
    await dialog.getByLabel('Password, at least 8').fill('a password for tom')
    await dialog.getByLabel('Technician').check()
    await dialog.getByText('Without a place, this person sees only rooms that list them.').waitFor()
    await dialog.getByLabel('North').check()
    await dialog.getByText('Tom will be Technician in North.').waitFor()
    assert.equal(await dialog.getByText('Without a place').count(), 0)
    await dialog.getByLabel('Show password').check()
    assert.equal(await dialog.getByLabel('Password, at least 8').getAttribute('type'), 'text')
    await accessible(page, 'new person')
    await fits(page, 'new person')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: /Tom.*Technician.*North/ }).waitFor()
    const his = await visitor.visit()
    await signIn(his, { email: 'tom@example.org', password: 'a password for tom' })
    await his.getByRole('link', { name: 'Rooms' }).click()
    await his.getByRole('link', { name: 'Hall' }).waitFor()
    assert.equal(await his.getByRole('link', { name: 'Barn' }).count(), 0)
    assert.equal(await his.getByRole('link', { name: 'Access' }).count(), 0)
    await his.goto(`${controller.url}/access`)
    await his.getByText('You may not see this').waitFor()
    await his.context().close()
    await page.getByRole('row', { name: /Tom/ }).getByText('Actions').click()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('row', { name: /Tom.*disabled/ }).waitFor()
    await page.context().close()
  })

  test('groups are filled by searching; a rule goes only after a question', async () => {
    await controller.post('/auth/users', {
      ...{ email: 'zora@example.org', name: 'Zora', password: 'a password for zora', roles: ['viewer'] },
    })
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/access/groups`)
    await page.getByRole('button', { name: 'New group' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Night crew')
    await save(page)
    await page.getByRole('listitem').filter({ hasText: 'Night crew' }).getByRole('button', { name: 'Edit' }).click()
    for (const name of ['zora', 'tom']) {
      await page.getByRole('combobox', { name: 'Add person' }).fill(name)
      await page.getByRole('option', { name: new RegExp(name, 'i') }).click()
    }
    await page.getByRole('button', { name: 'Remove: Tom' }).click()
    await accessible(page, 'group')
    await fits(page, 'group')
    await save(page)
    const [group] = await controller.get('/auth/groups')
    const { members } = (await controller.get(`/auth/groups/${group.id}`)).group
    assert.deepEqual(
      members.map(({ name }: { name: string }) => name),
      ['Zora'],
    )
    await page.goto(`${controller.url}/access/policies`)
    await page.getByRole('button', { name: 'New rule' }).click()
    await page.getByLabel('Effect').selectOption('deny')
    await page.getByLabel('Who', { exact: true }).selectOption('a group')
    await page.getByRole('combobox', { name: 'a group' }).fill('night')
    await page.getByRole('option', { name: 'Night crew' }).click()
    await page.getByRole('combobox', { exact: true, name: 'site' }).fill('nor')
    await page.getByRole('option', { name: 'North' }).click()
    await page.getByText('Denied for Night crew, whatever their role: North.').waitFor()
    await accessible(page, 'rule')
    await save(page)
    const rule = page.getByRole('listitem').filter({ hasText: 'Night crew: site North' })
    await rule.getByRole('button', { name: 'Remove' }).click()
    const question = page.getByRole('dialog', { name: 'Remove this rule' })
    await question.getByText('What it denied is allowed again').waitFor()
    await accessible(page, 'removing a rule')
    await question.getByRole('button', { name: 'Cancel' }).click()
    assert.equal((await controller.get('/auth/access-policies')).length, 1)
    await rule.getByRole('button', { name: 'Remove' }).click()
    await question.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No rules.').waitFor()
    await page.goto(`${controller.url}/access`)
    await page.getByLabel('Search by name').fill('ZORA@')
    await page.keyboard.press('Enter')
    await page.getByRole('cell', { exact: true, name: 'Zora' }).waitFor()
    assert.equal(await page.getByRole('cell', { exact: true, name: 'Tom' }).count(), 0)
    await page.getByRole('row', { name: /Zora/ }).getByText('Actions').click()
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('combobox', { name: 'Add room' }).fill('bar')
    await page.getByRole('option', { name: /Barn/ }).click()
    await page.getByText('Zora will be Viewer in Barn.').waitFor()
    await page.getByRole('combobox', { name: 'Add recorder' }).fill('calib')
    await page.getByRole('option', { name: /Calibration box/ }).click()
    await page.getByText('Zora will be Viewer in Barn and Calibration box.').waitFor()
    await accessible(page, 'places of a person')
    await save(page)
    const zora = page.getByRole('row', { name: /Zora/ })
    await zora.filter({ hasText: 'Barn' }).filter({ hasText: 'Calibration box' }).waitFor()
    await page.context().close()
  })

  test('the audit log shows what changed, and exports it', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/audit?action=settings.controller.update&outcome=succeeded`)
    await page.getByRole('button', { name: 'Details' }).first().click()
    await page.getByRole('dialog').getByText('siteName').waitFor()
    await page.getByRole('dialog').getByText('Old Court').waitFor()
    await accessible(page, 'audit row')
    await page.keyboard.press('Escape')
    const [event] = await controller.get('/audit-events?action=settings.controller.update&outcome=succeeded&limit=1')
    const [wall] = wallTimeOf(event.createdAt, 'Europe/Berlin').split(':')
    await page.getByLabel('From', { exact: true }).fill(`${wall}:00`)
    await page.getByLabel('To', { exact: true }).fill('2099-01-01T00:00')
    await page.getByRole('heading', { level: 2, name: 'Audit' }).click()
    await page.waitForURL(/to=2098-12-31T23%3A00/)
    await page.getByRole('button', { name: 'Details' }).first().waitFor()
    await page.getByText('Refine').click()
    await page.getByRole('button', { name: /^settings:manage/ }).click()
    await page.waitForURL(/permission=settings/)
    await accessible(page, 'audit facets')
    await fits(page, 'audit facets')
    await page.getByLabel('From', { exact: true }).fill('2090-01-01T00:00')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing matches, or nothing you may see.').waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.goto(`${controller.url}/access`)
    await page.getByRole('row', { name: /Tom/ }).getByText('Actions').click()
    await page.getByRole('link', { name: 'History' }).click()
    await page.getByRole('cell', { name: 'People: create' }).first().waitFor()
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Export as CSV' }).click()
    assert.match((await download).suggestedFilename(), /\.csv$/)
    await page.context().close()
    assert.deepEqual(
      visitor.complaints.filter((one) => !/status of 4(00|22)/.test(one)),
      [],
    )
  })
})
