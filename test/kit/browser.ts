// A browser on a whole controller: what a person sees, and what they must never see.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import * as path from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { ADMIN, type Controller } from './whole.ts'

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Without windows, which nobody sees here and which take half of the work. */
export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell'
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--autoplay-policy=no-user-gesture-required',
]

export const SIZES = { desktop: { height: 800, width: 1280 }, phone: { height: 740, width: 360 } } as const

interface Visit {
  colorScheme?: 'dark' | 'light'
  size?: keyof typeof SIZES
}

type State = Awaited<ReturnType<BrowserContext['storageState']>>

/** Chromium with everything a page complained of. */
export class Visitor {
  /** Errors of pages, of their policy and of the console, and requests to anywhere else. */
  readonly complaints: string[] = []
  readonly #browser: Browser
  readonly #controller: Controller
  /** Of the owner who signed in. */
  #state: State | undefined

  private constructor(browser: Browser, controller: Controller) {
    this.#browser = browser
    this.#controller = controller
  }

  static async open(controller: Controller): Promise<Visitor> {
    return new Visitor(await chromium.launch({ args: ARGS, executablePath: CHROMIUM }), controller)
  }

  /** A page of its own browser profile. */
  visit(how: Visit = {}): Promise<Page> {
    return this.#page(how, {})
  }

  async #page({ colorScheme = 'light', size = 'desktop' }: Visit, kept: { storageState?: State }): Promise<Page> {
    const context = await this.#browser.newContext({ colorScheme, viewport: SIZES[size], ...kept })
    this.#listen(context)
    const page = await context.newPage()
    await page.goto(this.#controller.url)
    return page
  }

  /** The same, signed in as the owner: by the form once, later with the session of that time. */
  async signedIn(how: Visit = {}): Promise<Page> {
    const page = await this.#page(how, this.#state ? { storageState: this.#state } : {})
    if (!this.#state) await signIn(page, ADMIN)
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
    this.#state ??= await page.context().storageState()
    return page
  }

  close(): Promise<void> {
    return this.#browser.close()
  }

  #listen(context: BrowserContext): void {
    const complain = (what: string) => void this.complaints.push(what)
    context.on('page', (page) => {
      page.on('pageerror', (e) => complain(`error: ${e.message}`))
      page.on('console', (message) => {
        // Chromium reports an expected refusal as an error of its own: also that a waveform was not drawn in time.
        const expected = /status of 40[139]/.test(message.text())
        if (['error', 'warning'].includes(message.type()) && !expected) complain(message.text())
      })
    })
    context.on('request', (request) => {
      const { origin, protocol } = new URL(request.url())
      if (protocol.startsWith('http') && origin !== new URL(this.#controller.url).origin)
        complain(`request to ${origin}`)
    })
  }
}

/** Every address, in both themes, at both sizes and at 320 px: no violation, nothing scrolls sideways. */
export async function accessiblePages(visitor: Visitor, url: string, addresses: readonly string[]): Promise<void> {
  for (const size of Object.keys(SIZES) as (keyof typeof SIZES)[]) {
    const page = await visitor.signedIn({ size })
    if (size === 'phone') await page.setViewportSize({ height: 640, width: 320 })
    for (const address of addresses) {
      await page.goto(url + address)
      await page.locator('h1').waitFor()
      await page.waitForLoadState('load')
      await accessible(page, `${address} light ${size}`)
      await fits(page, `${address} ${size}`)
      await pictured(page, `${address} light ${size}`)
      // The other theme is the same page with other colours, whatever the size.
      if (size === 'phone' && !process.env.SVC_TEST_PICTURES) continue
      await page.emulateMedia({ colorScheme: 'dark' })
      await accessible(page, `${address} dark ${size}`, COLOURS)
      await pictured(page, `${address} dark ${size}`)
      await page.emulateMedia({ colorScheme: 'light' })
    }
    await page.context().close()
  }
}

/** Nothing scrolls sideways. */
export async function fits(page: Page, what: string): Promise<void> {
  const wide = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
  assert.equal(wide, 0, `${what} scrolls sideways`)
}

/** A picture of the whole page, where SVC_TEST_PICTURES names a folder. */
export async function pictured(page: Page, what: string): Promise<void> {
  const folder = process.env.SVC_TEST_PICTURES
  if (folder) await page.screenshot({ fullPage: true, path: path.join(folder, `${what.replace(/\W+/g, '-')}.png`) })
}

export async function signIn(page: Page, { email, password }: typeof ADMIN): Promise<void> {
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** The rules of axe that look at colours. */
const COLOURS = ['color-contrast', 'link-in-text-block']

/** No violation of WCAG that axe knows, or of some of its rules, on the page as it is. */
export async function accessible(page: Page, what: string, rules?: readonly string[]): Promise<void> {
  // By the debugger, as the policy of the page allows no script of ours.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(AXE)
  const violations = await page.evaluate(
    `axe.run(${rules ? JSON.stringify({ runOnly: rules }) : ''}).then(({ violations }) => violations)`,
  )
  const found = (violations as { help: string; id: string; nodes: { target: string[] }[] }[]).map(
    ({ help, id, nodes }) => `${id}: ${help} (${nodes.map(({ target }) => target.join(' ')).join(', ')})`,
  )
  assert.deepEqual(found, [], what)
}
