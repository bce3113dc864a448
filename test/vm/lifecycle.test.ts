// Lifecycle actions the whole way: an operator's request, the controller or a runner in its own unit, SSH, sudo, the box.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { after, before, test } from 'node:test'
import { PLACES, UNITS } from '../../src/system/host/places.ts'
import type { LifecycleJob } from '../../src/wire/lifecycle.ts'
import { MAINTAIN_EXIT } from '../../src/wire/maintain.ts'
import { executable } from '../kit/executable.ts'
import { ADMIN, Controller, House, RUNNER_TOKEN, until } from '../kit/whole.ts'
import { bootMachine, type Machine, noMachine } from './machine.ts'
import { claiming, release, renamed } from './releases.ts'
import { certified } from './visit.ts'

const INBOUND_TOKEN = 'field-inbound-token-0123456789'
const NEWER = '2099.01.01-1'
const USELESS = '2099.01.02-1'
const SECRET = /svc_node_[\w-]{20,}|PRIVATE KEY|field-inbound|whole-house-runner/

const envFile = (settings: Record<string, string>): string =>
  Object.entries(settings)
    .map((one) => `${one.join('=')}\n`)
    .join('')

const skip = noMachine()
let machine: Machine
let house: House
let controller: Controller
let nodeId = ''

before(
  async () => {
    if (skip) return
    ;[machine, house] = await Promise.all([bootMachine({ name: 'lifecycle' }), House.open()])
    await serve()
    await install()
  },
  { timeout: 300_000 },
)
after(async () => {
  await Promise.all([machine?.stop(), house?.close()])
})

/** A controller on the cable that acts itself, by https, with a newer release and one that is no good. */
async function serve(): Promise<void> {
  const { cert, key } = certified(house, machine)
  const dir = house.path('releases')
  await release(dir, USELESS, claiming(USELESS, 'exit 1'))
  await release(dir, NEWER, renamed(await executable(), NEWER).program)
  fs.mkdirSync(house.path('runtime'))
  controller = await new Controller(house, {
    RUNTIME_DIRECTORY: house.path('runtime'),
    SVC_AGENT_RELEASE_DIR: house.path('releases'),
    SVC_API_TLS_CERT_PATH: cert,
    SVC_API_TLS_KEY_PATH: key,
    SVC_HOST: machine.hostAddress,
    SVC_LIFECYCLE_EMBEDDED: '1',
  }).start()
  await controller.login()
}

async function install(): Promise<void> {
  const { id } = await controller.enroll('Field')
  nodeId = id
  const { token } = await controller.post(`/nodes/${id}/bootstrap-token`)
  await machine.bring(await executable(), '/root/roomtone')
  await machine.bring(house.path('ca.pem'), '/root/ca.pem', '0644')
  await machine.write(PLACES.agentSettings, 'SVC_TEST_SOURCE=1\nSVC_HEARTBEAT_SECONDS=1\n', '0640')
  const args = `--controller-url ${controller.url} --node-id ${id} --controller-ca /root/ca.pem --no-packages`
  await machine.must(`/root/roomtone setup agent ${args} --bootstrap-token-file -`, {
    input: token,
    timeoutMs: 120_000,
  })
  await until('the node', async () => (await controller.get(`/nodes/${id}`)).status === 'online')
}

/** The job when it has ended, whether or not the answer waited for that. */
async function act(action: string, options: object = {}): Promise<LifecycleJob> {
  const { json, status } = await controller.ask('POST', `/nodes/${nodeId}/lifecycle/${action}`, options)
  const { id } = json.data
  assert.equal(status, json.data.status === 'failed' ? 502 : 202)
  const job = await until(
    `${action} to end`,
    async () => {
      const jobs = (await controller.get(`/nodes/${nodeId}/lifecycle-jobs`)) as LifecycleJob[]
      return jobs.find((one) => one.id === id && one.status !== 'running')
    },
    240,
  )
  assert.doesNotMatch(JSON.stringify(job), SECRET)
  assert.deepEqual(fs.readdirSync(house.path('runtime')), [])
  return job
}

