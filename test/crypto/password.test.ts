import assert from 'node:assert/strict'
import { scryptSync } from 'node:crypto'
import { test } from 'node:test'
import { DECOY_HASH, hashPassword, verifyPassword } from '../../src/crypto/password.ts'

test('a password verifies against its own hash and nothing else does', async () => {
  const stored = await hashPassword('Schlüssel 1')
  assert.ok(await verifyPassword('Schlüssel 1', stored))
  for (const wrong of ['', 'Schlüssel 2', 'schlüssel 1', 'Schlüssel 1 '])
    assert.ok(!(await verifyPassword(wrong, stored)))
})

test('the text form is scrypt$16384$8$1$salt$hash, readable by any scrypt', async () => {
  const stored = await hashPassword('pw')
  const [name, N, r, p, salt = '', hash] = stored.split('$')
  assert.deepEqual([name, N, r, p], ['scrypt', '16384', '8', '1'])
  assert.equal(Buffer.from(salt, 'base64url').length, 16)
  assert.equal(scryptSync('pw', Buffer.from(salt, 'base64url'), 64).toString('base64url'), hash)
})

test('the same password is salted anew each time', async () => {
  assert.notEqual(await hashPassword('pw'), await hashPassword('pw'))
})

test('a hash made with other bounded costs still verifies', async () => {
  const salt = Buffer.alloc(16, 7)
  const hash = scryptSync('pw', salt, 64, { N: 2048, r: 4, p: 2 })
  assert.ok(await verifyPassword('pw', `scrypt$2048$4$2$${salt.toString('base64url')}$${hash.toString('base64url')}`))
})

test('a malformed or extravagant stored hash verifies false', async () => {
  const [, , , , salt, hash] = (await hashPassword('pw')).split('$')
  const forms = ['', 'scrypt', `scrypt$16384$8$1$${salt}$`, `bcrypt$16384$8$1$${salt}$${hash}`]
  const costs = [
    '16383$8$1',
    '0$8$1',
    '999999$8$1',
    '524288$8$1',
    '16384$0$1',
    '16384$99$1',
    '16384$8$0',
    '16384$8$99',
    '-1$8$1',
  ]
  for (const stored of [...forms, ...costs.map((cost) => `scrypt$${cost}$${salt}$${hash}`)])
    assert.equal(await verifyPassword('pw', stored), false, stored)
})

test('the decoy has the shape of a real hash and no password fits it', async () => {
  assert.match(DECOY_HASH, /^scrypt\$16384\$8\$1\$[\w-]{22}\$[\w-]{86}$/)
  for (const password of ['', 'admin', '\0'.repeat(64)]) assert.ok(!(await verifyPassword(password, DECOY_HASH)))
})
