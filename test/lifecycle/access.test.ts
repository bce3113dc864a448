import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { after, test } from 'node:test'
import { perform } from '../../src/lifecycle/run.ts'
import type { RunRequest } from '../../src/wire/lifecycle.ts'
import { RUNNER_TOKEN, tlsFront, USER, World } from './rig.ts'

const world = await World.open()
after(() => world.close())
const { k, node, id } = world
const admin = k.as('admin')
// An operator's own key, good on the node: whatever falls back would get in with it.
const own = world.operatorKey()
const OWN = { SVC_ANSIBLE_SSH_KEY_FILE: own.file }

async function run(env: Record<string, string> = {}, action: RunRequest['action'] = 'smoke_check', options = {}) {
  const one = world.parts(env)
  const before = node.asked.length
  try {
    const wish = world.request(action, options)
    const answer = await perform(one, wish, () => {}, AbortSignal.timeout(60_000))
    return { ...answer, asked: node.asked.length - before }
  } finally {
    one.vault.close()
    assert.deepEqual(world.left, [])
  }
}

const refused = async (reason: string, env: Record<string, string>, action: RunRequest['action'] = 'smoke_check') => {
  const before = node.connections
  await assert.rejects(run(env, action), { reason })
  assert.equal(node.connections, before)
}

const managed = async (): Promise<string> =>
  (await admin.get(`/nodes/${id}/ssh-credential`)).json.data.publicKey as string

test('the key in force is used, and the one before it as long as the node holds only that', async () => {
  assert.equal((await run()).exitCode, 0)
  const before = await managed()
  await admin.post(`/nodes/${id}/ssh-credential/rotate`)
  assert.notEqual(await managed(), before)
  assert.equal((await run()).exitCode, 0)
  node.trusts([await managed()])
  assert.equal((await run()).exitCode, 0)
  const { json } = await k.bearer(RUNNER_TOKEN).get(`/nodes/${id}/ssh-credential/material`)
  assert.ok(json.data.previous)
  node.trusts([])
  const shut = await run(OWN)
  assert.deepEqual([shut.exitCode, shut.asked], [255, 0])
  assert.match(shut.stderr, /Permission denied/)
  node.trusts([await managed()])
})

test('a host key that is not the pinned one ends the run before anything is said', async () => {
  node.trusts([await managed(), own.publicKey])
  const pinned = node.hostKey
  node.newHostKey()
  const changed = await run({ ...OWN, SVC_ANSIBLE_KNOWN_HOSTS_FILE: world.knownHosts() }, 'update_binary')
  assert.deepEqual([changed.exitCode, changed.asked], [255, 0])
  assert.match(changed.stderr, /not the one that was pinned/)
  k.sql('UPDATE nodes SET host_keys = ? WHERE id = ?', JSON.stringify([pinned, node.hostKey]), id)
  assert.equal((await run()).exitCode, 0)
})

test('a node whose host keys nobody knows is not talked to; the file of the operator may know it', async () => {
  k.sql("UPDATE nodes SET host_keys = '[]' WHERE id = ?", id)
  const unknown = await run(OWN)
  assert.deepEqual([unknown.exitCode, unknown.asked], [255, 0])
  assert.match(unknown.stderr, /SVC_ANSIBLE_KNOWN_HOSTS_FILE/)
  assert.equal((await run({ SVC_ANSIBLE_KNOWN_HOSTS_FILE: world.knownHosts() })).exitCode, 0)
  const other = await run({
    SVC_ANSIBLE_KNOWN_HOSTS_FILE: world.knownHosts('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA=='),
  })
  assert.deepEqual([other.exitCode, other.asked], [255, 0])
  k.sql('UPDATE nodes SET host_keys = ? WHERE id = ?', JSON.stringify([node.hostKey]), id)
})

test('a wrong token, a controller that is away or answers nonsense: the run fails and no other key is tried', async () => {
  node.trusts([own.publicKey])
  await refused('controller_ssh_fetch_401', { ...OWN, SVC_RUNNER_TOKEN: 'another-token-0123456789' })
  await refused('controller_ssh_fetch_unreachable', { ...OWN, SVC_RUNNER_CONTROLLER_URL: 'http://127.0.0.1:1' })
  await refused('controller_ssh_fetch_insecure', { ...OWN, SVC_RUNNER_CONTROLLER_URL: 'http://controller.example' })
  k.sql("UPDATE ssh_credentials SET sealed_key = 'broken' WHERE state = 'active'")
  await refused('controller_ssh_fetch_409', OWN)
})

test('over TLS the controller has to show a certificate of a CA that is trusted, or of the given one', async () => {
  const tls = await tlsFront(world.url, node.dir)
  const settings = { ...OWN, SVC_RUNNER_CONTROLLER_URL: tls.url }
  await refused('controller_ssh_fetch_unreachable', settings)
  await admin.post(`/nodes/${id}/ssh-credential/rotate`)
  node.trusts([await managed()])
  assert.equal((await run({ ...settings, SVC_RUNNER_CONTROLLER_CA: tls.certificate })).exitCode, 0)
  assert.equal((await run({ ...settings, SVC_RUNNER_ALLOW_INSECURE: '1' })).exitCode, 0)
  // Nodes are given the same CA with their trust.
  await run({ SVC_RUNNER_CONTROLLER_CA: tls.certificate }, 'rotate_trust')
  assert.equal(node.asked.at(-1).controllerCa, fs.readFileSync(tls.certificate, 'utf8').trim())
  await tls.close()
})

test('an earlier key that nobody can read any more is told when the node lets nobody in', async () => {
  await admin.post(`/nodes/${id}/ssh-credential/rotate`)
  k.sql("UPDATE ssh_credentials SET sealed_key = 'broken' WHERE state = 'previous'")
  node.trusts([])
  const shut = await run()
  assert.equal(shut.exitCode, 255)
  assert.match(shut.stderr, /earlier key that the controller cannot read any more.*bootstrap the node again/)
  node.trusts([await managed()])
  const open = await run()
  assert.deepEqual([open.exitCode, open.stderr], [0, ''])
})

test('only without a managed key, or without a controller, the key of the operator is used', async () => {
  const known = { SVC_ANSIBLE_KNOWN_HOSTS_FILE: world.knownHosts(), SVC_ANSIBLE_DEFAULT_SSH_USER: USER }
  await admin.post(`/nodes/${id}/credentials/revoke`)
  node.trusts([own.publicKey])
  await refused('ssh_key_required', known)
  const revoked = await run({ ...OWN, ...known }, 'update_binary')
  // No managed key, no token: there is nothing to mint for.
  assert.deepEqual([revoked.exitCode, revoked.asked], [0, 1])
  for (const name of ['SVC_RUNNER_CONTROLLER_URL', 'SVC_RUNNER_TOKEN'])
    assert.equal((await run({ ...OWN, ...known, [name]: '' })).exitCode, 0)
  await refused('ssh_credential_required', { ...OWN, ...known }, 'rotate_trust')
  assert.ok(fs.existsSync(own.file))
})
