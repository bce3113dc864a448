// A person, a browser, a real identity provider and the built controller.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import * as net from 'node:net'
import { after, before, describe, test } from 'node:test'
import { type Browser, chromium } from 'playwright-core'
import { CHROMIUM } from '../kit/browser.ts'
import { CLIENT, realProvider } from '../kit/oidc.ts'
import { Controller, House } from '../kit/whole.ts'

/** The provider must know our address before we listen. */
async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

describe('login in a browser', () => {
  let browser: Browser
  let house: House
  let controller: Controller
  let provider: Awaited<ReturnType<typeof realProvider>>
  let origin = ''
  // Where the browser is led back to: an empty page of the console's origin.
  const page = http.createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>back'),
  )

  before(async () => {
    page.listen(0, '127.0.0.1')
    await once(page, 'listening')
    origin = `http://127.0.0.1:${(page.address() as AddressInfo).port}`
    const port = await freePort()
    const redirect = `http://127.0.0.1:${port}/api/v1/auth/oidc/callback`
    provider = await realProvider(redirect, { ann: { email: 'ann@example.org', name: 'Ann', roles: ['viewer'] } })
    house = await House.open()
    controller = await new Controller(house, {
      SVC_OIDC_ALLOW_INSECURE_ISSUER: '1',
      SVC_OIDC_CLIENT_ID: CLIENT.id,
      SVC_OIDC_CLIENT_SECRET: CLIENT.secret,
      SVC_OIDC_ENABLED: '1',
      SVC_OIDC_ISSUER: provider.issuer,
      SVC_OIDC_REDIRECT_URI: redirect,
      SVC_PORT: String(port),
      SVC_WEB_ORIGIN: origin,
    }).start()
    const args = [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-background-networking',
      '--no-first-run',
    ]
    browser = await chromium.launch({ args, executablePath: CHROMIUM })
  })
  after(async () => {
    await browser?.close()
    await house?.close()
    await provider?.close()
    page.closeAllConnections()
    page.close()
  })

  test('from the console to the provider and back, with a session that works', async () => {
    const tab = await browser.newPage()
    await tab.goto(`${controller.url}/api/v1/auth/oidc/login?returnTo=${encodeURIComponent(`${origin}/rooms`)}`)
    await tab.fill('input[name=login]', 'ann')
    await tab.fill('input[name=password]', 'any')
    await tab.click('button[type=submit]')
    await tab.click('button[type=submit]') // consent
    await tab.waitForURL(`${origin}/rooms**`)
    const token = new URLSearchParams(new URL(tab.url()).hash.slice(1)).get('svc_token') ?? ''
    const { json, status } = await controller.ask('GET', '/auth/me', undefined, token)
    assert.deepEqual([status, json.data.email, json.data.roles], [200, 'ann@example.org', ['viewer']])
    // The state is gone with the login: going back in the browser opens nothing.
    const cookies = await tab.context().cookies(`${controller.url}/api/v1/auth/oidc/callback`)
    assert.deepEqual(
      cookies.filter(({ name }) => name === 'svc_oidc_state'),
      [],
    )
    await tab.close()
  })

  test('who signs in again over a page of the console does it in another tab, and the page keeps what was typed', async () => {
    const context = await browser.newContext()
    const tab = await context.newPage()
    await tab.goto(controller.url)
    await tab.getByRole('link', { name: 'Sign in with your organisation' }).click()
    await tab.fill('input[name=login]', 'ann')
    await tab.fill('input[name=password]', 'any')
    await tab.click('button[type=submit]')
    await tab.click('button[type=submit]') // consent
    await tab.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
    await tab.getByRole('link', { name: 'Library' }).click()
    await tab.getByRole('searchbox').fill('Half typed')
    await tab.evaluate(`fetch('/api/v1/auth/logout', { method: 'POST' })`)
    await tab.getByText('Your session has ended. Sign in again.').waitFor()
    const opened = context.waitForEvent('page')
    await tab.getByRole('link', { name: /in a new tab/ }).click()
    const other = await opened
    // The provider knows her still.
    await other.getByRole('heading', { level: 1, name: 'Library' }).waitFor()
    await tab.evaluate(`dispatchEvent(new Event('focus'))`)
    await tab.getByText('Your session has ended. Sign in again.').waitFor({ state: 'detached' })
    assert.equal(await tab.getByRole('searchbox').inputValue(), 'Half typed')
    await context.close()
  })

  test('a callback in a browser that began no login is refused', async () => {
    const tab = await (await browser.newContext()).newPage()
    const response = await tab.goto(`${controller.url}/api/v1/auth/oidc/callback?code=stolen&state=guessed`)
    assert.equal(response?.status(), 400)
    assert.match(await tab.content(), /oidc_state_invalid/)
    await tab.close()
  })
})
