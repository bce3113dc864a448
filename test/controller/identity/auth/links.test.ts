// The link that signs the first admin in: once, on this machine, within ten minutes.
import assert from 'node:assert/strict'
import * as http from 'node:http'
import { after, test } from 'node:test'
import { userStore } from '../../../../src/controller/identity/access/users.store.ts'
import { hashToken } from '../../../../src/crypto/token.ts'
import { listening } from '../../../kit/http.ts'
import { type Kit, kit } from '../../../kit/kit.ts'

const opened: { close(): Promise<void> }[] = []
after(async () => {
  for (const one of opened.reverse()) await one.close()
})

interface Reply {
  cookie: string
  json: { data: { token?: string; user: { email: string } } }
  status: number
}

interface World {
  k: Kit
  post(token: string, headers?: Record<string, string>): Promise<Reply>
  patch(cookie: string, body: object): Promise<number>
}

/** A controller on a socket whose first admin has never signed in. */
async function fresh(env: Record<string, string> = {}): Promise<World> {
  const k = kit({ env })
  opened.push(k)
  await k.start()
  const server = await listening(k)
  opened.push(server)
  const ask = (method: string, path: string, body: object, headers: Record<string, string>) =>
    new Promise<Reply>((resolve, reject) => {
      const request = http.request(server.url + path, { headers, method }, async (response) => {
        let text = ''
        for await (const chunk of response) text += chunk
        const cookie = response.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
        resolve({ cookie, json: text ? JSON.parse(text) : undefined, status: response.statusCode ?? 0 })
      })
      request.on('error', reject)
      request.end(JSON.stringify(body))
    })
  return {
    k,
    patch: async (cookie, body) =>
      (await ask('PATCH', '/auth/me/password', body, { cookie, 'sec-fetch-site': 'same-origin' })).status,
    post: (token, headers = {}) =>
      ask('POST', '/auth/sign-in-link', { token }, { 'x-svc-session': 'cookie', ...headers }),
  }
}

test('it opens a session of the console as the first admin, once', async () => {
  const { k, post } = await fresh()
  const token = k.firstLink() ?? ''
  assert.match(token, /^svc_link_[\w-]{43}$/)
  assert.deepEqual(
    k.rows('SELECT token_hash AS hash FROM sign_in_links'),
    [{ hash: hashToken(token) }],
    'only its hash is kept',
  )
  k.forget()
  const { cookie, json, status } = await post(token)
  assert.equal(status, 200)
  assert.match(cookie, /^svc_session=svc_cookie_/)
  assert.equal(json.data.user.email, 'admin@roomtone.local')
  assert.equal(json.data.token, undefined)
  assert.equal((await post(token)).status, 401)
  assert.deepEqual(k.trail(), [
    'auth.sign_in_link.succeeded succeeded',
    'auth.sign_in_link.failed denied invalid_sign_in_link',
  ])
  assert.equal(k.firstLink(), undefined, 'an account in use gets none')
})

test('two that use it at once: one gets in', async () => {
  const { k, post } = await fresh()
  const token = k.firstLink() ?? ''
  const answers = await Promise.all([post(token), post(token), post(token)])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401])
})

test('from another machine, through a proxy, by a rebound name: refused, and not spent', async () => {
  const { k, post } = await fresh({ SVC_TRUSTED_PROXIES: '127.0.0.1' })
  const token = k.firstLink() ?? ''
  const others: Record<string, string>[] = [
    { host: 'evil.example' },
    { host: '127.evil.example:8787' },
    { 'x-forwarded-for': '192.0.2.1' },
    { 'x-forwarded-for': '127.0.0.1' },
    { 'x-real-ip': '192.0.2.1' },
    { forwarded: 'for=192.0.2.1' },
    { via: '1.1 proxy' },
  ]
  for (const headers of others) assert.equal((await post(token, headers)).status, 403, JSON.stringify(headers))
  assert.ok(k.trail().includes('auth.sign_in_link.failed denied not_local'))
  assert.equal(
    (await k.anonymous.post('/auth/sign-in-link', { token })).status,
    403,
    'an unknown address is none of ours',
  )
  assert.equal((await post(token, { host: 'localhost:1' })).status, 200)
})

test('it ends after ten minutes, with a later one, with a sign-in, and with the account', async () => {
  const { k, post } = await fresh({ SVC_LOCAL_ADMIN_PASSWORD: 'a long enough password' })
  const first = k.firstLink() ?? ''
  const second = k.firstLink() ?? ''
  assert.equal((await post(first)).status, 401)
  k.advance('10m')
  assert.equal((await post(second)).status, 401)
  await k.tick('sessions')
  assert.deepEqual(k.rows('SELECT * FROM sign_in_links'), [])
  const third = k.firstLink() ?? ''
  k.sql("UPDATE users SET disabled_at = '2026-01-01T00:00:00.000Z' WHERE email = 'admin@roomtone.local'")
  assert.equal((await post(third)).status, 401)
  assert.equal(k.firstLink(), undefined)
  k.sql('UPDATE users SET disabled_at = NULL')
  const account = { email: 'admin@roomtone.local', password: 'a long enough password' }
  assert.equal((await k.anonymous.post('/auth/login', account)).status, 200)
  assert.equal((await post(third)).status, 401)
  assert.equal(k.firstLink(), undefined)
})

test('it ends with a password that is set anew, and with an account that is disabled, for however long', async () => {
  const { k, post } = await fresh()
  const [admin] = k.rows<{ id: string }>("SELECT id FROM users WHERE email = 'admin@roomtone.local'")
  const store = userStore(k.db)
  const id = admin?.id ?? ''
  const first = k.firstLink() ?? ''
  k.db.tx(() => store.setPassword(id, 'a hash', k.now()))
  assert.equal((await post(first)).status, 401)
  const second = k.firstLink() ?? ''
  for (const disabled of [true, false]) k.db.tx(() => store.setDisabled(id, disabled, k.now()))
  assert.equal((await post(second)).status, 401)
})

test('who came by a link sets a password without knowing one, once; nobody else does', async () => {
  const { k, patch, post } = await fresh()
  const { cookie } = await post(k.firstLink() ?? '')
  assert.equal(await patch(cookie, { newPassword: 'my very own password' }), 204)
  assert.equal(await patch(cookie, { newPassword: 'another one, unasked' }), 403)
  const account = { email: 'admin@roomtone.local', password: 'my very own password' }
  const login = await k.anonymous.post('/auth/login', account)
  assert.equal(login.status, 200)
  const change = await k.bearer(login.json.data.token).patch('/auth/me/password', { newPassword: 'stolen session 1' })
  assert.equal(change.status, 403)
})

test('guessing is limited, and a token is no bearer', async () => {
  const { k, post } = await fresh({ SVC_LOGIN_FAILURE_LIMIT: '1' })
  const token = k.firstLink() ?? ''
  assert.equal((await k.bearer(token).get('/auth/me')).status, 401)
  for (let i = 0; i < 20; i++) assert.equal((await post(`svc_link_${i}`)).status, 401)
  assert.equal((await post(token)).status, 429)
})
