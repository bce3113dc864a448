// A technician's visit, on a booted box that reaches nothing but its controller: one line, online, rebooted, removed again.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { after, before, test } from 'node:test'
import * as tls from 'node:tls'
import { type RunResult, run } from '../../src/system/host/run.ts'
import { installLine } from '../../src/wire/install.ts'
import { executable } from '../kit/executable.ts'
import { Controller, House, RUNNER_TOKEN, until } from '../kit/whole.ts'
import { bootMachine, type Machine, noMachine } from './machine.ts'
import { fakePrograms, lookedAt, quoted, type ReleaseHost, releaseHost } from './visit.ts'

const skip = noMachine()
const SITE = { room: "The dean's room", site: 'Süd $HOME' }
const CA = '/root/site-ca.pem'
const SCRIPT = path.join(import.meta.dirname, '..', '..', 'scripts', 'install-agent.sh')

let house: House
let controller: Controller
let box: Machine
/** Fails when the box is not what it was before the first installation. */
let asBefore: () => Promise<void>
let releases: ReleaseHost

before(async () => {
  if (skip) return
  const roomtone = await executable()
  house = await House.open(roomtone)
  box = await bootMachine({ name: 'install' })
  const site = house.path('tls')
  await run(roomtone, ['tls', 'init', '--host', box.hostAddress, '--dir', site])
  const ca = fs.readFileSync(`${site}/ca.pem`, 'utf8')
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), ca])
  controller = await new Controller(house, {
    SVC_API_TLS_CERT_PATH: `${site}/server.pem`,
    SVC_API_TLS_KEY_PATH: `${site}/server.key`,
    SVC_HOST: box.hostAddress,
  }).start()
  await controller.login()
  await box.write(CA, ca)
  await box.bring(roomtone, '/root/roomtone')
  await fakePrograms(box)
  releases = await releaseHost(house, box, roomtone)
  for (const [name, key] of Object.entries(releases.keys)) await box.write(`/root/${name}.pem`, key)
  asBefore = await lookedAt(box)
})
after(async () => {
  releases?.close()
  await box?.stop()
  await house?.close()
})

/** The setup alone, with the program of the test; `how` happens at the call. */
const setup = (args: string[], call = '', how = '', input = ''): Promise<RunResult> =>
  box.run(`PATH=/root/fake:$PATH CALL='${call || 'nothing'}' HOW='${how}' /root/roomtone setup ${quoted(args)}`, {
    input,
    timeoutMs: 120_000,
  })

const forNode = (id: string): string[] => [
  ...['agent', '--controller-url', controller.url, '--node-id', id],
  ...['--controller-ca', CA, '--bootstrap-token-file', '-'],
]

async function minted(): Promise<{ id: string; token: string }> {
  const location = { room: 'Hall', site: 'House' }
  const { node } = await controller.post('/nodes/enroll', { alias: 'box', hostname: 'box', location })
  const { token } = await controller.post(`/nodes/${node.id}/bootstrap-token`)
  return { id: node.id, token }
}

const line = (nodeId: string, more: object = {}): Promise<RunResult> =>
  box.run(installLine({ controllerCa: CA, controllerUrl: controller.url, nodeId, ...SITE, ...more }), {
    timeoutMs: 120_000,
  })

const CALLS = ['systemd-sysusers', 'systemd-tmpfiles', 'visudo', 'systemctl enable', 'systemctl start roomtone-agent']

for (const call of CALLS)
  test(`a setup that fails at "${call}" says so, and leaves the box as it was`, { skip }, async () => {
    const { id, token } = await minted()
    const { code, stderr, stdout } = await setup(forNode(id), call, 'fail', token)
    assert.equal(code, 1)
    assert.doesNotMatch(stdout, /Left behind/)
    assert.match(stderr, /^roomtone setup: .*\.$/m)
    assert.doesNotMatch(stderr, new RegExp(token))
    await asBefore()
  })

test('a setup that is told to stop leaves the box as it was', { skip }, async () => {
  const { id, token } = await minted()
  const { code, stderr } = await setup(forNode(id), 'systemctl start roomtone-agent', 'stop', token)
  assert.deepEqual(
    { code, stderr },
    { code: 130, stderr: 'roomtone setup: interrupted by a signal; all changes were undone.\n' },
  )
  await asBefore()
})

