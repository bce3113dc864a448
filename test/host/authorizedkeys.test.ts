import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { installPublicKey } from '../../src/host/authorizedkeys.ts'
import { tempDir } from '../agent/server.ts'

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIH svc-node_1'
const COMMAND = 'sudo -n /opt/roomtone/bin/roomtone maintain'

function keysOf(t: TestContext, ...before: string[]) {
  const file = path.join(tempDir(t), '.ssh', 'authorized_keys')
  fs.mkdirSync(path.dirname(file))
  fs.writeFileSync(file, before.map((line) => `${line}\n`).join(''))
  return { file, lines: () => fs.readFileSync(file, 'utf8').trimEnd().split('\n') }
}

test('a key with a forced command can do nothing else', (t) => {
  const { file, lines } = keysOf(t)
  installPublicKey(file, KEY, COMMAND)
  assert.deepEqual(lines().slice(-1), [`restrict,command="${COMMAND}" ${KEY}`])
})

test('our own line is found behind its options, whatever stands in their quotes', (t) => {
  const strangers = [
    '# svc-node_1',
    'command="echo ssh-rsa AAAA svc-node_1" ssh-ed25519 AAAAfriend friend@desk',
    'ssh-ed25519 AAAAother svc-node_12',
    'no-pty ssh-rsa AAAAnameless',
  ]
  const ours = [
    'ssh-ed25519 AAAAold svc-node_1',
    `restrict,command="${COMMAND}" ssh-ed25519 AAAAolder svc-node_1`,
    'restrict,environment="A=\\"b c\\"",no-pty  ecdsa-sha2-nistp256  AAAAoldest  svc-node_1',
  ]
  const { file, lines } = keysOf(t, ...strangers, ...ours)
  installPublicKey(file, KEY, COMMAND)
  assert.deepEqual(lines(), [...strangers, `restrict,command="${COMMAND}" ${KEY}`])
  installPublicKey(file, KEY)
  assert.deepEqual(lines(), [...strangers, KEY])
})

test('a command that would break out of its quotes is refused and changes nothing', (t) => {
  const { file, lines } = keysOf(t, 'ssh-ed25519 AAAA svc-node_1')
  for (const command of ['a" b', 'a\\', 'a\nb']) assert.throws(() => installPublicKey(file, KEY, command), /held to/)
  assert.deepEqual(lines(), ['ssh-ed25519 AAAA svc-node_1'])
})
