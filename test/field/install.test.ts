// A technician's visit, on a booted box that reaches nothing but its controller: one line, online, rebooted, removed again.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import * as path from 'node:path'
import { after, before, test } from 'node:test'
import * as tls from 'node:tls'
import { type RunResult, run } from '../../src/host/run.ts'
import { installLine } from '../../src/wire/install.ts'
import { executable } from '../kit/executable.ts'
import { Controller, House, until } from '../kit/whole.ts'
import { bootMachine, type Machine, noMachine } from './machine.ts'

const skip = noMachine()
const SITE = { room: "The dean's room", site: 'Süd $HOME' }
const CA = '/root/site-ca.pem'
const SCRIPT = path.join(import.meta.dirname, '..', '..', 'scripts', 'install-agent.sh')

// Everything an installation may touch, with owners, modes and contents. Copies of passwd and its like that the system's own
// programs keep are left out: the accounts are asked for.
const LISTING = `
  find /etc /opt /root /usr/local /var/lib \\( -path /var/lib/systemd -o -path /var/lib/apt/lists -o -path /etc/.pwd.lock -o -path '/etc/*-' \
    -o -path /etc/passwd -o -path /etc/group -o -path '/etc/*shadow' -o -path '/etc/sub?id' \\) -prune \
    -o -printf '%p %y %m %U %G %l\\n' -type f -exec sha256sum {} + | sort
  getent passwd | sort; getent group | sort; systemctl list-unit-files --no-legend 'roomtone*'; ls -A /tmp /run | grep ^room`

let house: House
let controller: Controller
let box: Machine
let untouched: string
let releases: { close(): void; url: string }

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
  await fakes()
  releases = await releaseHost(roomtone)
  untouched = await listing()
})
after(async () => {
  releases?.close()
  await box?.stop()
  await house?.close()
})

const listing = async (): Promise<string> => (await box.run(LISTING)).stdout
async function asBefore(): Promise<void> {
  const [was, is] = [new Set(untouched.split('\n')), new Set((await listing()).split('\n'))]
  assert.deepEqual({ gone: [...was.difference(is)], more: [...is.difference(was)] }, { gone: [], more: [] })
}

/**
 * Programs of the system that do as they always do, but for the one call that $CALL names: that one fails, cuts the setup
 * off (kill -9), or has it stopped and waits for that.
 */
async function fakes(): Promise<void> {
  const tools = ['apt-get', 'systemd-sysusers', 'systemd-tmpfiles', 'visudo', 'systemctl']
  for (const tool of tools)
    await box.write(
      `/root/fake/${tool}`,
      `#!/bin/sh
case "\${0##*/} $*" in
  "$CALL"*)
    [ "$HOW" != kill ] || kill -9 $PPID
    [ "$HOW" != stop ] || { kill -TERM $PPID; exec sleep 60; }
    echo "the disk is on fire" >&2
    exit 1 ;;
esac
exec "$(PATH=/usr/sbin:/usr/bin:/sbin:/bin command -v "\${0##*/}")" "$@"
`,
      '0755',
    )
}

/** Two releases: -1 is whole, -2 was damaged after its checksum was taken. */
async function releaseHost(roomtone: string): Promise<{ close(): void; url: string }> {
  const dir = house.path('releases')
  for (const n of [1, 2]) {
    const at = `${dir}/agent-v2026.01.01-${n}`
    const archive = `roomtone-2026.01.01-${n}-x86_64-unknown-linux-gnu.tar.gz`
    fs.mkdirSync(at, { recursive: true })
    const pack = `tar -cf - -C "${path.dirname(roomtone)}" roomtone | gzip -1 >${archive}; sha256sum ${archive} >SHA256SUMS`
    await run(
      'sh',
      ['-c', n === 1 ? pack : `echo whole >${archive}; sha256sum ${archive} >SHA256SUMS; echo damaged >${archive}`],
      {
        cwd: at,
        timeoutMs: 120_000,
      },
    )
  }
  const server = http.createServer(({ url = '' }, response) => {
    fs.createReadStream(path.join(dir, url))
      .on('error', () => response.writeHead(404).end())
      .pipe(response)
  })
  await new Promise<void>((resolve) => server.listen(0, box.hostAddress, resolve))
  const { port } = server.address() as AddressInfo
  return { close: () => server.close(), url: `http://${box.hostAddress}:${port}` }
}

