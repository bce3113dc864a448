import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deriveKey, open, openText, SealError, seal } from '../../src/crypto/seal.ts'

const key = deriveKey('correct horse battery staple')
const AAD = 'node_ssh_keys/k1/private_key'

/** The sealed text with one part changed. */
function altered(sealed: string, part: number, change: (text: string) => string): string {
  return sealed
    .split(':')
    .map((text, i) => (i === part ? change(text) : text))
    .join(':')
}
const flip = (text: string): string => (text.startsWith('A') ? 'B' : 'A') + text.slice(1)

test('what is sealed opens with the same key at the same place', () => {
  for (const plain of ['', 'x', 'ключ 鍵 🔑', 'a'.repeat(100_000)])
    assert.equal(openText(key, AAD, seal(key, AAD, plain)), plain)
  const bytes = Uint8Array.from({ length: 300 }, (_, i) => i % 256)
  assert.deepEqual(new Uint8Array(open(key, AAD, seal(key, AAD, bytes))), bytes)
})

test('the text form is enc.v1 with a nonce of 12 and a tag of 16 bytes in base64', () => {
  const [version, nonce, tag, body, ...rest] = seal(key, AAD, 'secret').split(':')
  assert.deepEqual([version, rest.length], ['enc.v1', 0])
  assert.deepEqual(
    [nonce, tag, body].map((part) => Buffer.from(part ?? '', 'base64').length),
    [12, 16, 6],
  )
})

test('sealing twice gives different texts', () => {
  assert.notEqual(seal(key, AAD, 'same'), seal(key, AAD, 'same'))
})

test('a sealed value moved to another row or column does not open', () => {
  const sealed = seal(key, AAD, 'secret')
  for (const elsewhere of ['node_ssh_keys/k2/private_key', 'node_ssh_keys/k1/comment', ''])
    assert.throws(() => open(key, elsewhere, sealed), SealError)
})

test('another key does not open', () => {
  assert.throws(() => open(deriveKey('another secret of mine'), AAD, seal(key, AAD, 'secret')), SealError)
})

test('a value altered or cut anywhere is refused as SealError and never quoted', () => {
  const sealed = seal(key, AAD, 'a secret of some length')
  const cuts = Array.from({ length: sealed.length }, (_, length) => sealed.slice(0, length))
  const changes = [0, 1, 2, 3].flatMap((part) => [
    altered(sealed, part, flip),
    altered(sealed, part, (text) => `${text}=`),
    altered(sealed, part, (text) => ` ${text}`),
    altered(sealed, part, () => ''),
  ])
  for (const bad of [...cuts, ...changes, `${sealed}:`, `${sealed}AAAA`, 'plain text'])
    assert.throws(
      () => open(key, AAD, bad),
      (e) => e instanceof SealError && e.code === 'SEAL_MISMATCH' && !e.message.includes('enc.v1'),
      bad,
    )
})

test('keys are 32 bytes, the same for the same secret, and short secrets are refused without being quoted', () => {
  assert.equal(key.length, 32)
  assert.deepEqual(deriveKey('correct horse battery staple'), key)
  assert.equal(deriveKey('x'.repeat(16)).length, 32)
  assert.throws(
    () => deriveKey('fifteen letters'),
    (e: Error) => /at least 16 characters/.test(e.message) && !e.message.includes('fifteen'),
  )
})
