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
    await page.getByLabel('Order', { exact: true }).selectOption('asc')
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

  test('the waveform takes the colours of the theme when the theme changes', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/library/${takes[0]}`)
    await page.locator('canvas').waitFor()
    const colour = (): Promise<string> =>
      page.evaluate(`(() => {
        const canvas = document.querySelector('canvas')
        const copy = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true })
        copy.drawImage(canvas, -canvas.width / 4, -canvas.height / 2)
        return [...copy.getImageData(0, 0, 1, 1).data].join(' ')
      })()`)
    await until('the waveform', async () => (await colour()) !== '0 0 0 0')
    const light = await colour()
    await page.emulateMedia({ colorScheme: 'dark' })
    await until('it to be drawn anew', async () => (await colour()) !== light)
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

  test('a take whose recorder died: what is stored is deleted only after a question that names it; another like it keeps it', async () => {
    const device = { alias: 'Desk', backend: 'alsa', channelCount: 2, sampleRates: [48_000], systemName: 'Desk' }
    const { id: deadId, token } = await controller.enroll('Dead recorder', {
      interfaces: [{ ...device, systemRef: 'hw:CARD=Desk,DEV=0' }],
    })
    const start = { durationSeconds: 3600, name: 'Evidence', nodeId: deadId, tags: ['law'] }
    const { json } = await controller.ask('POST', '/recordings', start)
    const { data: recording, job } = json
    const page = await visitor.signedIn({ size: 'phone' })
    await page.goto(`${controller.url}/library/${recording.id}`)
    await page.getByText('It has not begun').waitFor()
    await page.getByRole('button', { name: 'Cancel take' }).click()
    await page.getByRole('dialog', { name: 'Cancel Evidence' }).waitFor()
    await accessible(page, 'call off')
    await page.keyboard.press('Escape')
    await controller.raw('POST', `/recording-jobs/${job.id}/claim`, { token })
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'audio/flac',
      'x-svc-duration-seconds': '2',
      'x-svc-recording-job-id': job.id,
    }
    const part = `${controller.url}/api/v1/recordings/${recording.id}/cache-file?chunk=0`
    const body = new Uint8Array(await controller.file(takes[0] ?? ''))
    assert.equal((await fetch(part, { body, headers, method: 'PUT' })).status, 201)
    const died = { headers: { 'x-svc-reason': 'power_lost' }, token }
    assert.equal((await controller.raw('POST', `/recording-jobs/${job.id}/failed`, died)).status, 200)
    await page.getByRole('button', { name: 'Play' }).waitFor({ timeout: 60_000 })
    await page.getByRole('button', { name: 'Record again' }).click()
    const question = page.getByRole('dialog', { name: 'Record Evidence again' })
    await question.getByText('0:02 of audio stored here will be deleted.').waitFor()
    await accessible(page, 'record again')
    await fits(page, 'record again')
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Cancel')
    await page.keyboard.press('Enter')
    await page.goto(`${controller.url}/activity?nodeId=${deadId}`)
    await page.getByRole('button', { exact: true, name: 'Select' }).click()
    await page.getByRole('checkbox', { name: 'Select Evidence' }).check()
    await page.getByRole('button', { name: 'Record again' }).click()
    const bulk = page.getByRole('dialog', { name: 'Record 1 take again' })
    await bulk.getByText('0:02 are deleted').waitFor()
    assert.ok(await bulk.getByRole('button', { name: 'Record again' }).isDisabled(), 'the number is typed first')
    await accessible(page, 'record several again')
    await fits(page, 'record several again')
    await page.goto(`${controller.url}/library/${recording.id}`)
    await page.getByRole('button', { name: 'New take like this' }).click()
    await page.getByText('It has not begun').waitFor()
    assert.ok((await controller.get(`/recordings/${recording.id}`)).cached, 'what was stored still is')
    const [other] = await controller.get('/recordings?status=recording')
    assert.deepEqual([other.name, other.nodeId, other.tags], ['Evidence', deadId, ['law']])
    await page.getByRole('button', { name: 'Cancel take' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel take' }).click()
    await page.getByText('No sound has arrived.').waitFor()
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
