import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import * as https from 'node:https'
import { networkInterfaces } from 'node:os'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { Webhook } from 'standardwebhooks'
import { isInner } from '../../../../src/controller/notifications/transports/addresses.ts'
import { webhookTransport } from '../../../../src/controller/notifications/transports/webhook.ts'
import { secureContext } from '../../../../src/system/host/trust.ts'
import { type Asked, peer, type Reply } from '../../../kit/peer.ts'
import { certificate } from '../../../kit/smtp.ts'
import { base, message, refusal, sent } from './message.ts'

const KEY = `whsec_${Buffer.from('k'.repeat(32)).toString('base64')}`
const ok: Reply = (_, response) => void response.writeHead(204).end()
const answering =
  (status: number, headers = {}): Reply =>
  (_, response) =>
    void response.writeHead(status, headers).end('no')

async function receiver(t: TestContext, reply: Reply) {
  const one = await peer(reply)
  t.after(() => one.close())
  return one
}

test('the published library finds the signature right, on every attempt', async (t) => {
  const { answers, asked, url } = await receiver(t, answering(503))
  let now = Date.now()
  const hook = webhookTransport({ url: `${url}/hooks/1?a=b` }, KEY, base({ now: () => now }))
  const attempt = await refusal(hook)
  assert.equal(attempt.final, false)
  answers(ok)
  now += 61_000
  assert.deepEqual(await sent(hook), {})
  const read = ({ body, headers }: Asked) => new Webhook(KEY).verify(body, headers as Record<string, string>)
  const bodies = asked.map(read)
  assert.deepEqual(bodies, [message().body, message().body])
  assert.deepEqual(
    asked.map(({ headers, method, url: path }) => [method, path, headers['content-type'], headers['webhook-id']]),
    Array(2).fill(['POST', '/hooks/1?a=b', 'application/json', message().id]),
  )
  const [first, second] = asked.map(({ headers }) => Number(headers['webhook-timestamp']))
  assert.equal(second, Number(first) + 61)
  const [one] = asked as [Asked, Asked]
  assert.throws(() => read({ ...one, headers: { ...one.headers, 'webhook-id': 'another' } }))
  assert.throws(() => read({ ...one, body: `${one.body} ` }))
})

test('without a key a message goes unsigned; what is no key is refused', async (t) => {
  const { asked, url } = await receiver(t, ok)
  await sent(webhookTransport({ url }, undefined, base()))
  assert.equal(asked[0]?.headers['webhook-signature'], undefined)
  const key = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`
  for (const good of [key(24), key(64)]) await sent(webhookTransport({ url }, good, base()))
  for (const bad of ['', 'secret', key(23), key(65), `${KEY} `, `${KEY}\r\nx: y`, 'whsec_####'])
    assert.match((await refusal(webhookTransport({ url }, bad, base()))).message, /^the signing key has to be whsec_/)
  assert.equal(asked.length, 3)
})

test('what a status means', async (t) => {
  const { answers, asked, url } = await receiver(t, ok)
  const hook = webhookTransport({ url: `${url}/secret-path` }, KEY, base())
  const verdicts: Record<number, [final: boolean, gone: boolean]> = {
    301: [true, false],
    307: [true, false],
    400: [true, false],
    401: [true, false],
    404: [true, false],
    408: [false, false],
    410: [true, true],
    413: [true, false],
    422: [true, false],
    425: [false, false],
    429: [false, false],
    500: [false, false],
    503: [false, false],
  }
  for (const [status, verdict] of Object.entries(verdicts)) {
    answers(answering(Number(status)))
    const { final, gone, message: words } = await refusal(hook)
    assert.deepEqual([final, gone], verdict, status)
    assert.ok(words.includes(` answered ${status}`) && !words.includes('secret-path'), words)
  }
  answers(answering(200))
  assert.deepEqual(await sent(hook), {})
  assert.equal(asked.length, Object.keys(verdicts).length + 1)
})

test('a redirect is followed nowhere, least of all inward', async (t) => {
  const inside = await receiver(t, ok)
  const { url } = await receiver(t, answering(302, { location: `${inside.url}/admin?token=1` }))
  const refused = await refusal(webhookTransport({ url }, KEY, base()))
  assert.match(refused.message, /answered 302, a redirect to 127\.0\.0\.1:\d+, which is not followed: enter the final/)
  assert.equal(refused.final, true)
  assert.deepEqual(inside.asked, [])
})

test('an answer of any length counts by its status, and is cut', async (t) => {
  const pouring =
    (status: number, bytes: number): Reply =>
    (_, response) => {
      response.writeHead(status)
      const piece = Buffer.alloc(64 * 1024)
      let left = bytes
      const pour = () => {
        for (; left > 0; left -= piece.length) if (!response.write(piece)) return void response.once('drain', pour)
      }
      response.once('close', () => ended(bytes - left))
      pour()
    }
  let ended = (_bytes: number) => {}
  const poured = () => new Promise<number>((resolve) => (ended = resolve))
  const { answers, url } = await receiver(t, pouring(200, 4e9))
  const hook = webhookTransport({ url }, KEY, base(), 60_000)
  const first = poured()
  assert.deepEqual(await sent(hook), {})
  assert.ok((await first) < 64e6)
  answers(pouring(500, 4e9))
  const second = poured()
  assert.equal((await refusal(hook)).final, false)
  assert.ok((await second) < 64e6)
})

test('an answer that never ends, or never comes, has an end', async (t) => {
  const { answers, url } = await receiver(t, (_, response) => void response.writeHead(200).write('a'))
  const hook = webhookTransport({ url }, KEY, base(), 1_000)
  assert.deepEqual(await sent(hook), {})
  answers(() => {})
  const silent = await refusal(hook)
  assert.match(silent.message, /^127\.0\.0\.1:\d+: no whole answer within 1 s/)
  answers((_, response) => void response.destroy())
  const broken = await refusal(hook)
  assert.match(broken.message, /closed the connection/)
  assert.deepEqual([silent.final, broken.final], [false, false])
})

test('whoever asked can end an attempt', async (t) => {
  const ending = new AbortController()
  const { url } = await receiver(t, () => ending.abort())
  const refused = await refusal(webhookTransport({ url }, KEY, base()), {}, ending.signal)
  assert.match(refused.message, /^the attempt was cancelled before 127\.0\.0\.1:\d+ answered$/)
  assert.equal(refused.final, false)
})

test('this machine is called under no name, unless that is allowed', async (t) => {
  const { asked, port } = await receiver(t, ok)
  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    'localhost',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
  ]
  const lan = Object.values(networkInterfaces()).flatMap((all) => all?.filter(({ family }) => family === 'IPv4') ?? [])
  for (const host of [...hosts, ...lan.map(({ address }) => address)]) {
    const refused = await refusal(
      webhookTransport({ url: `http://${host}:${port}/` }, KEY, base({ allowPrivate: false })),
    )
    assert.match(refused.message, /is no public address: name a receiver .* SVC_WEBHOOK_ALLOW_PRIVATE=1/, host)
    assert.equal(refused.final, false)
  }
  assert.deepEqual(asked, [])
  await sent(webhookTransport({ url: `http://localhost:${port}/` }, KEY, base()))
  assert.equal(asked.length, 1)
})

