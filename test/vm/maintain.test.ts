// Maintenance on a booted box: what a lifecycle action does there, and what stays when it fails.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { after, before, test } from 'node:test'
import { PLACES, USERS } from '../../src/system/host/places.ts'
import type { RunResult } from '../../src/system/host/run.ts'
import { MAINTAIN_EXIT, type MaintainLine } from '../../src/wire/maintain.ts'
import { executable } from '../kit/executable.ts'
import { Controller, House, RUNNER_TOKEN, until } from '../kit/whole.ts'
import { bootMachine, type Machine, noMachine } from './machine.ts'
import { claiming, release, renamed } from './releases.ts'
import { certified } from './visit.ts'

const NEWER = '2099.01.01-1'
const ENDS = '2099.01.02-1'
const LIES = '2099.01.02-2'
const MUTE = '2099.01.02-3'
const SECRET = /svc_node_[\w-]{20,}|PRIVATE KEY/

const skip = noMachine()
const agentState = `${PLACES.agentHome}/data/agent`
let machine: Machine
let house: House
let controller: Controller
let nodeId = ''
let original = ''
let releaseKey = ''

before(
  async () => {
    if (skip) return
    ;[machine, house] = await Promise.all([bootMachine({ name: 'maintain' }), House.open()])
    await serve()
    await install()
  },
  { timeout: 300_000 },
)
after(async () => {
  await Promise.all([machine?.stop(), house?.close()])
})

/** A controller on the cable, by https with a certificate of its own, and releases to give. */
async function serve(): Promise<void> {
  const { cert, key } = certified(house, machine)
  await releases()
  controller = await new Controller(house, {
    SVC_AGENT_RELEASE_DIR: house.path('releases'),
    SVC_API_TLS_CERT_PATH: cert,
    SVC_API_TLS_KEY_PATH: key,
    SVC_HOST: machine.hostAddress,
  }).start()
  await controller.login()
}

/** One good version, signed, by the same program under another name, and some that are no good. */
async function releases(): Promise<void> {
  const dir = house.path('releases')
  const { original: own, program } = renamed(await executable(), NEWER)
  original = own
  sign(await release(dir, NEWER, program))
  await release(dir, ENDS, claiming(ENDS, 'exit 1'))
  await release(dir, LIES, claiming(LIES, `exec ${PLACES.versions}/${original}/roomtone "$@"`))
  await release(dir, MUTE, claiming(MUTE, 'systemd-notify --ready\nexec sleep 1000'))
}

function sign(sums: string): void {
  const key = house.path('release.key')
  execFileSync('openssl', ['genpkey', '-algorithm', 'ed25519', '-out', key], { stdio: 'pipe' })
  releaseKey = execFileSync('openssl', ['pkey', '-pubout', '-in', key], { encoding: 'utf8' })
  execFileSync('openssl', ['pkeyutl', '-sign', '-rawin', '-inkey', key, '-in', sums, '-out', `${sums}.sig`])
}

async function install(): Promise<void> {
  const { id } = await controller.enroll('Field')
  nodeId = id
  const { token } = await controller.post(`/nodes/${id}/bootstrap-token`)
  await machine.bring(await executable(), '/root/roomtone')
  await machine.bring(house.path('ca.pem'), '/root/ca.pem', '0644')
  // A box without a sound card records a tone.
  await machine.write(PLACES.agentSettings, 'SVC_TEST_SOURCE=1\nSVC_HEARTBEAT_SECONDS=1\n', '0640')
  const args = `--controller-url ${controller.url} --node-id ${id} --controller-ca /root/ca.pem --no-packages`
  await machine.must(`/root/roomtone setup agent ${args} --bootstrap-token-file -`, {
    input: token,
    timeoutMs: 120_000,
  })
}

/** As the runner's session does: the agent's user, the one command sudo lets it run, a line on standard input. */
async function maintain(line: MaintainLine | string): Promise<RunResult> {
  const input = typeof line === 'string' ? line : `${JSON.stringify(line)}\n`
  const answer = await machine.run(`sudo -n ${PLACES.executable} maintain`, {
    input,
    timeoutMs: 240_000,
    user: USERS.agent,
  })
  assert.doesNotMatch(answer.stdout + answer.stderr, SECRET)
  return answer
}

