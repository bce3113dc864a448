// The session of the console: a cookie, and who may use it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hashPassword } from '../../../../src/crypto/password.ts'
import { listening } from '../../../kit/http.ts'
import { type Kit, kit } from '../../../kit/kit.ts'

const PASSWORD = 'a long enough password'
let hash: string
before(async () => {
  hash = await hashPassword(PASSWORD)
})

const kits: Kit[] = []
after(() => Promise.all(kits.map((k) => k.close())))
function opened(env: Record<string, string> = {}): Kit {
  const k = kit({ env })
  kits.push(k)
  k.person('ann', ['admin'])
  k.sql('UPDATE users SET password_hash = ? WHERE id = ?', hash, 'ann')
  return k
}

const SAME = { 'sec-fetch-site': 'same-origin' }
const ask = (k: Kit, method: string, path: string, headers: Record<string, string> = {}, body?: object) =>
  k.app.request(`http://box.example/api/v1${path}`, {
    body: body ? JSON.stringify(body) : null,
    headers: { host: 'box.example', ...headers },
    method,
  })
const login = (k: Kit, headers: Record<string, string> = { 'x-svc-session': 'cookie' }) =>
  ask(k, 'POST', '/auth/login', headers, { email: 'ann@example.org', password: PASSWORD })

/** `name=value` of the cookie a login set. */
async function signedIn(k: Kit): Promise<string> {
  const response = await login(k)
  assert.equal(response.status, 200)
  return (response.headers.get('set-cookie') ?? '').split(';')[0] as string
}

