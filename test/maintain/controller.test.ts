import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { depotOf } from '../../src/maintain/controller.ts'
import { Ended } from '../../src/maintain/end.ts'
import { type Handler, json, serve, tempDir } from '../agent/server.ts'

const TOKEN = 'svc_node_t'
const settings = (url: string) => ({
  SVC_CONTROLLER_URL: `${url}/`,
  SVC_NODE_ID: 'node 1',
})
const failed = (words: RegExp) => (e: unknown) => e instanceof Ended && e.exit === 1 && words.test(e.message)

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

const ANSWERS: [string, Handler, RegExp][] = [
  ['a refused token', (_s, r) => json(r, 401, { error: 'Unauthorized' }), /install_dependencies gives it a new one/],
  ['a release it does not have', (_s, r) => json(r, 404, { error: 'Not found' }), /has no file\.txt/],
  ['trouble', (_s, r) => json(r, 503, { error: 'no' }), /answered 503 for file\.txt/],
  ['a redirect', (_s, r) => r.writeHead(302, { location: 'https://elsewhere.example/' }).end(), /answered 302/],
  ['no answer', (_s, r) => r.destroy(), /No answer from 127\.0\.0\.1/],
  [
    'half a file',
    (_s, r) => r.writeHead(200, { 'content-length': '99' }).end('half', () => r.destroy()),
    /broke off after 4 bytes/,
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
    failed(/\/nowhere\/ca\.pem cannot be read/),
  )
})
