import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { fingerprint, generateSshKey, matches } from '../../src/crypto/sshkey.ts'

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sshkey-'))
after(() => fs.rmSync(dir, { recursive: true }))

const sshKeygen = (...args: string[]): string =>
  execFileSync('ssh-keygen', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()

function file(name: string, text: string): string {
  const at = path.join(dir, name)
  fs.writeFileSync(at, text, { mode: 0o600 })
  return at
}

/** A key made by ssh-keygen itself. */
function foreign(type: string, ...more: string[]): { privateKey: string; publicKey: string } {
  const at = path.join(dir, [type, ...more].join(''))
  if (!fs.existsSync(at)) sshKeygen('-q', '-t', type, ...more, '-N', '', '-C', 'made elsewhere', '-f', at)
  return { privateKey: fs.readFileSync(at, 'utf8'), publicKey: fs.readFileSync(`${at}.pub`, 'utf8').trim() }
}

test('ssh-keygen reads our private key and finds the public key we gave', () => {
  for (const comment of ['', 'a', 'ab', 'abc', 'abcd', 'abcde', 'abcdef', 'roomtone-node_1']) {
    const { privateKey, publicKey } = generateSshKey(comment)
    assert.equal(sshKeygen('-y', '-P', '', '-f', file('own', privateKey)), publicKey)
  }
})

test('the private key is OpenSSH text, ends with a newline, and every key is another', () => {
  const { privateKey } = generateSshKey('x')
  assert.match(
    privateKey,
    /^-----BEGIN OPENSSH PRIVATE KEY-----\n([A-Za-z0-9+/=]{1,70}\n)+-----END OPENSSH PRIVATE KEY-----\n$/,
  )
  assert.notEqual(generateSshKey('x').privateKey, privateKey)
})

test('a signature by our private key verifies with our public key', () => {
  const { privateKey, publicKey } = generateSshKey('signer')
  const message = file('message', 'hello')
  sshKeygen('-q', '-Y', 'sign', '-f', file('signing', privateKey), '-n', 'test', message)
  const signers = file('signers', `me ${publicKey}\n`)
  const verify = ['-Y', 'verify', '-f', signers, '-I', 'me', '-n', 'test', '-s', `${message}.sig`]
  assert.match(execFileSync('ssh-keygen', verify, { input: 'hello', encoding: 'utf8' }), /Good "test" signature/)
})

test('a comment that could break the line is refused', () => {
  for (const comment of ['a\nssh-ed25519 AAAA', 'ü']) assert.throws(() => generateSshKey(comment), /printable ASCII/)
})

test('the fingerprint is the one ssh-keygen prints, for every type', () => {
  const others = [
    ['ed25519'],
    ['rsa', '-b', '2048'],
    ['ecdsa', '-b', '256'],
    ['ecdsa', '-b', '384'],
    ['ecdsa', '-b', '521'],
  ]
  const lines = others.map(([type = '', ...more]) => foreign(type, ...more).publicKey)
  for (const line of [generateSshKey('own').publicKey, ...lines])
    assert.equal(fingerprint(line), sshKeygen('-l', '-f', file('some.pub', line)).split(' ')[1])
})

test('a line whose blob is no well-formed key of its type has no fingerprint', () => {
  const { publicKey } = generateSshKey('c')
  const [type, base64 = ''] = publicKey.split(' ')
  const blob = Buffer.from(base64, 'base64')
  const line = (bytes: Buffer): string => `${type} ${bytes.toString('base64')}`
  const ecdsa = foreign('ecdsa', '-b', '256').publicKey.split(' ')
  const point = Buffer.from(ecdsa[1] ?? '', 'base64')
  point[point.length - 1] = (point.at(-1) ?? 0) ^ 1
  const bad = [
    ...[
      '',
      'ssh-ed25519',
      'ssh-ed25519 ',
      'ssh-ed25519 AAAA',
      `ssh-ed25519 ${'A'.repeat(4000)}`,
      'ssh-dss AAAA',
      base64,
    ],
    `ssh-rsa ${base64}`,
    `no-pty ${publicKey}`,
    `${publicKey}\n${publicKey}`,
    `${type} ${base64.slice(0, -4)}`,
    `${type} ${base64.slice(0, 10)} ${base64.slice(10)}`,
    line(blob.subarray(0, -1)),
    line(Buffer.concat([blob, Buffer.from([0])])),
    `${ecdsa[0]} ${point.toString('base64')}`,
    `ecdsa-sha2-nistp384 ${ecdsa[1]}`,
  ]
  for (const text of bad) assert.throws(() => fingerprint(text), /not an OpenSSH public key/, text)
})

test('the halves of a pair match, halves of two pairs do not', () => {
  const [a, b, c] = [generateSshKey('a'), generateSshKey('b'), foreign('ed25519')]
  for (const pair of [a, b, c]) assert.equal(matches(pair.privateKey, pair.publicKey), true)
  assert.equal(matches(a.privateKey, b.publicKey), false)
  assert.equal(matches(c.privateKey, a.publicKey), false)
  assert.equal(matches(a.privateKey, foreign('rsa', '-b', '2048').publicKey), false)
})

test('a private key that cannot be read that far gives no verdict', () => {
  const own = generateSshKey('a')
  const locked = file('locked', own.privateKey)
  sshKeygen('-p', '-q', '-P', '', '-N', 'a passphrase', '-f', locked)
  const unreadable = [foreign('rsa', '-b', '2048').privateKey, fs.readFileSync(locked, 'utf8'), '', 'PEM']
  const lines = own.privateKey.trim().split('\n')
  const cut = [...lines.slice(0, 2), ...lines.slice(-1)].join('\n')
  for (const text of [...unreadable, cut]) assert.equal(matches(text, own.publicKey), undefined)
})
