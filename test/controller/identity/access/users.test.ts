import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Kit, kit } from '../../../kit/kit.ts'

const PASSWORD = 'a long password'
const NEW = { email: 'Ann@Example.org', name: 'Ann', password: PASSWORD, roles: ['viewer'] }

async function world(env: Record<string, string> = {}) {
  const k = kit({ env })
  const admin = k.as('admin')
  const made = await admin.post('/auth/users', {
    ...NEW,
    groupIds: ['Night crew'],
    resourceGrants: [{ resourceType: 'room', resourceId: 'hall' }],
  })
  const id = made.json.data.id as string
  const login = async (password = PASSWORD) => k.anonymous.post('/auth/login', { email: 'ann@example.org', password })
  k.forget()
  return { k, admin, made, id, login }
}
const outcomes = (k: Kit) => k.trail().filter((t) => !t.endsWith(' allowed') && !t.includes('.read'))

test('a user is made with groups and grants, shown to the last field, and can enter', async () => {
  const { k, admin, made, id, login } = await world()
  assert.equal(made.status, 201)
  assert.deepEqual(made.json.data, {
    id,
    email: 'ann@example.org',
    name: 'Ann',
    provider: 'local',
    roles: ['viewer'],
    permissions: (await k.as('viewer').get('/auth/me')).json.data.permissions,
    groups: [{ id: 'Night crew', name: 'Night crew' }],
    resourceGrants: [{ resourceType: 'room', resourceId: 'hall' }],
  })
  assert.equal((await login()).status, 200)
  const again = await admin.post('/auth/users', { ...NEW, email: 'ANN@example.org' })
  assert.deepEqual([again.status, again.json.reason], [409, 'user_exists'])
  const bad = await admin.post('/auth/users', { ...NEW, password: 'short', roles: [], extra: 1 })
  assert.deepEqual([bad.status, bad.json.issues.length], [400, 3])
  assert.ok(!bad.text.includes('short'))
  assert.deepEqual(outcomes(k), [
    'auth.login.succeeded succeeded',
    'auth.users.create.failed failed user_exists',
    'auth.users.create.failed failed invalid_request',
  ])
  await k.close()
})

test('the detail shows what may be done: action states and links', async () => {
  const { k, admin, id } = await world()
  const { data } = (await admin.get(`/auth/users/${id}`)).json
  const href = `/api/v1/auth/users/${id}`
  const on = (method: string, path = '', payload?: object) => ({
    enabled: true,
    href: href + path,
    method,
    permission: 'auth:manage',
    ...(payload ? { payload } : {}),
  })
  assert.equal(data.user.id, id)
  assert.deepEqual(data.links, {
    access: `${href}/access`,
    actions: `${href}/actions`,
    delete: href,
    detail: href,
    password: `${href}/password`,
    status: `${href}/status`,
  })
  assert.deepEqual(data.actions, {
    delete: on('DELETE'),
    detail: on('GET'),
    disable: on('PATCH', '/status', { disabled: true }),
    enable: {
      enabled: false,
      method: 'PATCH',
      permission: 'auth:manage',
      reason: 'user_already_enabled',
      payload: { disabled: false },
    },
    resetPassword: on('PATCH', '/password'),
    updateAccess: on('PATCH', '/access'),
  })
  const own = (await admin.get('/auth/users/admin/actions')).json.data.actions
  assert.deepEqual([own.delete.reason, own.disable.reason], ['self_delete_denied', 'self_disable_denied'])
  k.sql("UPDATE users SET provider = 'oidc' WHERE id = ?", id)
  const reset = (await admin.get(`/auth/users/${id}`)).json.data.actions.resetPassword
  assert.equal(reset.reason, 'non_local_user_password_unavailable')
  await k.close()
})