const quoted = (words: string[]): string => words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')

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
    const { code, stderr } = await setup(forNode(id), call, 'fail', token)
    assert.equal(code, 1)
    assert.match(stderr, /^roomtone setup: .*\.$/m)
    assert.doesNotMatch(stderr, new RegExp(token))
    await asBefore()
  })

test('a setup that is told to stop leaves the box as it was', { skip }, async () => {
  const { id, token } = await minted()
  const { code, stderr } = await setup(forNode(id), 'systemctl start roomtone-agent', 'stop', token)
  assert.deepEqual(
    { code, stderr },
    { code: 130, stderr: 'roomtone setup: stopped by a signal; the box is as it was before.\n' },
  )
  await asBefore()
})

test('a setup that was cut off is gone on with, and taken back when that fails', { skip }, async () => {
  const { id, token } = await minted()
  for (const call of CALLS) assert.equal((await setup(forNode(id), call, 'kill', token)).code, 137, call)
  const { code, stdout } = await setup(forNode(id), CALLS.at(-1), 'fail', token)
  assert.equal(code, 1)
  assert.match(stdout, /^An earlier setup was cut off: this one goes on with it\.$/m)
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

test('what cannot be is refused before anything is touched', { skip }, async () => {
  const { id, token } = await minted()
  const cases: [string, string[], RegExp][] = [
    ['no token', ['--node-id', id], /a bootstrap token is needed/],
    ['a token of nobody', ['--node-id', id, '--bootstrap-token', 'svc_bs_nobody'], /refuses the token.*Mint a new one/],
    ['no authority', ['--node-id', id, '--bootstrap-token', token], /--controller-ca/],
    [
      'no release',
      ['--node-id', id, '--version', 'agent-v1999.01.01-1', '--bootstrap-token', token],
      /no such release/,
    ],
    ['an unknown flag', ['--node', id], /there is no option --node/],
  ]
  for (const [what, args, words] of cases) {
    const trust = what === 'no authority' ? [] : ['--controller-ca', CA]
    const said = await box.run(
      `curl -fsS --cacert ${CA} ${controller.url}/install.sh | sh -s -- ${quoted([...args, ...trust])}`,
    )
    assert.notEqual(said.code, 0, what)
    assert.match(said.stderr, words, what)
    await asBefore()
  }
  await box.must('mv /usr/bin/arecord /usr/bin/arecord.away')
  const unreachable = await setup(forNode(id), 'apt-get', 'fail', token)
  assert.match(unreachable.stderr, /apt-get could not install alsa-utils: the disk is on fire\. .*--no-packages/)
  const broken = await setup(forNode(id), '', '', token)
  assert.match(broken.stderr, /alsa-utils are not there although apt-get has these packages: repair them/)
  await box.must('mv /usr/bin/arecord.away /usr/bin/arecord')
  await asBefore()
  const asUser = await box.run(`curl -fsSk ${controller.url}/install.sh | sh`, { user: 'nobody' })
  assert.match(asUser.stderr, /only root can install: run it with sudo/)
})

let node: { id: string; token: string }
const agentPid = () => box.must('systemctl show --property=MainPID --value roomtone-agent')

test('one line installs, and the node is online', { skip }, async () => {
  node = await minted()
  const { code, stderr, stdout } = await line(node.id, { token: node.token })
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /its controller hears it\.$/m)
  assert.equal((stdout + stderr + (await box.journal())).includes(node.token), false, 'the token is in no log')
  const { status } = await controller.get(`/nodes/${node.id}`)
  assert.equal(status, 'online')
  const { stdout: settings } = await box.run(
    'cat /etc/roomtone/recorder-agent.env; stat -c "%U %G %a" /etc/roomtone/recorder-agent.env',
  )
  assert.match(settings, /SVC_NODE_ROOM="The dean's room"\n/)
  assert.match(settings, /SVC_NODE_SITE="Süd \\\$HOME"\n/)
  assert.match(settings, /root roomtone-agent 640\n$/)
  const keys = '/var/lib/roomtone/agent/.ssh/authorized_keys'
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
  assert.match((await install('nothing')).stdout, /its controller hears it/)
  await box.must('rm /root/newer')
  assert.match(await program(), /^\/opt\/roomtone\/versions\/[^/]+\+[0-9a-f]{12}\/roomtone\n$/)
})

test('another node on the same box is refused unless it is asked for', { skip }, async () => {
  const { id, token } = await minted()
  const { code, stderr } = await line(id, { token })
  assert.equal(code, 1)
  assert.match(stderr, new RegExp(`this box is the node ${node.id} already`))
})

test('a run while the box records does not cost the take', { skip }, async () => {
  await box.must('echo SVC_TEST_SOURCE=true >>/etc/roomtone/recorder-agent.env && systemctl restart roomtone-agent')
  await until('the test source', async () => {
    const { interfaces } = await controller.get(`/nodes/${node.id}`)
    return interfaces.length > 0
  })
  const pid = await agentPid()
  const profile = await controller.plainProfile('wav')
  const { job, recording } = await controller.record(node.id, profile, 6)
  await box.until('the take', 'find /var/lib/roomtone/agent/data/agent/takes -name take.wav -size +64k | grep .')
  const { stdout, stderr } = await line(node.id, { room: 'Elsewhere' })
  assert.match(stdout, /takes the changes over as soon as no take runs/, stdout + stderr)
  const refused = await box.run('roomtone setup remove')
  assert.match(refused.stderr, /records right now: wait for the end of the take/)
  await controller.delivered(recording.id, job.id)
  assert.equal(await agentPid(), pid)
})

test('the changes of that run count with the next one', { skip }, async () => {
  const pid = await agentPid()
  const { stdout } = await line(node.id, { room: 'Elsewhere' })
  assert.match(stdout, /its controller hears it/)
  assert.notEqual(await agentPid(), pid)
})

test('after a reboot the node is online', { skip }, async () => {
  await box.reboot()
  await box.until('the sign', 'grep \'"online":true\' /var/lib/roomtone/agent/data/agent/online.json')
  await box.must('systemctl is-active roomtone-agent')
})

test('a box that is a controller too stays one when its recorder goes', { skip }, async () => {
  const { stdout } = await setup(['controller', '--public-url', 'https://recorder.example'])
  const file = '/etc/credstore/roomtone.local-admin-password'
  assert.match(stdout, new RegExp(`The first admin's password is in ${file} `))
  assert.match((await setup(['controller'])).stdout, /Nothing to do/)
  const login = `printf '{"email":"admin@roomtone.local","password":"%s"}' "$(cat ${file})" |
    curl -fsS -H 'content-type: application/json' -d @- http://localhost:8787/api/v1/auth/login`
  assert.match(await box.must(login), /"token":"svc_/)
  assert.match(
    await box.must('curl -fsS http://localhost:8787/install.sh'),
    /^default_controller_url='https:\/\/recorder.example'$/m,
  )
  const site = `${box.address}:8787`
  await box.must(`roomtone tls init --host ${box.address}`)
  const files = ['--tls-cert', '/etc/roomtone/tls/server.pem', '--tls-key', '/etc/roomtone/tls/server.key']
  const served = await setup(['controller', '--host', '0.0.0.0', ...files])
  assert.equal(served.code, 0, served.stderr)
  await box.must(`curl -fsS --cacert /etc/roomtone/tls/ca.pem https://${site}/healthz`)
  const wrong = await setup(['controller', '--port', '1'])
  assert.match(wrong.stderr, /roomtone-controller.service does not start\. Its last words: /)
  await box.until('the controller as before', `curl -fsS --cacert /etc/roomtone/tls/ca.pem https://${site}/healthz`)
  await box.must('roomtone setup remove agent --purge')
  await box.must('systemctl is-active roomtone-controller && roomtone setup remove controller --purge')
  await asBefore()
})

test('from a release host, checked; what is damaged is not unpacked', { skip }, async () => {
  const { id, token } = await minted()
  const from = (tag: string) =>
    box.run(
      `sh -s -- --controller-url ${controller.url} --controller-ca ${CA} --node-id ${id} --release-base ${releases.url} --version ${tag}`,
      { input: `SVC_BOOTSTRAP_TOKEN=${token}\n${fs.readFileSync(SCRIPT, 'utf8')}`, timeoutMs: 120_000 },
    )
  const damaged = await from('agent-v2026.01.01-2')
  assert.match(
    damaged.stderr,
    /is damaged or was tampered with: its SHA-256 is [0-9a-f]{64}, it should be [0-9a-f]{64}/,
  )
  await asBefore()
  node = { id, token }
  const { code, stdout, stderr } = await from('agent-v2026.01.01-1')
  assert.equal(code, 0, stdout + stderr)
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
  const script = `curl -fsS --cacert ${CA} ${controller.url}/install.sh | sh -s -- --uninstall --purge`
  assert.match(await box.must(script), /^Removed: roomtone-agent.service/m)
  await asBefore()
  assert.equal((await box.run(script)).code, 1)
})
