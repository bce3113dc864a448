// Finding takes and what is done with them, in the console of the built executable.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, accessiblePages, fits, signIn, Visitor } from '../../kit/browser.ts'
import { Agent, Controller, House, until } from '../../kit/whole.ts'

describe('the library', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  let nodeId: string
  const takes: string[] = []
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    await controller.login()
    const node = await controller.enroll('Hall recorder')
    nodeId = node.id
    const env = { SVC_CONTROLLER_TOKEN: node.token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: node.id }
    new Agent(house, { ...env, SVC_HEARTBEAT_SECONDS: '1' }).start()
    await controller.online(nodeId)
    const profile = await controller.plainProfile('flac')
    for (const name of ['Anatomy', 'Botany', 'Chemistry']) {
      const { job, recording } = await controller.record(nodeId, profile, 2, { folder: 'Autumn', name })
      await controller.delivered(recording.id, job.id)
      takes.push(recording.id)
    }
    const [anatomy = ''] = takes
    await controller.post('/health-events', {
      nodeId,
      openedAt: new Date(Date.parse((await controller.get(`/recordings/${anatomy}`)).recordedAt) + 1000).toISOString(),
      recordingId: anatomy,
      severity: 'warning',
      type: 'agent.meter.clipping',
    })
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await house?.close()
  })

  test('every page', async () => {
    await accessiblePages(visitor, controller.url, ['/library?sortBy=name&sortOrder=asc', `/library/${takes[0]}`])
  })

  test('an upload asks where to: without a destination it leads to the settings', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/library/${takes[0]}`)
    await page.getByRole('button', { name: 'Upload' }).click()
    await page.getByText('No upload policy has a destination yet.').waitFor()
    await accessible(page, 'no destination')
    await page.getByRole('link', { name: 'Settings: destinations' }).click()
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
    const s3 = { accessKeyId: 'KEY', bucket: 'takes', endpoint: 'http://127.0.0.1:9', region: 'eu-central-1' }
    const { id: destinationId } = await controller.post('/settings/upload-destinations', {
      ...{ displayName: 'Cellar', enabled: true, kind: 's3', s3, s3SecretAccessKey: 'a secret' },
    })
    await controller.post('/settings/upload-policies', { destinationId, enabled: true, name: 'To the cellar' })
    await page.goto(`${controller.url}/library/${takes[0]}`)
    await page.getByRole('button', { name: 'Upload' }).click()
    await page.getByLabel('Which upload policy?').selectOption('To the cellar')
    await page.getByRole('dialog').getByRole('button', { name: 'Upload' }).click()
    await page.getByText('1 upload queued.').waitFor()
    const [item] = await controller.get(`/upload-queue?recordingId=${takes[0]}`)
    assert.equal(item.destinationId, destinationId)
    await page.context().close()
  })

  test('filters stand in the address, arrow keys go through what is found', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/library`)
    await page.getByLabel('Folder').selectOption('Autumn')
    await page.getByLabel('Sorted by').selectOption('name')
    await page.getByLabel('Order').selectOption('asc')
    assert.match(page.url(), /folder=Autumn/)
    await page.reload()
    await page.getByRole('link', { name: 'Anatomy' }).focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Botany' }).waitFor()
    await page.goBack()
    assert.match(page.url(), /folder=Autumn/)
    await page.getByRole('button', { name: 'Clear filters' }).click()
    assert.equal(new URL(page.url()).search, '')
    await page.context().close()
  })

  test('several takes get a tag; a take is renamed, and what happened is its history', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/library`)
    await page.getByRole('button', { exact: true, name: 'Select' }).click()
    await page.getByRole('checkbox', { name: 'Select Anatomy' }).check()
    await page.getByRole('checkbox', { name: 'Select Botany' }).check()
    await page.getByRole('button', { name: 'Folder and tags' }).click()
    await accessible(page, 'folder and tags')
    await page.getByLabel('Add tags').fill('first year, exam')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('2 takes changed.').waitFor()
    assert.deepEqual((await controller.get(`/recordings/${takes[1]}`)).tags.slice(-2), ['first year', 'exam'])
    await page.goto(`${controller.url}/library/${takes[1]}`)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Name').fill('Botany II')
    await accessible(page, 'edit')
    await fits(page, 'edit')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'Botany II' }).waitFor()
    await page.getByText('Details of a take: change').first().waitFor()
    await page.context().close()
  })

  test('an alert stands on the take where it began; keys play and skip', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/library/${takes[0]}`)
    await page.getByRole('button', { name: '0:01: The signal is clipping' }).click()
    const at = (): Promise<number> => page.evaluate('document.querySelector("audio").currentTime')
    await until('the place of the alert', async () => Math.abs((await at()) - 1) < 0.2)
    await page.getByLabel('Speed').selectOption('1.5')
    assert.equal(await page.evaluate('document.querySelector("audio").playbackRate'), 1.5)
    const slider = page.getByRole('slider', { name: 'Position' })
    await slider.press('j')
    await until('the beginning', async () => (await at()) === 0)
    await slider.press(' ')
    await until('it to play', async () => (await at()) > 0.1)
    await page.context().close()
  })

  test('a take is deleted after a question, and the safe button has the focus', async () => {
    const page = await visitor.signedIn({ size: 'phone' })
    await page.goto(`${controller.url}/library/${takes[2]}`)
    await page.getByRole('button', { name: 'Delete' }).click()
    await accessible(page, 'delete')
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Cancel')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { level: 1, name: 'Library' }).waitFor()
    assert.equal((await controller.ask('GET', `/recordings/${takes[2]}`)).status, 404)
    await page.context().close()
  })

  test('who may only look cannot delete, and is told why', async () => {
    const person = { email: 'vera@example.org', password: 'a password for vera' }
    const { id: subjectId } = await controller.post('/auth/users', { ...person, name: 'Vera', roles: ['viewer'] })
    const room = await controller.post('/rooms', { name: 'Hall', site: 'North' })
    await controller.get(`/nodes/${nodeId}`, 'PATCH', { roomId: room.id })
    const entries = [{ capabilities: ['view'], subjectId, subjectType: 'user' }]
    await controller.get(`/rooms/${room.id}/roster`, 'PUT', { entries })
    const { job, recording } = await controller.record(nodeId, await controller.plainProfile('flac'), 2, {
      name: 'Dance',
    })
    await controller.delivered(recording.id, job.id)
    const page = await visitor.visit()
    await signIn(page, person)
    await page.getByRole('link', { name: 'Library' }).click()
    await page.getByRole('link', { name: 'Dance' }).click()
    const remove = page.getByRole('button', { name: 'Delete' })
    await remove.waitFor()
    assert.ok(await remove.isDisabled())
    assert.match((await remove.getAttribute('title')) ?? '', /recording:delete/)
    await page.context().close()
    assert.deepEqual(visitor.complaints, [])
  })
})
