// A short code where a person types at a box: it is traded for a bootstrap token, once, for a few minutes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateSshKey } from '../../../../src/crypto/sshkey.ts'
import { hashPairingCode, mintPairingCode } from '../../../../src/crypto/token.ts'
import { PAIRING_ALPHABET, pairingCodeOf, shownPairingCode } from '../../../../src/kernel/pairing.ts'
import { listening } from '../../../kit/http.ts'
import { type Kit, kit } from '../../../kit/kit.ts'

const issue = async (k: Kit, id: string, body: object = {}) =>
  (await k.as('admin').post(`/nodes/${id}/pairing-code`, body)).json.data
const pair = (k: Kit, code: unknown) => k.anonymous.post('/nodes/pair', { code })
const REFUSED = { error: 'This code is wrong, was used, or has expired' }

test('a code is eight characters that nobody mistakes, each equally likely, and read as people type it', () => {
  const seen = new Map<string, number>()
  for (let n = 0; n < 3000; n++) {
    const code = mintPairingCode()
    assert.match(code, /^[A-HJKMNP-TV-Z2-9]{8}$/)
    for (const letter of code) seen.set(letter, (seen.get(letter) ?? 0) + 1)
  }
  assert.deepEqual([...seen.keys()].sort().join(''), [...PAIRING_ALPHABET].sort().join(''))
  // 800 of each are expected; five standard deviations.
  for (const [letter, count] of seen) assert.ok(Math.abs(count - 800) < 140, `${letter}: ${count}`)
  assert.equal(shownPairingCode('K7QM3XPD'), 'K7QM-3XPD')
  for (const typed of ['K7QM-3XPD', 'k7qm3xpd', ' K7 QM 3X PD ', 'k7-qm-3x-pd\n'])
    assert.equal(pairingCodeOf(typed), 'K7QM3XPD')
  for (const typed of ['', 'K7QM-3XP', 'K7QM-3XPDA', 'K7QM-3XP0', 'K7QM-3XPO', 'K7QM_3XPD'])
    assert.equal(pairingCodeOf(typed), undefined)
  const [one, other] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
  assert.match(hashPairingCode(one, 'K7QM3XPD'), /^[0-9a-f]{64}$/)
  assert.notEqual(hashPairingCode(one, 'K7QM3XPD'), hashPairingCode(other, 'K7QM3XPD'))
})

test('a code is traded once for a bootstrap token of its node, which lets the box join', async () => {
  const k = kit()
  const { id } = await k.enroll()
  k.forget()
  const made = await k.as('admin').post(`/nodes/${id}/pairing-code`, {})
  assert.equal(made.status, 201)
  assert.match(made.json.data.code, /^[A-HJKMNP-TV-Z2-9]{4}-[A-HJKMNP-TV-Z2-9]{4}$/)
  assert.deepEqual([made.json.data.nodeId, made.json.data.expiresAt], [id, '2026-03-02T09:10:00.000Z'])
  assert.equal(made.headers.get('cache-control'), 'no-store')
  k.advance('5m')
  const traded = await pair(k, made.json.data.code.toLowerCase().replace('-', ''))
  assert.equal(traded.status, 200)
  assert.deepEqual(Object.keys(traded.json.data).sort(), ['expiresAt', 'nodeId', 'token'])
  assert.deepEqual([traded.json.data.nodeId, traded.json.data.expiresAt], [id, '2026-03-02T09:15:00.000Z'])
  assert.equal(traded.headers.get('cache-control'), 'no-store')
  assert.deepEqual(k.trail(), [
    'nodes.pairing_code.issue allowed',
    'nodes.pairing_code.issue.succeeded succeeded',
    'nodes.pairing.completed succeeded',
  ])
  const [row] = k.rows<{ actor: string; target: string }>(
    "SELECT actor_id AS actor, target_id AS target FROM audit_events WHERE action = 'nodes.pairing.completed'",
  )
  assert.deepEqual(row, { actor: id, target: id })
  const again = await pair(k, made.json.data.code)
  assert.deepEqual([again.status, again.json], [401, REFUSED])
  assert.equal(k.trail().at(-1), 'nodes.pairing.failed denied invalid_pairing_code')
  const joined = await k.bearer(traded.json.data.token).post(`/nodes/${id}/bootstrap`, generateSshKey('svc-test'))
  assert.equal(joined.status, 201)
  await k.close()
})

test('the code and the token stand nowhere: not in the database, the audit or the log', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const { code } = await issue(k, id)
  const bare = code.replace('-', '')
  const dump = () => k.db.raw.serialize().toString('latin1') + k.logged.join()
  for (const one of [code, bare, bare.toLowerCase()]) assert.ok(!dump().includes(one))
  const { token } = (await pair(k, code)).json.data
  for (const one of [code, bare, token]) assert.ok(!dump().includes(one))
  await k.close()
})

test('wrong, expired, replaced and malformed are one answer, and spend nothing', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const other = await k.enroll('Other')
  const first = (await issue(k, id)).code
  const second = (await issue(k, id)).code
  const short = (await issue(k, other.id, { ttlSeconds: 60 })).code
  k.advance('61s')
  const bodies: unknown[] = [
    ...[first, short, 'AAAA-AAAA', '', 'x'.repeat(5000), 7, null, [second], { code: second }].map((code) => ({ code })),
    ...['{"code":', 'null', '[]', '"x"', '', '['.repeat(5000)],
  ]
  k.forget()
  for (const body of bodies) {
    const answer = await k.anonymous.post('/nodes/pair', body)
    assert.deepEqual([answer.status, answer.json], [401, REFUSED], JSON.stringify(body))
  }
  assert.deepEqual(k.trail(), Array(bodies.length).fill('nodes.pairing.failed denied invalid_pairing_code'))
  // A body of another shape may bring more than the code.
  assert.equal((await k.anonymous.post('/nodes/pair', { box: 'b', code: second })).status, 200)
  // What has expired is swept when the next code is made.
  assert.equal(k.rows('SELECT 1 FROM pairing_codes').length, 1)
  await issue(k, id)
  assert.deepEqual(k.rows('SELECT node_id AS id FROM pairing_codes'), [{ id }])
  await k.close()
})