/** The same through the SSH server, with the key of the test; the forced command counts, whatever is asked for. */
function overSsh(line: MaintainLine) {
  const strange = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR']
  const options = ['-F', 'none', ...strange.flatMap((option) => ['-o', option]), '-i', house.path('key')]
  const ssh = spawn('ssh', [...options, `${USERS.agent}@${machine.address}`, 'id'])
  let said = ''
  for (const stream of [ssh.stdout, ssh.stderr])
    stream.setEncoding('utf8').on('data', (piece: string) => {
      said += piece
    })
  ssh.stdin.end(`${JSON.stringify(line)}\n`)
  return { ended: once(ssh, 'close'), said: () => said, ssh }
}

/** An update to a version nobody will hear, at the moment it is waited for. */
async function updateOnTrial() {
  const session = overSsh({ action: 'update_binary', agentVersion: 'latest', nodeId, patienceSeconds: 600 })
  await until('the trial', () => /Started; waiting/.test(session.said()), 120)
  return session
}

const inUse = async () => (await machine.must(`${PLACES.executable} version`)).trim()
const token = async () => /TOKEN=(\S+)/.exec(await machine.read(PLACES.agentSettings))?.[1]
const agentPid = async () => (await machine.must('systemctl show -p MainPID --value roomtone-agent')).trim()
/** In service, and heard: the sign is of the process that runs. */
const online = async () => {
  const sign = JSON.parse(await machine.read(`${agentState}/online.json`))
  assert.deepEqual([sign.online, String(sign.pid)], [true, await agentPid()])
  return sign.version
}

test('the node is what it was installed as, and its SSH server is known by its keys', { skip }, async () => {
  assert.equal(await online(), original)
  const credential = await controller.get(`/nodes/${nodeId}/ssh-credential`)
  const listed = await machine.must('for key in /etc/ssh/ssh_host_*_key.pub; do ssh-keygen -lf "$key"; done')
  assert.deepEqual(
    credential.hostKeys.map((key: { fingerprint: string }) => key.fingerprint).sort(),
    listed.match(/SHA256:\S+/g)?.sort(),
  )
  assert.match(
    await machine.read(PLACES.agentKeys),
    /^restrict,command="sudo -n \/opt\/roomtone\/bin\/roomtone maintain" ssh-ed25519 /,
  )
})

test('whatever is no request is refused in words, and repeats nothing of it', { skip }, async () => {
  for (const line of [
    '',
    'svc_node_secretsecretsecret',
    '{"action":"reboot"}',
    '{"action":"smoke_check","x":"svc_node_secretsecretsecret"}\n',
    `{"action":"${'x'.repeat(70_000)}`,
  ]) {
    const { code, stderr } = await maintain(line)
    assert.equal(code, MAINTAIN_EXIT.misused)
    assert.match(stderr, /^roomtone maintain: (Not a maintenance request|The request is longer)/)
  }
  const other = await maintain({ action: 'restart_service', nodeId: 'node_other' })
  assert.deepEqual(
    [other.code, other.stderr],
    [2, `roomtone maintain: This box is the node ${nodeId}, not node_other. Nothing was changed.\n`],
  )
  const more = await machine.run(`sudo -n ${PLACES.executable} maintain --help`, { user: USERS.agent })
  assert.notEqual(more.code, 0)
  const input = '{"action":"smoke_check"}\n'
  const { code, stderr } = await machine.run(`${PLACES.executable} maintain`, { input, user: USERS.agent })
  assert.deepEqual([code, stderr], [5, 'roomtone maintain: Maintenance needs root: sudo roomtone maintain.\n'])
})

test('a smoke check tells what the node is', { skip }, async () => {
  const { code, stdout } = await maintain({ action: 'smoke_check', nodeId })
  assert.equal(code, 0)
  assert.equal(JSON.parse(stdout).interfaces[0].systemRef, 'test:tone')
})

