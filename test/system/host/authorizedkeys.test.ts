import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { installPublicKey, prepareKeys } from '../../../src/system/host/authorizedkeys.ts'
import { tempDir } from '../../agent/server.ts'

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
    'ssh-ed25519 AAAAbackup svc-backup',
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

test('there is one managed key: those of former nodes go, keys of people stay', (t) => {
  const held = `restrict,command="${COMMAND}" ssh-ed25519 AAAAoperator operator@desk`
  const people = ['# hand made', 'ssh-ed25519 AAAAfriend friend@desk', 'ssh-ed25519 AAAAbackup svc-backup', '', held]
  const former = [
    'ssh-ed25519 AAAAother svc-node_12',
    'ssh-rsa AAAAhand svc-node_3f0c1f5e-9f3e-4e46-9d38-7b2f3f7c1a11',
    `restrict,command="${COMMAND}" ssh-ed25519 AAAAelder svc-hall`,
  ]
  const { file, lines } = keysOf(t, ...former.slice(0, 2), ...people, ...former.slice(2))
  installPublicKey(file, KEY, COMMAND)
  assert.deepEqual(lines(), [...people, `restrict,command="${COMMAND}" ${KEY}`])
})

test('a command that would break out of its quotes is refused and changes nothing', (t) => {
  const { file, lines } = keysOf(t, 'ssh-ed25519 AAAA svc-node_1')
  for (const command of ['a" b', 'a\\', 'a\nb'])
    assert.throws(() => installPublicKey(file, KEY, command), /cannot hold quotes/)
  assert.deepEqual(lines(), ['ssh-ed25519 AAAA svc-node_1'])
})

const NOBODY = 65_534
test("root writes with the rights of the home's owner, and is led nowhere else", {
  skip: process.getuid?.() !== 0,
}, (t) => {
  const [home, foreign] = [tempDir(t), tempDir(t)]
  const file = path.join(home, '.ssh', 'authorized_keys')
  const secret = path.join(foreign, 'authorized_keys')
  fs.chmodSync(path.dirname(home), 0o755)
  fs.writeFileSync(secret, 'secret\n', { mode: 0o600 })
  const rights = () => [foreign, secret].map((name) => [fs.statSync(name).mode, fs.statSync(name).uid])
  const before = rights()
  fs.chownSync(home, NOBODY, NOBODY)
  const bait: [string, string][] = [
    [foreign, path.dirname(file)],
    [secret, file],
  ]
  for (const [target, link] of bait) {
    fs.mkdirSync(path.dirname(link), { recursive: true })
    fs.lchownSync(path.dirname(link), NOBODY, NOBODY)
    fs.symlinkSync(target, link)
    assert.throws(() => {
      prepareKeys(file)
      installPublicKey(file, KEY)
    }, /EACCES|EPERM/)
    assert.deepEqual(rights(), before)
    assert.deepEqual(fs.readFileSync(secret, 'utf8'), 'secret\n')
    fs.rmSync(link)
  }
  fs.rmSync(path.dirname(file), { recursive: true })
  prepareKeys(file)
  installPublicKey(file, KEY)
  for (const made of [path.dirname(file), file]) assert.equal(fs.statSync(made).uid, NOBODY, made)
  assert.deepEqual([process.geteuid?.(), process.getegid?.()], [0, 0])
})
