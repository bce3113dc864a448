import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import type { Role } from '../../src/wire/permissions.ts'
import { kit } from '../kit/kit.ts'
import { lastRow, requestOf, rowsSince, seed, targetType, things, undone } from './world.ts'

const RUNNER = 'runner-token-0123456789'
const k = kit({ env: { SVC_RUNNER_TOKEN: RUNNER, SVC_AUDIT_MACHINE_WINDOW_SECONDS: '0' } })
before(() => seed(k))
after(() => k.close())

// The bundles of the contract, typed once more: `*` is all of them.
const READS = 'node:read recording:read recording:playback recording:download schedule:read settings:read switcher:read'
const VIEWER = `${READS} health:read metrics:read`
const OPERATOR = `${VIEWER} node:control listen:monitor recording:create recording:control recording:edit schedule:manage
  switcher:map health:acknowledge`
const TECHNICIAN = `node:read node:manage listen:monitor recording:read recording:create recording:control recording:playback
  schedule:read settings:read health:read health:acknowledge`
const HOLDS: Record<Role, string[]> = {
  owner: ['*'],
  admin: ['*'],
  operator: OPERATOR.split(/\s+/),
  technician: TECHNICIAN.split(/\s+/),
  viewer: VIEWER.split(' '),
  auditor: ['audit:read', 'health:read', 'metrics:read', 'recording:read'],
}
const holds = (role: Role, r: AnyRoute): boolean =>
  r.permission === null || HOLDS[role].includes('*') || HOLDS[role].includes(r.permission)

const of = (auth: string) => k.routes.filter((r) => r.auth === auth)
const line = (r: AnyRoute): string => `${r.method} ${r.path}`
const target = (r: AnyRoute) => {
  const type = targetType(r)
  return type ? things(type)[0] : undefined
}

/** One call, undone; the rows it left. */
const call = (token: string | undefined, r: AnyRoute, fallback?: string) =>
  undone(k, async () => {
    const since = lastRow(k)
    const { path, body } = requestOf(r, target(r), fallback)
    const answer = await k.bearer(token).send(r.method, path, body)
    return { answer, rows: rowsSince(k, since) }
  })

const decisions = (r: AnyRoute, rows: { action: string; outcome: string; reason: string | null }[]) =>
  rows
    .filter((row) => row.action === r.action && ['allowed', 'denied'].includes(row.outcome))
    .map((row) => [row.outcome, row.reason])

test('anonymous: 401 and exactly one denied row, on every user route', async () => {
  for (const r of of('user')) {
    const { answer, rows } = await call(undefined, r)
    assert.equal(answer.status, 401, line(r))
    assert.equal(answer.json.error, 'Unauthorized')
    assert.equal(answer.json.permission ?? null, r.permission, line(r))
    const expected = {
      action: r.action,
      outcome: 'denied',
      reason: 'unauthenticated',
      permission: r.permission,
      actor: 'anonymous',
    }
    assert.deepEqual(rows, [expected], line(r))
  }
})

for (const role of Object.keys(HOLDS) as Role[]) {
  test(`${role} with a grant on everything: the gate asks only for the permission`, async () => {
    const { token } = k.person(`${role}-all`, [role], [['*', '*']])
    for (const r of of('user')) {
      const { answer, rows } = await call(token, r)
      if (holds(role, r)) {
        if (r.audit !== 'outcome') assert.deepEqual(decisions(r, rows), [['allowed', null]], line(r))
        assert.ok(![401, 403].includes(answer.status), `${line(r)} answers ${answer.status}`)
      } else {
        assert.equal(answer.status, 403, line(r))
        assert.deepEqual(answer.json, { error: 'Forbidden', permission: r.permission }, line(r))
        assert.deepEqual(
          rows.map((row) => [row.action, row.outcome, row.reason]),
          [[r.action, 'denied', 'missing_permission']],
        )
      }
    }
  })

  test(`${role} without a grant: default deny, unless the role bypasses scope`, async () => {
    const { token } = k.person(`${role}-none`, [role])
    const bypass = role === 'owner' || role === 'admin'
    for (const r of of('user').filter((r) => holds(role, r))) {
      const { answer, rows } = await call(token, r)
      const allowed = bypass || targetType(r) === undefined
      if (r.audit !== 'outcome')
        assert.deepEqual(
          decisions(r, rows),
          [allowed ? ['allowed', null] : ['denied', 'missing_resource_scope']],
          line(r),
        )
      if (!allowed) assert.equal(answer.status, 403, line(r))
      if (!allowed) assert.equal(rows.length, 1, `${line(r)} leaves exactly one row`)
    }
  })
}