test('a setup that was cut off is gone on with, and taken back when that fails', { skip }, async () => {
  const { id, token } = await minted()
  for (const call of CALLS) assert.equal((await setup(forNode(id), call, 'kill', token)).code, 137, call)
  const { code, stdout } = await setup(forNode(id), CALLS.at(-1), 'fail', token)
  assert.equal(code, 1)
  assert.match(stdout, /^An earlier setup was interrupted: continuing it\.$/m)
  await asBefore()
})

test('a setup that was cut off makes no node of the box: another one is taken back first', { skip }, async () => {
  const first = await minted()
  await setup(forNode(first.id), 'systemctl start', 'kill', first.token)
  const second = await minted()
  const { code, stderr } = await setup(forNode(second.id), '', '', 'svc_bs_wrong')
  assert.equal(code, 1)
  assert.match(stderr, /the node could not join: .*refused the bootstrap token/)
  await asBefore()
})

test('what is taken back leaves takes that nobody else has, to their owner', { skip }, async () => {
  const { id, token } = await minted()
  await setup(forNode(id), 'systemctl start', 'kill', token)
  const take = '/var/lib/roomtone/agent/data/agent/takes/take_1'
  await box.must(`runuser -u roomtone-agent -- mkdir -p ${take}
    echo '{"status":"captured"}' | runuser -u roomtone-agent -- tee ${take}/state.json`)
  const { stdout } = await setup(forNode(id), 'systemctl start', 'fail', token)
  assert.match(stdout, /^Left behind: \/var\/lib\/roomtone\S*, which holds takes that the controller does not have\.$/m)
  assert.equal(await box.must(`stat -c %U ${take}/state.json`), 'roomtone-agent\n')
  assert.equal(await box.exists('/opt/roomtone'), false, 'the rest is taken back')
  assert.match((await setup(['remove'])).stderr, /holds 1 take\(s\) that the controller does not have/)
  await setup(['remove', '--purge'])
  await asBefore()
})

test('what cannot be is refused before anything is touched', { skip }, async () => {
  const { id, token } = await minted()
  const cases: [string, string[], RegExp][] = [
    ['no token', ['--node-id', id], /a bootstrap token is needed/],
    [
      'the token of a node',
      ['--node-id', id, '--bootstrap-token', 'svc_node_x'],
      /this is the token of a node: mint a bootstrap token/,
    ],
    ['a session', ['--node-id', id, '--bootstrap-token', 'svc_x'], /not a bootstrap token, which begins with svc_bs_/],
    ['a token of nobody', ['--node-id', id, '--bootstrap-token', 'svc_bs_nobody'], /refuses the token.*Mint a new one/],
    ['a code of nobody', ['--pairing-code', 'AAAA-AAAA'], /refuses the pairing code.*Get a new one/],
    ['what is no code', ['--pairing-code', 'AAAA'], /this is not a pairing code/],
    ['another authority', ['--node-id', id, '--bootstrap-token', token], /--controller-ca/],
    [
      'no release',
      ['--node-id', id, '--version', 'agent-v1999.01.01-1', '--bootstrap-token', token],
      /no such release/,
    ],
    ['an unknown flag', ['--node', id], /there is no option --node/],
  ]
  for (const [what, args, words] of cases) {
    const trust = ['--controller-ca', what === 'another authority' ? '/etc/ssl/certs/ca-certificates.crt' : CA]
    const said = await box.run(
      `curl -fsS --cacert ${CA} ${controller.url}/install.sh | sh -s -- ${quoted([...args, ...trust])}`,
    )
    assert.notEqual(said.code, 0, what)
    assert.match(said.stderr, words, what)
    await asBefore()
  }
  // Looked at before anything is installed, also where the program is on the box already.
  await box.must('mv /usr/bin/arecord /usr/bin/arecord.away')
  for (const [wrong, words] of [
    ['svc_bs_nobody', /refused the bootstrap token\. It has expired, was already used, or is for another node/],
    ['svc_node_nobody', /this is the token of a node/],
  ] as const) {
    const { stderr, stdout } = await setup(forNode(id), 'apt-get', 'fail', wrong)
    assert.match(stderr, words)
    assert.doesNotMatch(stdout + stderr, /packages|apt-get/)
  }
  const unreachable = await setup(forNode(id), 'apt-get', 'fail', token)
  assert.match(unreachable.stderr, /apt-get could not install alsa-utils: the disk is on fire\. .*--no-packages/)
  const broken = await setup(forNode(id), '', '', token)
  assert.match(broken.stderr, /reports alsa-utils as installed, but their programs are missing: repair them/)
  await box.must('mv /usr/bin/arecord.away /usr/bin/arecord')
  await asBefore()
  const asUser = await box.run(`curl -fsSk ${controller.url}/install.sh | sh`, { user: 'nobody' })
  assert.match(asUser.stderr, /only root can install: run it with sudo/)
})