test('a restart ends when the controller hears the new process', { skip }, async () => {
  const pid = await agentPid()
  const { code, stderr, stdout } = await maintain({ action: 'restart_service' })
  assert.equal(code, 0, stderr)
  assert.doesNotMatch(stdout, /did not answer|could not be asked/)
  assert.notEqual(await agentPid(), pid)
  await online()
})

for (const [name, version, words] of [
  ['ends at once', ENDS, /does not start|ended soon/],
  ['is not what it says', LIES, /it reports version .*, not 2099/],
  ['is never heard', MUTE, /was not online within 3 s/],
] as const)
  test(`a version that ${name} is taken back, and the node is in service`, { skip }, async () => {
    const before = await token()
    const { code, stderr } = await maintain({
      action: 'update_binary',
      agentVersion: `agent-v${version}`,
      patienceSeconds: 3,
    })
    assert.equal(code, MAINTAIN_EXIT.failed, stderr)
    assert.match(stderr, words)
    assert.match(stderr, new RegExp(`in service again with ${original}`))
    assert.deepEqual([await inUse(), await online(), await token()], [original, original, before])
    assert.equal((await machine.must(`ls -A ${PLACES.versions}`)).trim(), original)
  })

test('a damaged or absent release touches nothing', { skip }, async () => {
  const pid = await agentPid()
  const absent = await maintain({ action: 'update_binary', agentVersion: 'agent-v2098.01.01-1' })
  assert.deepEqual(
    [absent.code, absent.stderr.includes('The controller does not have agent-v2098.01.01-1')],
    [1, true],
    absent.stderr,
  )
  await machine.write(PLACES.releaseKey, releaseKey)
  const unsigned = await maintain({ action: 'update_binary', agentVersion: ENDS })
  assert.equal(unsigned.code, 1)
  assert.match(unsigned.stderr, /SHA256SUMS\.sig/)
  assert.deepEqual([await agentPid(), await inUse()], [pid, original])
  assert.equal((await machine.must(`ls -A ${PLACES.versions}`)).includes('.incoming'), false)
  await machine.must(`rm ${PLACES.releaseKey}`)
})

test('a take is not cut: nothing that stops the agent is done meanwhile, what touches no service is', {
  skip,
}, async () => {
  const profile = await controller.plainProfile('wav')
  const { job, recording } = await controller.record(nodeId, profile, 600)
  const state = `${agentState}/takes/${job.id}/state.json`
  await machine.until('the take', `grep -q '"status":"capturing"' ${state}`)
  const pid = await agentPid()
  const lines: MaintainLine[] = [
    { action: 'update_binary', agentVersion: NEWER },
    { action: 'restart_service' },
    { action: 'activate_token', controllerToken: 'svc_node_never-used' },
    { action: 'install_dependencies' },
    { action: 'uninstall' },
  ]
  for (const line of lines) {
    const { code, stderr } = await maintain(line)
    assert.deepEqual([line.action, code], [line.action, MAINTAIN_EXIT.recording])
    assert.match(stderr, /^roomtone maintain: A take is running on this node\. Nothing was changed/)
  }
  const { publicKey } = await controller.post(`/nodes/${nodeId}/ssh-credential/rotate`)
  assert.equal((await maintain({ action: 'rotate_trust', publicKey })).code, 0)
  const keys = (await machine.read(PLACES.agentKeys)).trimEnd().split('\n')
  assert.deepEqual(keys, [`restrict,command="sudo -n ${PLACES.executable} maintain" ${publicKey}`])
  assert.equal((await machine.must(`stat -c '%U %a' ${PLACES.agentKeys}`)).trim(), `${USERS.agent} 600`)
  assert.equal(await agentPid(), pid)
  await controller.post(`/recordings/${recording.id}/stop`)
  await controller.delivered(recording.id, job.id)
})