test('access is replaced whole and binds at the next request', async () => {
  const { k, admin, id, login } = await world()
  const ann = k.bearer((await login()).json.data.token)
  await admin.post('/rooms', { site: 'North', name: 'Hall', id: 'hall' })
  assert.equal((await ann.get('/rooms/hall')).status, 200)
  const update = { roles: ['operator', 'auditor', 'operator'], groupIds: ['fresh'] }
  const answer = await admin.patch(`/auth/users/${id}/access`, update)
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.json.data.roles, ['operator', 'auditor'])
  assert.deepEqual(answer.json.data.groups, [{ id: 'fresh', name: 'fresh' }])
  assert.deepEqual(answer.json.data.resourceGrants, [])
  assert.equal((await ann.get('/rooms/hall')).status, 403)
  assert.equal((await ann.get('/audit-events')).status, 200)
  const row = k.rows(`SELECT * FROM audit_events WHERE action = 'auth.users.access.update.succeeded'`)[0]
  assert.deepEqual([row?.target_id, row?.target_name, row?.actor_id], [id, 'ann@example.org', 'admin'])
  assert.deepEqual(JSON.parse(String(row?.before)), {
    groups: [{ id: 'Night crew', name: 'Night crew' }],
    resourceGrants: [{ resourceType: 'room', resourceId: 'hall' }],
    roles: ['viewer'],
  })
  await k.close()
})

test('a changed password, a disabled and a deleted account end every session at once', async () => {
  const { k, admin, id, login } = await world()
  const two = async (password: string) => {
    const tokens = [await login(password), await login(password)].map((answer) => answer.json.data.token)
    return tokens.map((token) => k.bearer(token))
  }
  const statuses = async (people: Awaited<ReturnType<typeof two>>) =>
    Promise.all(people.map(async (principal) => (await principal.get('/auth/me')).status))
  const first = await two(PASSWORD)
  assert.deepEqual(await statuses(first), [200, 200])
  const reset = await admin.patch(`/auth/users/${id}/password`, { password: 'the next password' })
  assert.deepEqual([reset.status, reset.json.data.id], [200, id])
  assert.deepEqual(await statuses(first), [401, 401])
  assert.equal((await login(PASSWORD)).status, 401)
  const second = await two('the next password')
  const off = await admin.patch(`/auth/users/${id}/status`, { disabled: true })
  assert.equal(off.json.data.disabledAt, k.now())
  assert.deepEqual(await statuses(second), [401, 401])
  assert.equal((await login('the next password')).status, 401)
  const on = await admin.patch(`/auth/users/${id}/status`, { disabled: false })
  assert.equal(on.json.data.disabledAt, undefined)
  assert.deepEqual(await statuses(second), [401, 401])
  const third = await two('the next password')
  k.sql("INSERT INTO rooms (id, site, name, created_at, updated_at) VALUES ('hall', 'n', 'h', '', '')")
  await admin.put('/rooms/hall/roster', { entries: [{ subjectType: 'user', subjectId: id, capabilities: ['view'] }] })
  assert.equal((await admin.delete(`/auth/users/${id}`)).status, 204)
  assert.deepEqual(await statuses(third), [401, 401])
  for (const table of ['sessions', 'user_roles', 'user_grants', 'group_members'])
    assert.equal(k.rows(`SELECT 1 FROM ${table} WHERE user_id = ?`, id).length, 0, table)
  assert.deepEqual((await admin.get('/rooms/hall/roster')).json.data, [])
  assert.equal((await admin.delete(`/auth/users/${id}`)).json.error, 'User not found')
  const details = k.rows<{ d: string }>(
    `SELECT details AS d FROM audit_events WHERE action = 'auth.users.password.reset.succeeded'`,
  )
  assert.equal(JSON.parse(details[0]?.d ?? '{}').sessionsRevoked, true)
  await k.close()
})

