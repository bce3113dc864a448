// What a page keeps and what it gives up: rights that shrink, a session that ends, a place in a take, a choice half made.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { accessible, signIn, Visitor } from '../../kit/browser.ts'
import { Agent, Controller, House, until } from '../../kit/whole.ts'

const PERSON = { email: 'ann@example.org', password: 'a password for ann' }

describe('an open page', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  let personId: string
  let roomId: string
  let takeId: string
  const allowed = (resourceGrants: object[]): Promise<unknown> =>
    controller.get(`/auth/users/${personId}/access`, 'PATCH', { groupIds: [], resourceGrants, roles: ['operator'] })
  const site = [{ resourceId: 'House', resourceType: 'site' }]
  const levels = (page: Page): Promise<void> =>
    page.locator('[role=meter]:not([aria-valuenow="-60"])').first().waitFor()
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    await controller.login()
    roomId = (await controller.post('/rooms', { name: 'Hall', site: 'House' })).id
    const node = await controller.enroll('Hall recorder')
    const env = { SVC_CONTROLLER_TOKEN: node.token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: node.id }
    new Agent(house, { ...env, SVC_HEARTBEAT_SECONDS: '1' }).start()
    await controller.online(node.id)
    await controller.get(`/nodes/${node.id}`, 'PATCH', { roomId })
    personId = (await controller.post('/auth/users', { ...PERSON, name: 'Ann', roles: ['operator'] })).id
    await allowed(site)
    const off = { enabled: false }
    const enhancement = { denoise: off, highpass: { enabled: true }, keepRaw: true, loudnorm: off }
    const profile = await controller.post('/settings/recording-profiles', {
      ...{ channelMode: 'mono_to_stereo_mix', codec: 'flac', enhancement, name: 'Both' },
    })
    const { job, recording } = await controller.record(node.id, profile.id, 4, { name: 'Week 3' })
    await controller.delivered(recording.id, job.id, 120)
    takeId = recording.id
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await house?.close()
  })

  test('shows nothing any more of what may no longer be seen, and shows it again with the right', async () => {
    const page = await visitor.visit()
    await signIn(page, PERSON)
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
    await page.goto(`${controller.url}/rooms/${roomId}`)
    await levels(page)
    await allowed([])
    await page.getByText('You may not see this').first().waitFor()
    await page.getByRole('meter').first().waitFor({ state: 'detached' })
    await allowed(site)
    await levels(page)
    await page.context().close()
  })

  test('has its levels again after signing in over it; a stream that is refused is not asked for without end', async () => {
    const page = await visitor.visit()
    await signIn(page, PERSON)
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
    await page.goto(`${controller.url}/rooms/${roomId}`)
    await levels(page)
    const { json } = await controller.ask('POST', '/auth/login', PERSON)
    const { json: listed } = await controller.ask('GET', '/auth/sessions', undefined, json.data.token)
    for (const { id, kind } of listed.data)
      if (kind === 'cookie') await controller.ask('DELETE', `/auth/sessions/${id}`, undefined, json.data.token)
    await page.getByText('Your session has ended. Sign in again.').waitFor()
    await page.getByText('no data').first().waitFor()
    await signIn(page, PERSON)
    await levels(page)
    await page.context().route('**/meter-events?**', (route) => route.fulfill({ json: {}, status: 403 }))
    // The page asks who is here, the thread nothing more.
    const asked = page.waitForRequest('**/auth/me')
    await page.getByRole('link', { name: 'Rooms' }).click()
    await page.getByRole('link', { name: 'Hall' }).click()
    await asked
    await page.context().close()
  })

  test('goes on in the take where it was: other rendition, same place and speed; what could not be loaded can be tried again', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/library/${takeId}`)
    const audio = (what: string): Promise<unknown> => page.evaluate(`document.querySelector('audio').${what}`)
    const loaded = (rendition: RegExp): Promise<unknown> =>
      until(
        'the take to be loaded',
        async () => (await audio('readyState')) && rendition.test(String(await audio('src'))),
      )
    await page.locator('audio').waitFor({ state: 'attached' })
    await loaded(/raw$/)
    await page.getByLabel('noise suppressed').check()
    await loaded(/stream$/)
    await page.getByLabel('Speed').selectOption('1.5')
    await page.getByRole('slider', { name: 'Position' }).press('ArrowRight')
    await page.getByRole('slider', { name: 'Position' }).press('ArrowLeft')
    await page.evaluate(`document.querySelector('audio').currentTime = 2`)
    await until('the place', async () => (await audio('currentTime')) === 2 && !(await audio('seeking')))
    // The second switch comes before anything of the first has.
    await page.route('**/stream?rendition=raw', () => {})
    await page.getByLabel('raw').check()
    await until('the load to begin', async () => (await audio('readyState')) === 0)
    await page.getByLabel('noise suppressed').check()
    await loaded(/stream$/)
    await until('the place again', async () => (await audio('currentTime')) === 2)
    assert.equal(await audio('playbackRate'), 1.5)
    await page.unroute('**/stream?rendition=raw')
    await page.route('**/stream?rendition=raw', (route) => route.abort())
    await page.getByLabel('raw').check()
    const fault = page.getByRole('alert').filter({ hasText: 'The audio could not be loaded.' })
    await fault.waitFor()
    await page.getByRole('button', { name: 'Play' }).click()
    await accessible(page, 'a take that could not be loaded')
    await page.unroute('**/stream?rendition=raw')
    await fault.getByRole('button', { name: 'Try again' }).click()
    await fault.waitFor({ state: 'detached' })
    await loaded(/raw$/)
    await until('the place once more', async () => (await audio('currentTime')) === 2)
    const place = page.getByRole('slider', { name: 'Position' })
    assert.match((await place.getAttribute('aria-valuetext')) ?? '', /^0:02 \/ 0:04, \d\d:\d\d$/)
    await page.context().close()
  })

  test('tells what has clipped in words, and forgets it by a button', async () => {
    const page = await visitor.signedIn()
    const [node] = await controller.get('/nodes')
    const [{ channels, id: interfaceId }] = node.interfaces
    const index: number = channels[0]?.index ?? 1
    const frame = {
      channels: [index],
      clip: [index],
      interfaceId,
      nodeId: node.id,
      peak: [-12],
      rms: [-20],
      speech: [],
    }
    // The test source never clips.
    const loud = `event: levels\ndata: ${JSON.stringify({ ...frame, at: new Date().toISOString() })}\n\n`
    await page
      .context()
      .route('**/meter-events?**', (route) => route.fulfill({ body: loud, contentType: 'text/event-stream' }))
    await page.goto(`${controller.url}/rooms/${roomId}`)
    const forget = page.getByRole('button', { name: /^Clipped: / })
    await forget.waitFor()
    assert.match((await page.getByRole('meter').first().getAttribute('aria-valuetext')) ?? '', /, clipped$/)
    await accessible(page, 'clipped')
    await page.context().unroute('**/meter-events?**')
    await levels(page)
    await forget.focus()
    await page.keyboard.press('Enter')
    await forget.waitFor({ state: 'detached' })
    await page.context().close()
  })

  test('waits for a choice where something is only typed', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/rooms/${roomId}`)
    await page.getByRole('button', { name: 'Add person' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('combobox').fill('an')
    await dialog.getByRole('option', { name: 'Ann' }).waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    const told = await page.evaluate(`document.querySelector('dialog [role=combobox]').validationMessage`)
    assert.equal(told, 'Choose one from the list.')
    await dialog.getByRole('combobox').press('ArrowDown')
    await dialog.getByRole('combobox').press('Enter')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    const [entry] = await controller.get(`/rooms/${roomId}/roster`)
    assert.equal(entry.subjectId, personId)
    await page.context().close()
  })

  test('is left by all tabs of a browser when one of them signs out', async () => {
    const page = await visitor.visit()
    await signIn(page, PERSON)
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
    const other = await page.context().newPage()
    await other.goto(`${controller.url}/rooms`)
    await other.getByRole('heading', { level: 1, name: 'Rooms' }).waitFor()
    await page.goto(`${controller.url}/me`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await other.getByLabel('E-mail').waitFor()
    assert.equal(new URL(other.url()).pathname, '/')
    await page.context().close()
    const cutOff = 'Failed to load resource: net::ERR_FAILED'
    assert.deepEqual(
      visitor.complaints.filter((what) => what !== cutOff),
      [],
    )
  })
})
