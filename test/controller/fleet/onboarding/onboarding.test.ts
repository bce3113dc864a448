import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fingerprint, generateSshKey } from '../../../../src/crypto/sshkey.ts'
import { type Kit, kit } from '../../../kit/kit.ts'

const mint = async (k: Kit, id: string, body?: object) =>
  (await k.as('admin').post(`/nodes/${id}/bootstrap-token`, body)).json.data.token as string
const hello = () => ({
  ...generateSshKey('svc-test'),
  username: 'svc',
  interfaces: [{ alias: 'In', systemName: 'Card', systemRef: 'hw:CARD=X,DEV=0', channelCount: 2, id: 'alsa_card_x' }],
})
const state = (k: Kit) => ({
  tokens: k.rows('SELECT * FROM bootstrap_tokens WHERE consumed_at IS NULL').length,
  keys: k.rows('SELECT * FROM ssh_credentials').length,
  active: k.rows("SELECT * FROM node_credentials WHERE state = 'active'").length,
})

test('a bootstrap token is good once, for its node, before it expires', async () => {
  const k = kit()
  const { id, agent: old } = await k.enroll()
  const other = await k.enroll('Other')
  const token = await mint(k, id)
  assert.match(token, /^svc_bs_[\w-]{43}$/)
  assert.equal((await k.bearer(token).post(`/nodes/${other.id}/bootstrap`, hello())).status, 401)
  const body = hello()
  const done = await k.bearer(token).post(`/nodes/${id}/bootstrap`, body)
  assert.equal(done.status, 201)
  assert.match(done.json.data.fingerprint, /^SHA256:[A-Za-z0-9+/]{43}$/)
  assert.equal((await k.bearer(token).post(`/nodes/${id}/bootstrap`, body)).status, 401)
  assert.equal((await old.get(`/nodes/${id}/config`)).status, 401)
  assert.equal((await k.bearer(done.json.data.controllerToken).get(`/nodes/${id}/config`)).status, 200)
  const node = (await k.as('admin').get(`/nodes/${id}`)).json.data
  assert.equal(node.status, 'provisioning')
  assert.deepEqual(
    node.interfaces.map((i: { systemRef: string; absent?: true }) => [i.systemRef, i.absent]),
    [['hw:CARD=X,DEV=0', undefined]],
  )
  const late = await mint(k, id, { ttlSeconds: 60 })
  k.advance('61s')
  const expired = await k.bearer(late).post(`/nodes/${id}/bootstrap`, hello())
  assert.deepEqual([expired.status, expired.json], [401, { error: 'Unauthorized', permission: 'node:manage' }])
  const kept = k.trail().filter((t) => t.startsWith('nodes.bootstrap.'))
  assert.deepEqual(kept, [
    'nodes.bootstrap.failed denied invalid_bootstrap_token',
    'nodes.bootstrap.completed succeeded',
    'nodes.bootstrap.failed denied invalid_bootstrap_token',
    'nodes.bootstrap.failed denied invalid_bootstrap_token',
  ])
  await k.close()
})

test('a malformed request never spends the token', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const token = await mint(k, id)
  const guest = k.bearer(token)
  const { privateKey: _, ...half } = hello()
  const tries = [
    {},
    half,
    { ...hello(), publicKey: 'nope' },
    '{"a":',
    { ...hello(), interfaces: [{}] },
    '['.repeat(5000),
  ]
  for (const body of tries) {
    const answer = await guest.post(`/nodes/${id}/bootstrap`, body)
    assert.equal(answer.status, 400)
    assert.ok(answer.json.issues.length > 0)
  }
  assert.deepEqual(state(k), { tokens: 1, keys: 0, active: 1 })
  assert.equal((await guest.post(`/nodes/${id}/bootstrap`, hello())).status, 201)
  await k.close()
})

test('a failure half way leaves the token usable and nothing stored', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const token = await mint(k, id)
  k.sql("CREATE TRIGGER broken BEFORE INSERT ON interfaces BEGIN SELECT raise(FAIL, 'disk on fire'); END")
  const before = state(k)
  const answer = await k.bearer(token).post(`/nodes/${id}/bootstrap`, hello())
  assert.ok(answer.status >= 409)
  assert.deepEqual(state(k), before)
  k.sql('DROP TRIGGER broken')
  assert.equal((await k.bearer(token).post(`/nodes/${id}/bootstrap`, hello())).status, 201)
  await k.close()
})

