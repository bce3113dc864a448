// The console of the built executable, with a real recorder, in a real browser.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, accessiblePages, fits, pictured, signIn, Visitor } from '../../kit/browser.ts'
import { ADMIN, Agent, Controller, House, until } from '../../kit/whole.ts'

const NAME = '<b>Hall</b> \u202Egnp.exe'

describe('the console', () => {
  let agent: Agent
  let house: House
  let controller: Controller
  let visitor: Visitor
  let nodeId: string
  let roomId: string
  let takeId: string
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    await controller.login()
    roomId = (await controller.post('/rooms', { name: NAME, site: 'North' })).id
    const node = await controller.enroll('Hall recorder')
    nodeId = node.id
    const env = { SVC_CONTROLLER_TOKEN: node.token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: node.id }
    agent = new Agent(house, { ...env, SVC_HEARTBEAT_SECONDS: '1' }).start()
    await controller.online(nodeId)
    await controller.get(`/nodes/${nodeId}`, 'PATCH', { roomId })
    const { job, recording } = await controller.record(nodeId, await controller.plainProfile('flac'), 4, {
      name: 'Week 3',
    })
    takeId = recording.id
    await controller.delivered(recording.id, job.id)
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await house?.close()
  })

  test('a wrong password says so; the right one leads to where one wanted to go', async () => {
    const page = await visitor.visit()
    await page.goto(`${controller.url}/rooms`)
    await signIn(page, { ...ADMIN, password: 'not this one' })
    await page.getByText('E-mail or password is wrong.').waitFor()
    await accessible(page, 'sign-in')
    await signIn(page, ADMIN)
    await page.getByRole('heading', { level: 1, name: 'Rooms' }).waitFor()
    assert.equal(await page.evaluate('document.cookie'), '', 'no script can read the session')
    assert.equal(await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })'), '{}')
    await page.context().close()
  })

  test('every page: no violation of accessibility rules, in both themes, at both sizes and at 320 px', async () => {
    const addresses = ['/', '/rooms', `/rooms/${roomId}`, '/library', `/library/${takeId}`, '/wall', '/me', '/nowhere']
    await accessiblePages(visitor, controller.url, addresses)
  })

  test('a recording that starts elsewhere is on Today without a reload, and can be stopped there', async () => {
    const page = await visitor.signedIn()
    await controller.get('/settings/controller', 'PATCH', { siteName: 'City Court' })
    const startsAt = new Date(Date.now() + 5 * 3_600_000).toISOString()
    const { id: scheduleId } = await controller.post('/schedules', {
      ...{ folderTemplate: 'Hearings', name: 'Civil chamber', nodeId, room: 'Hall', timezone: 'UTC' },
      recurrence: { durationSeconds: 3600, mode: 'once', startsAt },
      titleTemplate: '{{schedule.name}}',
    })
    // A clock that is three hours fast: the length of the take is told by that of the controller.
    await page.addInitScript('{ const now = Date.now; Date.now = () => now() + 10800000 }')
    await page.reload()
    await page.getByText('Nothing is recording.').waitFor()
    const { job } = await controller.record(nodeId, await controller.plainProfile('flac'), 600, { name: 'Moot court' })
    await page.getByRole('link', { name: 'Moot court' }).waitFor()
    await page.getByText(/^0:\d\d so far$/).waitFor()
    await page.getByText(/of sound exists on the recorder only/).waitFor()
    await page.getByRole('link', { name: 'Civil chamber' }).waitFor()
    const meter = page.getByRole('meter').first()
    await until('a level', async () => /-1\d dB/.test((await meter.getAttribute('aria-valuetext')) ?? ''))
    // docs/today.png is this picture.
    await pictured(page, 'today')
    await page.getByRole('button', { name: 'Stop' }).click()
    const question = page.getByRole('dialog', { name: 'Stop Moot court' })
    await question.getByText(NAME).waitFor()
    await question.getByText(/^The 0:\d\d recorded so far is kept/).waitFor()
    await accessible(page, 'stop')
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Cancel')
    await page.keyboard.press('Enter')
    assert.equal((await controller.get(`/recording-jobs/${job.id}`)).status, 'running')
    await page.getByRole('button', { name: 'Stop' }).click()
    await question.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('Nothing is recording.').waitFor()
    await until(
      'the job to end',
      async () => (await controller.get(`/recording-jobs/${job.id}`)).status === 'completed',
    )
    await controller.ask('DELETE', `/schedules/${scheduleId}`)
    await page.context().close()
  })

  test('a take is started from Today; its length in minutes is optional', async () => {
    const page = await visitor.signedIn({ size: 'phone' })
    await page.getByRole('button', { name: 'Record' }).click()
    await page.getByRole('combobox', { name: 'Recorder' }).fill('hall rec')
    await page.getByRole('option', { name: /Hall recorder/ }).click()
    await page.getByLabel('Name').fill('Guest lecture')
    await page.getByLabel('Length, minutes').fill('10')
    await accessible(page, 'record')
    await page.getByRole('dialog').getByRole('button', { name: 'Record' }).click()
    await page.getByRole('heading', { level: 1, name: 'Guest lecture' }).waitFor()
    await page.getByText('It is recorded now.').waitFor()
    const meter = page.getByRole('meter').first()
    await until('a level', async () => /-\d+ dB/.test((await meter.getAttribute('aria-valuetext')) ?? ''))
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
    await until('the take to be delivered', async () => (await controller.get('/recordings?search=Guest'))[0].cached)
    await page.context().close()
  })

  test('a recording that may not be made tomorrow is told of today, with the way to what mends it', async () => {
    const { id } = await controller.enroll('Attic recorder')
    const begin = new Date(Date.now() + 3 * 3_600_000).toISOString()
    await controller.post('/schedules', {
      ...{ folderTemplate: 'Scheduled', name: 'Evening class', nodeId: id, room: 'Attic', timezone: 'UTC' },
      ...{ titleTemplate: '{{schedule.name}}', recurrence: { durationSeconds: 600, mode: 'once', startsAt: begin } },
      watchdogPolicyId: 'scheduled-voice-watchdog',
    })
    const page = await visitor.signedIn({ size: 'phone' })
    const risk = page
      .getByRole('region', { name: 'At risk' })
      .getByRole('listitem')
      .filter({ hasText: 'Evening class' })
    await risk.getByText('Offline').waitFor()
    await accessible(page, 'at risk')
    await fits(page, 'at risk')
    await risk.getByRole('link', { name: 'Look at the recorder' }).click()
    await page.getByRole('heading', { level: 1, name: 'Attic recorder' }).waitFor()
    await page.context().close()
  })

  test('a name made of markup and direction marks is text and nothing else', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/rooms`)
    await page.getByRole('link', { name: NAME }).click()
    await page.getByRole('heading', { level: 1, name: NAME }).waitFor()
    assert.equal(await page.locator('h1 b').count(), 0)
    await page.context().close()
  })

  test('levels move, as bars and as words for whoever cannot see them', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/rooms/${roomId}`)
    const meter = page.getByRole('meter').first()
    await until('a level', async () => /Input 1, -\d+ dB/.test((await meter.getAttribute('aria-valuetext')) ?? ''))
    await page.getByText('generated by a test source').waitFor()
    // What is drawn is not the page's to read: a picture tells. Without frames it is another one than silence.
    const picture = () => page.locator('canvas').first().screenshot()
    const level = await picture()
    await agent.program.end('SIGKILL')
    await page.getByText('no data').waitFor()
    await until('the hatched bars', async () => !(await picture()).equals(level))
    agent.start()
    await until('the same level again', async () => (await picture()).equals(level))
    await page.context().close()
  })

  test('who may see one channel of a shared recorder sees the level of that one', async () => {
    const booth = await controller.post('/rooms', { name: 'Booth', site: 'North' })
    const { interfaces } = await controller.get(`/nodes/${nodeId}`)
    const assign = (room: string | null) =>
      controller.get(`/nodes/${nodeId}/channel-rooms`, 'PUT', {
        assignments: [{ channelIndexes: [2], interfaceId: interfaces[0].id, roomId: room }],
      })
    await assign(booth.id)
    const person = { email: 'bea@example.org', password: 'a password for bea' }
    const { id: subjectId } = await controller.post('/auth/users', { ...person, name: 'Bea', roles: ['viewer'] })
    const entries = [{ capabilities: ['view'], subjectId, subjectType: 'user' }]
    await controller.get(`/rooms/${booth.id}/roster`, 'PUT', { entries })
    const page = await visitor.visit()
    await signIn(page, person)
    await page.getByRole('link', { name: 'Rooms' }).click()
    await page.getByRole('link', { name: 'Booth' }).click()
    const meters = page.getByRole('meter')
    await until('the level of input 2', async () =>
      /Input 2|Channel 2/.test((await meters.first().getAttribute('aria-label')) ?? ''),
    )
    await until('it to be a level', async () =>
      /, -[1-5]\d dB/.test((await meters.first().getAttribute('aria-valuetext')) ?? ''),
    )
    assert.equal(await meters.count(), 1)
    await assign(null)
    await page.context().close()
  })

  test('the room: a test take from the phone, and the room can be heard', async () => {
    const page = await visitor.signedIn({ size: 'phone' })
    await page.goto(`${controller.url}/rooms/${roomId}`)
    await page.getByRole('button', { name: 'Test take, 10 seconds' }).click()
    const running = page.getByRole('region', { name: 'Recording now' })
    await running.getByRole('link', { name: 'Test take' }).waitFor()
    await running.getByRole('button', { name: 'Stop' }).waitFor()
    await page.getByText('The take is recorded, then stored.').waitFor()
    await accessible(page, 'a test take runs')
    await fits(page, 'a test take runs')
    await page.reload()
    await page.getByRole('button', { name: 'Play' }).waitFor({ timeout: 60_000 })
    await running.waitFor({ state: 'detached' })
    await accessible(page, 'a test take plays')
    await fits(page, 'a test take plays')
    await page.getByRole('button', { name: 'Play' }).click()
    await until('the position to move', () => page.evaluate('document.querySelector("audio").currentTime > 0.2'))
    await page.getByRole('button', { name: 'Listen' }).click()
    await page.getByText('You hear Hall recorder.').waitFor()
    await page.getByRole('link', { name: 'Library' }).click()
    await page.getByText('You hear Hall recorder.').waitFor()
    await page.getByRole('complementary').getByRole('button', { name: 'Stop' }).click()
    await page.getByText('You hear Hall recorder.').waitFor({ state: 'detached' })
    await page.context().close()
  })

  test('a take plays, and the arrow keys move through it', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/library/${takeId}`)
    await page.getByRole('button', { name: 'Play' }).click()
    await until('the position to move', () => page.evaluate('document.querySelector("audio").currentTime > 0.2'))
    await page.getByRole('slider', { name: 'Position' }).press('Home')
    await page.getByRole('slider', { name: 'Position' }).press('ArrowRight')
    const duration = await page.evaluate('document.querySelector("audio").duration')
    assert.ok(Math.abs((duration as number) - 4) < 0.5, `${duration} s`)
    await page.context().close()
  })

  test('a session that ends asks for the password over the page, and what was typed stays', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/rooms`)
    await page.getByRole('button', { name: 'New room' }).click()
    await page.getByLabel('Name').fill('Half typed')
    const sessions: { id: string }[] = await controller.get('/auth/sessions')
    for (const { id } of sessions) await controller.ask('DELETE', `/auth/sessions/${id}`)
    await controller.login()
    // Nobody touches anything: the end of the change stream tells.
    await page.getByText('Your session has ended. Sign in again.').waitFor()
    await accessible(page, 'signing in again')
    await page.keyboard.press('Escape')
    await signIn(page, ADMIN)
    await page.getByText('Your session has ended. Sign in again.').waitFor({ state: 'detached' })
    assert.equal(await page.getByLabel('Name').inputValue(), 'Half typed')
    await page.getByRole('dialog').getByLabel('Site').fill('North')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'Half typed' }).waitFor()
    assert.deepEqual(visitor.complaints, [])
  })
})