const done = async (action: string, options: object = {}): Promise<LifecycleJob> => {
  const job = await act(action, options)
  assert.deepEqual([job.status, job.exitCode], ['succeeded', 0], JSON.stringify(job))
  return job
}
const token = async () => /TOKEN=(\S+)/.exec(await machine.read(PLACES.agentSettings))?.[1] as string
const isGood = async (one: string) =>
  (await controller.ask('GET', `/nodes/${nodeId}/config`, undefined, one)).status === 200
const agentPid = async () => (await machine.must(`systemctl show -p MainPID --value ${UNITS.agent}`)).trim()

test('the box is reached where it says it is, and says what it sees', { skip }, async () => {
  const { stdout = '', targetHost } = await done('smoke_check')
  assert.equal(targetHost, machine.address)
  assert.equal(JSON.parse(stdout).interfaces[0].systemRef, 'test:tone')
  const pid = await agentPid()
  await done('restart_service')
  assert.notEqual(await agentPid(), pid)
})

test('rotated twice in a row: the box holds the newest key alone', { skip }, async () => {
  for (const _ of [1, 2]) {
    const { publicKey } = await controller.post(`/nodes/${nodeId}/ssh-credential/rotate`)
    await done('rotate_trust')
    const lines = (await machine.read(PLACES.agentKeys)).trim().split('\n')
    assert.deepEqual([lines.length, lines[0]?.endsWith(publicKey)], [1, true])
  }
  await done('smoke_check')
})

test('a deploy that fails leaves the box in service with the token it has; one that succeeds brings a new one', {
  skip,
}, async () => {
  const before = await token()
  const failed = await act('update_binary', { agentVersion: `agent-v${USELESS}` })
  assert.deepEqual([failed.status, failed.exitCode], ['failed', MAINTAIN_EXIT.failed], JSON.stringify(failed))
  assert.match(failed.stderr ?? '', /in service again/)
  assert.deepEqual([await token(), await isGood(before)], [before, true])
  const { stdout = '' } = await done('install_dependencies')
  assert.match(stdout, /The new token is in use/)
  const after = await token()
  assert.notEqual(after, before)
  assert.deepEqual([await isGood(before), await isGood(after)], [false, true])
})

test('a node goes over to a newer version, with a new token; a useless one leaves it there', { skip }, async () => {
  const version = async () => {
    const { agentVersion, status } = await controller.get(`/nodes/${nodeId}`)
    return [agentVersion, status]
  }
  const before = await token()
  const { stdout = '' } = await done('update_binary', { agentVersion: `agent-v${NEWER}` })
  assert.match(stdout, new RegExp(`${NEWER} is in service[\\s\\S]*The new token is in use`))
  assert.deepEqual(await version(), [NEWER, 'online'])
  const after = await token()
  assert.deepEqual([await isGood(before), await isGood(after)], [false, true])
  const failed = await act('update_binary', { agentVersion: `agent-v${USELESS}` })
  assert.deepEqual([failed.status, failed.exitCode], ['failed', MAINTAIN_EXIT.failed], JSON.stringify(failed))
  assert.deepEqual([await version(), await token(), await isGood(after)], [[NEWER, 'online'], after, true])
})

test('a take is not cut, unless it is asked for', { skip }, async () => {
  const { job, recording } = await controller.record(nodeId, await controller.plainProfile('wav'), 600)
  await machine.until(
    'the take',
    `grep -q '"status":"capturing"' ${PLACES.agentHome}/data/agent/takes/${job.id}/state.json`,
  )
  const pid = await agentPid()
  const { exitCode, status } = await act('restart_service')
  assert.deepEqual([status, exitCode, await agentPid()], ['failed', MAINTAIN_EXIT.recording, pid])
  await done('restart_service', { force: true })
  assert.notEqual(await agentPid(), pid)
  await controller.delivered(recording.id, job.id)
})