test('nobody locks out themselves, and the local admin stays', async () => {
  const { k, admin, id } = await world({ SVC_LOCAL_ADMIN_EMAIL: 'ann@example.org' })
  const refused = [
    await admin.patch('/auth/users/admin/access', { roles: ['viewer'] }),
    await admin.patch('/auth/users/admin/status', { disabled: true }),
    await admin.delete('/auth/users/admin'),
    await admin.patch(`/auth/users/${id}/status`, { disabled: true }),
    await admin.delete(`/auth/users/${id}`),
  ]
  assert.deepEqual(
    refused.map((answer) => [answer.status, answer.json.reason, Array.isArray(answer.json.issues)]),
    [
      [400, 'self_auth_manage_required', true],
      [400, 'self_disable_denied', true],
      [400, 'self_delete_denied', true],
      [400, 'local_admin_disable_denied', true],
      [400, 'local_admin_delete_denied', true],
    ],
  )
  const actions = (await admin.get(`/auth/users/${id}`)).json.data.actions
  assert.deepEqual(
    [actions.delete.reason, actions.disable.reason],
    ['local_admin_delete_denied', 'local_admin_disable_denied'],
  )
  assert.equal((await admin.patch('/auth/users/admin/access', { roles: ['owner'] })).status, 200)
  assert.equal((await admin.patch('/auth/users/admin/status', { disabled: false })).status, 200)
  assert.deepEqual(outcomes(k), [
    'auth.users.access.update.failed failed self_auth_manage_required',
    'auth.users.status.update.failed failed self_disable_denied',
    'auth.users.delete.failed failed self_delete_denied',
    'auth.users.status.update.failed failed local_admin_disable_denied',
    'auth.users.delete.failed failed local_admin_delete_denied',
    'auth.users.access.update.succeeded succeeded',
    'auth.users.status.update.succeeded succeeded',
  ])
  await k.close()
})

test('nobody becomes the local admin: password and roles are their own to change', async () => {
  const { k, admin, id } = await world({ SVC_LOCAL_ADMIN_EMAIL: 'ann@example.org' })
  k.sql("INSERT OR REPLACE INTO user_roles VALUES (?, 'owner')", id)
  const account = () =>
    k.rows('SELECT u.*, r.role FROM users u JOIN user_roles r ON r.user_id = u.id WHERE u.id = ?', id)
  const before = account()
  k.forget()
  for (const manager of [admin, k.as('owner')]) {
    const reset = await manager.patch(`/auth/users/${id}/password`, { password: 'a new password' })
    const access = await manager.patch(`/auth/users/${id}/access`, { roles: ['viewer'] })
    assert.deepEqual([reset.status, reset.json.reason], [400, 'local_admin_password_denied'])
    assert.deepEqual([access.status, access.json.reason], [400, 'local_admin_access_denied'])
    assert.ok(reset.json.issues.length > 0 && access.json.issues.length > 0)
  }
  assert.deepEqual(account(), before)
  assert.deepEqual(outcomes(k).slice(0, 2), [
    'auth.users.password.reset.failed failed local_admin_password_denied',
    'auth.users.access.update.failed failed local_admin_access_denied',
  ])
  const { actions } = (await admin.get(`/auth/users/${id}`)).json.data
  assert.deepEqual([actions.resetPassword.enabled, actions.updateAccess.enabled], [false, false])
  const { token } = (await k.anonymous.post('/auth/login', { email: 'ann@example.org', password: PASSWORD })).json.data
  const self = k.bearer(token)
  assert.equal((await self.patch(`/auth/users/${id}/access`, { roles: ['owner', 'viewer'] })).status, 200)
  assert.equal((await self.patch(`/auth/users/${id}/password`, { password: 'a new password' })).status, 200)
  await k.close()
})

test('unknown users are 404, others than managers 403, strangers 401, each with its row', async () => {
  const { k, admin } = await world()
  const statuses = [
    await admin.get('/auth/users/nope'),
    await admin.patch('/auth/users/nope/access', { roles: ['viewer'] }),
    await admin.patch('/auth/users/nope/password', { password: PASSWORD }),
    await admin.patch('/auth/users/nope/status', { disabled: true }),
    await admin.patch('/auth/users/nope/status', { disabled: 'yes' }),
    await k.as('operator').get('/auth/users'),
    await k.anonymous.get('/auth/users'),
  ].map((answer) => answer.status)
  assert.deepEqual(statuses, [404, 404, 404, 404, 400, 403, 401])
  assert.deepEqual(
    k.trail().filter((t) => !t.endsWith(' allowed')),
    [
      'auth.users.detail.read.failed failed user_not_found',
      'auth.users.access.update.failed failed user_not_found',
      'auth.users.password.reset.failed failed user_not_found',
      'auth.users.status.update.failed failed user_not_found',
      'auth.users.status.update.failed failed invalid_request',
      'auth.users.read denied missing_permission',
      'auth.users.read denied unauthenticated',
    ],
  )
  await k.close()
})