test('a user without roles has no permission, and still reads what any session may read', async () => {
  const { token } = k.person('nobody', [], [['*', '*']])
  for (const r of of('user')) {
    const { answer } = await call(token, r)
    // A thing of one's own that is not there is 404, an empty body 400: past the gate in any case.
    assert.ok(r.permission === null ? [200, 400, 404].includes(answer.status) : answer.status === 403, line(r))
  }
})

for (const [why, change] of [
  ['disabled user', `UPDATE users SET disabled_at = '2026-01-01T00:00:00.000Z' WHERE id = 'gone'`],
  ['revoked session', `UPDATE sessions SET revoked_at = '2026-01-01T00:00:00.000Z' WHERE user_id = 'gone'`],
  ['expired session', `UPDATE sessions SET expires_at = '2026-01-01T00:00:00.000Z' WHERE user_id = 'gone'`],
] as const)
  test(`${why}: 401 on every user route`, async () => {
    const { token } = k.person('gone', ['owner'])
    await undone(k, async () => {
      k.sql(change)
      for (const r of of('user')) assert.equal((await call(token, r)).answer.status, 401, line(r))
    })
  })

const TOKENS: Record<string, string> = {
  user: 'svc_admin',
  node: 'svc_node_n1',
  runner: RUNNER,
  wrong: 'svc_node_wrong',
}

for (const kind of ['node', 'bootstrap', 'runner'] as const)
  test(`${kind} routes: no token, a wrong one and one of another kind are 401 with one denied row`, async () => {
    k.as('admin')
    const others = Object.entries(TOKENS).filter(([name]) => name !== kind)
    for (const r of of(kind))
      for (const [name, token] of [['no token', undefined] as const, ...others]) {
        const beside = k.routes.filter((o) => o !== r && o.method === r.method && o.path === r.path)
        // A session on a path that users have too is the user's own record, and so with a node's credential.
        if (beside.some(({ auth }) => auth === name)) continue
        const { answer, rows } = await call(token, r, 'n1')
        const shared = beside.length > 0
        assert.equal(answer.status, 401, `${line(r)} with ${name}`)
        assert.equal(rows.length, 1, `${line(r)} with ${name} leaves one row`)
        assert.equal(rows[0]?.outcome, 'denied')
        if (!shared) assert.equal(rows[0]?.reason, `${token ? 'invalid' : 'missing'}_${kind}_token`, line(r))
      }
  })

test('user routes: a node token, the runner token and a bootstrap token are 401', async () => {
  for (const r of of('user'))
    for (const name of ['node', 'runner', 'wrong']) {
      // A node on a path that nodes have too is the node's own record.
      if (name !== 'runner' && of('node').some((n) => n.method === r.method && n.path === r.path)) continue
      const { answer, rows } = await call(TOKENS[name], r)
      assert.equal(answer.status, 401, `${line(r)} with ${name}`)
      assert.deepEqual(decisions(r, rows), [['denied', 'unauthenticated']])
    }
})

test('node routes: a node reaches only itself, its jobs and its recordings', async () => {
  for (const r of of('node'))
    for (const [token, refused] of [
      ['svc_node_n1', false],
      ['svc_node_n4', true],
    ] as const) {
      const { answer, rows } = await call(token, r)
      if (!refused)
        assert.ok(![401, 403].includes(answer.status), `${line(r)} answers ${answer.status} to its own node`)
      if (!refused) continue
      assert.equal(answer.status, 403, `${line(r)} answers a foreign node`)
      assert.deepEqual(
        rows.map((row) => [row.outcome, row.reason]),
        [['denied', 'node_scope_denied']],
        line(r),
      )
    }
})

test('the runner route answers the runner and, without a configured token, nobody', async () => {
  const bare = kit()
  try {
    const answer = await bare.bearer(RUNNER).get('/nodes/n1/ssh-credential/material')
    assert.equal(answer.status, 503)
    assert.equal(answer.json.reason, 'runner_token_unconfigured')
  } finally {
    await bare.close()
  }
  for (const r of of('runner')) assert.ok(![401, 403].includes((await call(RUNNER, r)).answer.status), line(r))
})