test('the runner in its own hardened unit does the same', { skip }, async () => {
  const settings = {
    SVC_ANSIBLE_RUNNER_HOST: machine.address,
    SVC_RUNNER_CONTROLLER_CA: '/etc/roomtone/controller-ca.pem',
    SVC_RUNNER_CONTROLLER_URL: controller.url,
  }
  await machine.write(PLACES.lifecycleSettings, envFile(settings), '0640')
  await machine.write('/etc/credstore/roomtone.ansible-runner-token', INBOUND_TOKEN, '0600')
  await machine.write('/etc/credstore/roomtone.runner-token', RUNNER_TOKEN, '0600')
  await machine.must(`${PLACES.executable} setup lifecycle --no-packages`, { timeoutMs: 120_000 })
  const url = `http://${machine.address}:8790`
  await until('the runner', () =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  const target = { host: machine.address, nodeAlias: 'Field', nodeId }
  const answer = await fetch(`${url}/runs`, {
    body: JSON.stringify({
      action: 'update_binary',
      options: { agentVersion: (await machine.must(`${PLACES.executable} version`)).trim() },
      target,
    }),
    headers: { authorization: `Bearer ${INBOUND_TOKEN}` },
    method: 'POST',
  })
  const { data } = (await answer.json()) as { data: { exitCode: number; stdout: string } }
  const said = `${JSON.stringify(data)}\n${await machine.journal(UNITS.lifecycle)}`
  assert.deepEqual([answer.status, data.exitCode], [200, 0], said)
  assert.match(data.stdout, /already in use[\s\S]*The new token is in use/)
  assert.doesNotMatch(said, SECRET)
  assert.equal((await machine.must('find /run/roomtone-lifecycle -type f')).trim(), '')
  await machine.must(`${PLACES.executable} setup remove lifecycle --purge`)
  assert.equal(await machine.exists('/run/roomtone-lifecycle'), false)
})

test('a box that was set up anew under the same address is not talked to', { skip }, async () => {
  await machine.must('rm /etc/ssh/ssh_host_*_key* && ssh-keygen -A && systemctl restart ssh')
  const { exitCode, status, stderr = '' } = await act('smoke_check')
  assert.deepEqual([status, exitCode], ['failed', 255])
  assert.match(stderr, /not the one that was pinned/)
  const keys = (await machine.must('cat /etc/ssh/ssh_host_*_key.pub')).trim().split('\n')
  await controller.get(`/nodes/${nodeId}/ssh-credential/host-keys`, 'PUT', { hostKeys: keys })
  await done('smoke_check')
})

test('uninstalled over the key that goes with it', { skip }, async () => {
  await done('uninstall')
  assert.equal(await machine.exists(PLACES.programs), false)
  const { exitCode } = await act('smoke_check')
  assert.equal(exitCode, 255)
})

test('on a site of one box the controller, in its own hardened unit, acts on the box it is on', { skip }, async () => {
  const password = 'one-box-admin-password'
  const settings = {
    SVC_LIFECYCLE_EMBEDDED: '1',
    SVC_LOCAL_ADMIN_EMAIL: ADMIN.email,
    SVC_LOCAL_ADMIN_PASSWORD: password,
  }
  await machine.write(PLACES.controllerSettings, envFile(settings), '0640')
  await machine.must('/root/roomtone setup controller --no-packages', { timeoutMs: 120_000 })
  const api = async (route: string, body: object, session = '') => {
    const bearer = session ? `-H 'authorization: Bearer ${session}'` : ''
    const input = JSON.stringify(body)
    const url = `http://127.0.0.1:8787/api/v1${route}`
    const answer = await machine.must(`curl -sS -m 60 ${bearer} -H 'content-type: application/json' -d @- '${url}'`, {
      input,
    })
    return JSON.parse(answer).data
  }
  const { token: session } = await api('/auth/login', { email: ADMIN.email, password })
  const location = { room: 'Hall', site: 'House' }
  const { node } = await api('/nodes/enroll', { alias: 'Box', hostname: 'box', location }, session)
  const { token: input } = await api(`/nodes/${node.id}/bootstrap-token`, {}, session)
  await machine.write(PLACES.agentSettings, envFile({ SVC_HEARTBEAT_SECONDS: '1', SVC_TEST_SOURCE: '1' }), '0640')
  const args = `--controller-url http://127.0.0.1:8787 --node-id ${node.id} --no-packages --bootstrap-token-file -`
  await machine.must(`/root/roomtone setup agent ${args}`, { input, timeoutMs: 120_000 })
  const before = await token()
  const job = await api(`/nodes/${node.id}/lifecycle/install_dependencies`, {}, session)
  assert.deepEqual([job.status, job.exitCode], ['succeeded', 0], JSON.stringify(job))
  assert.notEqual(await token(), before)
  assert.doesNotMatch(await machine.journal(UNITS.controller), SECRET)
})
