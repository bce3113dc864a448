import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redacted, Transcript } from '../../src/kernel/redact.ts'
import { readRunSettings } from '../../src/lifecycle/config.ts'
import { sshArgs } from '../../src/lifecycle/ssh.ts'
import { hostOf, lineOf, loginOf, mints } from '../../src/lifecycle/target.rules.ts'
import { LIFECYCLE_ACTIONS, Material, MINTING_ACTIONS, type RunRequest } from '../../src/wire/lifecycle.ts'
import { MaintainRequest } from '../../src/wire/maintain.ts'

const run = (host: string, more: Partial<RunRequest> = {}): RunRequest => ({
  action: 'smoke_check',
  options: {},
  target: { host, nodeAlias: 'Hall', nodeId: 'node_1' },
  ...more,
})
const PUBLIC = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA== comment'
const credential = Material.parse({ privateKey: 'k', publicKey: PUBLIC, username: 'managed' })
const places = (env: Record<string, string> = {}) => readRunSettings(env)

test('the host: targets, overrides by node or by host, the request; never what ssh would read as an option', () => {
  const targets = { SVC_ANSIBLE_TARGETS: '{"node_1":{"host":"desk.example","port":2222}}' }
  const byNode = { SVC_ANSIBLE_HOST_OVERRIDES: '{"node_1":"10.0.0.2","10.0.0.1":"10.0.0.3"}' }
  assert.equal(hostOf(places({ ...targets, ...byNode }), run('10.0.0.1')), 'desk.example')
  assert.equal(hostOf(places(byNode), run('10.0.0.1')), '10.0.0.2')
  const byHost = { SVC_ANSIBLE_HOST_OVERRIDES: '{"10.0.0.1":"10.0.0.3"}' }
  assert.equal(hostOf(places(byHost), run('10.0.0.1')), '10.0.0.3')
  assert.equal(hostOf(places(), run('10.0.0.1')), '10.0.0.1')
  assert.equal(hostOf(places(), run('[fe80::1%eth0]')), 'fe80::1%eth0')
  for (const host of ['', '-oProxyCommand=id', 'a b', 'a;b', 'x'.repeat(256)])
    assert.equal(hostOf(places(), run(host)), undefined, host)
  for (const nodeId of ['__proto__', 'constructor', 'toString'])
    assert.equal(hostOf(places(targets), run('h', { target: { host: 'h', nodeAlias: 'x', nodeId } })), 'h')
})

test('the user: the request, the credential, the targets, the default', () => {
  const env = { SVC_ANSIBLE_TARGETS: '{"node_1":{"sshUser":"desk"}}', SVC_ANSIBLE_DEFAULT_SSH_USER: 'other' }
  const asked = run('h', { options: { sshUser: 'asked' } })
  assert.equal(loginOf(places(env), asked, credential).user, 'asked')
  assert.equal(loginOf(places(env), run('h'), credential).user, 'managed')
  assert.equal(loginOf(places(env), run('h'), undefined).user, 'desk')
  assert.equal(loginOf(places({ SVC_ANSIBLE_DEFAULT_SSH_USER: 'other' }), run('h'), undefined).user, 'other')
  assert.equal(loginOf(places(), run('h'), undefined).user, 'roomtone-agent')
})

test('what is run on the node is one command, with sudo but for root; no argument is a path or a secret', () => {
  const args = (user: string) =>
    sshArgs({ keys: ['key', 'previous_key_0'], pinned: true, target: { host: 'desk', port: 2222, user } })
  assert.deepEqual(args('roomtone-agent').slice(-7), [
    ...['-l', 'roomtone-agent', '-p', '2222', '--', 'desk'],
    'sudo -n /opt/roomtone/bin/roomtone maintain',
  ])
  assert.equal(args('root').at(-1), '/opt/roomtone/bin/roomtone maintain')
  assert.ok(args('root').includes('StrictHostKeyChecking=yes'))
  assert.equal(args('root').filter((arg) => arg === '-i').length, 2)
})

test('every action has a line the node understands; those that rewrite its settings mint', () => {
  for (const action of LIFECYCLE_ACTIONS) {
    const line = lineOf(run('h', { action, options: { agentVersion: 'agent-v2026.03.01-1', force: true } }), {
      controllerCa: undefined,
      publicKey: PUBLIC,
    })
    assert.equal(MaintainRequest.parse(line).action, action)
    assert.equal(mints(run('h', { action }), credential), MINTING_ACTIONS.has(action))
    assert.equal(mints(run('h', { action }), undefined), false)
  }
})

