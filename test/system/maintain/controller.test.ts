import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as https from 'node:https'
import type { AddressInfo } from 'node:net'
import * as path from 'node:path'
import { test } from 'node:test'
import { UserError } from '../../../src/kernel/fail.ts'
import { depotOf } from '../../../src/system/maintain/controller.ts'
import { type Handler, json, serve, tempDir } from '../../agent/server.ts'
import { site } from '../tls/world.ts'

const TOKEN = 'svc_node_t'
const settings = (url: string) => ({
  SVC_CONTROLLER_URL: `${url}/`,
  SVC_NODE_ID: 'node 1',
})
const failed = (words: RegExp) => (e: unknown) => e instanceof UserError && e.exitCode === 1 && words.test(e.message)

test('files are asked for with the token of the node, and saved as they came', async (t) => {
  const to = path.join(tempDir(t), 'archive')
  const bytes = Buffer.alloc(3_000_000, 'sound')
  const server = await serve(t, (_seen, response) => response.end(bytes))
  await depotOf(settings(server.url), TOKEN).save('a+b.tar.gz', to)
  assert.ok(fs.readFileSync(to).equals(bytes))
  assert.equal((fs.statSync(to).mode & 0o777).toString(8), '600')
  assert.deepEqual(
    server.seen.map((s) => [s.method, s.url, s.headers.authorization]),
    [['GET', '/api/v1/nodes/node%201/agent-release/a%2Bb.tar.gz', 'Bearer svc_node_t']],
  )
})

test('of two boxes the one is asked that is the controller, with the higher term where both say so', async (t) => {
  const box = (ready: number, term: number) =>
    serve(t, ({ url }, response) => {
      response.setHeader('x-svc-term', term)
      if (url === '/readyz') json(response, ready, {})
      else response.end(`of term ${term}`)
    })
  const of = async (one: { url: string }, two: { url: string }): Promise<string> => {
    const pair = { ...settings(one.url), SVC_CONTROLLER_STANDBY_URL: `${two.url}/` }
    return String(await depotOf(pair, TOKEN).read('file.txt'))
  }
  const [standby, older, newer] = [await box(503, 2), await box(200, 1), await box(200, 2)]
  assert.equal(await of(standby, newer), 'of term 2')
  assert.equal(await of(older, newer), 'of term 2')
  assert.equal(await of(older, standby), 'of term 1')
  assert.equal(await of({ url: 'http://127.0.0.1:9' }, newer), 'of term 2')
})

const ANSWERS: [string, Handler, RegExp][] = [
  ['a refused token', (_s, r) => json(r, 401, { error: 'Unauthorized' }), /install_dependencies to give it a new one/],
  ['a release it does not have', (_s, r) => json(r, 404, { error: 'Not found' }), /does not have file\.txt/],
  ['trouble', (_s, r) => json(r, 503, { error: 'no' }), /answered 503 for file\.txt/],
  ['a redirect', (_s, r) => r.writeHead(302, { location: 'https://elsewhere.example/' }).end(), /answered 302/],
  ['no answer', (_s, r) => r.destroy(), /No answer from 127\.0\.0\.1/],
  [
    'half a file',
    (_s, r) => r.writeHead(200, { 'content-length': '99' }).end('half', () => r.destroy()),
    /download of file.txt broke off/,
  ],
  ['a small file that is none', (_s, r) => r.end(Buffer.alloc(2 ** 20 + 1)), /longer than 1048576 bytes/],
]
for (const [name, handler, words] of ANSWERS)
  test(`${name} is said in words`, async (t) => {
    const server = await serve(t, handler)
    await assert.rejects(depotOf(settings(server.url), TOKEN).read('file.txt'), failed(words))
  })

test('a program that will run as root does not come in the clear over a network, nor from nowhere', () => {
  assert.throws(
    () => depotOf(settings('http://recorder.example'), TOKEN),
    failed(/Refusing plain http to recorder\.example/),
  )
  assert.ok(depotOf({ ...settings('http://recorder.example'), SVC_ALLOW_INSECURE_CONTROLLER: 'true' }, TOKEN))
  assert.throws(() => depotOf({}, undefined), failed(/has not joined/))
  assert.throws(
    () => depotOf({ ...settings('https://recorder.example'), SVC_CONTROLLER_CA_CERT_PATH: '/nowhere/ca.pem' }, TOKEN),
    failed(/CA file cannot be read: \/nowhere\/ca\.pem does not exist/),
  )
})

test('a controller that asks who comes is shown the certificate of the node', async (t) => {
  const s = site(t, { hosts: ['localhost'] })
  const [ca, cert, key] = [s.ca, s.cert, s.key].map((file) => fs.readFileSync(file))
  const server = https.createServer({ ca, cert, key, rejectUnauthorized: true, requestCert: true }, (_seen, answer) => {
    answer.end('sums')
  })
  server.listen(0, 'localhost')
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const bare = {
    ...settings(`https://localhost:${(server.address() as AddressInfo).port}`),
    SVC_CONTROLLER_CA_CERT_PATH: s.ca,
  }
  await assert.rejects(depotOf(bare, TOKEN).read('SUMS'), failed(/requires a client certificate/))
  const { cert: shown, key: proof } = s.client('node-1')
  const named = { ...bare, SVC_CONTROLLER_CLIENT_CERT_PATH: shown, SVC_CONTROLLER_CLIENT_KEY_PATH: proof }
  assert.equal((await depotOf(named, TOKEN).read('SUMS')).toString(), 'sums')
})
