import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { UserError } from '../../../src/kernel/fail.ts'
import { parseRequest, readLine } from '../../../src/system/maintain/request.ts'
import { LIFECYCLE_ACTIONS } from '../../../src/wire/lifecycle.ts'
import { MAINTAIN_LINE_MAX, MaintainRequest } from '../../../src/wire/maintain.ts'

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIH svc-node_1'
const misused = (e: unknown): boolean => e instanceof UserError && e.exitCode === 2

test('every lifecycle action is one a node knows', () => {
  const known = MaintainRequest.options.map(({ shape }) => shape.action.value)
  assert.deepEqual(
    LIFECYCLE_ACTIONS.filter((action) => !known.includes(action)),
    [],
  )
})

test('what is left out has its default', () => {
  assert.deepEqual(parseRequest('{"action":"update_binary"}'), {
    action: 'update_binary',
    agentVersion: 'latest',
    force: false,
    patienceSeconds: 60,
  })
})

const REFUSED: [string, unknown][] = [
  ['no object', 'svc_node_hidden'],
  ['an unknown action', { action: 'svc_node_hidden' }],
  ['an unknown member', { action: 'smoke_check', svc_node_hidden: 1 }],
  ['a member of another action', { action: 'smoke_check', controllerToken: 'svc_node_hidden' }],
  ['a token of two words', { action: 'activate_token', controllerToken: 'svc_node_hidden svc_node_hidden' }],
  ['a token on two lines', { action: 'activate_token', controllerToken: 'a\nSVC_X=svc_node_hidden' }],
  ['no token', { action: 'activate_token' }],
  ['a version that climbs', { action: 'update_binary', agentVersion: '../../svc_node_hidden' }],
  ['a version that reads as an option', { action: 'update_binary', agentVersion: '--svc_node_hidden' }],
  ['two keys', { action: 'rotate_trust', publicKey: `${KEY}\n${KEY} svc_node_hidden` }],
  ['options before the key', { action: 'rotate_trust', publicKey: `command="svc_node_hidden" ${KEY}` }],
  ['no certificate', { action: 'rotate_trust', publicKey: KEY, controllerCa: 'svc_node_hidden' }],
  ['another scheme', { action: 'install_dependencies', controllerUrl: 'file:///svc_node_hidden' }],
]
for (const [name, request] of REFUSED)
  test(`${name} is refused, and not repeated`, () => {
    assert.throws(
      () => parseRequest(JSON.stringify(request)),
      (e: Error) => misused(e) && /Not a maintenance request/.test(e.message) && !e.message.includes('hidden'),
    )
  })

test('a line ends with its newline, or with the stream', async () => {
  assert.equal(await readLine(Readable.from([Buffer.from('{"a":'), Buffer.from('1}\nmore')])), '{"a":1}')
  assert.equal(await readLine(Readable.from([Buffer.from('{}')])), '{}')
})

test('a line that never ends, or never comes, is given up', async () => {
  const endless = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(4096, 'x')
    })(),
  )
  await assert.rejects(readLine(endless), (e: Error) => misused(e) && e.message.includes(String(MAINTAIN_LINE_MAX)))
  await assert.rejects(
    readLine(new Readable({ read() {} }), 5),
    (e: Error) => misused(e) && /No request/.test(e.message),
  )
})