test('a code that was typed is enough for the setup', { skip }, async () => {
  const { id } = await minted()
  const { code } = await controller.post(`/nodes/${id}/pairing-code`)
  const asked = ['agent', '--controller-url', controller.url, '--controller-ca', CA, '--pairing-code']
  const done = await setup(asked, '', '', `${code}\n`)
  assert.equal(done.code, 0, done.stdout + done.stderr)
  assert.match(done.stdout, /is connected to its controller\.$/m)
  assert.match(await box.must('cat /etc/roomtone/recorder-agent.env'), new RegExp(`^SVC_NODE_ID=${id}$`, 'm'))
  await setup(['remove', '--purge'])
  await asBefore()
})

let node: { id: string; token: string }
const agentPid = () => box.must('systemctl show --property=MainPID --value roomtone-agent')

test('one line installs, and the node is online', { skip }, async () => {
  node = await minted()
  const { code, stderr, stdout } = await line(node.id, { token: node.token })
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /is connected to its controller\.$/m)
  assert.equal((stdout + stderr + (await box.journal())).includes(node.token), false, 'the token is in no log')
  assert.match(stdout, /^It has no capture device, so it cannot record yet: .*$/m)
  const { interfaces, problems, status } = await controller.get(`/nodes/${node.id}`)
  assert.deepEqual([status, interfaces], ['online', []])
  assert.deepEqual(problems, [{ code: 'no_capture_device', message: 'no capture device' }])
  const { stdout: settings } = await box.run(
    'cat /etc/roomtone/recorder-agent.env; stat -c "%U %G %a" /etc/roomtone/recorder-agent.env',
  )
  assert.match(settings, /SVC_NODE_ROOM="The dean's room"\n/)
  assert.match(settings, /SVC_NODE_SITE="Süd \\\$HOME"\n/)
  assert.match(settings, /root roomtone-agent 640\n$/)
  const keys = '/var/lib/roomtone/agent-login/.ssh/authorized_keys'
  assert.match(
    await box.must(`cat ${keys}; stat -c "%U %G %a" ${keys}`),
    /^restrict,command="sudo -n \/opt\/roomtone\/bin\/roomtone maintain" ssh-ed25519 \S+ svc-node_\S+\nroomtone-agent roomtone-agent 600\n$/,
  )
  assert.equal(await box.must('ls -A /opt; ls -A /tmp | grep ^room || :'), 'roomtone\n')
})

test('a second run changes nothing, with the spent token or without one', { skip }, async () => {
  const pid = await agentPid()
  for (const more of [{ token: node.token }, {}]) {
    const { stdout, stderr } = await line(node.id, more)
    assert.match(stdout, /Nothing to do/, stdout + stderr)
  }
  assert.equal(await agentPid(), pid)
})

