// A request that keeps its body back keeps no rights with it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateSshKey } from '../../../src/crypto/sshkey.ts'
import { listening } from '../../kit/http.ts'
import { type Kit, kit } from '../../kit/kit.ts'
import { slowly, statusOf } from '../../kit/slow.ts'

/** Begins a request, lets `between` happen, sends the rest; its status. */
async function held(k: Kit, request: string, token: string, body: object, between: () => unknown): Promise<number> {
  const server = await listening(k)
  const text = JSON.stringify(body)
  const headers = {
    authorization: `Bearer ${token}`,
    connection: 'close',
    'content-length': String(text.length),
    'content-type': 'application/json',
  }
  const slow = await slowly(server.url, request.replace(' /', ' /api/v1/'), headers, text.slice(0, 5))
  await between()
  k.advance('1s')
  slow.socket.write(text.slice(5))
  await slow.closed
  await server.close()
  return statusOf(slow)
}

const OWNER = { roles: ['owner'] }

for (const [what, sql] of [
  ['a session that ended', "UPDATE sessions SET revoked_at = '2026-03-02T09:00:00.000Z' WHERE user_id = 'ann'"],
  ['an account that was disabled', "UPDATE users SET disabled_at = '2026-03-02T09:00:00.000Z' WHERE id = 'ann'"],
] as const)
  test(`${what} while the body was on its way does nothing more, and the row says when`, async () => {
    const k = kit()
    k.person('ann', ['admin'])
    k.person('accomplice', ['viewer'])
    const begun = k.now()
    const status = await held(k, 'PATCH /auth/users/accomplice/access', 'svc_ann', OWNER, () => k.sql(sql))
    assert.equal(status, 401)
    assert.deepEqual(k.rows('SELECT role FROM user_roles WHERE user_id = ?', 'accomplice'), [{ role: 'viewer' }])
    assert.deepEqual(k.trail(), ['auth.users.access.update denied credential_revoked'])
    const [row] = k.rows<{ at: string }>('SELECT created_at AS at FROM audit_events')
    assert.ok((row?.at ?? '') > begun)
    await k.close()
  })

test('a role that was taken meanwhile counts no longer', async () => {
  const k = kit()
  k.person('ann', ['admin'])
  k.person('accomplice', ['viewer'])
  const between = () => k.sql("UPDATE user_roles SET role = 'viewer' WHERE user_id = 'ann'")
  assert.equal(await held(k, 'PATCH /auth/users/accomplice/access', 'svc_ann', OWNER, between), 403)
  assert.deepEqual(k.trail(), ['auth.users.access.update denied missing_permission'])
  await k.close()
})

test('a recorder whose credential was revoked meanwhile tells nothing more', async () => {
  const k = kit()
  const { id, token } = await k.enroll()
  const event = { openedAt: k.now(), severity: 'info', type: 'agent.started' }
  const between = () => k.sql("UPDATE node_credentials SET state = 'revoked'")
  assert.equal(await held(k, `POST /nodes/${id}/health-events`, token, event, between), 401)
  assert.deepEqual(k.rows('SELECT id FROM health_events'), [])
  await k.close()
})

test('a bootstrap token that was spent meanwhile is refused as one that was spent before', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const { token } = (await k.as('admin').post(`/nodes/${id}/bootstrap-token`)).json.data
  const hello = { interfaces: [], ...generateSshKey('late') }
  const between = async () => assert.equal((await k.bearer(token).post(`/nodes/${id}/bootstrap`, hello)).status, 201)
  assert.equal(await held(k, `POST /nodes/${id}/bootstrap`, token, hello, between), 401)
  assert.deepEqual(
    k.trail().filter((row) => row.startsWith('nodes.bootstrap.')),
    ['nodes.bootstrap.completed succeeded', 'nodes.bootstrap.failed denied invalid_bootstrap_token'],
  )
  await k.close()
})

test('who keeps their rights may take their time', async () => {
  const k = kit()
  k.person('ann', ['admin'])
  assert.equal(await held(k, 'POST /rooms', 'svc_ann', { name: 'Hall', site: 'North' }, () => {}), 201)
  await k.close()
})
