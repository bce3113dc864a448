import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../kit/kit.ts'

test('refusals read as the contract prints them; what else is wrong stands beside it', async () => {
  const k = kit()
  const [one, other] = [await k.enroll('One'), await k.enroll('Other')]
  const bodies = [
    await k.anonymous.get('/nodes'),
    await k.as('viewer').get('/nodes/none'),
    await one.agent.get(`/nodes/${other.id}/config`),
    await k.bearer('svc_node_wrong').get(`/nodes/${one.id}/config`),
    await k.bearer('svc_bs_wrong').post(`/nodes/${one.id}/bootstrap`, {}),
  ].map(({ json, status }) => [status, json])
  const permission = 'node:control'
  assert.deepEqual(bodies, [
    [401, { error: 'Unauthorized', permission: 'node:read' }],
    [403, { error: 'Forbidden', permission: 'node:read' }],
    [
      403,
      {
        ...{ error: 'Forbidden', permission, reason: 'node_scope_denied' },
        message: 'Node credential cannot access this node',
      },
    ],
    [401, { error: 'Unauthorized', permission }],
    [401, { error: 'Unauthorized', permission: 'node:manage' }],
  ])
  const login = await k.anonymous.post('/auth/login', { email: 'a@example.org', password: 'wrong-password' })
  assert.deepEqual([login.status, login.json], [401, { error: 'Invalid credentials' }], 'no permission is asked for')
  await k.close()
})

test('a console on another origin may read the headers of ours', async () => {
  const k = kit()
  const answer = await k.anonymous.get('/auth/oidc/config', { origin: 'http://localhost:5173' })
  const exposed = (answer.headers.get('access-control-expose-headers') ?? '').split(',').map((name) => name.trim())
  for (const name of ['x-svc-captured-at', 'x-svc-duration-ms', 'x-svc-rendition', 'x-svc-sequence', 'Retry-After'])
    assert.ok(exposed.includes(name), name)
  const stranger = await k.anonymous.get('/auth/oidc/config', { origin: 'https://evil.test' })
  assert.equal(stranger.headers.get('access-control-allow-origin'), null)
  await k.close()
})
