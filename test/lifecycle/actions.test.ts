import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { materialFail } from '../../src/lifecycle/material.ts'
import { perform, type RunParts } from '../../src/lifecycle/run.ts'
import type { Material, RunRequest } from '../../src/wire/lifecycle.ts'
import { MaintainRequest } from '../../src/wire/maintain.ts'
import { HANG, INBOUND_TOKEN, programs, RUNNER_TOKEN, World } from './rig.ts'

const world = await World.open()
after(() => world.close())
const { k, node, id } = world

const parts = (env: Record<string, string> = {}): RunParts => world.parts(env)

async function run(
  action: RunRequest['action'],
  options: RunRequest['options'] = {},
  env: Record<string, string> = {},
) {
  const one = parts(env)
  const told: string[] = []
  const before = node.asked.length
  try {
    const answer = await perform(
      one,
      world.request(action, options),
      (_, text) => told.push(text),
      AbortSignal.timeout(60_000),
    )
    assert.deepEqual(world.left, [], 'a directory of a run is left')
    return { ...answer, asked: node.asked.slice(before), told: told.join('') }
  } finally {
    one.vault.close()
    assert.deepEqual(world.left, [])
  }
}

test('smoke_check: one session, one line, what the node says', async () => {
  node.does('echo "inventory: 1 card"; echo "a hint" >&2')
  const { asked, exitCode, runId, stderr, stdout, targetHost } = await run('smoke_check')
  assert.deepEqual([exitCode, stdout, stderr, targetHost], [0, 'inventory: 1 card\n', 'a hint\n', '127.0.0.1'])
  assert.match(runId ?? '', /^ansible_/)
  assert.deepEqual(asked, [{ action: 'smoke_check', nodeId: id }])
})

test('each action is asked for by one line that carries what it needs', async () => {
  node.does('exit 0')
  const publicKey = await world.publicKey
  const lines = async (action: RunRequest['action'], options = {}) => {
    const { asked, exitCode } = await run(action, options)
    assert.equal(exitCode, 0, action)
    return asked.map(({ controllerToken, ...line }) => ({ ...line, ...(controllerToken ? { token: true } : {}) }))
  }
  const activated = { action: 'activate_token', nodeId: id, token: true }
  assert.deepEqual(await lines('install_dependencies'), [
    { action: 'install_dependencies', nodeId: id, publicKey },
    activated,
  ])
  assert.deepEqual(await lines('update_binary', { agentVersion: 'agent-v2026.03.01-1', force: true }), [
    { action: 'update_binary', agentVersion: 'agent-v2026.03.01-1', force: true, nodeId: id, publicKey },
    { ...activated, force: true },
  ])
  assert.deepEqual(await lines('restart_service'), [{ action: 'restart_service', nodeId: id }])
  assert.deepEqual(await lines('rotate_trust'), [{ action: 'rotate_trust', nodeId: id, publicKey }])
  assert.deepEqual(await lines('uninstall', { force: true }), [{ action: 'uninstall', nodeId: id }])
  for (const line of node.asked) assert.doesNotThrow(() => MaintainRequest.parse(line))
})

test('a token is minted when the deploy is done: a failed one leaves the node in service with the token it has', async () => {
  const states = () => k.rows<{ state: string }>('SELECT state FROM node_credentials').map(({ state }) => state)
  await k.bearer(world.token).get(`/nodes/${id}/config`)
  k.sql("DELETE FROM node_credentials WHERE state <> 'active'")
  node.does('echo "the download broke off" >&2; exit 1')
  const bad = await run('update_binary')
  assert.deepEqual([bad.exitCode, bad.stderr, bad.asked.length], [1, 'the download broke off\n', 1])
  assert.deepEqual(states(), ['active'])
  // The node refuses the new token: its old one is still good.
  node.does('case $line in *activate_token*) echo "not online" >&2; exit 1;; esac')
  const refused = await run('update_binary')
  assert.deepEqual([refused.exitCode, refused.asked.length], [1, 2])
  assert.equal((await k.bearer(world.token).get(`/nodes/${id}/config`)).status, 200)
  node.does('exit 0')
  const { asked } = await run('update_binary')
  const fresh = asked.at(-1).controllerToken
  assert.equal((await k.bearer(world.token).get(`/nodes/${id}/config`)).status, 200)
  assert.equal((await k.bearer(fresh).get(`/nodes/${id}/config`)).status, 200)
  assert.equal((await k.bearer(world.token).get(`/nodes/${id}/config`)).status, 401)
  world.token = fresh
})