test('fifty bootstraps at once with one token: one wins', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const token = await mint(k, id)
  k.forget()
  const body = hello()
  const all = await Promise.all(Array.from({ length: 50 }, () => k.bearer(token).post(`/nodes/${id}/bootstrap`, body)))
  assert.deepEqual(all.map((a) => a.status).sort(), [201, ...Array(49).fill(401)])
  assert.equal(k.trail().filter((t) => t === 'nodes.bootstrap.failed denied invalid_bootstrap_token').length, 49)
  const others = k.trail().filter((t) => !t.startsWith('nodes.bootstrap.failed'))
  assert.deepEqual(others, ['nodes.inventory.reconciled succeeded', 'nodes.bootstrap.completed succeeded'])
  await k.close()
})

test('the private key leaves by one door only, and secrets are nowhere else', async () => {
  const k = kit({ env: { SVC_RUNNER_TOKEN: 'runner-token-of-the-kit' } })
  const { id } = await k.enroll()
  const body = hello()
  const token = await mint(k, id)
  const { controllerToken } = (await k.bearer(token).post(`/nodes/${id}/bootstrap`, body)).json.data
  const seen = await k.as('admin').get(`/nodes/${id}/ssh-credential`)
  assert.deepEqual(Object.keys(seen.json.data).sort(), [
    'createdAt',
    'fingerprint',
    'id',
    'nodeId',
    'publicKey',
    'username',
  ])
  const runner = k.bearer('runner-token-of-the-kit')
  const material = (await runner.get(`/nodes/${id}/ssh-credential/material?mintToken=0`)).json.data
  assert.equal(material.privateKey, body.privateKey)
  assert.equal(material.controllerToken, undefined)
  assert.equal((await k.as('admin').get(`/nodes/${id}/ssh-credential/material`)).status, 401)
  const dump = k.db.raw.serialize().toString('latin1') + k.logged.join()
  for (const secret of [body.privateKey.split('\n')[2] as string, token, controllerToken, 'runner-token-of-the-kit'])
    assert.ok(!dump.includes(secret))
  assert.ok(k.trail().includes('nodes.ssh_credential.fetch succeeded'))
  assert.ok(k.trail().includes('nodes.ssh_credential.fetch denied invalid_runner_token'))
  await k.close()
})

test('a token minted for a deploy becomes active when the agent first uses it; until then the old one stays good', async () => {
  const k = kit({ env: { SVC_RUNNER_TOKEN: 'runner-token-of-the-kit' } })
  const { id } = await k.enroll()
  const { controllerToken: old } = (await k.bearer(await mint(k, id)).post(`/nodes/${id}/bootstrap`, hello())).json.data
  const runner = k.bearer('runner-token-of-the-kit')
  const minted = async () =>
    (await runner.get(`/nodes/${id}/ssh-credential/material?mintToken=1`)).json.data.controllerToken
  const unused = await minted()
  const fresh = await minted()
  const config = async (token: string) => (await k.bearer(token).get(`/nodes/${id}/config`)).status
  assert.deepEqual(
    [await config(unused), await config(old), await config(fresh), await config(old)],
    [401, 200, 200, 401],
  )
  await k.close()
})

test('rotation keeps the key the node holds until the new one is there; revocation ends everything', async () => {
  const k = kit({ env: { SVC_RUNNER_TOKEN: 'runner-token-of-the-kit' } })
  const admin = k.as('admin')
  const { id } = await k.enroll()
  const body = hello()
  const { controllerToken } = (await k.bearer(await mint(k, id)).post(`/nodes/${id}/bootstrap`, body)).json.data
  const material = () => k.bearer('runner-token-of-the-kit').get(`/nodes/${id}/ssh-credential/material`)
  await admin.post(`/nodes/${id}/ssh-credential/rotate`)
  const rotated = await admin.post(`/nodes/${id}/ssh-credential/rotate`, { username: 'recorder' })
  assert.equal(rotated.status, 201)
  const both = (await material()).json.data
  assert.match(both.privateKey, /^-----BEGIN OPENSSH PRIVATE KEY-----/)
  assert.equal(both.publicKey, rotated.json.data.publicKey)
  assert.equal(both.username, 'recorder')
  assert.equal(both.previous[0].privateKey, body.privateKey)
  assert.equal((await admin.post(`/nodes/${id}/credentials/revoke`)).status, 200)
  assert.equal((await admin.get(`/nodes/${id}/ssh-credential`)).json.data, null)
  assert.equal((await material()).status, 404)
  assert.equal((await k.bearer(controllerToken).get(`/nodes/${id}/config`)).status, 401)
  await k.close()
})

