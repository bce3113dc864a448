import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

const PASSWORD = 'a long password'

async function world() {
  const k = kit()
  const admin = k.as('admin')
  const user = { email: 'ann@example.org', name: 'Ann', password: PASSWORD, roles: ['viewer'] }
  const id = (await admin.post('/auth/users', user)).json.data.id as string
  const login = async () => {
    const answer = await k.anonymous.post(
      '/auth/login',
      { email: user.email, password: PASSWORD },
      { 'user-agent': 'test' },
    )
    return { ...k.bearer(answer.json.data.token), sessionId: answer.json.data.sessionId as string }
  }
  return { k, admin, id, login }
}

test('everybody sees their open sessions and ends the ones they name', async () => {
  const { k, login } = await world()
  const first = await login()
  k.advance('1m')
  const second = await login()
  const list = (await second.get('/auth/sessions')).json.data
  assert.deepEqual(list[0], {
    id: second.sessionId,
    createdAt: k.now(),
    current: true,
    expiresAt: list[0].expiresAt,
    kind: 'bearer',
    lastSeenAt: k.now(),
    userAgent: 'test',
  })
  assert.deepEqual([list.length, list[1].id, list[1].current], [2, first.sessionId, false])
  k.forget()
  assert.equal((await second.delete(`/auth/sessions/${first.sessionId}`)).status, 204)
  assert.equal((await first.get('/auth/me')).status, 401)
  assert.equal((await second.delete(`/auth/sessions/${first.sessionId}`)).status, 404)
  assert.equal((await second.delete('/auth/sessions/session-admin')).status, 404)
  assert.equal((await k.anonymous.get('/auth/sessions')).status, 401)
  assert.deepEqual(k.trail(), [
    'auth.sessions.revoke allowed',
    'auth.sessions.revoke.succeeded succeeded',
    'auth.me.read.failed denied unauthorized',
    'auth.sessions.revoke allowed',
    'auth.sessions.revoke.failed failed session_not_found',
    'auth.sessions.revoke allowed',
    'auth.sessions.revoke.failed failed session_not_found',
    'auth.sessions.read denied unauthenticated',
  ])
  await k.close()
})

test('who manages access ends a session of anybody, by the person it belongs to', async () => {
  const { k, admin, id, login } = await world()
  const ann = await login()
  const [session] = (await admin.get(`/auth/users/${id}/sessions`)).json.data
  assert.deepEqual([session.id, session.current], [ann.sessionId, false])
  assert.equal((await admin.delete(`/auth/users/admin/sessions/${ann.sessionId}`)).status, 404)
  assert.equal((await ann.get(`/auth/users/${id}/sessions`)).status, 403)
  assert.equal((await admin.delete(`/auth/users/${id}/sessions/${ann.sessionId}`)).status, 204)
  assert.equal((await ann.get('/auth/me')).status, 401)
  assert.equal((await admin.get('/auth/users/nobody/sessions')).status, 404)
  await k.close()
})

test('neither a token nor its hash is ever listed', async () => {
  const { admin, k, id, login } = await world()
  const ann = await login()
  const answer = await admin.get(`/auth/users/${id}/sessions`)
  const [row] = k.rows<{ h: string }>('SELECT token_hash AS h FROM sessions WHERE user_id = ?', id)
  assert.ok(!answer.text.includes(String(row?.h)) && !answer.text.includes(String(ann.token)))
  await k.close()
})

test('a login that succeeded is told of the person who logged in', async () => {
  const { k, id, login } = await world()
  await login()
  const [row] = k.rows(
    `SELECT actor_id AS actor, actor_name AS name, actor_roles AS roles, target_id AS target FROM audit_events WHERE action = 'auth.login.succeeded'`,
  )
  assert.deepEqual(row, { actor: id, name: 'Ann', roles: '["viewer"]', target: id })
  await k.close()
})

test('the family as a whole says what can be done, and with which policies', async () => {
  const { k, admin } = await world()
  const auth = (await admin.get('/auth/actions')).json.data
  assert.deepEqual(Object.keys(auth.actions).sort(), [
    ...['createGroup', 'createUser', 'groups', 'listUsers', 'policies', 'updatePolicies'],
  ])
  assert.deepEqual(auth.actions.createUser, {
    enabled: true,
    href: '/api/v1/auth/users',
    method: 'POST',
    permission: 'auth:manage',
  })
  assert.deepEqual(Object.keys(auth.links).sort(), [
    'accessPolicies',
    'accessPolicyActions',
    'createUser',
    'groups',
    'users',
  ])
  const policies = (await admin.get('/auth/access-policies/actions')).json.data
  assert.deepEqual(Object.keys(policies.actions), ['read', 'update'])
  assert.deepEqual([Object.keys(policies.links), policies.policies], [['actions', 'detail', 'update'], []])
  assert.equal((await k.as('viewer').get('/auth/actions')).status, 403)
  await k.close()
})

test('all others end at once; each says whether it is a cookie', async () => {
  const k = kit()
  k.person('ann', ['viewer'])
  k.person('bob', ['viewer'])
  const at = k.now()
  for (const [id, kind] of [
    ['phone', 'cookie'],
    ['old', 'bearer'],
  ])
    k.sql(
      `INSERT INTO sessions (id, user_id, token_hash, created_at, last_seen_at, expires_at, kind) VALUES (?, 'ann', ?, ?, ?, '2099-01-01T00:00:00.000Z', ?)`,
      ...[id, `hash-${id}`, at, at, kind],
    )
  const ann = k.bearer('svc_ann')
  const kinds = async () =>
    (await ann.get('/auth/sessions')).json.data.map((one: { current: boolean; id: string; kind: string }) => [
      ...[one.id, one.kind, one.current],
    ])
  assert.deepEqual((await kinds()).sort(), [
    ['old', 'bearer', false],
    ['phone', 'cookie', false],
    ['session-ann', 'bearer', true],
  ])
  assert.equal((await ann.delete('/auth/sessions')).status, 400, 'never by mistake')
  k.forget()
  const both = await Promise.all([ann.delete('/auth/sessions?others=1'), ann.delete('/auth/sessions?others=1')])
  assert.deepEqual(
    both.map(({ status }) => status),
    [204, 204],
  )
  assert.ok(k.trail().includes('auth.sessions.revoke_others.succeeded succeeded'))
  assert.deepEqual(await kinds(), [['session-ann', 'bearer', true]])
  assert.equal((await k.bearer('svc_bob').get('/auth/sessions')).status, 200)
  await k.close()
})
