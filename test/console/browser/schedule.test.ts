// Planning in the console of the built executable: by form, keyboard, pointer and dialog.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { print } from '../../controller/monitoring/preflight/prints.ts'
import { accessible, accessiblePages, fits, pictured, signIn, Visitor } from '../../kit/browser.ts'
import { Controller, House } from '../../kit/whole.ts'

const ZONE = 'Europe/Berlin'
/** A Monday far enough away that nothing of it is due. */
const MONDAY = '2031-03-03'

describe('the schedule', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  let device: string
  let nodeId: string
  let token: string
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    await controller.login()
    const interfaces = [{ alias: 'Desk', channelCount: 2, systemName: 'Desk', systemRef: 'hw:Desk' }]
    const node = await controller.enroll('Hall recorder', { interfaces })
    ;[nodeId, token] = [node.id, node.token]
    device = (await controller.get(`/nodes/${nodeId}`)).interfaces[0].id
    await controller.get('/settings/controller', 'PATCH', { timezone: ZONE })
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await house?.close()
  })

  const once = (name: string, startsAt: string) =>
    controller.post('/schedules', {
      ...{ folderTemplate: 'Lectures', name, nodeId, room: 'Hall', timezone: ZONE, titleTemplate: '{{schedule.name}}' },
      captureInterfaceId: device,
      recurrence: { durationSeconds: 3600, mode: 'once', startsAt },
    })
  const week = async (page: Page): Promise<void> => {
    await page.goto(`${controller.url}/schedule?view=week&date=${MONDAY}`)
  }
  const startsOf = async (name: string): Promise<string[]> => {
    const all: { name: string; nextRunAt?: string }[] = await controller.get('/schedules?limit=100&offset=0')
    return all.filter((one) => one.name.startsWith(name)).map(({ nextRunAt }) => nextRunAt ?? '')
  }

  test('a schedule is made by the form, and says in a sentence what it does', async () => {
    const page = await visitor.signedIn()
    await page.getByRole('link', { exact: true, name: 'Schedule' }).click()
    await page.getByRole('link', { name: 'New schedule' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Anatomy <b>I</b>')
    await page.getByRole('combobox', { name: 'Recorder' }).fill('Hall')
    await page.getByRole('option', { name: /Hall recorder/ }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    const days = page.getByRole('group', { name: 'Days' }).getByRole('checkbox')
    assert.equal(await days.and(page.locator(':checked')).count(), 1, 'the day of today is ticked')
    for (const day of await days.all()) await day.uncheck()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Choose at least one day.').waitFor()
    await page.getByLabel('Tuesday').check()
    await page.getByLabel('From').fill('09:15')
    await page.getByLabel('To', { exact: true }).fill('10:45')
    await page.getByText(`Every week on Tuesday, 09:15 to 10:45, ${ZONE}.`).waitFor()
    await accessible(page, 'the form')
    await page.getByRole('button', { name: 'Save' }).dblclick()
    await page.getByRole('heading', { level: 1, name: 'Anatomy <b>I</b>' }).waitFor()
    await page.getByText(/^Tue/).first().waitFor()
    assert.equal((await startsOf('Anatomy')).length, 1)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Repeat every').fill('2')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(/Every 2 weeks on Tuesday/).waitFor()
    await page.getByRole('button', { name: 'Skip the next' }).click()
    await page.getByText(/^Skipped on/).waitFor()
    await page.context().close()
  })

  test('typing in the recorder field loses nothing; a duplicate keeps what its model was told', async () => {
    const body = {
      ...{ captureInterfaceId: device, folderTemplate: 'L', name: 'Geology', nodeId, room: 'Cellar', timezone: 'UTC' },
      ...{ captureChannelSelection: [2], channelMode: 'mono', titleTemplate: '{{date}}' },
      // As a lecture that began 90 s early looks once it was moved.
      recurrence: { durationSeconds: 5490, mode: 'once', startsAt: `${MONDAY}T10:00:00Z` },
    }
    const { id } = await controller.post('/schedules', body)
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/schedules/${id}`)
    await page.getByText('Mon, 03 Mar 2031, 10:00').first().waitFor()
    await page.getByText('(11:00 Europe/Berlin)').first().waitFor()
    await page.getByRole('link', { name: 'Duplicate' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Geology II')
    assert.equal(await page.getByLabel('Length, minutes').inputValue(), '91.5')
    await page.getByLabel('Room', { exact: true }).fill('Attic')
    await page.getByRole('combobox', { name: 'Recorder' }).fill('Ha')
    assert.equal(await page.getByLabel('Room', { exact: true }).inputValue(), 'Attic')
    await page.getByRole('option', { name: /Hall recorder/ }).click()
    assert.ok(await page.getByRole('group', { name: 'Channels' }).getByRole('checkbox').last().isChecked())
    await page.locator('summary', { hasText: 'More' }).click()
    await accessible(page, 'all that a schedule can be told')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'Geology II' }).waitFor()
    const all: Record<string, unknown>[] = await controller.get('/schedules?limit=1&offset=0')
    const { captureChannelSelection, channelMode, recurrence, room } = all[0] ?? {}
    assert.deepEqual(
      { captureChannelSelection, channelMode, recurrence, room },
      {
        ...{ captureChannelSelection: [2], channelMode: 'mono', room: 'Attic' },
        recurrence: { ...body.recurrence, startsAt: `${MONDAY}T10:00:00.000Z` },
      },
    )
    await page.context().close()
  })

  test('what was heard before the last take is told channel by channel, with what to do', async () => {
    const startsAt = new Date(Math.ceil(Date.now() / 1000) * 1000 + 240_000).toISOString()
    const { id } = await once('Zoology', startsAt)
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/schedules/${id}`)
    const panel = page.getByRole('region', { name: 'Heard before the last take' })
    await panel.getByText(/^Nothing yet\./).waitFor()
    const prints = [print({ channelIndex: 1 }), print({ channelIndex: 2, flat: true, floorDbfs: -160 })]
    const reading = {
      heardAt: new Date().toISOString(),
      kind: 'preflight',
      prints,
      scheduleId: id,
      seconds: 4,
      startsAt,
    }
    const { json, status } = await controller.ask('POST', `/nodes/${nodeId}/sound-readings`, reading, token)
    assert.equal(status, 202)
    assert.ok(json.data.healthEventId, 'a dead line is told')
    await panel.getByText('Something was not in order.').waitFor()
    const rows = panel.getByRole('row')
    await rows.filter({ hasText: 'in order' }).getByText('-60 dBFS in quiet moments').waitFor()
    await rows.filter({ hasText: 'Digital silence.' }).getByText('no microphone').waitFor()
    await panel.getByText('Check its cable, its power and whether it is muted.').waitFor()
    await accessible(page, 'what was heard')
    await fits(page, 'what was heard')
    await pictured(page, 'schedule heard')
    await page.context().close()
  })

  test('days are left out; a lecture that was moved goes back, and what others did stays', async () => {
    const recurrence = { daysOfWeek: ['monday'], endTime: '16:00', interval: 1, mode: 'weekly', startTime: '15:00' }
    const { id } = await controller.post('/schedules', {
      ...{ captureInterfaceId: device, folderTemplate: 'L', name: 'History', nodeId, room: 'Hall', timezone: ZONE },
      ...{ recurrence, titleTemplate: '{{date}}' },
    })
    const told = async () => (await controller.get(`/schedules/${id}`)).recurrence.exceptions
    const move = () =>
      controller.post(`/schedules/${id}/move-occurrence`, {
        newStartAt: '2031-03-04T16:00:00Z',
        occurrenceStartAt: `${MONDAY}T14:00:00Z`,
      })
    await move()
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/schedules/${id}`)
    const rows = page.getByRole('region', { name: 'Exceptions' }).getByRole('listitem')
    await rows.filter({ hasText: 'Tue, 04 Mar 2031, 17:00' }).waitFor()
    // Somebody else is on it too.
    const holiday = { action: 'skip', date: '2031-06-02' }
    await controller.get(`/schedules/${id}`, 'PATCH', {
      recurrence: { ...recurrence, exceptions: [...(await told()), holiday] },
    })
    await page.getByRole('button', { name: 'Leave days out' }).click()
    await page.getByLabel('Day, or the first').fill('2031-07-01')
    await page.getByLabel('Last day').fill('2031-08-31')
    await page.getByLabel('Reason').fill('Summer')
    await accessible(page, 'days left out')
    await page.getByRole('button', { name: 'Save' }).click()
    await rows.filter({ hasText: 'Paused from 2031-07-01 to 2031-08-31 Summer' }).waitFor()
    await page.getByRole('button', { name: 'Move back' }).click()
    await rows.filter({ hasText: 'Tue, 04 Mar' }).waitFor({ state: 'detached' })
    const summer = { action: 'pause', endDate: '2031-08-31', reason: 'Summer', startDate: '2031-07-01' }
    assert.deepEqual(await told(), [holiday, summer])
    assert.deepEqual((await startsOf('History')).length, 1, 'the copy is gone')
    await week(page)
    await page.getByRole('button', { name: /^15:00 History/ }).click()
    await page.getByRole('dialog').getByLabel('To').fill('2031-03-05T15:00')
    await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click()
    await page.getByText(/Moved to Wed, 05 Mar 2031, 15:00/).waitFor()
    await page.getByRole('button', { name: /History .moved/ }).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('button', { name: /History .moved/ }).waitFor({ state: 'detached' })
    assert.deepEqual(await told(), [holiday, summer])
    await page.context().close()
  })

  test('several schedules are turned off and deleted at once', async () => {
    for (const name of ['Old A', 'Old B']) await once(name, `${MONDAY}T20:00:00Z`)
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/schedule?view=list&search=Old`)
    await page.getByRole('button', { name: 'Select' }).click()
    await page.getByLabel('Select all').check()
    await page.getByRole('button', { name: 'Turn off' }).click()
    await page.getByText('2 schedules are off.').waitFor()
    await page.getByLabel('Enabled').selectOption('off')
    await page.getByRole('cell', { exact: true, name: 'off' }).first().waitFor()
    await page.getByLabel('Select all').check()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog', { name: 'Delete 2 schedules' }).getByRole('button', { name: 'Delete' }).click()
    await page.getByText('2 schedules are deleted.').waitFor()
    assert.deepEqual(await startsOf('Old'), [])
    await page.context().close()
  })

  test('every page', async () => {
    await once('Week full', `${MONDAY}T08:00:00Z`)
    await once('Week doubled', `${MONDAY}T08:30:00Z`)
    const [{ id }] = await controller.get('/schedules?limit=1&offset=0')
    const pages = ['view=week', 'view=day', 'view=rooms', 'view=list'].map((view) => `/schedule?${view}&date=${MONDAY}`)
    await accessiblePages(visitor, controller.url, [
      ...pages,
      '/schedule?view=week&date=2031-03-30',
      '/schedules/new',
      `/schedules/${id}`,
    ])
  })

  test('a day by rooms shows a clash; the week begins as the site has it; the sheet holds a week', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/schedule?view=rooms&date=${MONDAY}`)
    const hall = page.getByRole('listitem').filter({ hasText: 'Hall' })
    await hall.getByRole('button', { name: /Week doubled/ }).click()
    await page.getByRole('dialog').getByText('Moves this one occurrence').waitFor()
    await page.keyboard.press('Escape')
    await controller.get('/settings/controller', 'PATCH', { weekStartsOn: 'sunday' })
    await page.goto(`${controller.url}/schedule?view=week&date=${MONDAY}`)
    await page.getByRole('heading', { name: /^2\W+8 March 2031$/ }).waitFor()
    await page.getByRole('heading', { level: 2 }).nth(1).getByText('Sun').waitFor()
    await page.emulateMedia({ media: 'print' })
    assert.equal(await page.getByRole('row', { name: /Week doubled/ }).count(), 0, 'no sheet before it is printed')
    await page.evaluate("dispatchEvent(new Event('beforeprint'))")
    await pictured(page, 'week printed')
    assert.ok(!(await page.getByRole('button', { name: 'Print' }).isVisible()), 'no button on the sheet')
    await page.getByRole('row', { name: /09:30 – 10:30 Hall Week doubled/ }).waitFor()
    await controller.get('/settings/controller', 'PATCH', { weekStartsOn: 'monday' })
    await page.context().close()
  })

  test('on a phone the days of a week can be read, and a date is gone to', async () => {
    const page = await visitor.signedIn()
    await page.setViewportSize({ height: 640, width: 320 })
    await page.goto(`${controller.url}/schedule?view=week&date=${MONDAY}`)
    const card = page.getByRole('button', { name: /History/ })
    await card.waitFor()
    assert.ok((await card.boundingBox())!.width > 80, 'a card is wide enough for a word')
    await fits(page, 'the week')
    await page.getByLabel('Go to date').fill('2031-04-16')
    await page.getByRole('heading', { name: /^14\W+20 April 2031$/ }).waitFor()
    await page.context().close()
  })

  test('a lecture is moved by keyboard alone, and back', async () => {
    await once('Botany', `${MONDAY}T12:00:00Z`)
    const page = await visitor.signedIn()
    await week(page)
    const card = page.getByRole('button', { name: /^13:00 Botany/ })
    await card.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('status').filter({ hasText: 'Botany is lifted.' }).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Shift+ArrowDown')
    await page
      .getByRole('status')
      .filter({ hasText: /Botany: Tue, 04 Mar 2031, 14:00/ })
      .waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('Moves this one occurrence; the series stays.').waitFor()
    await accessible(page, 'move')
    await fits(page, 'move')
    assert.deepEqual(await startsOf('Botany'), [`${MONDAY}T12:00:00.000Z`], 'nothing is sent before the question')
    await page.getByRole('dialog').getByRole('button', { name: 'Move' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText(/Moved to Tue, 04 Mar 2031, 14:00/).waitFor()
    await page.getByRole('button', { name: /^14:00 Botany/ }).waitFor()
    assert.ok((await startsOf('Botany')).includes('2031-03-04T13:00:00.000Z'))
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('button', { name: /^13:00 Botany/ }).waitFor()
    await page.context().close()
  })

  test('escape gives a card back; nothing was asked', async () => {
    await once('Chemistry', `${MONDAY}T15:00:00Z`)
    const page = await visitor.signedIn()
    await week(page)
    await page.getByRole('button', { name: /^16:00 Chemistry/ }).focus()
    for (const key of ['Enter', 'ArrowDown', 'Escape']) await page.keyboard.press(key)
    await page.getByRole('status').filter({ hasText: 'Chemistry is back where it was.' }).waitFor()
    assert.equal(await page.getByRole('dialog').count(), 0)
    await page.context().close()
  })

  test('a card is dragged; a clash is told before anything is sent', async () => {
    await once('Drawing', `${MONDAY}T17:00:00Z`)
    await once('Ethics', '2031-03-05T17:00:00Z')
    const page = await visitor.signedIn()
    await week(page)
    const box = async (name: RegExp) => {
      const found = await page.getByRole('button', { name }).boundingBox()
      assert.ok(found)
      return found
    }
    await page.getByRole('button', { name: /^18:00 Drawing/ }).scrollIntoViewIfNeeded()
    const [from, to] = [await box(/^18:00 Drawing/), await box(/^18:00 Ethics/)]
    await page.mouse.move(from.x + 10, from.y + 5)
    await page.mouse.down()
    await page.mouse.move(to.x + 5, to.y + 5, { steps: 5 })
    await page.mouse.move(to.x + 10, to.y + 5)
    await page.mouse.up()
    const dialog = page.getByRole('dialog')
    assert.equal(await dialog.getByLabel('To').inputValue(), '2031-03-05T18:00')
    await dialog.getByRole('alert').filter({ hasText: 'Ethics' }).waitFor()
    assert.deepEqual((await startsOf('Drawing')).sort(), [`${MONDAY}T17:00:00.000Z`])
    await dialog.getByLabel('To').fill('2031-03-06T18:00')
    await dialog.getByRole('alert').waitFor({ state: 'detached' })
    await dialog.getByRole('button', { name: 'Move' }).click()
    await page.getByText(/Moved to Thu, 06 Mar 2031, 18:00/).waitFor()
    await page.context().close()
  })

  test('who may only look cannot lift a card', async () => {
    const person = { email: 'vera@example.org', password: 'a password for vera' }
    const { id: subjectId } = await controller.post('/auth/users', { ...person, name: 'Vera', roles: ['viewer'] })
    const room = await controller.post('/rooms', { name: 'Hall', site: 'House' })
    await controller.get(`/nodes/${nodeId}`, 'PATCH', { roomId: room.id })
    const entries = [{ capabilities: ['view'], subjectId, subjectType: 'user' }]
    await controller.get(`/rooms/${room.id}/roster`, 'PUT', { entries })
    const page = await visitor.visit()
    await signIn(page, person)
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
    await week(page)
    await page.getByRole('button', { name: /^18:00 Ethics/ }).click()
    await page.getByRole('dialog').getByRole('link', { name: 'Open the schedule' }).waitFor()
    assert.equal(await page.getByRole('dialog').getByRole('button', { name: 'Move' }).count(), 0)
    await page.context().close()
    assert.deepEqual(visitor.complaints, [])
  })
})
