import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashPassword } from '../../../src/crypto/password.ts'
import { listening } from '../../kit/http.ts'
import { kit } from '../../kit/kit.ts'

const statuses = async (times: number, ask: () => Promise<Response>): Promise<number[]> => {
  const seen: number[] = []
  for (let n = 0; n < times; n++) {
    const answer = await ask()
    await answer.arrayBuffer()
    seen.push(answer.status)
  }
  return seen
}
const rowsOf = (k: ReturnType<typeof kit>) =>
  k.rows<{ action: string; details: string; ip: string; outcome: string; session: string | null }>(
    'SELECT action, outcome, details, ip_address AS ip, session_id AS session FROM audit_events ORDER BY seq',
  )

test('refused strangers write so many rows a minute; the rest is one row with a count', async () => {
  const k = kit()
  const admin = k.as('admin')
  k.forget()
  const { close, url } = await listening(k)
  const ask = (n: string) => fetch(`${url}/nodes/${n}`, { headers: { 'x-svc-session-id': `made-up-${n}` } })
  const seen = await statuses(70, () => ask('x'))
  assert.deepEqual([...new Set(seen.slice(0, 60))], [401])
  assert.deepEqual([...new Set(seen.slice(60))], [429])
  const last = await ask('y')
  assert.ok(Number(last.headers.get('retry-after')) <= 60)
  assert.equal(rowsOf(k).length, 60)
  // Who is known is not in their line.
  const known = await fetch(`${url}/nodes`, { headers: { authorization: `Bearer ${admin.token}` } })
  assert.equal(known.status, 200)
  k.forget()
  await k.tick('refusals')
  assert.deepEqual(rowsOf(k), [])
  k.advance('61s')
  await k.tick('refusals')
  const [row, ...others] = rowsOf(k)
  assert.deepEqual(others, [])
  assert.equal(row?.action, 'auth.refusals.counted')
  assert.equal(row?.ip, '127.0.0.1')
  assert.equal(JSON.parse(row?.details ?? '').count, 11)
  assert.equal((await ask('z')).status, 401)
  await close()
  await k.close()
})

test('an orderly stop writes the counts of the minute that runs', async () => {
  const k = kit({ env: { SVC_USER_REQUESTS_PER_MINUTE: '5' } })
  const viewer = k.as('viewer')
  const { close, url } = await listening(k)
  await statuses(63, () => fetch(`${url}/nodes/x`))
  await statuses(9, () => fetch(`${url}/auth/me`, { headers: { authorization: `Bearer ${viewer.token}` } }))
  await close()
  k.forget()
  k.advance('20s')
  await k.stop()
  const told = rowsOf(k).map(({ action, details }) => ({ action, ...JSON.parse(details) }))
  assert.deepEqual(
    told.map(({ action, count }) => [action, count]),
    [
      ['auth.refusals.counted', 3],
      ['auth.requests.counted', 4],
    ],
  )
  await k.close()
})

test('a stranger chooses no session id in the audit, and open routes have the same budget', async () => {
  const k = kit()
  k.forget()
  const { close, url } = await listening(k)
  const out = () => fetch(`${url}/auth/logout`, { headers: { 'x-svc-session-id': 'made-up' }, method: 'POST' })
  const seen = await statuses(65, out)
  assert.deepEqual([seen[0], seen[59], seen[60]], [204, 204, 429])
  const rows = rowsOf(k)
  assert.equal(rows.length, 60)
  assert.deepEqual([...new Set(rows.map(({ session }) => session))], [null])
  // Probes are nobody's business.
  assert.equal((await fetch(url.replace('/api/v1', '/healthz'))).status, 200)
  await close()
  await k.close()
})

test('the right password gets in, also beside somebody who was refused too often', async () => {
  const k = kit()
  k.person('ann', ['viewer'])
  k.sql("UPDATE users SET password_hash = ? WHERE id = 'ann'", await hashPassword('right'))
  const { close, url } = await listening(k)
  const login = (password: string) =>
    fetch(`${url}/auth/login`, { body: JSON.stringify({ email: 'ann@example.org', password }), method: 'POST' })
  await statuses(61, () => fetch(`${url}/nodes`))
  assert.equal((await login('wrong')).status, 429)
  assert.equal((await login('right')).status, 200)
  await close()
  await k.close()
})

test('a node that is refused over and over leaves so many rows, and one account so many requests', async () => {
  const k = kit({ env: { SVC_STRANGER_REFUSALS_PER_MINUTE: '2', SVC_USER_REQUESTS_PER_MINUTE: '5' } })
  const { agent } = await k.enroll()
  const viewer = k.as('viewer')
  k.forget()
  const { close, url } = await listening(k)
  const as = (token = '') => ({ headers: { authorization: `Bearer ${token}` } })
  const foreign = await statuses(25, () => fetch(`${url}/nodes/other/config`, as(agent.token)))
  assert.deepEqual([foreign[0], foreign[19], foreign[20]], [403, 403, 429])
  assert.equal(rowsOf(k).length, 20)
  k.forget()
  assert.deepEqual(
    await statuses(7, () => fetch(`${url}/rooms`, as(viewer.token))),
    [200, 200, 200, 200, 200, 429, 429],
  )
  assert.equal(rowsOf(k).length, 10)
  k.forget()
  k.advance('61s')
  await k.tick('refusals')
  const told = rowsOf(k).map(({ action, details }) => [action, JSON.parse(details).count])
  assert.deepEqual(told, [
    ['auth.refusals.counted', 5],
    ['auth.requests.counted', 2],
  ])
  await close()
  await k.close()
})