test('without a new token the deploy stands, and the run says so', async () => {
  node.does('exit 0')
  const whole = parts()
  const fetched: boolean[] = []
  const material = (late: () => Promise<Material | undefined>): RunParts['material'] => ({
    async fetch(nodeId, mint, signal) {
      fetched.push(mint)
      return mint ? late() : await whole.material.fetch(nodeId, false, signal)
    },
  })
  const act = async (late: () => Promise<Material | undefined>) => {
    const source = material(late)
    const { exitCode, stderr } = await perform(
      { ...whole, material: source },
      world.request('update_binary'),
      () => {},
      AbortSignal.timeout(60_000),
    )
    return [exitCode, stderr] as const
  }
  const [none, words] = await act(async () => undefined)
  assert.equal(none, 0)
  assert.match(words, /keeps its current token: the controller minted no new one/)
  const [lost, why] = await act(async () => {
    throw materialFail('unreachable', 'The controller cannot be reached.')
  })
  assert.equal(lost, 1)
  assert.match(why, /keeps its current token.*cannot be reached/)
  assert.deepEqual(fetched, [false, true, false, true])
  whole.vault.close()
})

test('keys and tokens are taken out of what a node says, wherever the pieces are cut', async () => {
  const { privateKey } = (await k.bearer(RUNNER_TOKEN).get(`/nodes/${id}/ssh-credential/material`)).json.data
  fs.writeFileSync(node.path('leak'), `${privateKey}token ${INBOUND_TOKEN} and ${RUNNER_TOKEN}\n`)
  node.does(`dd if=leak bs=7 status=none; echo "$line"; sed -n 3p leak >&2; printf 'no end: %s' ${RUNNER_TOKEN}`)
  const { asked, stderr, stdout, told } = await run('update_binary')
  const secrets = [asked.at(-1).controllerToken, INBOUND_TOKEN, RUNNER_TOKEN, ...privateKey.split('\n').slice(1, -2)]
  for (const text of [stdout, stderr, told])
    for (const secret of secrets) assert.ok(secret.length > 10 && !text.includes(secret), text)
  assert.match(stdout, /token \[redacted\] and \[redacted\]/)
  assert.match(stdout, /no end: \[redacted\]$/)
})

test('the end of long outputs is kept', async () => {
  node.does('seq 100000; seq 100000 >&2')
  const { stderr, stdout, told } = await run('smoke_check')
  assert.deepEqual([stdout.length, stderr.length], [20_000, 12_000])
  assert.ok(stdout.endsWith('99999\n100000\n') && stderr.endsWith('100000\n') && told.length > 1_000_000)
})

test('a node that falls silent is given up, one that speaks is not', async () => {
  const patience = { SVC_ANSIBLE_TIMEOUT_SECONDS: '4' }
  node.does('for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.5; done')
  assert.equal((await run('smoke_check', {}, patience)).exitCode, 0)
  node.does(HANG)
  const { exitCode, stderr, stdout } = await run('smoke_check', {}, patience)
  assert.deepEqual([exitCode, stdout], [255, 'begun\n'])
  assert.match(stderr, /sent nothing for 4 s/)
})

test('a run that is given up leaves neither ssh nor key', async () => {
  const one = parts()
  node.does(HANG)
  const giveUp = new AbortController()
  const begun = Promise.withResolvers<void>()
  const running = perform(one, world.request('smoke_check'), () => begun.resolve(), giveUp.signal)
  await begun.promise
  const ssh = programs().find(({ args }) => args[0] === 'ssh' && args.includes(String(node.port)))
  assert.ok(ssh)
  assert.equal(world.left.filter((name) => name.endsWith('/key')).length, 1)
  giveUp.abort()
  await assert.rejects(running, { name: 'AbortError' })
  assert.ok(!programs().some(({ pid }) => pid === ssh.pid))
  assert.deepEqual(world.left, [])
  one.vault.close()
})

test('no secret is an argument of any program, nor in its environment, and the key is 0600 in a directory of 0700', async () => {
  const one = parts()
  node.does('case $line in *activate_token*) echo begun; until [ -e go ]; do sleep 0.05; done;; esac')
  const begun = Promise.withResolvers<void>()
  const running = perform(one, world.request('update_binary'), () => begun.resolve(), AbortSignal.timeout(60_000))
  await begun.promise
  const ssh = programs().find(({ args }) => args[0] === 'ssh' && args.includes(String(node.port)))
  const { controllerToken } = node.asked.at(-1)
  const { privateKey } = (await k.bearer(RUNNER_TOKEN).get(`/nodes/${id}/ssh-credential/material`)).json.data
  const secrets = [controllerToken, INBOUND_TOKEN, RUNNER_TOKEN, ...privateKey.split('\n').slice(1, -2)]
  assert.ok(ssh && controllerToken.startsWith('svc_node_'))
  for (const { args, pid } of programs())
    for (const secret of secrets) assert.ok(!args.join(' ').includes(secret), `${pid}: ${args}`)
  for (const secret of secrets) assert.ok(!fs.readFileSync(`/proc/${ssh.pid}/environ`, 'utf8').includes(secret))
  const key = path.join(world.vault, world.left.find((name) => name.endsWith('/key')) as string)
  assert.deepEqual(
    [key, path.dirname(key)].map((at) => fs.statSync(at).mode & 0o777),
    [0o600, 0o700],
  )
  fs.writeFileSync(node.path('go'), '')
  assert.equal((await running).exitCode, 0)
  one.vault.close()
  assert.deepEqual(world.left, [])
})
