// The console in German: chosen on one's own page, kept, and on every page nothing of the English words is left.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { de } from '../../../src/console/words/de.ts'
import { en } from '../../../src/console/words/en.ts'
import { Answers } from '../../kit/answers.ts'
import { accessible, Visitor } from '../../kit/browser.ts'
import { Controller, House } from '../../kit/whole.ts'

/** Every text of a language that takes no argument. */
const leaves = (words: unknown): string[] =>
  typeof words === 'string' ? [words] : words instanceof Object ? Object.values(words).flatMap(leaves) : []

const german = new Set(leaves(de))
const english = leaves(en).filter((text) => /\p{L}{3}/u.test(text) && !german.has(text))
/** A word may stand in a German sentence or be somebody's name: alone it is one of ours only where pages have theirs. */
const sentences = english.filter((text) => /\p{L} \p{L}/u.test(text))
const OURS = 'h1, h2, h3, nav a, main button, main label, legend, th, dt, option'

describe('the console in German', () => {
  let house: House
  let controller: Controller
  let visitor: Visitor
  const addresses: string[] = []
  before(async () => {
    house = await House.open()
    controller = await new Controller(house).start()
    await controller.login()
    const room = await controller.post('/rooms', { name: 'Saal', site: 'Nord' })
    const interfaces = [{ alias: 'Pult', channelCount: 2, systemName: 'Pult', systemRef: 'hw:Pult' }]
    const node = await controller.enroll('Kiste', { interfaces })
    await controller.get(`/nodes/${node.id}`, 'PATCH', { roomId: room.id })
    const schedule = await controller.post('/schedules', {
      ...{ folderTemplate: 'F', name: 'Probe', nodeId: node.id, room: 'Saal', timezone: 'UTC', titleTemplate: 'T' },
      recurrence: { durationSeconds: 60, mode: 'once', startsAt: '2031-03-03T10:00:00Z' },
    })
    addresses.push(
      ...[
        '',
        '/rooms',
        '/add',
        '/recorders',
        '/wall',
        '/schedule',
        '/library',
        '/activity',
        '/alerts',
        '/audit',
        '/me',
      ],
      ...[
        '',
        '/profiles',
        '/watchdog',
        '/destinations',
        '/retention',
        '/uploads',
        '/maps',
        '/switchers',
        '/notifications',
        '/notifications/deliveries',
      ].map((family) => `/settings${family}`),
      ...['users', 'groups', 'policies', 'displays'].map((part) => `/access/${part}`),
      ...[`/rooms/${room.id}`, `/rooms/${room.id}/label`, `/schedules/${schedule.id}`],
      ...['', '/setup', '/maintenance', '/history'].map((tab) => `/recorders/${node.id}${tab}`),
    )
    visitor = await Visitor.open(controller)
  })
  after(async () => {
    await visitor?.close()
    await house?.close()
  })

  test('it is chosen once, and every page speaks it', async () => {
    const page = await visitor.signedIn()
    const answers = new Answers(page)
    await page.goto(`${controller.url}/me`)
    await page.getByRole('combobox', { name: 'Language' }).selectOption('Deutsch')
    await page.getByRole('heading', { level: 1, name: de.me.title }).waitFor()
    for (const address of addresses) {
      await page.goto(controller.url + address)
      await page.locator('h1').waitFor()
      await answers.settled(page)
      assert.equal(await page.evaluate('document.documentElement.lang'), 'de')
      const all = await page.locator('body').innerText()
      assert.deepEqual(
        sentences.filter((sentence) => all.includes(sentence)),
        [],
        address,
      )
      const ours = await page.locator(OURS).allInnerTexts()
      assert.deepEqual(
        ours.map((text) => text.trim()).filter((text) => english.includes(text)),
        [],
        address,
      )
      await accessible(page, `${address} in German`)
    }
    await page.context().close()
    assert.deepEqual(visitor.complaints, [])
  })
})