test('settings that cannot be meant are named, and what stands in them is not repeated', () => {
  const refused = (env: Record<string, string>, words: RegExp) =>
    assert.throws(
      () => readRunSettings(env),
      (e: Error) => words.test(e.message) && e.message.endsWith('.') && !e.message.includes('hunter2'),
      JSON.stringify(env),
    )
  refused(
    { SVC_ANSIBLE_TARGETS: '{"n":{"host":"h","password":"hunter2"}}' },
    /n: only host, port, sshUser and sshKeyFile/,
  )
  refused({ SVC_ANSIBLE_TARGETS: '{"n":{"host":"h","hunter2":"x"}}' }, /SVC_ANSIBLE_TARGETS/)
  refused({ SVC_ANSIBLE_TARGETS: '{"n":{"host":"-oProxyCommand=hunter2"}}' }, /n\.host: expected a host name/)
  for (const text of ['hunter2', '[]', '{"n":"hunter2"}', '{"n":{"host":'])
    refused({ SVC_ANSIBLE_TARGETS: text }, /SVC_ANSIBLE_TARGETS/)
  for (const key of ['-----BEGIN OPENSSH PRIVATE KEY-----\\nhunter2', 'keys/hunter2', '/keys\\nhunter2'])
    refused(
      { SVC_ANSIBLE_TARGETS: `{"n":{"sshKeyFile":"${key}"}}` },
      /n\.sshKeyFile: expected the absolute path of a file/,
    )
  refused({ SVC_ANSIBLE_TARGETS: '{"n":{"sshKeyFile":"/nonexistent"}}' }, /SVC_ANSIBLE_TARGETS.*cannot be read/)
  refused({ SVC_ANSIBLE_HOST_OVERRIDES: '{"n":1}' }, /SVC_ANSIBLE_HOST_OVERRIDES.*n: /)
  refused({ SVC_ANSIBLE_SSH_KEY_FILE: '/nonexistent' }, /SVC_ANSIBLE_SSH_KEY_FILE.*cannot be read/)
  refused({ SVC_RUNNER_CONTROLLER_CA: import.meta.filename }, /contains no PEM certificate/)
})

test('a key file in the targets is taken, and a warning names it', () => {
  const file = import.meta.filename
  const { targets, warnings } = places({ SVC_ANSIBLE_TARGETS: JSON.stringify({ node_1: { sshKeyFile: file } }) })
  assert.equal(targets.node_1?.sshKeyFile, file)
  assert.deepEqual([warnings.length, warnings[0]?.includes(file)], [1, true])
  assert.deepEqual(places({ SVC_ANSIBLE_SSH_KEY_FILE: file }).warnings, [])
})

test('a secret is taken out wherever output is cut, and what is no secret arrives whole', () => {
  const key = `-----BEGIN OPENSSH PRIVATE KEY-----\n${'QUJD\n'.repeat(8)}-----END OPENSSH PRIVATE KEY-----`
  const text = `one\n${key}\ntwo svc_node_${'x'.repeat(43)}\nBearer abcdefghijkl and inner-secret\nlast ünd line`
  const wanted = redacted(text, ['inner-secret'])
  assert.equal(wanted, 'one\n[redacted]\ntwo [redacted]\n[redacted] and [redacted]\nlast ünd line')
  for (let size = 1; size <= text.length; size++) {
    const transcript = new Transcript(10_000, ['inner-secret'])
    let told = ''
    for (let at = 0; at < text.length; at += size) told += transcript.add(text.slice(at, at + size))
    told += transcript.end()
    assert.equal(told, wanted, `pieces of ${size}`)
    assert.equal(transcript.text, wanted)
  }
})

test('output without end is kept by its end, also without a line break, and never waits for ever', () => {
  const transcript = new Transcript(10)
  assert.equal(transcript.add('x'.repeat(70_000)).length, 70_000)
  assert.equal(transcript.add('-----BEGIN nothing\nmore\n'), '')
  assert.ok(transcript.end().includes('more'))
  assert.equal(transcript.text, 'hing\nmore\n')
})