test('a runner on its own box has what it needs, and acts', { skip }, async () => {
  const asked = ['lifecycle', '--controller-url', controller.url, '--controller-ca', CA]
  const made = await setup(asked)
  assert.match(made.stdout, /The controller needs the same \/etc\/credstore\/roomtone\.ansible-runner-token and/)
  assert.equal(made.code, 0, made.stdout + made.stderr)
  const tokens = '/etc/credstore/roomtone.ansible-runner-token /etc/credstore/roomtone.runner-token'
  assert.equal(await box.must(`stat -c '%U %a' ${tokens}`), 'root 600\nroot 600\n')
  assert.match((await setup(asked)).stdout, /Nothing to do/)
  // The token it made is none of the controller's: what is given takes its place, and the service goes on with it.
  const given = await setup([...asked, '--controller-token-file', '-'], '', '', RUNNER_TOKEN)
  assert.equal(given.code, 0, given.stderr)
  const body = JSON.stringify({
    action: 'smoke_check',
    target: { host: '127.0.0.1', nodeAlias: 'box', nodeId: node.id },
  })
  const run_ = `printf 'header = "Authorization: Bearer %s"\n' "$(cat ${tokens.split(' ')[0]})" |
    curl -sS --config - -H 'content-type: application/json' -d ${quoted([body])} http://localhost:8790/runs`
  const { data } = JSON.parse(await box.must(run_))
  assert.equal(data?.exitCode, 0, JSON.stringify(data))
  const gone = await setup(['remove', 'lifecycle', '--purge'])
  assert.match(gone.stdout, /^Removed: roomtone-lifecycle.service/m)
})

test('another program comes into service, or the old one stays', { skip }, async () => {
  const program = async () => await box.must(`readlink /proc/${(await agentPid()).trim()}/exe`)
  const old = await program()
  // The same version, but not the same bytes.
  await box.must('cp /root/roomtone /root/newer && echo >>/root/newer')
  const install = (call: string) =>
    box.run(`PATH=/root/fake:$PATH CALL='${call}' HOW=fail /root/newer setup ${quoted(forNode(node.id).slice(0, -2))}`)
  const { code, stderr } = await install('systemctl restart roomtone-agent')
  assert.equal(code, 1)
  assert.match(stderr, /roomtone-agent.service does not start/)
  assert.deepEqual([await program(), await box.must('readlink -f /opt/roomtone/bin/roomtone')], [old, old])
  await box.must('systemctl is-active roomtone-agent && [ "$(ls /opt/roomtone/versions | wc -l)" = 1 ]')
  assert.match((await install('nothing')).stdout, /is connected to its controller/)
  await box.must('rm /root/newer')
  assert.match(await program(), /^\/opt\/roomtone\/versions\/[^/]+\+[0-9a-f]{12}\/roomtone\n$/)
})

test('another node on the same box is refused unless it is asked for', { skip }, async () => {
  const { id, token } = await minted()
  const { code, stderr } = await line(id, { token })
  assert.equal(code, 1)
  assert.match(stderr, new RegExp(`this box is already node ${node.id}: .*--replace`))
  assert.doesNotMatch(stderr, /setup remove/)
})

test('a run while the box records does not cost the take', { skip }, async () => {
  await box.must('echo SVC_TEST_SOURCE=true >>/etc/roomtone/recorder-agent.env && systemctl restart roomtone-agent')
  await until('the test source', async () => {
    const { interfaces } = await controller.get(`/nodes/${node.id}`)
    return interfaces.length > 0
  })
  const pid = await agentPid()
  const profile = await controller.plainProfile('wav')
  const { job, recording } = await controller.record(node.id, profile, 600)
  await box.until('the take', 'find /var/lib/roomtone/agent/data/agent/takes -name take.wav -size +64k | grep .')
  const { stdout, stderr } = await line(node.id, { room: 'Elsewhere' })
  assert.match(stdout, /applies the changes when no take is running/, stdout + stderr)
  const refused = await box.run('roomtone setup remove')
  assert.match(refused.stderr, /is recording: wait until the recording has ended/)
  // It asks once a minute; what it applies then must not be mistaken for what the next run applies.
  await box.must('systemctl is-active roomtone-agent-refresh | grep ^activ && systemctl stop roomtone-agent-refresh')
  await controller.post(`/recordings/${recording.id}/stop`)
  await controller.delivered(recording.id, job.id)
  assert.equal(await agentPid(), pid)
})

test('the changes of that run count with the next one', { skip }, async () => {
  const pid = await agentPid()
  const { stdout } = await line(node.id, { room: 'Elsewhere' })
  assert.match(stdout, /is connected to its controller/)
  assert.notEqual(await agentPid(), pid)
})

test('after a reboot the node is online', { skip }, async () => {
  await box.reboot()
  await box.until('the sign', 'grep \'"online":true\' /var/lib/roomtone/agent/data/agent/online.json')
  await box.must('systemctl is-active roomtone-agent')
})

