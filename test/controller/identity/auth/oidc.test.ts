import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { readConfig } from '../../../../src/controller/config.ts'
import { returnAddress } from '../../../../src/controller/identity/auth/oidc.rules.ts'
import { listening } from '../../../kit/http.ts'
import { type Answer, type Kit, kit } from '../../../kit/kit.ts'
import { CLIENT, consented, lyingProvider, realProvider } from '../../../kit/oidc.ts'

const REDIRECT = 'https://roomtone.example.org/api/v1/auth/oidc/callback'
const ORIGIN = 'https://console.example.org'

const world = (issuer: string, env: Record<string, string> = {}): Kit =>
  kit({
    env: {
      SVC_OIDC_ENABLED: '1',
      SVC_OIDC_ISSUER: issuer,
      SVC_OIDC_ALLOW_INSECURE_ISSUER: '1',
      SVC_OIDC_CLIENT_ID: CLIENT.id,
      SVC_OIDC_CLIENT_SECRET: CLIENT.secret,
      SVC_OIDC_REDIRECT_URI: REDIRECT,
      SVC_WEB_ORIGIN: ORIGIN,
      ...env,
    },
  })

const cookieOf = (answer: Answer): string => (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
const locationOf = (answer: Answer): string => answer.headers.get('location') ?? ''

async function begun(k: Kit, returnTo = '/rooms'): Promise<{ cookie: string; url: string }> {
  const answer = await k.anonymous.get(`/auth/oidc/login?returnTo=${encodeURIComponent(returnTo)}`)
  assert.equal(answer.status, 302, answer.text)
  return { cookie: cookieOf(answer), url: locationOf(answer) }
}
const callback = (k: Kit, query: string, cookie: string): Promise<Answer> =>
  k.anonymous.get(`/auth/oidc/callback${query}`, { cookie })

describe('login through a real provider', () => {
  const people = {
    ann: {
      email: 'Ann@Example.org',
      email_verified: true,
      groups: ['stage', 'Tech Crew'],
      name: 'Ann',
      roles: ['operator', 'chef'],
    },
    bob: { email: 'bob@example.org', name: 'Bob' },
    cat: { email: 'cat@example.org', email_verified: false },
  }
  let provider: Awaited<ReturnType<typeof realProvider>>
  before(async () => {
    provider = await realProvider(REDIRECT, people)
  })
  after(() => provider.close())

  const login = async (k: Kit, account: string): Promise<Answer> => {
    const { cookie, url } = await begun(k)
    return callback(k, (await consented(url, account)).search, cookie)
  }
  const tokenOf = (answer: Answer): string =>
    new URLSearchParams(new URL(locationOf(answer)).hash.slice(1)).get('svc_token') ?? ''

  test('people get in through their provider, also beside somebody who was refused too often', async (t) => {
    const k = world(provider.issuer)
    const { close, url } = await listening(k)
    t.after(async () => {
      await close()
      await k.close()
    })
    for (let n = 0; n < 61; n++) await (await fetch(`${url}/nodes`)).arrayBuffer()
    assert.equal((await fetch(`${url}/nodes`)).status, 429)
    const started = await fetch(`${url}/auth/oidc/login`, { redirect: 'manual' })
    assert.equal(started.status, 302, await started.text())
    const consent = await consented(started.headers.get('location') ?? '', 'ann')
    const cookie = (started.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    const back = await fetch(`${url}/auth/oidc/callback${consent.search}`, { headers: { cookie }, redirect: 'manual' })
    assert.equal(back.status, 302, await back.text())
    assert.match(back.headers.get('location') ?? '', /svc_token=/)
  })

  test('PKCE, state, nonce; the account follows the token; the console gets the session in the fragment', async () => {
    const k = world(provider.issuer)
    const { url } = await begun(k)
    const asked = new URL(url).searchParams
    assert.deepEqual([asked.get('code_challenge_method'), asked.get('response_type')], ['S256', 'code'])
    const answer = await login(k, 'ann')
    assert.equal(answer.status, 302, answer.text)
    const back = new URL(locationOf(answer))
    assert.equal(back.origin + back.pathname, `${ORIGIN}/rooms`)
    assert.match(back.hash, /svc_expires_at=.*svc_provider=oidc/)
    assert.match(answer.headers.get('set-cookie') ?? '', /^svc_oidc_state=;.*HttpOnly.*Max-Age=0; Secure$/)
    const me = (await k.bearer(tokenOf(answer)).get('/auth/me')).json.data
    assert.deepEqual([me.email, me.name, me.provider, me.roles], ['ann@example.org', 'Ann', 'oidc', ['operator']])
    assert.deepEqual(me.groups.map((g: { name: string }) => g.name).sort(), ['Tech Crew', 'stage'])
    assert.deepEqual(k.trail().slice(-3), [
      'auth.oidc.login.started succeeded',
      'auth.oidc.callback.succeeded succeeded',
      'auth.me.read.succeeded succeeded',
    ])
    await k.close()
  })

  test('a login of the console ends in a cookie, at a path of the console and nowhere else', async () => {
    const k = world(provider.issuer)
    for (const [asked, reached] of [
      ['/rooms/hall?tab=people', '/rooms/hall?tab=people'],
      ['//evil.example/x', '/'],
      ['/\\evil.example', '/'],
      ['/..//evil.example', '/'],
      ['/%2e/\\evil.example', '/'],
      ['https://evil.example/', '/'],
      ['javascript:alert(1)', '/'],
    ] as const) {
      const started = await k.anonymous.get(`/auth/oidc/login?session=cookie&returnTo=${encodeURIComponent(asked)}`)
      const answer = await callback(k, (await consented(locationOf(started), 'ann')).search, cookieOf(started))
      assert.equal(locationOf(answer), reached)
      const cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0] as string
      assert.match(cookie, /svc_session=svc_cookie_/)
      const me = await k.anonymous.get('/auth/me', { cookie, 'sec-fetch-site': 'same-origin' })
      assert.equal(me.json.data.email, 'ann@example.org')
    }
    await k.close()
  })

  test('what an operator gave stays where the token says nothing; a second login is the same account', async () => {
    const k = world(provider.issuer)
    await login(k, 'bob')
    const { id } = k.rows<{ id: string }>(`SELECT id FROM users WHERE email = 'bob@example.org'`)[0]!
    k.sql(`INSERT INTO user_roles VALUES (?, 'viewer')`, id)
    k.sql(`INSERT INTO user_grants VALUES (?, 'room', 'hall')`, id)
    const me = (await k.bearer(tokenOf(await login(k, 'bob'))).get('/auth/me')).json.data
    assert.deepEqual([me.id, me.roles, me.resourceGrants.length], [id, ['viewer'], 1])
    await k.close()
  })

  test('an address of somebody else, an unverified one, a disabled account: no session', async () => {
    const k = world(provider.issuer)
    k.person('local', ['viewer'])
    k.sql(`UPDATE users SET email = 'ann@example.org' WHERE id = 'local'`)
    const refused = await login(k, 'ann')
    assert.deepEqual([refused.status, refused.json.reason], [403, 'oidc_email_conflict'])
    const unverified = await login(k, 'cat')
    assert.deepEqual([unverified.status, unverified.json.reason], [401, 'oidc_claims_invalid'])
    await login(k, 'bob')
    k.sql(`UPDATE users SET disabled_at = ? WHERE email = 'bob@example.org'`, k.now())
    const disabled = await login(k, 'bob')
    assert.deepEqual([disabled.status, disabled.json.reason], [403, 'user_disabled'])
    assert.equal(
      k.rows(`SELECT 1 FROM sessions WHERE user_id = 'local' AND created_at > '2026-03-02T09:00:00.000Z'`).length,
      0,
    )
    assert.deepEqual(
      k.trail().filter((row) => row.includes('callback.failed')),
      [
        'auth.oidc.callback.failed failed oidc_email_conflict',
        'auth.oidc.callback.failed failed oidc_claims_invalid',
        'auth.oidc.callback.failed failed user_disabled',
      ],
    )
    await k.close()
  })

  test('a state works once, in its browser, for ten minutes; a code works once', async () => {
    const k = world(provider.issuer)
    const invalid = async (answer: Promise<Answer>) => {
      const { json, status } = await answer
      assert.deepEqual([status, json.reason], [400, 'oidc_state_invalid'])
    }
    const { cookie, url } = await begun(k)
    const back = await consented(url, 'bob')
    await invalid(callback(k, back.search, ''))
    await invalid(callback(k, back.search, (await begun(k)).cookie))
    await invalid(
      callback(
        k,
        back.search.replace(/state=./, (begin) => (begin.endsWith('A') ? 'state=B' : 'state=A')),
        cookie,
      ),
    )
    await invalid(callback(k, '', cookie))
    assert.equal((await callback(k, back.search, cookie)).status, 302)
    await invalid(callback(k, back.search, cookie))
    // The code again, under a state of its own: the provider has seen it.
    const other = await begun(k)
    const state = new URL(other.url).searchParams.get('state')
    const replayed = await callback(k, back.search.replace(/state=[^&]+/, `state=${state}`), other.cookie)
    assert.deepEqual([replayed.status, replayed.json.reason], [502, 'oidc_authorization_failed'])
    const late = await begun(k)
    const lateBack = await consented(late.url, 'bob')
    k.advance('11m')
    await invalid(callback(k, lateBack.search, late.cookie))
    await k.close()
  })

  test('config and discovery say what there is, and never the secret', async () => {
    const k = world(provider.issuer)
    const { data } = (await k.anonymous.get('/auth/oidc/config')).json
    assert.deepEqual([data.loginAvailable, data.missingFields, data.provider], [true, [], 'oidc'])
    assert.equal((await k.as('viewer').get('/auth/oidc/discovery')).status, 403)
    const found = (await k.as('owner').get('/auth/oidc/discovery')).json.data
    assert.equal(found.issuer, provider.issuer)
    assert.match(found.tokenEndpoint, /\/token$/)
    const all = JSON.stringify([data, found, k.logged, k.rows('SELECT * FROM audit_events')])
    assert.equal(all.includes(CLIENT.secret), false)
    await k.close()
  })
})

describe('a provider that lies', () => {
  let provider: Awaited<ReturnType<typeof lyingProvider>>
  before(async () => {
    provider = await lyingProvider()
  })
  after(() => provider.close())

  const attempt = async (k: Kit): Promise<Answer> => {
    const { cookie, url } = await begun(k)
    provider.expect(url)
    return callback(k, `?code=any&state=${new URL(url).searchParams.get('state')}`, cookie)
  }

  test('a good token of it is taken; each wrong one is refused with its reason', async () => {
    const k = world(provider.issuer)
    assert.equal((await attempt(k)).status, 302)
    const cases: [Record<string, unknown>, number, string][] = [
      [{ nonce: 'another' }, 401, 'oidc_claims_invalid'],
      [{ aud: 'another' }, 401, 'oidc_claims_invalid'],
      [{ iss: 'https://another.example.org' }, 401, 'oidc_claims_invalid'],
      [{ exp: 1000 }, 401, 'oidc_claims_invalid'],
      [{ email: undefined }, 401, 'oidc_claims_invalid'],
      [{ email: { a: 1 } }, 401, 'oidc_claims_invalid'],
      [{ sub: '' }, 401, 'oidc_claims_invalid'],
    ]
    for (const [claims, status, reason] of cases) {
      provider.lies.claims = claims
      const { json, status: told } = await attempt(k)
      assert.deepEqual([told, json.reason], [status, reason], JSON.stringify(claims))
    }
    provider.lies.claims = {}
    provider.lies.foreignKey = true
    assert.equal((await attempt(k)).json.reason, 'oidc_authorization_failed')
    provider.lies.foreignKey = false
    assert.equal(
      k.rows(`SELECT 1 FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.provider = 'oidc'`).length,
      1,
    )
    await k.close()
  })

  test('the address of the local admin opens nothing, whoever vouches for it', async () => {
    const k = world(provider.issuer, { SVC_LOCAL_ADMIN_EMAIL: 'boss@example.org' })
    // No account of that address yet; then one that came this way before the address was the admin's.
    for (const there of [false, true]) {
      if (there)
        k.sql(
          `INSERT INTO users (id, email, name, provider, created_at, updated_at) VALUES ('b', 'boss@example.org', 'B', 'oidc', ?, ?)`,
          ...[k.now(), k.now()],
        )
      provider.lies.claims = { email: 'Boss@example.org', email_verified: true }
      const { json, status } = await attempt(k)
      assert.deepEqual([status, json.reason], [403, 'oidc_email_conflict'])
      assert.equal(k.rows('SELECT 1 FROM sessions').length, 0)
    }
    provider.lies.claims = {}
    await k.close()
  })

  test('answers that are not JSON, break off or never end are a 502 with a reason', async () => {
    const hostile: [string, (response: import('node:http').ServerResponse) => void][] = [
      ['html', (r) => r.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hello</h1>')],
      ['torn', (r) => r.writeHead(200, { 'content-length': '500' }).write('{"iss', () => r.destroy())],
      ['huge', (r) => r.writeHead(200, { 'content-type': 'application/json' }).end(`{"a":"${'x'.repeat(3_000_000)}"}`)],
      ['error', (r) => r.writeHead(500).end('no')],
    ]
    for (const [name, answer] of hostile)
      for (const path of ['/.well-known/openid-configuration', '/token']) {
        const k = world(provider.issuer)
        provider.lies.answers = path === '/token' ? { '/token': (_, r) => answer(r) } : { [path]: (_, r) => answer(r) }
        if (path === '/token') {
          const refused = await attempt(k)
          assert.deepEqual([refused.status, refused.json.reason], [502, 'oidc_authorization_failed'], name)
        } else {
          const refused = await k.anonymous.get('/auth/oidc/login')
          assert.equal(refused.status, 502, name)
          assert.match(refused.json.reason, /^oidc_(discovery_failed|invalid_discovery_document)$/)
          assert.equal((await k.as('owner').get('/auth/oidc/discovery')).status, 502)
        }
        provider.lies.answers = {}
        await k.close()
      }
  })
})

test('without settings the login says why, and config says what is missing', async () => {
  const off = kit()
  const disabled = await off.anonymous.get('/auth/oidc/login')
  assert.deepEqual([disabled.status, disabled.json.reason], [404, 'oidc_disabled'])
  assert.equal((await off.anonymous.get('/auth/oidc/config')).json.data.enabled, false)
  await off.close()
  const half = kit({ env: { SVC_OIDC_ENABLED: '1', SVC_OIDC_CLIENT_ID: 'x' } })
  const unready = await half.anonymous.get('/auth/oidc/login')
  assert.deepEqual([unready.status, unready.json.reason], [400, 'oidc_not_configured'])
  assert.deepEqual((await half.anonymous.get('/auth/oidc/config')).json.data.missingFields, ['issuer', 'redirectUri'])
  await half.close()
})

const settings = (env: Record<string, string>) => () =>
  readConfig({ SVC_DATA_DIR: '/tmp/none', SVC_SECRET_KEY: 'kit-secret-key-0123456789', ...env })

test('a tenant of everybody is no tenant, however it is written', () => {
  const own = 'd3d7d3a1-9d8a-4e5f-8f5c-0a1b2c3d4e5f'
  const everybody = ['common', 'Organizations', 'consumers', '9188040D-6C67-4C5B-B112-36A304B66DAD', 'common/v2.0/', '']
  for (const tenant of [...everybody.slice(0, -1), 'tenant', '../common', 'common?x=y', '%63ommon'])
    assert.throws(
      settings({ SVC_OIDC_AZURE_TENANT_ID: tenant }),
      /SVC_OIDC_AZURE_TENANT_ID is not usable: .*your own/,
      tenant,
    )
  for (const tenant of everybody)
    for (const host of ['login.microsoftonline.com', 'LOGIN.microsoftonline.us', 'sts.windows.net'])
      assert.throws(
        settings({ SVC_OIDC_ISSUER: `https://${host}/${tenant}/v2.0` }),
        /SVC_OIDC_ISSUER is not usable/,
        tenant,
      )
  for (const tenant of [own, own.toUpperCase(), 'example.onmicrosoft.com'])
    assert.equal(settings({ SVC_OIDC_AZURE_TENANT_ID: tenant })().oidc.provider, 'azure_ad')
  assert.equal(settings({ SVC_OIDC_ISSUER: `https://login.microsoftonline.com/${own}/v2.0` })().oidc.provider, 'oidc')
  assert.equal(settings({ SVC_OIDC_ISSUER: 'https://id.example.org/common' })().oidc.provider, 'oidc')
})

test('a login leads back to the console and to nobody else', () => {
  const origins = [ORIGIN, REDIRECT]
  const to = (asked: string | undefined) => returnAddress(asked, origins).href
  assert.equal(to('/rooms?a=1'), `${ORIGIN}/rooms?a=1`)
  assert.equal(to(`${ORIGIN}/x`), `${ORIGIN}/x`)
  assert.equal(to('https://roomtone.example.org/'), 'https://roomtone.example.org/')
  for (const evil of [
    '//evil.example',
    'https://evil.example',
    '/\\evil.example',
    'javascript:alert(1)',
    `https://x@console.example.org.evil.example`,
    `${ORIGIN}.evil.example`,
    'https://u:p@console.example.org/',
    undefined,
    'http://[',
  ])
    assert.equal(to(evil), `${ORIGIN}/`, evil)
})