test('a key sealed with another master key is a clear refusal', async () => {
  const k = kit({ env: { SVC_RUNNER_TOKEN: 'runner-token-of-the-kit' } })
  const { id } = await k.enroll()
  await k.bearer(await mint(k, id)).post(`/nodes/${id}/bootstrap`, hello())
  k.sql("UPDATE ssh_credentials SET sealed_key = substr(sealed_key, 1, 20) || 'AAAA' || substr(sealed_key, 25)")
  const answer = await k.bearer('runner-token-of-the-kit').get(`/nodes/${id}/ssh-credential/material`)
  assert.deepEqual([answer.status, answer.json.reason], [409, 'ssh_credential_unreadable'])
  assert.equal((await k.as('admin').get(`/nodes/${id}/ssh-credential`)).status, 200)
  await k.close()
})

const withRunner = (env: Record<string, string> = {}) => kit({ env: { SVC_RUNNER_TOKEN: RUNNER, ...env } })
const materialOf = async (k: Kit, id: string) => await k.bearer(RUNNER).get(`${ssh(id)}/material`)

test('after the master key changed, a rotation is enough: the earlier key nobody can read hides no readable one', async () => {
  const k = withRunner()
  const { id } = await k.enroll()
  await k.bearer(await mint(k, id)).post(`/nodes/${id}/bootstrap`, hello())
  k.sql("UPDATE ssh_credentials SET sealed_key = substr(sealed_key, 1, 20) || 'AAAA' || substr(sealed_key, 25)")
  assert.equal((await materialOf(k, id)).status, 409)
  const { publicKey } = (await k.as('admin').post(`${ssh(id)}/rotate`)).json.data
  const { status, json } = await materialOf(k, id)
  assert.deepEqual([status, json.data.publicKey], [200, publicKey])
  assert.deepEqual([json.data.confirmed, json.data.previous, json.data.previousUnreadable], [false, [], 1])
  await k.close()
})

test('revoking a node ends its unspent bootstrap tokens, also one whose bootstrap is under way', async () => {
  const k = withRunner()
  const { id } = await k.enroll()
  const other = await k.enroll('Other')
  const [spent, ...unspent] = [await mint(k, id), await mint(k, id), await mint(k, id)]
  const others = await mint(k, other.id)
  assert.equal((await k.bearer(spent).post(`/nodes/${id}/bootstrap`, hello())).status, 201)
  // Both on their way at once: whichever comes first, no credential is good afterwards.
  const [revoked, raced] = await Promise.all([
    k.as('admin').post(`/nodes/${id}/credentials/revoke`),
    k.bearer(unspent[0] as string).post(`/nodes/${id}/bootstrap`, hello()),
  ])
  assert.deepEqual([revoked.status, raced.status === 201 || raced.status === 401], [200, true])
  for (const token of unspent) assert.equal((await k.bearer(token).post(`/nodes/${id}/bootstrap`, hello())).status, 401)
  assert.equal((await k.bearer(unspent[1] as string).get(`/nodes/${id}/bootstrap`)).status, 401)
  const [row] = k.rows<{ details: string }>(
    "SELECT details FROM audit_events WHERE action = 'nodes.credentials.revoke.succeeded'",
  )
  assert.equal(JSON.parse(row?.details ?? '').bootstrapTokensRevoked, raced.status === 201 ? 1 : 2)
  assert.equal((await k.as('admin').get(ssh(id))).json.data, null)
  assert.equal(k.rows("SELECT 1 FROM node_credentials WHERE node_id = ? AND state <> 'revoked'", id).length, 0)
  assert.equal((await k.bearer(others).post(`/nodes/${other.id}/bootstrap`, hello())).status, 201)
  assert.equal((await k.bearer(await mint(k, id)).post(`/nodes/${id}/bootstrap`, hello())).status, 201)
  await k.close()
})

