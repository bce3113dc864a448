import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { before, test } from 'node:test'
import * as zlib from 'node:zlib'
import { bundleConsole } from '../../../scripts/console.ts'
import { type ConsoleHandler, consoleHandler } from '../../../src/controller/http/pages.ts'
import { scratchDir } from '../../kit/scratch.ts'

let handler: ConsoleHandler
before(async () => {
  const dir = scratchDir('roomtone-console-')
  await bundleConsole(path.join(dir, 'console'))
  handler = consoleHandler((key) => fs.readFileSync(path.join(dir, key))) as ConsoleHandler
})

const ask = (address: string, headers: Record<string, string> = {}, method = 'GET') =>
  handler(new Request(`http://box.example${address}`, { headers, method }))
const entry = async (): Promise<string> => (await ask('/')?.text()) ?? ''

test('every address of a page answers the entry page, never cached without asking', async () => {
  for (const address of ['/', '/rooms', '/rooms/hall%20one', '/library?q=x', '/no/such/page', '/rooms/hall.1']) {
    const response = ask(address)
    assert.equal(response?.headers.get('content-type'), 'text/html; charset=utf-8', address)
    assert.equal(response?.headers.get('cache-control'), 'no-cache')
    assert.match((await response?.text()) ?? '', /<div id="app">/)
  }
})

test('files named by their content are kept for ever; what is not there is not the entry page', async () => {
  const [script = ''] = /\/assets\/main-[^"]+\.js/.exec(await entry()) ?? []
  const response = ask(script)
  assert.equal(response?.headers.get('cache-control'), 'public, max-age=31536000, immutable')
  assert.equal(response?.headers.get('content-type'), 'text/javascript; charset=utf-8')
  for (const address of ['/assets/main-OLD.js', '/assets/x', '/favicon.ico', '/.env', '/../package.json.x'])
    assert.equal(ask(address), undefined, address)
})

test('brotli, gzip or neither, as the browser takes it; the tag knows which', async () => {
  const plain = await entry()
  const [br, gz] = ['gzip, br', 'gzip;q=0.5'].map((accept) => ask('/', { 'accept-encoding': accept }) as Response)
  assert.equal(br?.headers.get('content-encoding'), 'br')
  assert.equal(zlib.brotliDecompressSync(await bytesOf(br as Response)).toString(), plain)
  assert.equal(gz?.headers.get('content-encoding'), 'gzip')
  assert.equal(zlib.gunzipSync(await bytesOf(gz as Response)).toString(), plain)
  assert.equal(ask('/', { 'accept-encoding': 'br;q=0' })?.headers.get('content-encoding'), null)
  const tags = [br, gz, ask('/')].map((response) => response?.headers.get('etag'))
  assert.equal(new Set(tags).size, 3)
  const again = ask('/', { 'accept-encoding': 'br', 'if-none-match': `"x", ${tags[0]}` })
  assert.equal(again?.status, 304)
  assert.equal(await again?.text(), '')
})
const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer())

test('the policy of the entry page and of the scripts: nothing from elsewhere, no frame, trusted types', async () => {
  const [script = ''] = /\/assets\/main-[^"]+\.js/.exec(await entry()) ?? []
  for (const address of ['/', script]) {
    const policy = ask(address)?.headers.get('content-security-policy') ?? ''
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ])
      assert.ok(policy.includes(rule), `${address}: ${rule}`)
    assert.equal(ask(address)?.headers.get('x-content-type-options'), 'nosniff')
  }
  assert.doesNotMatch(await entry(), /<script>|<style|style=|\son\w+=|https?:\/\/(?!www\.w3\.org)/)
})

test('HEAD has the headers and no body; another method and the API are not the console', async () => {
  const head = ask('/', {}, 'HEAD')
  assert.equal(await head?.text(), '')
  assert.ok(Number(head?.headers.get('content-length')) > 100)
  assert.equal(ask('/', {}, 'POST'), undefined)
  assert.equal(ask('/api/v1/nothing'), undefined)
})

test('the same sources give the same bytes', async () => {
  const [a, b] = [scratchDir('roomtone-console-'), scratchDir('roomtone-console-')]
  for (const dir of [a, b]) await bundleConsole(path.join(dir as string, 'console'))
  const list = (dir: string): string => fs.readFileSync(path.join(dir, 'console', 'files.json'), 'utf8')
  assert.equal(list(a as string), list(b as string))
})
