// A room comes online by the keyboard alone, and at the pace of a person; in the console of the built executable.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { setUpBox } from '../../kit/box.ts'
import { Visitor } from '../../kit/browser.ts'
import { Controller, House } from '../../kit/whole.ts'

/** More than any page has to step through. */
const MOST_TABS = 60
const PACE = { beforeClickMs: 1500, keyMs: 120 }

describe('a room comes online', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    await controller.login()
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
    await page.getByRole('button', { name: 'Download roomtone.json' }).waitFor()
    await page.keyboard.press('ArrowLeft')
    await enter(page, page.getByRole('button', { name: 'Show the line' }))
    const line = await page.getByLabel('Line for the box').inputValue()
    const token = /SVC_BOOTSTRAP_TOKEN=([\w.-]+)/.exec(line)?.[1] ?? ''
    await setUpBox(house, controller, { nodeId: new URL(page.url()).searchParams.get('node') ?? '', token })
    await page.getByText('Say something into each microphone.').waitFor()
    await enter(page, page.getByRole('button', { name: 'Listen' }))
    await page.getByText('You hear Chapel recorder.').waitFor()
    await enter(page, page.getByRole('button', { name: 'Test take, 10 seconds' }))
    await page.getByText('Everything works').waitFor()
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
    assert.deepEqual(visitor.complaints, [])
  })
})
