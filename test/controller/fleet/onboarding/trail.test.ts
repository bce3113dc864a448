// What the audit keeps of keys, tokens, devices and sessions: objects before and after, and never a secret.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateSshKey } from '../../../../src/crypto/sshkey.ts'
import { type Kit, kit } from '../../../kit/kit.ts'

interface Row {
  after: string | null
  before: string | null
}
const rowsOf = (k: Kit, action: string) =>
  k
    .rows<Row>('SELECT before, after FROM audit_events WHERE action = ? ORDER BY seq', action)
    .map(({ after, before }) => ({ after: JSON.parse(after ?? 'null'), before: JSON.parse(before ?? 'null') }))
const last = (k: Kit, action: string) => {
  const row = rowsOf(k, action).at(-1)
  assert.ok(row, action)
  return row
}
const device = {
  ...{
    alias: 'Desk',
    backend: 'alsa',
    channelCount: 2,
    sampleRates: [48_000],
    systemName: 'Desk',
    systemRef: 'hw:Desk',
  },
}

test('each step with a token tells what there was and what there is, by prefix, count and expiry', async () => {
  const k = kit()
  const { id, token } = await k.enroll()
  const admin = k.as('admin')
  const enrolled = last(k, 'nodes.enroll.succeeded').after
  assert.deepEqual(
    enrolled.tokens.map((one: { state: string }) => one.state),
    ['active'],
  )
  const issued = (await admin.post(`/nodes/${id}/bootstrap-token`)).json.data
  const issue = last(k, 'nodes.bootstrap_token.issue.succeeded')
  assert.deepEqual(issue.before.bootstrapTokens, { count: 0 })
  assert.deepEqual(issue.after.bootstrapTokens, { count: 1, expiresAt: issued.expiresAt })
  assert.equal(issue.after.issued.expiresAt, issued.expiresAt)
  assert.ok(issued.token.startsWith(issue.after.issued.tokenPrefix))
  const rotated = (await admin.post(`/nodes/${id}/credentials/rotate`)).json.data.credential
  const rotate = last(k, 'nodes.credentials.rotate.succeeded')
  assert.equal(rotate.before.tokens[0].tokenPrefix, token.slice(0, 24))
  assert.deepEqual(
    rotate.after.tokens.map((one: { id: string }) => one.id),
    [rotated.id],
  )
  assert.deepEqual([rotate.before.bootstrapTokens.count, rotate.after.bootstrapTokens.count], [1, 0])
  const again = (await admin.post(`/nodes/${id}/bootstrap-token`)).json.data
  await admin.post(`/nodes/${id}/credentials/revoke`)
  const revoke = last(k, 'nodes.credentials.revoke.succeeded')
  assert.deepEqual([revoke.before.tokens.length, revoke.before.bootstrapTokens.count], [1, 1])
  assert.deepEqual([revoke.after.tokens, revoke.after.bootstrapTokens, revoke.after.ssh], [[], { count: 0 }, null])
  const file = { controllerUrl: 'https://c.test', nodes: [{ nodeId: id }] }
  assert.equal((await admin.post('/nodes/bootstrap-config', file)).status, 201)
  assert.equal(last(k, 'nodes.bootstrap_token.issue.succeeded').after.bootstrapTokens.count, 1)
  const audit = JSON.stringify(k.rows('SELECT * FROM audit_events'))
  for (const secret of [token, issued.token, again.token, rotated.token]) assert.ok(!audit.includes(secret))
  await k.close()
})