test('an accepted bootstrap keeps the keys the node may hold until its new token is used', async () => {
  const k = withRunner()
  const { id } = await k.enroll()
  const joins = async () => {
    k.advance('1s')
    const body = hello()
    const answer = await k.bearer(await mint(k, id)).post(`/nodes/${id}/bootstrap`, body)
    return { key: body.privateKey, token: answer.json.data.controllerToken as string }
  }
  const offered = async () => {
    const { confirmed, previous, privateKey } = (await materialOf(k, id)).json.data
    return { confirmed, keys: [privateKey, ...previous.map((one: { privateKey: string }) => one.privateKey)] }
  }
  const config = async (token: string) => (await k.bearer(token).get(`/nodes/${id}/config`)).status
  const first = await joins()
  assert.deepEqual(await offered(), { confirmed: false, keys: [first.key] })
  assert.equal(await config(first.token), 200)
  assert.deepEqual(await offered(), { confirmed: true, keys: [first.key] })
  // The answers of these got lost, or the box lost power before it had written them down: it may hold any of the keys.
  const [second, third] = [await joins(), await joins()]
  assert.deepEqual(await offered(), { confirmed: false, keys: [third.key, first.key, second.key] })
  assert.deepEqual([await config(first.token), await config(second.token)], [401, 401])
  k.forget()
  assert.equal(await config(third.token), 200)
  assert.deepEqual(await offered(), { confirmed: true, keys: [third.key] })
  assert.ok(k.trail().includes('nodes.ssh_credential.confirmed succeeded'))
  assert.equal(k.rows("SELECT 1 FROM ssh_credentials WHERE state = 'revoked' AND sealed_key IS NOT NULL").length, 0)
  await k.close()
})

test('a token that is first used after a rotation speaks for the key it came with, not for the newer one', async () => {
  const k = withRunner()
  const { id } = await k.enroll()
  await k.as('admin').post(`${ssh(id)}/rotate`)
  k.advance('1s')
  const body = hello()
  const joined = await k.bearer(await mint(k, id)).post(`/nodes/${id}/bootstrap`, body)
  k.advance('1s')
  await k.as('admin').post(`${ssh(id)}/rotate`)
  assert.equal((await k.bearer(joined.json.data.controllerToken).get(`/nodes/${id}/config`)).status, 200)
  const { confirmed, previous } = (await materialOf(k, id)).json.data
  assert.deepEqual(
    [confirmed, previous.map((one: { privateKey: string }) => one.privateKey)],
    [false, [body.privateKey]],
  )
  await k.close()
})

test('however often a key is made that never arrives, the one on the node stays, and an SSH server hears all of them', async () => {
  const k = withRunner()
  const { id } = await k.enroll()
  const body = hello()
  await k.bearer(await mint(k, id)).post(`/nodes/${id}/bootstrap`, body)
  for (let i = 0; i < 6; i++) {
    k.advance('1s')
    await k.as('admin').post(`${ssh(id)}/rotate`)
  }
  const { previous } = (await materialOf(k, id)).json.data
  assert.deepEqual([previous.length, previous[0].privateKey], [3, body.privateKey])
  await k.close()
})

test('without a configured runner token the material answers 503', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const answer = await k.bearer('whatever').get(`/nodes/${id}/ssh-credential/material`)
  assert.deepEqual([answer.status, answer.json.reason], [503, 'runner_token_unconfigured'])
  await k.close()
})

const RUNNER = 'runner-token-of-the-kit'
const ssh = (id: string) => `/nodes/${id}/ssh-credential`
const pinned = async (k: Kit, id: string) => (await k.bearer(RUNNER).get(`${ssh(id)}/material`)).json.data.hostKeys
const hostKey = () => generateSshKey('root@box').publicKey

