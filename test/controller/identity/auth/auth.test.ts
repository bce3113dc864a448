import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashPassword } from '../../../../src/crypto/password.ts'
import { type Kit, kit } from '../../../kit/kit.ts'

const PASSWORD = 'correct horse battery'
const EMAIL = 'ann@example.org'
// One scrypt for the whole file.
const HASH = await hashPassword(PASSWORD)

function withAccount(env: Record<string, string> = {}): Kit {
  const k = kit({ env })
  k.person('ann', ['viewer'])
  k.sql('UPDATE users SET password_hash = ? WHERE id = ?', HASH, 'ann')
  return k
}
const login = (k: Kit, password = PASSWORD, email = EMAIL) => k.anonymous.post('/auth/login', { email, password })

test('login, me, logout: one session, one id everywhere', async () => {
  const k = withAccount()
  const answer = await login(k, PASSWORD, 'Ann@Example.org')
  assert.equal(answer.status, 200)
  const { token, expiresAt, sessionId, user } = answer.json.data
  assert.match(token, /^svc_[\w-]{43}$/)
  assert.equal(expiresAt, '2026-03-02T21:00:00.000Z')
  assert.deepEqual([user.email, user.roles, user.provider], [EMAIL, ['viewer'], 'local'])
  const me = await k.bearer(token).get('/auth/me')
  const { expiresAt: ends, roomCapabilities, site, ...account } = me.json.data
  assert.deepEqual([account, ends, roomCapabilities, site.name], [user, expiresAt, [], 'Roomtone Controller'])
  assert.equal(k.rows('SELECT id FROM sessions WHERE id = ?', sessionId).length, 1)
  assert.equal((await k.bearer(token).post('/auth/logout')).status, 204)
  assert.equal((await k.bearer(token).get('/auth/me')).status, 401)
  assert.equal((await k.anonymous.post('/auth/logout')).status, 204)
  assert.deepEqual(k.trail(), [
    'auth.login.succeeded succeeded',
    'auth.me.read.succeeded succeeded',
    'auth.logout.succeeded succeeded',
    'auth.me.read.failed denied unauthorized',
    'auth.logout.succeeded succeeded',
  ])
  const rows = k.rows('SELECT session_id AS s, target_id AS t, details FROM audit_events ORDER BY seq')
  assert.deepEqual(
    rows.slice(1, 3).map((row) => [row.s, row.t]),
    [
      [sessionId, 'ann'],
      [sessionId, 'ann'],
    ],
  )
  assert.equal(JSON.parse(String(rows[0]?.details)).sessionId, sessionId)
  await k.close()
})

test('whoever is signed in learns where boxes reach the controller, and how long a take without a length is', async () => {
  const k = kit({ env: { SVC_AGENT_CAPTURE_SECONDS: '5400', SVC_PUBLIC_URL: 'https://rec.example' } })
  const { site } = (await k.as('viewer').get('/auth/me')).json.data
  assert.deepEqual([site.publicUrl, site.defaultDurationSeconds], ['https://rec.example', 5400])
  await k.close()
})

test('a session ends 12 hours after the login, used or not, and is swept', async () => {
  const k = withAccount()
  const { token } = (await login(k)).json.data
  k.advance('11h')
  assert.equal((await k.bearer(token).get('/auth/me')).status, 200)
  k.advance('1h')
  assert.equal((await k.bearer(token).get('/auth/me')).status, 401)
  await k.close()
})