test('two boxes with one code: one of them wins', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const { code } = await issue(k, id)
  const all = await Promise.all(Array.from({ length: 20 }, () => pair(k, code)))
  assert.deepEqual(all.map(({ status }) => status).sort(), [200, ...Array(19).fill(401)])
  assert.equal(k.rows('SELECT 1 FROM bootstrap_tokens').length, 1)
  await k.close()
})

test('a code ends when its node is retired or loses its credentials; a bootstrap token leaves it alone', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id } = await k.enroll()
  const kept = (await issue(k, id)).code
  await admin.post(`/nodes/${id}/bootstrap-token`, {})
  assert.equal((await pair(k, kept)).status, 200)
  for (const deed of ['credentials/revoke', 'retire']) {
    const { code } = await issue(k, id)
    assert.equal((await admin.post(`/nodes/${id}/${deed}`)).status, 200)
    assert.equal((await pair(k, code)).status, 401, deed)
  }
  const refused = await admin.post(`/nodes/${id}/pairing-code`, {})
  assert.deepEqual([refused.status, refused.json.reason], [409, 'node_retired'])
  await k.close()
})

test('only who manages the node makes a code for it', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const path = `/nodes/${id}/pairing-code`
  const here = k.person('here', ['technician'], [['site', 'North']])
  const elsewhere = k.person('elsewhere', ['technician'], [['site', 'South']])
  assert.equal((await here.post(path, {})).status, 201)
  assert.equal((await elsewhere.post(path, {})).status, 403)
  assert.equal((await k.as('operator').post(path, {})).status, 403)
  assert.equal((await k.anonymous.post(path, {})).status, 401)
  assert.equal((await k.as('admin').post('/nodes/none/pairing-code', {})).status, 404)
  for (const ttlSeconds of [59, 3601, 60.5, '600'])
    assert.equal((await here.post(path, { ttlSeconds })).status, 400, String(ttlSeconds))
  await k.close()
})

test('an address has ten attempts a minute, the right one too; guessing is told in one row', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const { code } = await issue(k, id)
  const { close, url } = await listening(k)
  const ask = async (body: string) => {
    const answer = await fetch(`${url}/nodes/pair`, {
      body,
      headers: { 'content-type': 'application/json' },
      method: 'POST',
    })
    await answer.arrayBuffer()
    return answer
  }
  const right = JSON.stringify({ code })
  assert.equal((await ask(right)).status, 200)
  for (let n = 0; n < 9; n++) assert.equal((await ask(n % 2 ? '{' : right)).status, 401)
  const next = JSON.stringify({ code: (await issue(k, id)).code })
  const late = await ask(next)
  assert.equal(late.status, 429)
  assert.ok(Number(late.headers.get('retry-after')) > 50)
  k.advance('61s')
  assert.equal((await ask(next)).status, 200)
  k.forget()
  await k.tick('refusals')
  const counted = k.rows<{ details: string }>("SELECT details FROM audit_events WHERE action = 'auth.requests.counted'")
  assert.deepEqual(
    counted.map(({ details }) => JSON.parse(details).count),
    [1],
  )
  await close()
  await k.close()
})

test('all addresses together have sixty attempts a minute', async () => {
  const k = kit({ env: { SVC_TRUSTED_PROXIES: '127.0.0.1' } })
  const { id } = await k.enroll()
  const right = JSON.stringify({ code: (await issue(k, id)).code })
  const { close, url } = await listening(k)
  const ask = async (address: string, body = '{"code":"AAAA-AAAA"}') => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': address }
    const answer = await fetch(`${url}/nodes/pair`, { body, headers, method: 'POST' })
    await answer.arrayBuffer()
    return answer
  }
  for (let n = 0; n < 60; n++) assert.equal((await ask(`10.0.0.${n % 12}`)).status, 401)
  const late = await ask('10.0.1.1', right)
  assert.equal(late.status, 429)
  assert.ok(Number(late.headers.get('retry-after')) > 50)
  // Nothing but pairing waits for it.
  assert.equal((await fetch(`${url}/nodes`)).status, 401)
  k.advance('61s')
  assert.equal((await ask('10.0.1.1', right)).status, 200)
  await close()
  await k.close()
})

test('a clock that is put right leaves a code the minutes it had', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const { code } = await issue(k, id)
  await k.jump('2h')
  assert.equal((await pair(k, code)).status, 200)
  await k.close()
})

test('the line to type is short, of this controller, and asks for the code', async () => {
  const k = kit({ env: { SVC_PUBLIC_URL: 'https://rooms.example.org' } })
  const { id } = await k.enroll()
  assert.equal((await issue(k, id)).installLine, `curl -fsS https://rooms.example.org/install.sh | sudo sh`)
  assert.equal(
    (await issue(k, id, { controllerUrl: 'http://10.0.0.7:8080/' })).installLine,
    `curl -fsS http://10.0.0.7:8080/install.sh | sudo sh -s -- --allow-insecure`,
  )
  assert.equal((await k.as('admin').post(`/nodes/${id}/pairing-code`, { controllerUrl: 'x' })).status, 400)
  await k.close()
})