test('the login of the console answers without a token and sets a cookie no script can read', async () => {
  const k = opened()
  const response = await login(k)
  const text = await response.text()
  assert.equal(response.status, 200)
  assert.doesNotMatch(text, /svc_/)
  assert.match(
    response.headers.get('set-cookie') ?? '',
    /^svc_session=svc_cookie_[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/,
  )
  assert.equal(JSON.stringify(k.rows('SELECT * FROM sessions')).includes('svc_cookie_'), false, 'only its hash is kept')
  assert.equal((await login(k, {})).headers.get('set-cookie'), null, 'others get a token')
})

test('reached by HTTPS, the cookie is bound to this host and never sent in the clear', async () => {
  const k = opened({ SVC_PUBLIC_URL: 'https://rooms.example.org' })
  assert.match(
    (await login(k)).headers.get('set-cookie') ?? '',
    /^__Host-svc_session=svc_cookie_[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200; Secure$/,
  )
  const value = (await signedIn(k)).split('=')[1]
  assert.equal((await ask(k, 'GET', '/nodes', { ...SAME, cookie: `svc_session=${value}` })).status, 401)
})

test('a trusted proxy says how it was reached, and nobody else', async () => {
  for (const [proxies, proto, secure] of [
    ['127.0.0.1', 'https', true],
    ['127.0.0.1', 'http', false],
    ['127.0.0.1', 'http, https', true],
    ['127.0.0.1', 'gopher', false],
    ['192.0.2.9', 'https', false],
  ] as const) {
    const k = opened({ SVC_TRUSTED_PROXIES: proxies })
    const server = await listening(k)
    const body = JSON.stringify({ email: 'ann@example.org', password: PASSWORD })
    const headers = { 'x-forwarded-proto': proto, 'x-svc-session': 'cookie' }
    const response = await fetch(`${server.url}/auth/login`, { body, headers, method: 'POST' })
    const given = response.headers.get('set-cookie') ?? ''
    assert.equal(given.startsWith('__Host-svc_session='), secure, `${proxies} ${proto}`)
    assert.equal(given.endsWith('; Secure'), secure, `${proxies} ${proto}`)
    const cookie = given.split(';')[0] as string
    const me = (scheme: string) =>
      fetch(`${server.url}/auth/me`, { headers: { cookie, 'x-forwarded-proto': scheme } }).then(({ status }) => status)
    assert.equal(await me(proto), 200)
    if (secure) assert.equal(await me('http'), 401, 'of HTTPS it counts nowhere else')
    await server.close()
  }
})

test('a page of this origin reads and writes with it', async () => {
  const k = opened()
  const cookie = await signedIn(k)
  assert.equal((await ask(k, 'GET', '/nodes', { ...SAME, cookie })).status, 200)
  assert.equal((await ask(k, 'POST', '/rooms', { ...SAME, cookie }, { name: 'Hall', site: 'North' })).status, 201)
  assert.equal((await ask(k, 'GET', '/auth/me', { ...SAME, cookie })).status, 200)
  const events = await ask(k, 'GET', '/events', { ...SAME, cookie })
  assert.equal(events.headers.get('content-type'), 'text/event-stream')
  await events.body?.cancel()
})

test('over plain HTTP a browser says less: a write has to name its own host, a read no other', async () => {
  const k = opened()
  const cookie = await signedIn(k)
  const room = { name: 'Hall', site: 'North' }
  const status = async (method: string, path: string, headers: Record<string, string>, body?: object) =>
    (await ask(k, method, path, { ...headers, cookie }, body)).status
  assert.equal(await status('GET', '/rooms', {}), 200)
  assert.equal(await status('GET', '/rooms', { origin: 'http://evil.example' }), 403)
  assert.equal(await status('POST', '/rooms', {}, room), 403)
  assert.equal(await status('POST', '/rooms', { origin: 'null' }, room), 403)
  assert.equal(await status('POST', '/rooms', { origin: 'http://box.example:8080' }, room), 403)
  assert.equal(await status('POST', '/rooms', { origin: 'http://box.example' }, room), 201)
})

test('another site is refused whatever it asks, with a row that says why', async () => {
  const k = opened()
  const cookie = await signedIn(k)
  for (const site of ['cross-site', 'same-site', 'none', 'x'])
    for (const method of ['GET', 'POST']) {
      const response = await ask(
        k,
        method,
        '/rooms',
        { 'sec-fetch-site': site, cookie },
        method === 'POST' ? {} : undefined,
      )
      assert.equal(response.status, 403, `${site} ${method}`)
      assert.match(await response.text(), /open the console at its own address/)
    }
  assert.equal(k.trail().filter((row) => row.endsWith('denied cross_origin')).length, 8)
  const me = await ask(k, 'GET', '/auth/me', { 'sec-fetch-site': 'cross-site', cookie })
  assert.equal(me.status, 401, 'what anybody may call knows nobody')
  const out = await ask(k, 'POST', '/auth/logout', { 'sec-fetch-site': 'cross-site', cookie })
  assert.equal(out.status, 204)
  assert.equal(out.headers.get('set-cookie'), null, 'nor takes the cookie away')
  assert.equal((await ask(k, 'GET', '/rooms', { ...SAME, cookie })).status, 200, 'nor did it end the session')
})

test('an address that somebody typed may be read, never written to', async () => {
  const k = opened()
  const cookie = await signedIn(k)
  const typed = { cookie, 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'none' }
  assert.equal((await ask(k, 'GET', '/rooms', typed)).status, 200)
  assert.equal((await ask(k, 'POST', '/rooms', typed, { name: 'Hall', site: 'North' })).status, 403)
})

test('the origin of SVC_WEB_ORIGIN has bearer tokens, never the cookie', async () => {
  const k = opened({ SVC_WEB_ORIGIN: 'https://console.example.org' })
  const cookie = await signedIn(k)
  const origin = 'https://console.example.org'
  assert.equal((await ask(k, 'GET', '/rooms', { cookie, origin })).status, 403)
  assert.equal((await ask(k, 'GET', '/rooms', { cookie, origin, 'sec-fetch-site': 'same-site' })).status, 403)
})

test('a cookie is no bearer and a bearer no cookie; who sends both is told to send one', async () => {
  const k = opened()
  const cookie = await signedIn(k)
  const token = cookie.split('=')[1] as string
  assert.equal((await ask(k, 'GET', '/rooms', { authorization: `Bearer ${token}` })).status, 401)
  assert.equal((await ask(k, 'GET', '/rooms', { ...SAME, cookie: 'svc_session=svc_ann' })).status, 401)
  for (const bearer of ['svc_ann', 'svc_nobody']) {
    const both = await ask(k, 'GET', '/rooms', { ...SAME, authorization: `Bearer ${bearer}`, cookie })
    assert.equal(both.status, 400)
    assert.match(await both.text(), /ambiguous_credentials/)
  }
  assert.equal((await ask(k, 'GET', `/rooms?ticket=${token}`, {})).status, 401)
})

test('a cookie that is spoiled, doubled or ended is nobody, and the browser is told to drop it', async () => {
  const k = opened()
  const cookie = await signedIn(k)
  const long = `svc_session=svc_cookie_${'x'.repeat(5000)}`
  for (const spoiled of [
    'svc_session=',
    'svc_session',
    long,
    `${cookie}; ${cookie}`,
    `svc_session="${cookie}"`,
    ';;;=;',
  ]) {
    const refused = await ask(k, 'GET', '/rooms', { ...SAME, cookie: spoiled })
    assert.equal(refused.status, 401, spoiled.slice(0, 60))
    const dropped = refused.headers.get('set-cookie')?.includes('Max-Age=0') === true
    assert.equal(dropped, spoiled.includes('svc_session='), spoiled.slice(0, 60))
  }
  k.sql("UPDATE sessions SET revoked_at = '2026-03-02T09:00:00.000Z'")
  const ended = await ask(k, 'GET', '/rooms', { ...SAME, cookie })
  assert.equal(ended.status, 401)
  assert.match(ended.headers.get('set-cookie') ?? '', /^svc_session=; .*Max-Age=0/)
})

test('machines have no cookie: their routes do not know it', async () => {
  const k = opened()
  const { id } = await k.enroll()
  const cookie = await signedIn(k)
  assert.equal((await ask(k, 'POST', `/nodes/${id}/heartbeat`, { ...SAME, cookie }, {})).status, 401)
})

test('signing out ends the session and clears the cookie', async () => {
  const k = opened()
  const cookie = await signedIn(k)
  const out = await ask(k, 'POST', '/auth/logout', { ...SAME, cookie })
  assert.equal(out.status, 204)
  assert.match(out.headers.get('set-cookie') ?? '', /Max-Age=0/)
  assert.equal((await ask(k, 'GET', '/rooms', { ...SAME, cookie })).status, 401)
})

test('who is here: rooms, end of the session, site and its zone', async () => {
  const k = opened()
  k.person('bob', [])
  await k.as('admin').post('/rooms', { id: 'hall', name: 'Hall', site: 'North' })
  k.sql(
    `INSERT INTO room_roster (room_id, subject_type, subject_id, capability, source) VALUES ('hall', 'user', 'bob', 'view', 'manual')`,
  )
  const changed = await k
    .as('admin')
    .patch('/settings/controller', { controllerName: 'City court', timezone: 'Europe/Berlin' })
  assert.equal(changed.status, 200, changed.text)
  const { data } = (await k.bearer('svc_bob').get('/auth/me')).json
  assert.deepEqual(data.roomCapabilities, [{ capabilities: ['view'], roomId: 'hall' }])
  assert.deepEqual(data.site, {
    defaultDurationSeconds: 3600,
    name: 'City court',
    timezone: 'Europe/Berlin',
    unnamed: true,
    weekStartsOn: 'monday',
  })
  const named = async (siteName: string) => {
    assert.equal((await k.as('admin').patch('/settings/controller', { siteName })).status, 200)
    return (await k.bearer('svc_bob').get('/auth/me')).json.data.site.name
  }
  assert.equal(await named(` ${'x'.repeat(120)} `), 'x'.repeat(120))
  assert.equal(await named('<b>Süd'), '<b>Süd')
  assert.equal(await named(''), 'City court', 'an unnamed site is called as its controller is')
  for (const siteName of ['x'.repeat(121), 'two\nlines', null, 7])
    assert.equal((await k.as('admin').patch('/settings/controller', { siteName })).status, 400, String(siteName))
  assert.equal(data.expiresAt, '2099-01-01T00:00:00.000Z')
  assert.equal((await k.as('admin').patch('/settings/controller', { timezone: '+02:00' })).status, 400)
  assert.equal((await k.as('admin').patch('/settings/controller', { timezone: null })).json.data.timezone, null)
})

test('everybody changes their own password, and only with the one they have; other sessions end', async () => {
  const k = opened()
  const [cookie, other] = [await signedIn(k), await signedIn(k)]
  const change = (currentPassword: string, newPassword: string) =>
    ask(k, 'PATCH', '/auth/me/password', { ...SAME, cookie }, { currentPassword, newPassword })
  assert.equal((await change('wrong', 'another long password')).status, 403)
  assert.equal((await change(PASSWORD, 'short')).status, 400)
  assert.equal((await change(PASSWORD, 'another long password')).status, 204)
  assert.equal((await ask(k, 'GET', '/rooms', { ...SAME, cookie })).status, 200)
  assert.equal((await ask(k, 'GET', '/rooms', { ...SAME, cookie: other })).status, 401)
  assert.equal((await login(k)).status, 401)
  const audited = JSON.stringify(k.rows('SELECT * FROM audit_events'))
  for (const secret of [PASSWORD, 'another long password', 'svc_cookie_']) assert.ok(!audited.includes(secret), secret)
})

test('guessing the own password counts like failed logins; a provider keeps its own', async () => {
  const k = opened({ SVC_LOGIN_FAILURE_LIMIT: '3' })
  const ann = k.bearer('svc_ann')
  const body = { currentPassword: 'wrong', newPassword: 'another long password' }
  const statuses = []
  for (let i = 0; i < 4; i++) statuses.push((await ann.patch('/auth/me/password', body)).status)
  assert.deepEqual(statuses, [403, 403, 403, 429])
  k.sql(`UPDATE users SET provider = 'oidc' WHERE id = 'ann'`)
  assert.equal((await ann.patch('/auth/me/password', body)).json.reason, 'password_not_local')
})

test('a wrong password at the sign-in again leaves the session that is still good', async () => {
  const k = opened()
  const cookie = await signedIn(k)
  const wrong = { email: 'ann@example.org', password: 'not the one she has' }
  const again = await ask(k, 'POST', '/auth/login', { ...SAME, cookie, 'x-svc-session': 'cookie' }, wrong)
  assert.equal(again.status, 401)
  assert.equal(again.headers.get('set-cookie'), null)
})

test('the own origin is scheme, host and port, or the public address', async () => {
  const k = opened()
  const cookie = await signedIn(k)
  const named = async (world: Kit, origin: string, session: string) =>
    (await ask(world, 'GET', '/rooms', { cookie: session, origin })).status
  for (const [origin, status] of [
    ['http://box.example', 200],
    ['https://box.example', 403],
    ['http://box.example.', 403],
    ['http://box.example@evil.example', 403],
    ['http://BOX.example', 403],
    ['', 403],
  ] as const)
    assert.equal(await named(k, origin, cookie), status, origin)
  const behind = opened({ SVC_PUBLIC_URL: 'https://rooms.example.org/' })
  const held = await signedIn(behind)
  assert.equal(await named(behind, 'https://rooms.example.org', held), 200, 'a proxy may ask by another host')
  assert.equal(await named(behind, 'http://rooms.example.org', held), 403)
})

test('what a proxy says of the address it was asked by counts from a trusted one only', async () => {
  const k = opened({ SVC_TRUSTED_PROXIES: '10.0.0.9' })
  const cookie = await signedIn(k)
  const through = async (remoteAddress: string, origin: string) => {
    const headers = {
      ...{ cookie: `${cookie}; __Host-${cookie}`, host: 'inner:8080', origin },
      ...{ 'x-forwarded-host': 'evil.example, rooms.example', 'x-forwarded-proto': 'https' },
    }
    const env = { incoming: { headers, socket: { remoteAddress } } }
    return (await k.app.request('http://inner:8080/api/v1/rooms', { headers }, env)).status
  }
  assert.equal(await through('::ffff:10.0.0.9', 'https://rooms.example'), 200)
  assert.equal(await through('10.0.0.9', 'https://evil.example'), 403)
  assert.equal(await through('10.0.0.9', 'http://rooms.example'), 403)
  assert.equal(await through('10.0.0.8', 'https://rooms.example'), 403)
})
