// Every built-in role, and a person whom only a room's roster names: what they are shown works, what they may not see says so.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { ROLES, type Role } from '../../../src/wire/permissions.ts'
import { Answers } from '../../kit/answers.ts'
import { signIn, Visitor } from '../../kit/browser.ts'
import { Controller, House } from '../../kit/whole.ts'

const PASSWORD = 'a password for all'
/** What each page of the navigation takes. */
const PAGES: Record<string, string | undefined> = {
  '/': undefined,
  '/access': 'auth:manage',
  '/activity': 'recording:read',
  '/alerts': 'health:read',
  '/audit': 'audit:read',
  '/library': 'recording:read',
  '/me': undefined,
  '/recorders': 'node:read',
  '/rooms': 'node:read',
  '/schedule': 'schedule:read',
  '/settings': 'settings:read',
  '/wall': 'node:read',
}
const FAMILIES = [
  'profiles',
  'watchdog',
  'destinations',
  'uploads',
  'retention',
  'maps',
  'notifications',
  'notifications/deliveries',
]
/** Ends the visit, opens what no page can close, is for the enter key alone, or only turns the page. */
const LEFT_ALONE = /^(Earlier|Later|Print|Search|Sign out|Today)$/

describe('each role', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  let details: Record<string, string[]>
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    await controller.login()
    const room = await controller.post('/rooms', { name: 'Hall', site: 'North' })
    await controller.post('/rooms', { name: 'Barn', site: 'South' })
    const interfaces = [{ alias: 'Desk', channelCount: 2, systemName: 'Desk', systemRef: 'hw:Desk' }]
    const node = await controller.enroll('Hall recorder', { interfaces })
    await controller.get(`/nodes/${node.id}`, 'PATCH', { roomId: room.id })
    const schedule = await controller.post('/schedules', {
      ...{ folderTemplate: 'F', name: 'Weekly', nodeId: node.id, room: 'Hall', timezone: 'UTC', titleTemplate: 'T' },
      recurrence: { durationSeconds: 60, mode: 'once', startsAt: '2031-03-03T10:00:00Z' },
    })
    for (const role of [...ROLES, 'roster'] as const) {
      const user = await controller.post('/auth/users', {
        ...{ email: `${role}@example.org`, name: role, password: PASSWORD },
        ...(role === 'roster' ? {} : { resourceGrants: [{ resourceId: '*', resourceType: '*' }] }),
        roles: [role === 'roster' ? 'viewer' : role],
      })
      if (role === 'roster')
        await controller.get(`/rooms/${room.id}/roster`, 'PUT', {
          entries: [{ capabilities: ['view', 'listen', 'operate'], subjectId: user.id, subjectType: 'user' }],
        })
    }
    details = {
      '/recorders': ['', '/setup', '/maintenance', '/history'].map((tab) => `/recorders/${node.id}${tab}`),
      '/rooms': [`/rooms/${room.id}`],
      '/schedule': [`/schedules/${schedule.id}`, '/schedule?view=list', '/schedule?view=rooms&date=2031-03-03'],
      '/settings': FAMILIES.map((family) => `/settings/${family}`),
    }
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await house?.close()
  })

  const enter = async (who: Role | 'roster'): Promise<Page> => {
    const page = await visitor.visit()
    await signIn(page, { email: `${who}@example.org`, password: PASSWORD })
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    return page
  }
  const opened = async (page: Page, answers: Answers, address: string): Promise<void> => {
    await page.goto(controller.url + address)
    await page.locator('h1').waitFor()
    await answers.settled(page)
  }
  /** Presses every button that can be pressed, once for each name. */
  const pressed = async (page: Page, answers: Answers, address: string): Promise<void> => {
    const names = await page.locator('main button:enabled').allInnerTexts()
    for (const name of new Set(names.map((one) => one.trim()))) {
      if (name === '' || LEFT_ALONE.test(name)) continue
      const button = page.locator('main').getByRole('button', { exact: true, name }).first()
      if (!(await button.isVisible()) || !(await button.isEnabled())) continue
      await button.click()
      await answers.settled(page)
      for (let open = await page.locator('dialog[open]').count(); open > 0; open--) await page.keyboard.press('Escape')
      if (!page.url().endsWith(address)) await opened(page, answers, address)
    }
  }

  for (const who of [...ROLES, 'roster'] as const)
    test(`${who}: every page of theirs works, every other one says what it takes and who gives it`, async () => {
      const page = await enter(who)
      const answers = new Answers(page)
      const shown = await page
        .getByRole('navigation', { name: 'Main' })
        .getByRole('link')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''))
      for (const [address, permission] of Object.entries(PAGES)) {
        if (shown.includes(address)) {
          for (const one of [address, ...(details[address] ?? [])]) {
            await opened(page, answers, one)
            if (who !== 'owner' && who !== 'admin') await pressed(page, answers, one)
            assert.deepEqual(answers.refused, [], `${who} ${one}`)
          }
          continue
        }
        await opened(page, answers, address)
        await page.getByRole('heading', { level: 1, name: 'You may not see this' }).waitFor()
        await page.getByText(`Requires the permission ${permission}. Anyone who manages access can grant it.`).waitFor()
        assert.deepEqual(answers.refused, [], `${who} ${address}: nothing is asked for`)
      }
      assert.deepEqual(visitor.complaints, [], who)
      await page.context().close()
    })
})
