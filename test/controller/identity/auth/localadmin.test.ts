import assert from 'node:assert/strict'
import { test } from 'node:test'
import { userStore } from '../../../../src/controller/identity/access/users.store.ts'
import { type LocalAdmin, seedLocalAdmin } from '../../../../src/controller/identity/auth/localadmin.ts'
import { hashPassword } from '../../../../src/crypto/password.ts'
import { randomIds } from '../../../../src/kernel/ids.ts'
import type { Log } from '../../../../src/kernel/log.ts'
import { type Kit, kit } from '../../../kit/kit.ts'

const EMAIL = 'admin@roomtone.local'

function starts(k: Kit) {
  const lines: { message: string; password?: string }[] = []
  const say = (message: string, fields?: object) => void lines.push({ message, ...fields })
  const log: Log = { debug: say, info: say, warn: say, error: say }
  const users = userStore(k.db)
  const seed = (password?: string, more: Partial<LocalAdmin> = {}) =>
    seedLocalAdmin(
      { audit: k.pipeline.audit, db: k.db, ids: randomIds, log, users },
      { email: EMAIL, name: 'Local Admin', password, ...more },
      k.now(),
    )
  const enters = async (password: string) =>
    (await k.anonymous.post('/auth/login', { email: EMAIL, password })).status === 200
  return { lines, seed, enters, users }
}

test('without a configured password one is drawn, logged once and never stored plain', async () => {
  const k = kit()
  const { lines, seed, enters } = starts(k)
  await seed()
  await seed()
  assert.equal(lines.length, 1)
  assert.match(lines[0]?.message ?? '', /password/)
  const password = lines[0]?.password ?? ''
  assert.ok(password.length >= 24)
  assert.ok(await enters(password))
  const stored = JSON.stringify([k.rows('SELECT * FROM users'), k.rows('SELECT * FROM audit_events')])
  assert.ok(!stored.includes(password))
  assert.deepEqual(k.trail(), ['auth.users.create.succeeded succeeded', 'auth.login.succeeded succeeded'])
  await k.close()
})

test('the environment seeds and unlocks: what the API changed survives a restart with the same password', async () => {
  const k = kit()
  const { lines, seed, enters, users } = starts(k)
  await seed('first password')
  assert.ok(await enters('first password'))
  const id = users.idByEmail(EMAIL) as string
  assert.deepEqual(users.get(id).roles, ['owner'])
  users.setPassword(id, await hashPassword('changed by API'), k.now())
  await seed('first password')
  assert.ok(await enters('changed by API'))
  assert.ok(!(await enters('first password')))
  await seed()
  assert.ok(await enters('changed by API'))
  assert.deepEqual(lines, [])
  await k.close()
})

test('a new password in the environment lets the admin in again, as owner and enabled; old sessions end', async () => {
  const k = kit()
  const { seed, enters, users } = starts(k)
  await seed('first password')
  const id = users.idByEmail(EMAIL) as string
  const { token } = (await k.anonymous.post('/auth/login', { email: EMAIL, password: 'first password' })).json.data
  users.replaceAccess(id, { roles: ['viewer'], groupIds: [], resourceGrants: [] }, k.now())
  k.sql('UPDATE users SET disabled_at = ? WHERE id = ?', k.now(), id)
  await seed('second password')
  assert.ok(await enters('second password'))
  assert.ok(!(await enters('first password')))
  assert.deepEqual(users.get(id).roles, ['owner', 'viewer'])
  assert.equal((await k.bearer(token).get('/auth/me')).status, 401)
  await k.close()
})

test('a drawn password gives way to a configured one, and a removed admin comes back', async () => {
  const k = kit()
  const { seed, enters, users } = starts(k)
  await seed()
  await seed('configured now')
  assert.ok(await enters('configured now'))
  k.sql('DELETE FROM users')
  await seed('configured now')
  assert.ok(await enters('configured now'))
  await seed('configured now', { email: 'other@example.org' })
  assert.deepEqual(users.get(users.idByEmail('other@example.org') as string).roles, ['owner'])
  await k.close()
})

test('an account of the identity provider never becomes the owner by its address', async () => {
  const k = kit()
  const { seed } = starts(k)
  k.sql(
    `INSERT INTO users (id, email, name, provider, external_id, created_at, updated_at) VALUES ('x', ?, 'X', 'oidc', 'sub', ?, ?)`,
    ...[EMAIL, k.now(), k.now()],
  )
  await assert.rejects(
    seed('from the environment'),
    /signs in through the identity provider: set SVC_LOCAL_ADMIN_EMAIL/,
  )
  assert.deepEqual(k.rows('SELECT role FROM user_roles'), [])
  await k.close()
})

test('the composition seeds the admin before it listens', async () => {
  const k = kit({ env: { SVC_LOCAL_ADMIN_PASSWORD: 'from the environment' } })
  await k.start()
  const answer = await k.anonymous.post('/auth/login', { email: EMAIL, password: 'from the environment' })
  assert.deepEqual(answer.json.data.user.roles, ['owner'])
  await k.close()
})