test("what the agent's user puts in the way leads nobody else's files astray", { skip }, async () => {
  const publicKey = `ssh-ed25519 ${'A'.repeat(68)} svc-${nodeId}`
  const agent = { user: USERS.agent }
  // What a login would heed: PAM, a shell, systemd's own instance for the user.
  for (const name of ['.pam_environment', '.profile', '.config'])
    assert.notEqual((await machine.run(`touch ${PLACES.agentLogin}/${name}`, agent)).code, 0, name)
  const before = await machine.must(`stat -c '%n %a %U %Y' /etc/shadow ${PLACES.settings} ${PLACES.settings}/*`)
  await machine.must(`cd ${path.dirname(PLACES.agentKeys)} && mv authorized_keys aside`, agent)
  await machine.must(`ln -s /etc/shadow ${PLACES.agentKeys}`, agent)
  const { code, stderr } = await maintain({ action: 'rotate_trust', publicKey })
  assert.equal(code, MAINTAIN_EXIT.failed)
  assert.match(stderr, /The key cannot be put into/)
  assert.equal(await machine.must(`stat -c '%n %a %U %Y' /etc/shadow ${PLACES.settings} ${PLACES.settings}/*`), before)
  await machine.must(`cd ${path.dirname(PLACES.agentKeys)} && mv -f aside authorized_keys`, agent)
})

test('two at once: the second is told, and the first goes on to its end without anybody listening', {
  skip,
}, async () => {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', `svc-${nodeId}`, '-f', house.path('key')])
  const publicKey = fs.readFileSync(house.path('key.pub'), 'utf8').trim()
  assert.equal((await maintain({ action: 'rotate_trust', publicKey })).code, 0)
  const { ended, ssh } = await updateOnTrial()
  const second = await maintain({ action: 'smoke_check' })
  assert.deepEqual(
    [second.code, second.stderr],
    [MAINTAIN_EXIT.locked, 'roomtone maintain: Another maintenance run is in progress on this box.\n'],
  )
  ssh.kill('SIGKILL')
  await ended
  assert.equal(await inUse(), original)
  await machine.must('systemctl kill roomtone-agent')
  await until('the way back', async () => (await maintain({ action: 'smoke_check' })).code === 0, 60)
  assert.equal(await online(), original)
})

test('a box that loses its power during a trial comes back with the version that is proven', { skip }, async () => {
  const { ended } = await updateOnTrial()
  await machine.powerCut()
  await ended
  await until('the agent', async () => (await online().catch(() => '')) === original, 60)
})

test('a good version is in service at the end, with the token it had; the one before stays beside it', {
  skip,
}, async () => {
  const before = await token()
  const profile = await controller.plainProfile('wav')
  await machine.write(PLACES.releaseKey, releaseKey)
  const updating = maintain({ action: 'update_binary', agentVersion: NEWER, nodeId })
  await machine.until('the trial', 'test -e /run/systemd/system/roomtone-agent.service.d/trial.conf')
  const { job, recording } = await controller.record(nodeId, profile, 1)
  const { code, stderr, stdout } = await updating
  await machine.must(`rm ${PLACES.releaseKey}`)
  assert.equal(code, 0, stderr)
  // Asked for while nothing was begun, and recorded whole when it was over.
  const { durationSeconds } = await controller.delivered(recording.id, job.id)
  assert.equal(durationSeconds, 1)
  assert.match(stdout, new RegExp(`${NEWER} is in service; ${original} is kept for a rollback`))
  assert.deepEqual([await inUse(), await online(), await token()], [NEWER, NEWER, before])
  assert.deepEqual((await machine.must(`ls -A ${PLACES.versions}`)).trim().split('\n'), [original, NEWER])
  await until('the controller to know', async () => (await controller.get(`/nodes/${nodeId}`)).agentVersion === NEWER)
  const again = await maintain({ action: 'update_binary', agentVersion: NEWER })
  assert.deepEqual([again.code, again.stdout], [0, `${NEWER} is already in use.\n`])
})

async function mint(): Promise<string> {
  const route = `/nodes/${nodeId}/ssh-credential/material?mintToken=1`
  return (await controller.ask('GET', route, undefined, RUNNER_TOKEN)).json.data.controllerToken
}

