// Whether what answers at the address of the controller is one.
import assert from 'node:assert/strict'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { reaching } from '../../../src/system/checks/controller.ts'
import { listening } from '../../kit/http.ts'
import { kit } from '../../kit/kit.ts'

const NAMES = { ca: 'CA', file: '/etc/roomtone/x.env', insecure: 'INSECURE', unit: 'x.service', url: 'SVC_X_URL' }
const wayTo = (url: string) => reaching({ allowInsecure: false, names: NAMES, trust: {}, url })

async function answering(t: TestContext, status: number, headers: http.OutgoingHttpHeaders, body: string) {
  const server = http.createServer((_, response) => response.writeHead(status, headers).end(body))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return wayTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

test('a controller is known by what it says of itself, with its version', async () => {
  const k = kit()
  await k.start()
  const server = await listening(k)
  const way = wayTo(new URL(server.url).origin)
  const [found, answers, ahead] = [await way.tls(), await way.answers(), await way.ahead()]
  await server.close()
  await k.close()
  assert.deepEqual([found.status, answers], ['ok', true], found.message)
  assert.match(found.message, /^The controller at 127\.0\.0\.1:\d+ answers \(version [^)]+\); within this machine/)
  assert.equal(typeof ahead, 'number')
})

const JSON_TYPE = { 'content-type': 'application/json' }
const OTHERS: [
  what: string,
  status: number,
  headers: http.OutgoingHttpHeaders,
  body: string,
  words: RegExp,
  fix: RegExp,
][] = [
  [
    'another product',
    200,
    JSON_TYPE,
    '{}',
    /is no controller of Roomtone \(status 200, application\/json\)/,
    /SVC_X_URL in/,
  ],
  [
    'a lifecycle runner',
    200,
    JSON_TYPE,
    '{"data":{"ok":true}}',
    /is no controller of Roomtone/,
    /Check address and port/,
  ],
  [
    'a page',
    200,
    { 'content-type': 'text/html; charset=utf-8' },
    '<html>',
    /\(status 200, text\/html\)/,
    /curl -sSi http/,
  ],
  ['nothing of the kind', 404, {}, '', /\(status 404, no type\)/, /another product/],
  [
    'a captive portal',
    302,
    { location: 'http://portal.example/login' },
    '',
    /sends visitors to http:\/\/portal\.example\/login \(status 302\)/,
    /sign-in page/,
  ],
  [
    'a proxy alone',
    502,
    {},
    'Bad gateway',
    /A proxy answers .* no controller behind it \(status 502\)/,
    /where the proxy sends to/,
  ],
]
for (const [what, status, headers, body, words, fix] of OTHERS)
  test(`${what} is no controller`, async (t) => {
    const way = await answering(t, status, headers, body)
    const found = await way.tls()
    assert.equal(found.status, 'fail', found.message)
    assert.match(found.message, words)
    assert.match(found.fix ?? '', fix)
    assert.deepEqual(
      [await way.answers(), await way.ahead()],
      [false, undefined],
      'neither token nor clock is judged by it',
    )
  })