const fromHost = ({ id, token }: { id: string; token: string }, more: string[], base = releases.url) =>
  box.run(
    `sh -s -- --controller-url ${controller.url} --controller-ca ${CA} --node-id ${id} --release-base ${base} ${quoted(more)}`,
    { input: `SVC_BOOTSTRAP_TOKEN=${token}\n${fs.readFileSync(SCRIPT, 'utf8')}`, timeoutMs: 120_000 },
  )
const [WHOLE, DAMAGED] = [1, 2].map((n) => ['--version', `agent-v2026.01.01-${n}`]) as [string[], string[]]
const OWNER = ['--release-key', '/root/owner.pem']

test('from a release host nothing is taken that cannot be proved', { skip }, async () => {
  await box.must('roomtone setup remove --purge')
  const joining = await minted()
  const cases: [string[], RegExp][] = [
    [WHOLE, /An unsigned release must come by https, also across redirects/],
    [
      [...DAMAGED, '--allow-insecure'],
      /is damaged or was tampered with: its SHA-256 is [0-9a-f]{64}, it should be [0-9a-f]{64}/,
    ],
    [
      [...DAMAGED, ...OWNER],
      /SHA256SUMS\.sig could not be fetched: .*The release is not signed, and \/root\/owner\.pem asks/,
    ],
    [[...WHOLE, '--release-key', '/root/other.pem'], /SHA256SUMS was not signed by the owner of \/root\/other\.pem/],
    [[...WHOLE, '--release-key', CA], /the signature of SHA256SUMS cannot be checked with /],
    [[...WHOLE, '--release-key', '/root/none.pem'], /\/root\/none\.pem \(--release-key\) cannot be read/],
  ]
  for (const [args, words] of cases) {
    const { code, stderr } = await fromHost(joining, args)
    assert.match(stderr, words)
    assert.equal(code, 1)
    await asBefore()
  }
  const spent = await fromHost({ id: joining.id, token: 'svc_bs_spent' }, [...WHOLE, ...OWNER])
  assert.match(spent.stderr, /bootstrap could not be fetched: .*401.*The controller refuses the token/)
  assert.doesNotMatch(spent.stdout, /Fetching/)
  await box.must('mv /usr/bin/openssl /usr/bin/openssl.away')
  assert.match((await fromHost(joining, [...WHOLE, ...OWNER])).stderr, /openssl is missing: install it/)
  await box.must('mv /usr/bin/openssl.away /usr/bin/openssl')
  // A box that has a key asks for it by itself.
  await box.must('mkdir /etc/roomtone && cp /root/other.pem /etc/roomtone/release-key.pem')
  assert.match(
    (await fromHost(joining, WHOLE)).stderr,
    /was not signed by the owner of \/etc\/roomtone\/release-key\.pem/,
  )
  await box.must('rm -r /etc/roomtone')
  await asBefore()
})

test('from a release host, checked and signed', { skip }, async () => {
  node = await minted()
  const { code, stdout, stderr } = await fromHost(node, OWNER, `${releases.url}/owner/repo/releases/download`)
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /^Fetching roomtone-2026\.01\.01-1-/m)
})

test('another node on the same box, where it is asked for', { skip }, async () => {
  const { id, token } = await minted()
  const { code, stderr } = await setup([...forNode(id), '--replace'], '', '', token)
  assert.equal(code, 0, stderr)
  assert.equal((await controller.get(`/nodes/${id}`)).status, 'online')
  node = { id, token }
})

test('what is removed can be installed again; purged, nothing of it is left', { skip }, async () => {
  await box.must('roomtone setup remove')
  assert.equal(await box.exists('/opt/roomtone'), false)
  assert.match(await box.read('/etc/roomtone/recorder-agent.env'), /SVC_CONTROLLER_TOKEN=/)
  const { code, stdout, stderr } = await line(node.id)
  assert.equal(code, 0, stdout + stderr)
  const script = `curl -fsS --cacert ${CA} ${controller.url}/install.sh | sh -s -- --uninstall`
  assert.match(await box.must(`${script} --purge`), /^Removed: roomtone-agent.service/m)
  await asBefore()
  assert.equal((await box.run(`${script} --purge`)).code, 1)
})