test('a bootstrap that brings devices writes the reconciliation beside its own row; a report writes it alone', async () => {
  const k = kit()
  const { id } = await k.enroll('Box', { interfaces: [] })
  const { token } = (await k.as('admin').post(`/nodes/${id}/bootstrap-token`)).json.data
  k.forget()
  const { privateKey, publicKey } = generateSshKey('t')
  const body = { agentVersion: '1', hostname: 'box', interfaces: [device], privateKey, publicKey }
  const joined = await k.bearer(token).post(`/nodes/${id}/bootstrap`, body)
  assert.equal(joined.status, 201, joined.text)
  assert.deepEqual(k.trail(), ['nodes.inventory.reconciled succeeded', 'nodes.bootstrap.completed succeeded'])
  const found = last(k, 'nodes.inventory.reconciled')
  assert.deepEqual([found.before, found.after.added], [{ interfaces: [] }, ['Desk']])
  assert.deepEqual(
    found.after.interfaces.map((one: { systemRef: string }) => one.systemRef),
    ['hw:Desk'],
  )
  const completed = last(k, 'nodes.bootstrap.completed')
  assert.deepEqual([completed.before.bootstrapTokens.count, completed.after.bootstrapTokens.count], [1, 0])
  const agent = k.bearer(joined.json.data.controllerToken)
  k.forget()
  assert.equal((await agent.post(`/nodes/${id}/inventory`, { interfaces: [device] })).status, 202)
  assert.deepEqual(
    k.trail().filter((row) => row.startsWith('nodes.inventory')),
    [],
    'nothing changed',
  )
  await agent.post(`/nodes/${id}/inventory`, { interfaces: [{ ...device, channelCount: 4 }] })
  const { after, before } = last(k, 'nodes.inventory.reconciled')
  const counts = (facts: { interfaces: { channelCount: number }[] }) => facts.interfaces.map((one) => one.channelCount)
  assert.deepEqual([counts(before), counts(after), after.updated], [[2], [4], ['Desk']])
  await k.close()
})

test('a session that is ended is told of, and every bulk row keeps objects', async () => {
  const k = kit()
  const owner = k.as('owner')
  k.person('ann', ['viewer'])
  assert.equal((await owner.delete('/auth/users/ann/sessions/session-ann')).status, 204)
  const { after, before } = last(k, 'auth.users.sessions.revoke.succeeded')
  assert.deepEqual(Object.keys(before).sort(), ['createdAt', 'expiresAt', 'id', 'lastSeenAt'])
  assert.deepEqual(after, { ...before, revokedAt: k.now() })
  const bob = k.person('bob', ['viewer'])
  assert.equal((await bob.delete('/auth/sessions/session-bob')).status, 204)
  assert.equal(last(k, 'auth.sessions.revoke.succeeded').before.id, 'session-bob')
  await k.close()
})

test('a bootstrap token comes with the line to type, of this controller, for this release', async () => {
  const k = kit({ env: { SVC_PUBLIC_URL: 'https://rooms.example.org' } })
  const { id } = await k.enroll()
  const ask = async (body?: object) => (await k.as('admin').post(`/nodes/${id}/bootstrap-token`, body)).json.data
  const { installLine: line, token } = await ask()
  assert.equal(
    line,
    `{ echo SVC_BOOTSTRAP_TOKEN=${token}; curl -fsSL --proto '=https' 'https://rooms.example.org/install.sh' || printf '\\nexit 1\\n'; } | sudo sh -s -- --node-id '${id}' --room 'Hall' --site 'North'`,
  )
  const pinned = await ask({ version: 'agent-v2026.03.02-1' })
  assert.match(pinned.installLine, /--version 'agent-v2026\.03\.02-1'$/)
  for (const version of ['', '-x', 'a b', 7])
    assert.equal((await k.as('admin').post(`/nodes/${id}/bootstrap-token`, { version })).status, 400, String(version))
  const own = await ask({ controllerCaPath: "/root/site's ca.pem" })
  const quoted = "'/root/site'\\''s ca.pem'"
  assert.ok(own.installLine.includes(`--cacert ${quoted} --capath /sys 'https://rooms.example.org/install.sh'`))
  const elsewhere = await ask({ controllerUrl: 'http://10.0.0.7:8080/' })
  assert.ok(elsewhere.installLine.includes(`'http://10.0.0.7:8080/install.sh'`), elsewhere.installLine)
  assert.match(own.installLine, / \| sudo sh -s -- --controller-ca '/)
  for (const controllerCaPath of ['', 'a\nb', 7])
    assert.equal((await k.as('admin').post(`/nodes/${id}/bootstrap-token`, { controllerCaPath })).status, 400)
  await k.close()
})