test('the list is paged leniently: 50 by default, clamped to 1..200, nonsense ignored', async () => {
  const { k, admin } = await world()
  for (let n = 0; n < 60; n++) k.person(`p${String(n).padStart(2, '0')}`, [])
  const meta = async (query: string) => (await admin.get(`/auth/users${query}`)).json.meta
  assert.deepEqual(await meta(''), {
    hasNextPage: true,
    hasPreviousPage: false,
    limit: 50,
    offset: 0,
    returned: 50,
    total: 62,
  })
  assert.equal((await meta('?limit=9999')).limit, 200)
  assert.equal((await meta('?limit=-3')).returned, 1)
  assert.equal((await meta('?limit=many&offset=none')).limit, 50)
  assert.deepEqual((await meta('?offset=50')).returned, 12)
  const emails = (await admin.get('/auth/users?limit=2')).json.data.map((user: { email: string }) => user.email)
  assert.deepEqual(emails, ['admin@example.org', 'ann@example.org'])
  assert.deepEqual((await admin.get('/auth/users?limit=200')).json.data[5].permissions, [])
  await k.close()
})

test('no password of the API is stored, logged or audited', async () => {
  const { k, admin, id } = await world()
  await admin.patch(`/auth/users/${id}/password`, { password: 'the next password' })
  await admin.post('/auth/users', { ...NEW, password: 'the next password', email: 'x' })
  const tables = k.rows<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
  const everything = tables.map(({ name }) => JSON.stringify(k.rows(`SELECT * FROM "${name}"`))).join('\n')
  for (const secret of [PASSWORD, 'the next password'])
    assert.ok(!everything.includes(secret) && !k.logged.join('\n').includes(secret))
  await k.close()
})

test('an account made anew for the e-mail of a deleted one finds none of its policies, but the refusals', async () => {
  const k = kit()
  const admin = k.as('admin')
  const ann = { email: 'ann@example.org', name: 'Ann', password: 'good-password', roles: ['viewer'] }
  const { id } = (await admin.post('/auth/users', ann)).json.data
  const policy = { resourceType: 'room', resourceId: '*', subjectType: 'user' }
  const policies = [
    { ...policy, effect: 'allow', subjectId: ann.email },
    { ...policy, effect: 'allow', subjectId: id },
    { ...policy, effect: 'deny', subjectId: ann.email },
  ]
  assert.equal((await admin.patch('/auth/access-policies', { policies })).status, 200)
  assert.equal((await admin.delete(`/auth/users/${id}`)).status, 204)
  const left = k.rows<{ effect: string; subject: string }>(`SELECT effect, subject_id AS subject FROM access_policies`)
  assert.deepEqual(
    left.map((row) => ({ ...row })),
    [{ effect: 'deny', subject: ann.email }],
  )
  const [told] = (await admin.get('/audit-events?action=auth.users.delete.succeeded')).json.data
  assert.equal(told.details.endedPolicies.length, 2)
  await k.close()
})

test('people and groups are found by what their names hold, in any letters, and paged', async () => {
  const { k, admin } = await world()
  const ask = async (path: string) => (await admin.get(path)).json
  await admin.post('/auth/users', { ...NEW, email: 'aerger@example.org', name: 'Ärger 100%' })
  await admin.post('/auth/groups', { name: 'Hörsaal' })
  const found = await ask('/auth/users?search=%C3%84RGER&limit=1')
  assert.deepEqual([found.data.map(({ name }: { name: string }) => name), found.meta.total], [['Ärger 100%'], 1])
  assert.equal((await ask('/auth/users?search=%25')).meta.total, 1, 'no wildcard')
  assert.equal((await ask('/auth/users?search=EXAMPLE.ORG&offset=1&limit=1')).data.length, 1, 'by e-mail too')
  assert.equal((await ask('/auth/users?search=nobody')).meta.total, 0)
  assert.equal((await ask('/auth/groups?search=H%C3%96R')).data[0].name, 'Hörsaal')
  assert.equal((await ask('/auth/groups?search=')).meta.total, 2, 'blank is unset')
  await k.close()
})