test('host keys come with a bootstrap, reach the runner whole and people as fingerprints', async () => {
  const k = kit({ env: { SVC_RUNNER_TOKEN: RUNNER } })
  const { id } = await k.enroll()
  const hostKeys = [hostKey(), hostKey()]
  const join = async (body: object) => {
    const answer = await k.bearer(await mint(k, id)).post(`/nodes/${id}/bootstrap`, body)
    assert.equal(answer.status, 201, answer.text)
    return answer.json.data.controllerToken as string
  }
  const token = await join({ ...hello(), hostKeys: [...hostKeys, hostKeys[0]] })
  assert.deepEqual(await pinned(k, id), hostKeys)
  const shown = (await k.as('admin').get(ssh(id))).json.data.hostKeys
  assert.deepEqual(
    shown,
    hostKeys.map((line) => ({ fingerprint: fingerprint(line), type: 'ssh-ed25519' })),
  )
  // What a node says every day does not move them, whatever it says.
  const other = [hostKey()]
  const beat = { agentVersion: '1', hostKeys: other, hostname: 'box' }
  assert.equal((await k.bearer(token).post(`/nodes/${id}/heartbeat`, beat)).status, 202)
  assert.ok((await k.bearer(token).post(`/nodes/${id}/inventory`, { hostKeys: other, interfaces: [] })).status < 300)
  await k.as('admin').post(`${ssh(id)}/rotate`)
  assert.deepEqual(await pinned(k, id), hostKeys)
  // Set up anew, the box has others; one without an SSH server has none.
  await join({ ...hello(), hostKeys: other })
  assert.deepEqual(await pinned(k, id), other)
  await join(hello())
  assert.deepEqual(await pinned(k, id), [])
  assert.equal('hostKeys' in (await k.as('admin').get(ssh(id))).json.data, false)
  await k.close()
})

test('host keys that are none spend no token and change nothing', async () => {
  const k = kit({ env: { SVC_RUNNER_TOKEN: RUNNER } })
  const { id } = await k.enroll()
  const token = await mint(k, id)
  const bad = ['ssh-ed25519 AAAA', 'no key', `command="x" ${hostKey()}`, `${hostKey()}\n${hostKey()}`, 7]
  for (const one of bad) {
    const answer = await k.bearer(token).post(`/nodes/${id}/bootstrap`, { ...hello(), hostKeys: [hostKey(), one] })
    assert.deepEqual([answer.status, answer.json.issues.length > 0], [400, true], String(one))
  }
  const many = Array.from({ length: 9 }, hostKey)
  assert.equal((await k.bearer(token).post(`/nodes/${id}/bootstrap`, { ...hello(), hostKeys: many })).status, 400)
  assert.deepEqual(state(k), { tokens: 1, keys: 0, active: 1 })
  assert.equal((await k.bearer(token).post(`/nodes/${id}/bootstrap`, hello())).status, 201)
  await k.close()
})

test('an operator gives the host keys of a box that was set up by hand, on the record', async () => {
  const k = kit({ env: { SVC_RUNNER_TOKEN: RUNNER } })
  const { id } = await k.enroll()
  await k.as('admin').post(`${ssh(id)}/rotate`)
  k.forget()
  const [first, second] = [hostKey(), hostKey()]
  const put = (hostKeys: unknown, principal: 'admin' | 'operator' = 'admin') =>
    k.as(principal).put(`${ssh(id)}/host-keys`, { hostKeys })
  assert.equal((await put([first], 'operator')).status, 403)
  assert.deepEqual((await put([first, second])).json.data.hostKeys.length, 2)
  assert.deepEqual(await pinned(k, id), [first, second])
  assert.equal((await put(['ssh-ed25519 AAAA'])).status, 400)
  assert.equal((await put(undefined)).status, 400)
  assert.deepEqual((await put([])).json.data, { hostKeys: [] })
  const trail = k.trail().filter((line) => line.includes('host_keys'))
  assert.deepEqual(trail, [
    'nodes.ssh_credential.host_keys.replace denied missing_permission',
    'nodes.ssh_credential.host_keys.replace allowed',
    'nodes.ssh_credential.host_keys.replace.succeeded succeeded',
    'nodes.ssh_credential.host_keys.replace allowed',
    'nodes.ssh_credential.host_keys.replace.failed failed invalid_request',
    'nodes.ssh_credential.host_keys.replace allowed',
    'nodes.ssh_credential.host_keys.replace.failed failed invalid_request',
    'nodes.ssh_credential.host_keys.replace allowed',
    'nodes.ssh_credential.host_keys.replace.succeeded succeeded',
  ])
  await k.close()
})
