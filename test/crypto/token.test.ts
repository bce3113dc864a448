import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { hashToken, mintToken, sameSecret, tokenPrefix } from '../../src/crypto/token.ts'

test('tokens name their kind and carry 32 random bytes', () => {
  assert.match(mintToken('session'), /^svc_[\w-]{43}$/)
  assert.match(mintToken('node'), /^svc_node_[\w-]{43}$/)
  assert.match(mintToken('bootstrap'), /^svc_bs_[\w-]{43}$/)
  assert.equal(new Set(Array.from({ length: 1000 }, () => mintToken('node'))).size, 1000)
})

test('the stored hash is SHA-256 in hex', () => {
  const token = mintToken('node')
  assert.equal(hashToken(token), createHash('sha256').update(token).digest('hex'))
})

test('the prefix people see is the first 24 characters', () => {
  const token = mintToken('bootstrap')
  assert.equal(tokenPrefix(token).length, 24)
  assert.ok(token.startsWith(tokenPrefix(token)))
})

test('secrets are the same only when they are equal, whatever their lengths', () => {
  assert.ok(sameSecret('svc_abc', 'svc_abc'))
  assert.ok(sameSecret('', ''))
  for (const other of ['svc_abd', 'svc_abc ', 'svc_ab', '', 'svc_abcé']) assert.ok(!sameSecret('svc_abc', other))
})