test('a token that is good replaces the old one at its first use; one that is not is taken back', {
  skip,
}, async () => {
  const before = await token()
  const bad = await maintain({
    action: 'activate_token',
    controllerToken: 'svc_node_nobody-ever-minted-this',
    patienceSeconds: 3,
  })
  assert.equal(bad.code, MAINTAIN_EXIT.failed)
  assert.match(bad.stderr, /in service again with the old token/)
  assert.equal(await token(), before)
  const controllerToken = await mint()
  const good = await maintain({ action: 'activate_token', controllerToken })
  assert.equal(good.code, 0, good.stderr)
  assert.equal(await token(), controllerToken)
  assert.equal((await machine.must(`stat -c '%U:%G %a' ${PLACES.agentSettings}`)).trim(), 'root:roomtone-agent 640')
  assert.equal((await controller.ask('GET', `/nodes/${nodeId}/config`, undefined, before)).status, 401)
})

test('a token that stands in a file of its own is replaced there', { skip }, async () => {
  const file = `${PLACES.settings}/token`
  await machine.write(file, `${await token()}\n`, '0640')
  await machine.must(`chgrp ${USERS.agent} ${file}`)
  await machine.must(`sed -i 's|^SVC_CONTROLLER_TOKEN=.*|SVC_CONTROLLER_TOKEN_FILE=${file}|' ${PLACES.agentSettings}`)
  const controllerToken = await mint()
  const { code, stderr } = await maintain({ action: 'activate_token', controllerToken })
  assert.equal(code, 0, stderr)
  assert.equal(await machine.read(file), `${controllerToken}\n`)
  assert.doesNotMatch(await machine.read(PLACES.agentSettings), SECRET)
  assert.equal((await maintain({ action: 'update_binary', agentVersion: NEWER })).code, 0)
})

test('when what was before does not start either, somebody is told to look', { skip }, async () => {
  const dropIn = '/run/systemd/system/roomtone-agent.service.d/spoiled.conf'
  await machine.write(dropIn, '[Service]\nExecStartPre=/bin/false\n', '0644')
  const { code, stderr } = await maintain({ action: 'update_binary', agentVersion: ENDS })
  assert.equal(code, MAINTAIN_EXIT.broken)
  assert.match(stderr, new RegExp(`Also with ${NEWER}, it does not start .*this box needs attention`))
  await machine.must(`rm ${dropIn}`)
  assert.equal((await maintain({ action: 'restart_service' })).code, 0)
  assert.equal(await online(), NEWER)
})

test('dependencies: what is missing is completed, settings stay', { skip }, async () => {
  const before = await machine.read(PLACES.agentSettings)
  await machine.must(`rm ${PLACES.command}`)
  const { code, stderr, stdout } = await maintain({ action: 'install_dependencies', nodeId })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /Completed: the command/)
  assert.equal(await machine.read(PLACES.agentSettings), before)
})

test('a take that nobody else has keeps the box from being uninstalled', { skip }, async () => {
  const take = `${agentState}/takes/job_undelivered`
  await machine.write(`${take}/state.json`, '{"status":"captured"}')
  const { code, stderr } = await maintain({ action: 'uninstall', nodeId })
  assert.deepEqual(
    [code, /1\) that the controller does not have/.test(stderr)],
    [MAINTAIN_EXIT.recording, true],
    stderr,
  )
  assert.ok(await machine.exists(PLACES.executable))
  await machine.must(`rm -r ${take}`)
})

test('uninstalled over its own session, nothing of it is left', { skip }, async () => {
  const { ended, said } = overSsh({ action: 'uninstall', nodeId })
  assert.deepEqual(await ended, [0, null], said())
  for (const file of [PLACES.programs, PLACES.settings, PLACES.command, PLACES.sudoers, '/var/lib/roomtone'])
    assert.equal(await machine.exists(file), false, file)
  assert.equal((await machine.run(`id ${USERS.agent}`)).code, 1)
})
