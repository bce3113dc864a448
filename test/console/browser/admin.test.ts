// Settings in the console of the built executable.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { accessible, accessiblePages, fits, pictured, Visitor } from '../../kit/browser.ts'
import { Controller, House } from '../../kit/whole.ts'

/** Saves the dialog, and waits until it is gone. */
async function save(page: Page): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

describe('the administration', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    await controller.login()
    await controller.post('/rooms', { name: 'Hall', site: 'North' })
    await controller.post('/rooms', { name: 'Barn', site: 'South' })
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await house?.close()
  })

  test('every page', async () => {
    await accessiblePages(visitor, controller.url, [
      '/settings',
      ...['profiles', 'watchdog', 'destinations', 'retention', 'uploads', 'maps', 'switchers'].map(
        (family) => `/settings/${family}`,
      ),
      '/access',
      '/access/groups',
      '/access/policies',
      '/audit?changes=1',
    ])
  })

  test('the site gets a name; a zone that is none is told at its field', async () => {
    const page = await visitor.signedIn()
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByLabel('Name of the site').fill('Old Court')
    await page.getByLabel('Time zone of the site').fill('Europe/Atlantis')
    await page.getByRole('button', { name: 'Save' }).click()
    const zone = page.getByLabel('Time zone of the site')
    await page.getByText('expected an IANA time zone such as Europe/Berlin').first().waitFor()
    assert.equal(await zone.getAttribute('aria-invalid'), 'true')
    assert.equal(await page.getByLabel('Name of the site').inputValue(), 'Old Court', 'nothing typed is lost')
    await zone.fill('Europe/Berlin')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    const settings = await controller.get('/settings/controller')
    assert.deepEqual([settings.siteName, settings.timezone], ['Old Court', 'Europe/Berlin'])
    const { timeZone } = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions())
    assert.notEqual(timeZone, 'Europe/Berlin')
    await page.goto(`${controller.url}/me`)
    await page.locator('time[title="Europe/Berlin"]').first().waitFor()
    await page.getByRole('combobox', { name: 'Time zone' }).selectOption(`This device: ${timeZone}`)
    await page.locator(`time[title="${timeZone}"]`).first().waitFor()
    await page.reload()
    await page.locator(`time[title="${timeZone}"]`).first().waitFor()
    assert.equal(await page.locator('time[title="Europe/Berlin"]').count(), 0)
    await page.context().close()
  })

  test('a destination keeps its secret when the field stays empty', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/settings/destinations`)
    await page.getByRole('button', { exact: true, name: 'New' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Archive')
    await page.getByLabel('Endpoint').fill('https://s3.example.org')
    await page.getByLabel('Bucket', { exact: true }).fill('takes')
    await page.getByLabel('Region').fill('eu')
    await page.getByLabel('Access key ID').fill('AKIA')
    await page.getByLabel('Secret access key', { exact: true }).fill('hunter2hunter2')
    await accessible(page, 'destination')
    await fits(page, 'destination')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    const row = page.getByRole('listitem').filter({ hasText: 'Archive' })
    await row.getByRole('button', { name: 'Edit' }).click()
    assert.equal(await page.getByLabel('Secret access key', { exact: true }).inputValue(), '')
    await page.getByLabel('Folder in the bucket').fill('court')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const [kept] = (await controller.get('/settings/upload-destinations')).filter(
      ({ displayName }: { displayName: string }) => displayName === 'Archive',
    )
    assert.deepEqual([kept.hasS3SecretAccessKey, kept.s3.prefix, kept.s3.bucket], [true, 'court', 'takes'])
    await page.context().close()
  })

  test('a new retention policy protects what is tagged or not yet uploaded, unless somebody says otherwise', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/settings/retention`)
    await page.getByRole('button', { exact: true, name: 'New' }).click()
    await page.getByLabel('Name', { exact: true }).fill('After a year')
    await page.getByLabel('Action').selectOption('delete_cache')
    await page.getByLabel('Older than (days)').fill('365')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('After a year').waitFor()
    const made = (await controller.get('/settings/retention-policies')).find(
      ({ name }: { name: string }) => name === 'After a year',
    )
    assert.deepEqual([made.deleteOnlyAfterUploaded, made.preserveTagged, made.maxBytes], [true, true, null])
    await page.context().close()
  })

  test('saving a destination keeps what the form does not ask again; a policy binds only what was chosen', async () => {
    const s3 = { accessKeyId: 'AKIA', bucket: 'b', endpoint: 'https://s3.example.org', preset: 'minio', region: 'eu' }
    const made = await controller.post('/settings/upload-destinations', { displayName: 'Cellar', kind: 's3', s3 })
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/settings/destinations`)
    await page.getByRole('listitem').filter({ hasText: 'Cellar' }).getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const kept = await controller.get(`/settings/upload-destinations/${made.id}`)
    assert.equal((kept.destination ?? kept).s3.preset, 'minio')
    await page.goto(`${controller.url}/settings/uploads`)
    await page.getByRole('button', { exact: true, name: 'New' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Bound')
    await page.getByLabel('Maximum attempts').fill('5')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('An upload policy must target a destination').waitFor()
    assert.equal(await page.getByLabel('Destination', { exact: true }).getAttribute('aria-invalid'), 'true')
    await page.getByLabel('Destination', { exact: true }).selectOption('Cellar')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('Bound').waitFor()
    await page.getByRole('listitem').filter({ hasText: 'Bound' }).getByRole('button', { name: 'Edit' }).click()
    await page.getByText('No schedule uses it.').waitFor()
    await accessible(page, 'where a policy is used')
    await page.keyboard.press('Escape')
    await page.goto(`${controller.url}/settings/destinations`)
    await page.getByRole('listitem').filter({ hasText: 'Cellar' }).getByRole('button', { name: 'Edit' }).click()
    await page.getByText('Used by 1 upload policy: Bound').waitFor()
    await page.context().close()
  })

  test('a stored secret is taken away when somebody says so', async () => {
    const s3 = { accessKeyId: 'AKIA', bucket: 'b', endpoint: 'https://s3.example.org', preset: 'minio', region: 'eu' }
    const made = await controller.post('/settings/upload-destinations', {
      ...{ displayName: 'Attic', kind: 's3', s3 },
      s3SecretAccessKey: 'hunter2hunter2',
    })
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/settings/destinations`)
    await page.getByRole('listitem').filter({ hasText: 'Attic' }).getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('remove the stored one').check()
    await save(page)
    const kept = await controller.get(`/settings/upload-destinations/${made.id}`)
    assert.equal((kept.destination ?? kept).hasS3SecretAccessKey, false)
    await page.context().close()
  })

  test('a recording profile: its chain stage by stage, what is wrong at its field, and off means off', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/settings/profiles`)
    await page.getByRole('button', { exact: true, name: 'New' }).click()
    await page.getByLabel('Name', { exact: true }).fill('<i>Lecture</i>')
    await accessible(page, 'profile')
    await pictured(page, 'profile')
    await fits(page, 'profile')
    await page.getByRole('group', { name: 'High-pass' }).getByLabel('Frequency (Hz)').fill('120')
    await page.getByRole('group', { name: 'Gate' }).getByLabel('Enabled').check()
    await save(page)
    const profile = async () =>
      (await controller.get('/settings/recording-profiles')).find(
        ({ name }: { name: string }) => name === '<i>Lecture</i>',
      )
    const made = await profile()
    assert.deepEqual(
      [made.codec, made.enhancement.highpass.hz, made.enhancement.gate.enabled, made.enhancement.loudnorm.targetI],
      ['mp3', 120, true, -16],
    )
    await page.getByRole('listitem').filter({ hasText: 'Lecture' }).getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Format').selectOption('FLAC')
    await page.getByLabel('Enhancement').selectOption('off')
    await save(page)
    const plain = await profile()
    assert.deepEqual([plain.codec, plain.enhancement], ['flac', undefined])
    await page.context().close()
  })

  test('a watchdog policy has what the built-in one has; a rule that is on asks for its numbers; levels are wanted', async () => {
    const node = await controller.enroll('Calibration box')
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/settings/watchdog`)
    await page.getByRole('button', { exact: true, name: 'New' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Loud rooms')
    await page.getByLabel('Sound threshold (dBFS)').fill('-38.5')
    await page.getByRole('group', { name: 'Clipping' }).getByLabel('Alert').selectOption('on')
    await page.getByRole('group', { name: 'Clipping' }).getByLabel('After (s)').fill('2.5')
    await accessible(page, 'watchdog')
    await pictured(page, 'watchdog')
    await fits(page, 'watchdog')
    await save(page)
    const made = (await controller.get('/settings/watchdog-policies')).find(
      ({ name }: { name: string }) => name === 'Loud rooms',
    )
    assert.deepEqual(
      [made.thresholdDbfs, made.clippingMode, made.minCumulativeClippingSeconds, made.windowSeconds],
      [-38.5, 'alert_on_clipping', 2.5, 900],
    )
    await page.getByRole('listitem').filter({ hasText: 'Loud' }).getByRole('button', { name: 'Calibrate' }).click()
    await page.getByRole('combobox', { name: 'Recorder' }).fill('calib')
    await page.getByRole('option', { name: /Calibration box/ }).click()
    await page.getByRole('button', { name: 'Measure' }).click()
    await page.getByRole('alert').waitFor()
    await accessible(page, 'calibration')
    assert.ok(node.id)
    await page.context().close()
  })

  test('a channel map is drawn, assigned, replaced and taken back', async () => {
    const page = await visitor.signedIn({ size: 'phone' })
    await page.goto(`${controller.url}/settings/maps`)
    for (const name of ['Front', 'Back']) {
      await page.getByRole('button', { exact: true, name: 'New' }).click()
      await page.getByLabel('Name', { exact: true }).first().fill(name)
      const sources = page.getByRole('group', { name: 'Sources' })
      await sources.getByLabel('Name').fill('Lectern')
      await sources.getByRole('button', { name: 'Add source' }).click()
      await sources.getByLabel('Name').nth(1).fill('Audience')
      await sources.getByLabel('Source channel').nth(1).fill('4')
      await accessible(page, 'channel map')
      await pictured(page, 'channel map')
      await fits(page, 'channel map')
      await save(page)
      await page.getByRole('button', { name: 'Assign' }).click()
      await page.getByLabel('Channel map', { exact: true }).selectOption(name)
      await page.getByRole('combobox', { name: 'Recorder' }).fill('calib')
      await page.getByRole('option', { name: /Calibration box/ }).click()
      await save(page)
      await page.getByText(`Calibration box: ${name}`).waitFor()
    }
    await page.getByRole('button', { name: 'Restore the previous one' }).click()
    await page.getByText('Calibration box: Front').waitFor()
    const [front] = await controller.get('/settings/channel-map-templates')
    assert.deepEqual(
      [...front.entries].map(({ label, sourceChannelIndex }) => `${label} ${sourceChannelIndex}`),
      ['Lectern 1', 'Audience 4'],
    )
    await page.context().close()
  })

  test('a switcher is made, asked, connected to rooms, and deleted', async () => {
    const page = await visitor.signedIn()
    await page.goto(`${controller.url}/settings/switchers`)
    await page.getByRole('button', { exact: true, name: 'New' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Matrix')
    await page.getByLabel('Address').fill('not a host!')
    await page.getByLabel('Port').fill('1')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('expected a host name or an address').first().waitFor()
    assert.equal(await page.getByLabel('Address').getAttribute('aria-invalid'), 'true')
    await page.getByLabel('Address').fill('127.0.0.1')
    await save(page)
    const row = page.getByRole('listitem').filter({ hasText: 'Matrix' })
    await row.getByRole('button', { name: 'Connections' }).click()
    await page.getByLabel('Room at input 2', { exact: true }).selectOption('North, Hall')
    await accessible(page, 'connections')
    await pictured(page, 'connections')
    await save(page)
    const [made] = await controller.get('/settings/switchers')
    const { inputs } = await controller.get(`/settings/switchers/${made.id}/mappings`)
    assert.deepEqual(
      inputs.map(({ input, roomName }: { input: number; roomName: string }) => [input, roomName]),
      [[2, 'Hall']],
    )
    await row.getByRole('button', { name: 'Test' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Test' }).click()
    await page.getByText('No answer, or not the one expected.').waitFor()
    await page.keyboard.press('Escape')
    await row.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Matrix').first().waitFor({ state: 'detached' })
    await page.context().close()
  })

  test('nothing was complained of', () => {
    assert.deepEqual(
      visitor.complaints.filter((one) => !/status of 4(00|22)/.test(one)),
      [],
    )
  })
})
