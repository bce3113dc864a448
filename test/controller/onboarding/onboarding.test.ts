import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateSshKey } from '../../../src/crypto/sshkey.ts'
import { type Kit, kit } from '../../kit/kit.ts'

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
    [
      ['hw:CARD=Desk,DEV=0', true],
      ['hw:CARD=X,DEV=0', undefined],
    ],
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
  assert.equal(k.trail().length, 50)
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
  assert.equal(both.previous.privateKey, body.privateKey)
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

test('without a configured runner token the material answers 503', async () => {
  const k = kit()
  const { id } = await k.enroll()
  const answer = await k.bearer('whatever').get(`/nodes/${id}/ssh-credential/material`)
  assert.deepEqual([answer.status, answer.json.reason], [503, 'runner_token_unconfigured'])
  await k.close()
})