test('every refusal of a login sounds the same; the audit knows the reason', async () => {
  const k = withAccount()
  k.person('bob', ['viewer'])
  k.person('eve', ['viewer'])
  k.sql("UPDATE users SET password_hash = ?, disabled_at = '2026-01-01T00:00:00.000Z' WHERE id = 'eve'", HASH)
  const refused = [
    await login(k, 'wrong'),
    await login(k, PASSWORD, 'nobody@example.org'),
    await login(k, PASSWORD, 'bob@example.org'),
    await login(k, PASSWORD, 'eve@example.org'),
  ]
  for (const answer of refused) {
    assert.equal(answer.status, 401)
    assert.deepEqual(answer.json, { error: 'Invalid credentials' })
  }
  const malformed = await k.anonymous.post('/auth/login', { email: PASSWORD, password: '' })
  assert.equal(malformed.status, 400)
  assert.equal(malformed.json.issues.length, 2)
  assert.deepEqual(k.trail(), [
    'auth.login.failed failed invalid_credentials',
    'auth.login.failed failed invalid_credentials',
    'auth.login.failed failed missing_local_password',
    'auth.login.failed failed user_disabled',
    'auth.login.failed failed invalid_request',
  ])
  assert.deepEqual(k.rows('SELECT target_type, target_id, target_name FROM audit_events ORDER BY seq'), [
    { target_type: 'user', target_id: 'ann', target_name: EMAIL },
    { target_type: 'user', target_id: null, target_name: 'nobody@example.org' },
    { target_type: 'user', target_id: 'bob', target_name: 'bob@example.org' },
    { target_type: 'user', target_id: 'eve', target_name: 'eve@example.org' },
    { target_type: 'user', target_id: null, target_name: null },
  ])
  await k.close()
})

test('after the limit the account waits, whatever the password; sessions and other accounts go on', async () => {
  const k = withAccount({ SVC_LOGIN_FAILURE_LIMIT: '3', SVC_LOGIN_FAILURE_WINDOW_SECONDS: '60' })
  k.person('bob', ['viewer'])
  k.sql("UPDATE users SET password_hash = ? WHERE id = 'bob'", HASH)
  const { token } = (await login(k)).json.data
  for (let n = 0; n < 3; n++) assert.equal((await login(k, 'wrong')).status, 401)
  k.forget()
  k.advance('10s')
  const blocked = await login(k)
  assert.deepEqual([blocked.status, blocked.headers.get('retry-after')], [429, '50'])
  assert.deepEqual(k.trail(), ['auth.login.failed failed rate_limited'])
  assert.equal((await k.bearer(token).get('/auth/me')).status, 200)
  assert.equal((await login(k, PASSWORD, 'bob@example.org')).status, 200)
  k.advance('50s')
  assert.equal((await login(k)).status, 200)
  await k.close()
})

test('a success clears the failures before it', async () => {
  const k = withAccount({ SVC_LOGIN_FAILURE_LIMIT: '2' })
  for (const password of ['wrong', PASSWORD, 'wrong', PASSWORD])
    assert.equal((await login(k, password)).status, password === PASSWORD ? 200 : 401)
  await k.close()
})

test('a burst of guesses learns no more than the limit allows, a burst of right passwords is let in', async () => {
  const k = withAccount({ SVC_LOGIN_FAILURE_LIMIT: '4' })
  const right = await Promise.all(Array.from({ length: 10 }, () => login(k)))
  assert.deepEqual(new Set(right.map((answer) => answer.status)), new Set([200]))
  // Two at work and eight in line; who comes then is turned away unheard.
  const guesses = await Promise.all(Array.from({ length: 12 }, () => login(k, 'wrong')))
  const counts = guesses.map((answer) => answer.status)
  assert.deepEqual([counts.filter((s) => s === 401).length, counts.filter((s) => s === 429).length], [4, 8])
  await k.close()
})

test('neither password nor token is stored, logged or audited', async () => {
  const k = withAccount()
  const { token } = (await login(k)).json.data
  await login(k, 'a wrong secret')
  await k.anonymous.post('/auth/login', { email: 'a mistyped secret', password: 'a wrong secret' })
  await k.bearer(token).get('/auth/me')
  const tables = k.rows<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
  const everything = tables.map(({ name }) => JSON.stringify(k.rows(`SELECT * FROM "${name}"`))).join('\n')
  for (const secret of [token, PASSWORD, 'a wrong secret', 'a mistyped secret']) {
    assert.ok(!everything.includes(secret), `${secret} is in the database`)
    assert.ok(!k.logged.join('\n').includes(secret), `${secret} is in the log`)
  }
  await k.close()
})