test('the controller does not call itself, whatever is allowed', async (t) => {
  const { asked, port, url } = await receiver(t, ok)
  const byOrigin = base({ own: { origins: [url, 'https://roomtone.example.org'], port: 1 } })
  for (const address of [`${url}/api/v1/rooms`, 'https://Roomtone.example.org.:443/x'])
    assert.match(
      (await refusal(webhookTransport({ url: address }, KEY, byOrigin))).message,
      /is this controller itself/,
    )
  const byPort = base({ own: { origins: [], port } })
  for (const host of ['127.0.0.1', 'localhost', '127.9.9.9', '0.0.0.0', '[::ffff:127.0.0.1]'])
    assert.match(
      (await refusal(webhookTransport({ url: `http://${host}:${port}` }, KEY, byPort))).message,
      /is this controller itself/,
      host,
    )
  assert.deepEqual(asked, [])
})

test('addresses that are no place on the internet', () => {
  const inner = [
    ...[
      '0.0.0.0',
      '10.1.2.3',
      '100.64.0.1',
      '100.127.255.255',
      '127.0.0.1',
      '169.254.169.254',
      '172.16.0.1',
      '172.31.9.9',
    ],
    ...['192.168.1.1', '198.18.0.1', '224.0.0.1', '239.1.1.1', '255.255.255.255', '::', '::1', '::127.0.0.1'],
    ...[
      '::ffff:10.0.0.1',
      '::ffff:8.8.8.8',
      '64:ff9b::a00:1',
      '64:ff9b:1::1',
      'fc00::1',
      'fd12::1',
      'fe80::1',
      'ff02::1',
    ],
    ...['2002:a00:1::', '2001::1', '2001:db8::1'],
  ]
  const outer = ['1.1.1.1', '9.255.255.255', '100.63.255.255', '100.128.0.1', '172.15.0.1', '172.32.0.1', '193.0.0.1']
  assert.deepEqual(
    inner.filter((address) => !isInner(address)),
    [],
  )
  assert.deepEqual([...outer, '2606:4700::1111', '2a00:1450:4001::1'].filter(isInner), [])
})

const file = (name: string) => JSON.stringify(new URL(name, import.meta.url).href)
const child = (url: string): string => `
  import { webhookTransport } from ${file('../../../../src/controller/notifications/transports/webhook.ts')}
  import { secureContext } from ${file('../../../../src/system/host/trust.ts')}
  import { base, sent } from ${file('./message.ts')}
  const hook = webhookTransport({ url: ${JSON.stringify(url)} }, undefined, base({}, secureContext({})))
  process.stdout.write(JSON.stringify(await sent(hook)))`

test('over https the certificate has to be signed by a known authority', async (t) => {
  const { ca, cert, key } = certificate()
  const server = https.createServer(
    { cert: readFileSync(cert), key: readFileSync(key) },
    (_, response) => void response.end(),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `https://localhost:${(server.address() as { port: number }).port}/`
  const trusting = base({}, secureContext({ alsoFile: ca }))
  assert.deepEqual(await sent(webhookTransport({ url }, KEY, trusting)), {})
  // The runtime reads its own variable when it starts.
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: ca }
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', child(url)], { env })
  assert.equal(stdout, '{}')
  const stranger = await refusal(webhookTransport({ url }, KEY, base()))
  assert.match(stranger.message, /^no authority this controller trusts has signed .* SVC_TRUSTED_CA_FILE$/)
  assert.equal(stranger.final, false)
})

test('what is no address of a receiver', async () => {
  for (const url of ['', 'example.org/hook', 'ftp://example.org/', 'file:///etc/passwd'])
    assert.match(
      (await refusal(webhookTransport({ url }, KEY, base()))).message,
      /has to begin with https:\/\/ or http/,
    )
})
