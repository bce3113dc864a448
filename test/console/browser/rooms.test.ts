// From an empty site to a room that is heard: rooms and recorders in the console of the built executable.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { setUpBox } from '../../kit/box.ts'
import { accessible, accessiblePages, fits, signIn, Visitor } from '../../kit/browser.ts'
import { Controller, House, until } from '../../kit/whole.ts'

describe('rooms and recorders', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  let nodeId = ''
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    await controller.login()
    // A test take is the way online, not the denoiser.
    const defaultRecordingProfileId = await controller.plainProfile('flac')
    await controller.get('/settings/controller', 'PATCH', { defaultRecordingProfileId })
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await house?.close()
  })

  test('a room comes online from a phone: name it, type the line, see levels, hear a test take', async () => {
    const page = await visitor.signedIn({ size: 'phone' })
    await page.getByRole('link', { name: 'Rooms' }).click()
    await page.getByRole('link', { name: 'Bring a room online' }).click()
    await page.getByLabel('Site').fill('North')
    await page.getByLabel('Room', { exact: true }).fill('Hall <i>1</i>')
    await page.getByLabel('Name of the recorder').fill('Hall recorder')
    await accessible(page, 'name it')
    await fits(page, 'name it')
    await page.getByRole('button', { name: 'Add recorder' }).click()
    await page.getByText('Waiting for the first contact.').waitFor()
    nodeId = new URL(page.url()).searchParams.get('node') ?? ''
    await page.getByRole('radio', { name: 'USB stick' }).check()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download roomtone.json' }).click()
    const file = JSON.parse(fs.readFileSync(await (await download).path(), 'utf8'))
    assert.equal(file.nodes[0].nodeId, nodeId)
    await page.getByRole('radio', { name: 'Type a line' }).check()
    await page.getByRole('button', { name: 'Show the line' }).click()
    const line = await page.getByLabel('Line for the box').inputValue()
    assert.match(line, /install\.sh/)
    await accessible(page, 'set up')
    await fits(page, 'set up')
    await setUpBox(house, controller, { nodeId, token: /SVC_BOOTSTRAP_TOKEN=([\w.-]+)/.exec(line)?.[1] ?? '' })
    await page.getByText('Say something into each microphone.').waitFor()
    await page.reload()
    const meter = page.getByRole('meter').first()
    await until('a level', async () => /-\d+ dB/.test((await meter.getAttribute('aria-valuetext')) ?? ''))
    await accessible(page, 'hear it')
    await fits(page, 'hear it')
    await page.getByRole('button', { name: 'Test take, 10 seconds' }).click()
    await page.getByText('The take is recorded, then stored.').waitFor()
    assert.equal(await page.getByText('Everything works').count(), 0, 'nothing works before it is stored')
    await page.getByRole('button', { name: 'Play' }).waitFor({ timeout: 60_000 })
    await page.getByText('Everything works').waitFor()
    await page.getByRole('link', { name: 'Print the label' }).click()
    await page.getByRole('heading', { level: 1, name: 'Label' }).waitFor()
    await page.getByText('Hall <i>1</i>').waitFor()
    await page.context().close()
  })

  test('every page', async () => {
    const [room] = await controller.get('/rooms')
    const recorder = `/recorders/${nodeId}`
    await accessiblePages(visitor, controller.url, [
      '/add',
      `/add?node=${nodeId}`,
      '/rooms',
      `/rooms/${room.id}`,
      `/rooms/${room.id}/label`,
      '/recorders',
      recorder,
      `${recorder}/setup`,
      `${recorder}/maintenance`,
      `${recorder}/history`,
    ])
  })

  test('the list of rooms shows state, levels and the take that runs, and is narrowed in the address', async () => {
    await controller.post('/rooms', { name: 'Loft', site: 'South' })
    const take = await controller.post('/recordings', { durationSeconds: 600, name: 'Rehearsal', nodeId })
    const page = await visitor.signedIn({ size: 'phone' })
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.goto(`${controller.url}/rooms`)
    const north = page.getByRole('region', { name: 'North' })
    await north.getByRole('link', { name: 'Rehearsal' }).waitFor()
    await north.getByText('so far').waitFor()
    const meter = north.getByRole('meter').first()
    await until('a level', async () => /-\d+ dB/.test((await meter.getAttribute('aria-valuetext')) ?? ''))
    await page.getByRole('region', { name: 'South' }).getByText('no recorder').waitFor()
    assert.equal(asked.filter((path) => path.startsWith('/api/v1/rooms/')).length, 0, 'no request for each room')
    await accessible(page, 'rooms with levels')
    await fits(page, 'rooms with levels')
    await page.getByLabel('Site').selectOption('South')
    await north.waitFor({ state: 'detached' })
    assert.equal(new URL(page.url()).search, '?site=South')
    await page.getByLabel('Search rooms').fill('cellar')
    await page.getByLabel('Search rooms').press('Enter')
    await page.getByText('Nothing matches').waitFor()
    await controller.post(`/recordings/${take.id}/stop`, {})
    await until('the end of the take', async () => (await controller.get(`/recordings/${take.id}`)).cached)
    await page.context().close()
  })

  test('labels are printed on tape, one a page, or on a sheet: for one room, or for all of its site', async () => {
    const [room] = await controller.get('/rooms')
    await controller.post('/rooms', { name: 'Vestry', site: room.site })
    const page = await visitor.signedIn({ size: 'phone' })
    await page.goto(`${controller.url}/rooms/${room.id}/label`)
    const printed = async () => {
      const pdf = (await page.pdf({ preferCSSPageSize: true })).toString('latin1')
      return [...pdf.matchAll(/\/MediaBox \[0 0 ([\d.]+) [\d.]+\]/g)].map(([, points]) =>
        Math.round(Number(points) / 2.8346),
      )
    }
    await page.getByRole('article').waitFor()
    assert.deepEqual(await printed(), [62])
    await page.getByLabel(`All rooms of ${room.site}`).check()
    await page.getByRole('article').nth(1).waitFor()
    assert.deepEqual(await printed(), [62, 62])
    await page.getByLabel('Paper').selectOption('Sheet, A4')
    await accessible(page, 'labels')
    await fits(page, 'labels')
    assert.deepEqual(await printed(), [210])
    await page.reload()
    await page.getByRole('article').nth(1).waitFor()
    await page.context().close()
  })

  test('recorders are found by site and version', async () => {
    const page = await visitor.signedIn({ size: 'phone' })
    const { agentVersion } = await controller.get(`/nodes/${nodeId}`)
    await page.goto(`${controller.url}/recorders?site=North&agentVersion=${agentVersion}`)
    const found = page.getByRole('link', { name: 'Hall recorder' })
    await found.waitFor()
    await accessible(page, 'recorders by site and version')
    await fits(page, 'recorders by site and version')
    await page.getByLabel('Version').fill('0.0.1')
    await page.getByLabel('Version').press('Enter')
    await found.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Clear' }).click()
    await found.waitFor()
    await page.context().close()
  })

  test('a recorder gets a new SSH key, and the controller is told the keys of its box', async () => {
    const page = await visitor.signedIn({ size: 'phone' })
    await page.goto(`${controller.url}/recorders/${nodeId}/maintenance`)
    const section = page.getByRole('region', { name: 'SSH key' })
    const { fingerprint } = await controller.get(`/nodes/${nodeId}/ssh-credential`)
    await section.getByText(fingerprint).waitFor()
    await section.getByRole('button', { name: 'New SSH key' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'New SSH key' }).click()
    await section.getByText(fingerprint).waitFor({ state: 'detached' })
    await section.getByRole('button', { name: 'Change the keys of the box' }).click()
    const keys = page.getByLabel('Public keys, one per line')
    await keys.fill('not a key')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('expected one OpenSSH public key line', { exact: true }).waitFor()
    assert.equal(await keys.inputValue(), 'not a key')
    assert.match(visitor.complaints.splice(0).join(), /^[^,]*status of 400[^,]*$/, 'the refusal, and nothing else')
    await accessible(page, 'keys of the box')
    const { publicKey } = await controller.get(`/nodes/${nodeId}/ssh-credential`)
    await keys.fill(`${publicKey}\n\n`)
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await section.getByText('ssh-ed25519 SHA256').waitFor()
    assert.equal((await controller.get(`/nodes/${nodeId}/ssh-credential`)).hostKeys.length, 1)
    await accessible(page, 'SSH key')
    await fits(page, 'SSH key')
    await page.context().close()
  })

  test('what went wrong with one thing does not stand at the question of another', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/recorders/${nodeId}/maintenance`)
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { exact: true, name: 'Check' }).click()
    await dialog.getByRole('button', { exact: true, name: 'Check' }).click()
    // Nobody listens for SSH on this box.
    await dialog.getByRole('alert').waitFor({ timeout: 60_000 })
    visitor.complaints.splice(0)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Uninstall' }).click()
    await dialog.getByLabel('Type Hall recorder to confirm').waitFor()
    assert.equal(await dialog.getByRole('alert').count(), 0)
    await page.context().close()
  })

  test('a channel gets a name and a room of its own', async () => {
    const booth = await controller.post('/rooms', { name: 'Booth', site: 'North' })
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/recorders/${nodeId}/setup`)
    await page.getByRole('button', { name: 'Channels' }).click()
    await page.getByLabel('Name of input 2').fill('Lectern')
    await page.getByLabel('Room of input 2').selectOption(booth.id)
    await accessible(page, 'channels')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const { interfaces } = await controller.get(`/nodes/${nodeId}`)
    assert.deepEqual(interfaces[0].channels[1], { alias: 'Lectern', index: 2, roomId: booth.id })
    await page.context().close()
  })

  test('of a recorder that two rooms share, a room has its own levels and takes; who may hear one of them hears none', async () => {
    const [booth] = (await controller.get('/rooms')).filter(({ name }: { name: string }) => name === 'Booth')
    const person = { email: 'bo@example.org', password: 'a password for bo' }
    const { id: subjectId } = await controller.post('/auth/users', { ...person, name: 'Bo', roles: ['viewer'] })
    const entries = [{ capabilities: ['view', 'listen', 'operate'], subjectId, subjectType: 'user' }]
    await controller.get(`/rooms/${booth.id}/roster`, 'PUT', { entries })
    const page = await visitor.visit({ size: 'phone' })
    await signIn(page, person)
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
    await page.goto(`${controller.url}/rooms/${booth.id}`)
    await page.getByRole('meter', { name: 'Lectern' }).waitFor()
    assert.equal(await page.getByRole('meter').count(), 1)
    const listen = page.getByRole('button', { name: 'Listen' })
    await listen.click()
    await page.getByText('It carries rooms you may not listen to.').waitFor()
    assert.ok(await listen.isDisabled())
    await page.getByRole('button', { name: 'Test take, 10 seconds' }).click()
    const take = await until('the take', async () => (await controller.get(`/recordings?status=recording`))[0])
    assert.equal(take.roomId, booth.id)
    await page.context().close()
  })

  test('a recorder that is online is set up anew, over the address that is typed; what one chose stays in the address', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/recorders/${nodeId}/maintenance`)
    await page.getByRole('button', { name: 'Set up again' }).click()
    await page.locator('summary', { hasText: 'More' }).click()
    await page.getByLabel('Address of this controller').fill('http://10.0.0.7:8080')
    await page.getByRole('button', { name: 'Show the line' }).click()
    assert.match(await page.getByLabel('Line for the box').inputValue(), /'http:\/\/10\.0\.0\.7:8080\/install\.sh'/)
    await page.getByRole('radio', { name: 'USB stick' }).check()
    await page.reload()
    assert.ok(await page.getByRole('radio', { name: 'USB stick' }).isChecked())
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByText('Say something into each microphone.').waitFor()
    await page.context().close()
  })

  test('a room is made, changed and deleted; a name taken by mistake is told at its field', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/rooms`)
    await page.getByRole('button', { name: 'New room' }).click()
    await page.getByLabel('Name').fill('Attic')
    await page.getByRole('dialog').getByLabel('Site').fill('North')
    await accessible(page, 'new room')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).dblclick()
    await page.getByRole('heading', { level: 1, name: 'Attic' }).waitFor()
    const attics = (await controller.get('/rooms')).filter((room: { name: string }) => room.name === 'Attic')
    assert.equal(attics.length, 1, 'a double click is one room')
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Floor').fill('4')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('North, floor 4').waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    const deed = page.getByRole('dialog').getByRole('button', { name: 'Delete' })
    assert.ok(await deed.isDisabled(), 'the name is typed first')
    await page.getByLabel('Type Attic to confirm').fill('Attic')
    await deed.click()
    await page.getByRole('heading', { level: 1, name: 'Rooms' }).waitFor()
    await page.context().close()
  })

  test('a person gets rights in a room, and sees it; who may not manage finds no way to', async () => {
    const person = { email: 'rosa@example.org', password: 'a password for rosa' }
    await controller.post('/auth/users', { ...person, name: 'Rosa', roles: ['viewer'] })
    const [room] = (await controller.get('/rooms')).filter(({ name }: { name: string }) => name !== 'Booth')
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/rooms/${room.id}`)
    await page.getByRole('button', { name: 'Add person' }).click()
    await page.getByRole('combobox', { name: 'Person' }).fill('rosa@')
    await page.getByRole('option', { name: /Rosa/ }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('Choose from the list.').waitFor()
    await page.getByRole('combobox', { name: 'Person' }).click()
    await page.getByRole('option', { name: /Rosa/ }).click()
    await page.getByLabel('listen live').check()
    await accessible(page, 'add person')
    // Somebody else changes the list meanwhile.
    const { id: subjectId } = await controller.post('/auth/groups', { name: 'Choir' })
    const entries = [{ capabilities: ['view'], subjectId, subjectType: 'group' }]
    await controller.get(`/rooms/${room.id}/roster`, 'PUT', { entries })
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('see and play, listen live').waitFor()
    await page.getByText('Choir').waitFor()
    await page.getByRole('button', { name: 'Edit: Rosa' }).click()
    assert.ok(await page.getByLabel('listen live').isChecked())
    await page.getByLabel('delete takes').check()
    await accessible(page, 'edit person')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('see and play, listen live, delete takes').waitFor()
    assert.equal((await controller.get(`/rooms/${room.id}/roster`)).length, 2)
    await page.getByRole('button', { name: 'Edit: Rosa' }).click()
    await page.getByLabel('delete takes').uncheck()
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('see and play, listen live, delete takes').waitFor({ state: 'detached' })
    await page.context().close()
    const hers = await visitor.visit()
    await signIn(hers, person)
    await hers.getByRole('link', { name: 'Rooms' }).click()
    assert.equal(await hers.getByRole('link', { name: 'Bring a room online' }).count(), 0)
    await hers.getByRole('link', { name: room.name }).click()
    await hers.getByRole('button', { name: 'Listen' }).waitFor()
    assert.ok(await hers.getByRole('button', { name: 'Delete' }).isDisabled())
    await hers.goto(`${controller.url}/recorders/${nodeId}/maintenance`)
    await hers.getByRole('region', { name: 'Credentials' }).waitFor()
    assert.equal(await hers.getByRole('region', { name: 'SSH key' }).count(), 0)
    await hers.goto(`${controller.url}/add`)
    await hers.getByText('You may not see this').waitFor()
    await hers.context().close()
    assert.deepEqual(visitor.complaints, [])
  })
})
