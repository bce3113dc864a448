// The HTML of a mail, as a mail program with a browser inside shows it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chromium } from 'playwright-core'
import { htmlOf } from '../../../src/controller/notifications/transports/render.rules.ts'
import { HOSTILE, message } from '../../controller/notifications/transports/message.ts'
import { accessible, CHROMIUM, fits, pictured } from '../../kit/browser.ts'

const hostile = {
  facts: HOSTILE.map((name): [string, string] => [name, name]),
  paragraphs: [...HOSTILE],
  title: HOSTILE.join(' '),
}
const mails = {
  event: message(),
  hostile: message({ ...hostile, severity: 'warning' }),
  report: message({ acknowledgeUrl: undefined, kind: 'report', severity: 'info' }),
  resolved: message({ acknowledgeUrl: undefined, kind: 'resolved' }),
}

test('a mail is readable in light and dark, on a phone and on a desk, and loads nothing', async (t) => {
  const browser = await chromium.launch({ args: ['--no-sandbox', '--disable-gpu'], executablePath: CHROMIUM })
  t.after(() => browser.close())
  const page = await browser.newPage()
  const asked: string[] = []
  page.on('request', (request) => void asked.push(request.url()))
  for (const [name, mail] of Object.entries(mails))
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [320, 400, 1_000]) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ height: 700, width })
        await page.setContent(htmlOf(mail))
        await fits(page, `${name} ${width}`)
        await accessible(page, `${name} ${colorScheme} ${width}`, ['color-contrast', 'link-name', 'document-title'])
        await pictured(page, `mail ${name} ${colorScheme} ${width}`)
      }
  assert.deepEqual(asked, [])
})
