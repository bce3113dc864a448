// A room comes online by the keyboard alone, and at the pace of a person; in the console of the built executable.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { Cards, missingPackages } from '../../e2e/card.ts'
import { setUpBox } from '../../kit/box.ts'
import { accessible, fits, Visitor } from '../../kit/browser.ts'
import { Controller, House, until } from '../../kit/whole.ts'

/** More than any page has to step through. */
const MOST_TABS = 60
const PACE = { beforeClickMs: 1500, keyMs: 120 }

describe('a room comes online', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  before(async () => {
    house = await House.open()
    controller = await new Controller(house, { SVC_NODE_OFFLINE_AFTER_SECONDS: '15' }).start()
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

  async function tabTo(page: Page, wanted: Locator): Promise<void> {
    await wanted.waitFor()
    for (let i = 0; i < MOST_TABS; i++) {
      if ((await wanted.and(page.locator(':focus')).count()) === 1) return
      await page.keyboard.press('Tab')
    }
    assert.fail(`the keyboard does not reach ${wanted}`)
  }

  async function enter(page: Page, wanted: Locator): Promise<void> {
    await tabTo(page, wanted)
    await page.keyboard.press('Enter')
  }

  async function type(page: Page, label: string, text: string): Promise<void> {
    await tabTo(page, page.getByLabel(label, { exact: true }))
    await page.keyboard.type(text)
  }

  test('by the keyboard alone', async () => {
    const page = await visitor.signedIn()
    await enter(page, page.getByRole('link', { exact: true, name: 'Rooms' }))
    await enter(page, page.getByRole('link', { name: 'Bring a room online' }))
    await type(page, 'Site', 'North')
    await type(page, 'Room', 'Chapel')
    await type(page, 'Name of the recorder', 'Chapel recorder')
    await page.keyboard.press('Enter')
    await page.getByText('Waiting for the first contact.').waitFor()
    await tabTo(page, page.getByRole('radio', { name: 'Type a line' }))
    await page.keyboard.press('ArrowRight')
    await page.getByRole('button', { name: 'Show a code' }).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.getByRole('button', { name: 'Download roomtone.json' }).waitFor()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await enter(page, page.getByRole('button', { name: 'Show the line' }))
    const line = await page.getByLabel('Line for the box').inputValue()
    const token = /SVC_BOOTSTRAP_TOKEN=([\w.-]+)/.exec(line)?.[1] ?? ''
    await setUpBox(house, controller, { nodeId: new URL(page.url()).searchParams.get('node') ?? '', token })
    await page.getByText('Say something into each microphone.').waitFor()
    await enter(page, page.getByRole('button', { name: 'Listen' }))
    await page.getByText('You hear Chapel recorder.').waitFor()
    await enter(page, page.getByRole('button', { name: 'Test take, 10 seconds' }))
    await page.getByText('Everything works').waitFor({ timeout: 60_000 })
    await enter(page, page.getByRole('link', { name: 'Print the label' }))
    await page.getByRole('heading', { level: 1, name: 'Label' }).waitFor()
    await page.context().close()
  })

  test('at the pace of a person, with a box that has the program', async (t) => {
    const page = await visitor.signedIn({ size: 'phone' })
    const click = async (wanted: Locator): Promise<void> => {
      await wanted.waitFor()
      await page.waitForTimeout(PACE.beforeClickMs)
      await wanted.click()
    }
    const write = async (label: string, text: string): Promise<void> => {
      const field = page.getByLabel(label, { exact: true })
      await click(field)
      await field.pressSequentially(text, { delay: PACE.keyMs })
    }
    await page.goto(`${controller.url}/rooms`)
    const began = performance.now()
    await click(page.getByRole('link', { name: 'Bring a room online' }))
    await write('Site', 'North')
    await write('Room', 'Lecture hall 2')
    await write('Name of the recorder', 'Hall 2')
    await click(page.getByRole('button', { name: 'Add recorder' }))
    await click(page.getByRole('radio', { name: 'USB stick' }))
    const download = page.waitForEvent('download')
    await click(page.getByRole('button', { name: 'Download roomtone.json' }))
    const stick = JSON.parse(fs.readFileSync(await (await download).path(), 'utf8'))
    const { bootstrapToken: token, nodeId } = stick.nodes[0]
    await setUpBox(house, controller, { nodeId, token })
    await click(page.getByRole('button', { name: 'Listen' }))
    await page.getByText('You hear Hall 2.').waitFor()
    t.diagnostic(`from "Bring a room online" to hearing it: ${((performance.now() - began) / 1000).toFixed(1)} s`)
    await page.context().close()
  })

  test('a box that is away for a moment keeps its step, and says so', async () => {
    const page = await visitor.signedIn({ size: 'phone' })
    const { id: nodeId, token } = await controller.enroll('Crypt')
    await page.goto(`${controller.url}/add?node=${nodeId}`)
    await page.getByText('Waiting for the first contact.').waitFor()
    await page.getByText('No other machine reaches this address.').waitFor()
    await controller.raw('POST', `/nodes/${nodeId}/heartbeat`, {
      body: { agentVersion: '0.1.0', hostname: 'crypt', status: 'online' },
      token,
    })
    await page.getByText('has found no sound device').waitFor()
    await until('it to be offline', async () => (await controller.get(`/nodes/${nodeId}`)).status === 'offline', 60)
    await page.reload()
    await page.getByText('Offline just now.').waitFor()
    await page.getByRole('button', { name: 'Listen' }).waitFor()
    await accessible(page, 'away')
    await fits(page, 'away')
    await page.getByRole('button', { name: 'Set up again' }).click()
    await page.getByText('Waiting for the first contact.').waitFor()
    await page.getByRole('radio', { name: 'USB stick' }).check()
    await page.getByRole('button', { name: 'Make a new file' }).click()
    await page.getByRole('button', { name: 'Download roomtone.json' }).waitFor()
    await page.locator('summary', { hasText: 'More' }).click()
    await page.getByLabel('Address of this controller').fill('https://roomtone.example.org')
    await page.getByText('No other machine reaches this address.').waitFor({ state: 'detached' })
    assert.equal(await page.getByRole('button', { name: 'Download' }).count(), 0, 'the file has another address')
    await page.getByRole('button', { name: 'Make a new file' }).click()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download roomtone.json' }).click()
    const stick = JSON.parse(fs.readFileSync(await (await download).path(), 'utf8'))
    assert.equal(stick.controllerUrl, 'https://roomtone.example.org')
    await page.context().close()
  })

  test('with sound cards that arecord opens: their channels, their levels, and a take of one of them', {
    skip: missingPackages(),
  }, async () => {
    const cards = await Cards.lay(house.path('cards'))
    try {
      const page = await visitor.signedIn()
      const { id: roomId } = await controller.post('/rooms', { name: 'Studio', site: 'North' })
      const { id: nodeId } = await controller.enroll('Studio recorder')
      await controller.get(`/nodes/${nodeId}`, 'PATCH', { roomId })
      const { token } = await controller.post(`/nodes/${nodeId}/bootstrap-token`)
      await page.goto(`${controller.url}/add?node=${nodeId}`)
      await page.getByText('Waiting for the first contact.').waitFor()
      await setUpBox(house, controller, { env: cards.env, nodeId, token })
      await page.getByRole('heading', { level: 3, name: 'Stage' }).waitFor()
      // One of them is open when nothing is recorded: its channels have levels.
      const meters = page.getByRole('meter')
      await until('a level of every channel of a card', async () => {
        const values = await meters.evaluateAll((all) => all.map((one) => one.getAttribute('aria-valuetext') ?? ''))
        const heard = values.filter((value) => /-\d+ dB/.test(value)).length
        return values.length === 40 && (heard === 8 || heard === 32)
      })
      await page.getByRole('button', { name: 'Test take: Desk' }).click()
      await page.getByText('Everything works').waitFor({ timeout: 60_000 })
      await page.getByRole('button', { name: 'Play' }).click()
      const [job] = await controller.get(`/recording-jobs?nodeId=${nodeId}`)
      assert.equal(job.command.captureDevice, 'hw:CARD=Desk,DEV=0')
      await page.context().close()
    } finally {
      await cards.close()
    }
  })

  test('with a code that is typed at the box; a new one ends the one before', async () => {
    const page = await visitor.signedIn()
    const { id: nodeId } = await controller.enroll('Vestry')
    await page.goto(`${controller.url}/add?node=${nodeId}&way=code`)
    await page.getByRole('button', { name: 'Show a code' }).click()
    const shown = page.getByRole('status', { name: 'Pairing code' })
    const first = await shown.innerText()
    assert.match(first, /^[A-Z2-9]{4}-[A-Z2-9]{4}$/)
    const [line = '', other = ''] = await page.locator('code').allInnerTexts()
    assert.match(line, /^curl -fsS http\S+\/install\.sh\s+\| sudo sh/)
    assert.ok(other.includes(`setup agent --controller-url ${controller.url} --pairing-code`), other)
    await page.getByRole('button', { name: 'New code' }).click()
    const second = await shown.filter({ hasNotText: first }).innerText()
    const join = (code: string) => controller.raw('POST', '/nodes/pair', { body: { code } })
    assert.equal((await join(first)).status, 401)
    const paired = await join(second)
    assert.equal(paired.status, 200)
    const { data } = (await paired.json()) as { data: { token: string } }
    await setUpBox(house, controller, { nodeId, token: data.token })
    await page.getByText('Say something into each microphone.').waitFor()
    await page.context().close()
    assert.deepEqual(visitor.complaints, [])
  })
})
