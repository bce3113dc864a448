// The whole way: an operator's wish, the controller's record, the runner (elsewhere or inside), ssh, the node.

import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { after, test } from 'node:test'
import { readConfig } from '../../src/controller/config.ts'
import { UserError } from '../../src/kernel/fail.ts'
import { jsonLog } from '../../src/kernel/log.ts'
import { readRunSettings } from '../../src/lifecycle/config.ts'
import { perform } from '../../src/lifecycle/run.ts'
import { type Perform, RunnerServer } from '../../src/lifecycle/server.ts'
import type { LifecycleJob } from '../../src/wire/lifecycle.ts'
import { scratchDir } from '../kit/scratch.ts'
import { until } from '../kit/whole.ts'
import { HANG, INBOUND_TOKEN, SshNode, World } from './rig.ts'

interface Site {
  name: string
  world: World
}

/** A controller that asks a runner elsewhere. */
async function external(): Promise<Site> {
  const late: { perform: Perform } = { perform: () => Promise.reject(new Error('too early')) }
  const server = new RunnerServer({
    log: jsonLog(() => {}),
    perform: (...wish) => late.perform(...wish),
    token: INBOUND_TOKEN,
  })
  const url = await server.listen('127.0.0.1', 0)
  const world = await World.open({ SVC_ANSIBLE_RUNNER_URL: url, SVC_ANSIBLE_RUNNER_TOKEN: INBOUND_TOKEN })
  const parts = world.parts()
  late.perform = (...wish) => perform(parts, ...wish)
  after(async () => {
    await server.close()
    parts.vault.close()
    await world.close()
  })
  return { name: 'a runner elsewhere', world }
}

/** A controller that does it itself. */
async function embedded(): Promise<Site> {
  const node = await SshNode.open()
  const vault = scratchDir('roomtone-vault-')
  const world = await World.open(
    {
      RUNTIME_DIRECTORY: vault,
      SVC_ANSIBLE_TARGETS: JSON.stringify({ node_1: { host: '127.0.0.1', port: node.port } }),
      SVC_LIFECYCLE_EMBEDDED: '1',
    },
    { node, vault },
  )
  after(() => world.close())
  return { name: 'the controller itself', world }
}

for (const { name, world } of [await external(), await embedded()]) {
  const { k, node, id } = world
  const admin = k.as('admin')
  const act = (action: string, body: object = {}) => admin.post(`/nodes/${id}/lifecycle/${action}`, body)
  /** The job under way, when something of its output is in its record. */
  const heard = () =>
    until('output in the record of the job under way', async () => {
      const [job] = (await admin.get(`/nodes/${id}/lifecycle-jobs`)).json.data as LifecycleJob[]
      return job?.status === 'running' && job.stdout ? job : undefined
    })
  const keys = () => world.left.filter((file) => file.endsWith('/key'))

  test(`${name}: each action succeeds, is written down and audited`, async () => {
    node.does('echo "in order"')
    for (const action of ['install_dependencies', 'update_binary', 'restart_service', 'smoke_check', 'uninstall']) {
      const { json, status } = await act(action)
      assert.deepEqual([status, json.data.status, json.data.exitCode], [202, 'succeeded', 0], action)
      assert.ok(json.data.stdout.startsWith('in order\n'))
      assert.ok(k.trail().includes(`nodes.lifecycle.${action}.succeeded succeeded`))
    }
    assert.ok(k.trail().includes('nodes.ssh_credential.fetch succeeded'))
    assert.deepEqual(keys(), [])
  })

  test(`${name}: rotated twice in a row, the node holds the newest key and the controller no other`, async () => {
    // As maintain does it: the given key in place of the one that has the same comment.
    node.does(`key=$(printf %s "$line" | sed 's/.*"publicKey":"\\([^"]*\\)".*/\\1/')
printf 'restrict,command="cd %s && exec sh node.sh" %s\\n' "$PWD" "$key" > authorized_keys; echo trusted`)
    const before = await world.publicKey
    for (const _ of [1, 2]) {
      k.advance('1s')
      await admin.post(`/nodes/${id}/ssh-credential/rotate`)
      k.advance('1s')
      const { json, status } = await act('rotate_trust')
      assert.deepEqual([status, json.data.stdout], [202, 'trusted\n'])
      assert.equal(k.rows("SELECT 1 FROM ssh_credentials WHERE state = 'previous'").length, 0)
    }
    assert.notEqual(await world.publicKey, before)
    assert.ok(fs.readFileSync(node.path('authorized_keys'), 'utf8').includes(await world.publicKey))
    node.does('exit 0')
    assert.equal((await act('smoke_check')).status, 202)
  })

  test(`${name}: what the node says is in the record while it runs`, async () => {
    node.does('echo "getting packages"; until [ -e on ]; do sleep 0.05; done; echo "in place"')
    const running = act('smoke_check')
    assert.equal((await heard()).stdout, 'getting packages\n')
    fs.writeFileSync(node.path('on'), '')
    const { json } = await running
    assert.deepEqual([json.data.status, json.data.stdout], ['succeeded', 'getting packages\nin place\n'])
    fs.rmSync(node.path('on'))
  })

  test(`${name}: when there is no run, the record says why`, async () => {
    node.trusts([])
    const shut = (await act('smoke_check')).json.data
    assert.deepEqual([shut.status, shut.exitCode], ['failed', 255])
    assert.match(shut.stderr, /Permission denied/)
    k.sql("UPDATE ssh_credentials SET sealed_key = 'broken' WHERE state = 'active'")
    const unread = (await act('smoke_check')).json.data
    assert.deepEqual([unread.status, unread.error], ['failed', 'controller_ssh_fetch_409'])
    assert.ok(unread.stderr.length > 10)
    await admin.post(`/nodes/${id}/credentials/revoke`)
    const none = (await act('smoke_check')).json.data
    assert.deepEqual([none.status, none.error], ['failed', 'ssh_key_required'])
    assert.match(none.stderr, /SVC_ANSIBLE_SSH_KEY_FILE/)
    fs.rmSync(node.path('node_key'), { force: true })
    await world.bootstrap()
  })

  test(`${name}: a controller that stops gives up the run, and keeps what it heard of it`, async () => {
    node.does(HANG)
    const running = act('smoke_check')
    await heard()
    assert.equal(keys().length, 1)
    await k.stop()
    const { data } = (await running).json
    assert.deepEqual([data.status, data.error, data.stdout], ['failed', 'controller_stopped', 'begun\n'])
    await until('the key to go', () => keys().length === 0)
  })
}

test('a controller has one way to act on nodes, and its settings are checked at the start', () => {
  const refused = (env: Record<string, string>, words: RegExp) =>
    assert.throws(
      () => readConfig(env),
      (e) => e instanceof UserError && words.test(e.message),
    )
  const own = { SVC_LIFECYCLE_EMBEDDED: '1' }
  refused({ ...own, SVC_ANSIBLE_RUNNER_URL: 'http://127.0.0.1:8790' }, /both set/)
  refused(
    { ...own, SVC_ANSIBLE_TARGETS: '{"n":{"privateKey":"x"}}' },
    /SVC_ANSIBLE_TARGETS.*tokens have no place in it/,
  )
  assert.equal(readConfig({ SVC_ANSIBLE_TARGETS: 'not ours to read' }).embedded, undefined)
  assert.equal(readConfig(own).embedded?.defaultUser, 'roomtone-agent')
  assert.throws(() => readRunSettings({ SVC_ANSIBLE_TIMEOUT_SECONDS: '0' }), UserError)
})
