import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { helpText, readConfig } from '../../src/agent/config.ts'
import { SETTINGS } from '../../src/agent/settings.ts'
import { UserError } from '../../src/kernel/fail.ts'
import { tempDir } from './server.ts'

const home = { HOME: '/home/agent' }

test('the defaults are those of the contract, below the working directory and HOME', () => {
  const { mode, settings, warnings } = readConfig([], home)
  assert.deepEqual([mode, warnings], ['daemon', []])
  assert.equal(settings.controllerUrl, 'http://localhost:8787')
  assert.equal(settings.agentDir, path.resolve('data/agent'))
  assert.equal(settings.healthLogFile, path.resolve('data/agent/health-events.jsonl'))
  assert.equal(settings.bootstrapAuthorizedKeys, '/home/agent/.ssh/authorized_keys')
  assert.equal(settings.bootstrapEnvFile, 'recorder-agent.env')
  assert.deepEqual([settings.heartbeatSeconds, settings.captureStalledSeconds, settings.testSource], [5, 30, false])
})

test('a flag wins over the environment, both spellings of the identity work, blank is unset', () => {
  const env = { ...home, SVC_NODE_ID: 'node_env', SVC_NODE_SITE: '', SVC_CONTROLLER_URL: 'https://c.example.org//' }
  const args = ['--node-id=node_flag', '--alias', 'A', '--node-room', 'R', '--allow-insecure']
  const { settings } = readConfig(args, env)
  assert.deepEqual(
    [
      settings.nodeId,
      settings.nodeAlias,
      settings.nodeRoom,
      settings.nodeSite,
      settings.allowInsecure,
      settings.controllerUrl,
    ],
    ['node_flag', 'A', 'R', 'Unassigned Site', true, 'https://c.example.org'],
  )
})

test('booleans of the environment are those of every program, time-outs forgive', () => {
  for (const [word, value] of [
    ['1', true],
    ['0', false],
    ['true', true],
    ['false', false],
    ['yes', true],
    ['off', false],
  ] as const)
    assert.equal(readConfig([], { ...home, SVC_TEST_SOURCE: word }).settings.testSource, value)
  assert.throws(() => readConfig([], { ...home, SVC_TEST_SOURCE: 'maybe' }), UserError)
  assert.equal(readConfig([], { ...home, SVC_CONTROLLER_READ_TIMEOUT_MS: 'soon' }).settings.readTimeoutMs, 60_000)
})

test('a template may begin with a hyphen, another value may not swallow a flag', () => {
  const template = '--rate {sample_rate} {output}'
  assert.equal(readConfig(['--capture-args-template', template], home).settings.captureArgsTemplate, template)
  assert.throws(() => readConfig(['--node-id', '--bootstrap'], home), /--node-id needs a value/)
})

test('what is wrong is said in a sentence that names it', () => {
  const cases: [string[], Record<string, string>, RegExp][] = [
    [['--nod-id', 'x'], {}, /unknown flag --nod-id/],
    [['record'], {}, /unexpected argument "record"/],
    [['--bootstrap=false'], {}, /--bootstrap is a switch/],
    [[], { SVC_HEARTBEAT_SECONDS: '0' }, /SVC_HEARTBEAT_SECONDS/],
    [[], { SVC_CONTROLLER_URL: 'controller:8787' }, /SVC_CONTROLLER_URL.*http/],
    [[], { SVC_CONTROLLER_URL: 'https://u:p@host' }, /user name or password/],
    [[], { SVC_NODE_ID: '../etc' }, /SVC_NODE_ID/],
    [[], { SVC_CONTROLLER_TOKEN: 'a', SVC_CONTROLLER_TOKEN_FILE: '/x' }, /both set/],
    [[], { SVC_CONTROLLER_TOKEN: 'my secret word' }, /SVC_CONTROLLER_TOKEN is not a token/],
  ]
  for (const [args, env, words] of cases)
    assert.throws(
      () => readConfig(args, { ...home, ...env }),
      (e) => e instanceof UserError && words.test(e.message) && !e.message.includes('my secret word'),
    )
})

test('settings near ours that nobody reads are warned about, those of a controller are not', () => {
  const env = {
    SVC_AGENT_CACHE_DIRR: 'x',
    SVC_CAPTURE_DEVICES: 'x',
    SVC_AGENT_CAPTURE_SECONDS: '60',
    SVC_DATA_DIR: 'x',
  }
  const { warnings } = readConfig([], { ...home, ...env })
  assert.deepEqual(warnings.map((w) => w.split(' ')[0]).sort(), ['SVC_AGENT_CACHE_DIRR', 'SVC_CAPTURE_DEVICES'])
})

test('secrets come from files and are read again; the environment of children has none', (t) => {
  const file = path.join(tempDir(t), 'token')
  fs.writeFileSync(file, 'svc_node_a\n')
  const env = {
    ...home,
    PATH: '/bin',
    SVC_CONTROLLER_TOKEN_FILE: file,
    SVC_BOOTSTRAP_TOKEN: 'svc_bs_x',
    LANG: 'de_DE.UTF-8',
  }
  const config = readConfig([], env)
  assert.equal(config.controllerToken.read(), 'svc_node_a')
  fs.writeFileSync(file, 'svc_node_b\n')
  assert.equal(config.controllerToken.read(), 'svc_node_b')
  assert.deepEqual(config.childEnv, { ...home, LANG: 'de_DE.UTF-8', LC_ALL: 'C', PATH: '/bin' })
  assert.match(readConfig(['--controller-token', 'x'], home).warnings[0] ?? '', /every user/)
})

test('an env file fills in what the environment does not say', (t) => {
  const file = path.join(tempDir(t), 'agent.env')
  fs.writeFileSync(
    file,
    '# comment\nSVC_NODE_ID=node_file\nSVC_NODE_ALIAS="Room \'4\'"\nSVC_CONTROLLER_TOKEN=svc_node_f\nPATH=/x\n',
  )
  const config = readConfig(['--env-file', file], { ...home, SVC_NODE_ID: 'node_env' })
  assert.deepEqual([config.settings.nodeId, config.settings.nodeAlias], ['node_env', "Room '4'"])
  assert.equal(config.controllerToken.read(), 'svc_node_f')
  assert.throws(() => readConfig(['--env-file', '/nonexistent'], home), /--env-file names .*cannot be read/)
})

test('the mode of the contract that comes first wins', () => {
  const all: [string[], string][] = [
    [['--print-inventory'], 'print-inventory'],
    [['--bootstrap'], 'bootstrap'],
    [['--print-meter-frame'], 'print-meter-frame'],
    [['--print-channel-map-assignments'], 'print-channel-map-assignments'],
    [['--attach-cache-file', 'a.mp3'], 'attach-cache-file'],
    [['--run-next-job'], 'run-next-job'],
    [['--capture-recording-id', 'rec_1'], 'capture-recording-id'],
    [[], 'daemon'],
  ]
  for (let n = 0; n < all.length; n++) {
    const [, wanted] = all[n]!
    const flags = all.slice(n).flatMap(([words]) => words)
    assert.equal(readConfig(flags, home).mode, wanted)
  }
  assert.equal(readConfig(['--run-next-job'], { ...home, SVC_BOOTSTRAP: '1' }).mode, 'bootstrap')
  assert.equal(
    readConfig([], { ...home, SVC_PRINT_CHANNEL_MAP_ASSIGNMENTS: '1' }).mode,
    'print-channel-map-assignments',
  )
  assert.equal(readConfig([], { ...home, SVC_ATTACH_CACHE_RECORDING_ID: 'rec_1' }).mode, 'attach-cache-file')
})

test('what is on is switched off by the environment, and the bitrate by its flag', () => {
  const off = readConfig(['--capture-output-vbr=false'], { ...home, SVC_SYSTEM_HEALTH_ENABLED: 'false' }).settings
  assert.deepEqual([off.systemHealth, off.captureOutputVbr], [false, false])
  const on = readConfig(['--system-health-enabled', '--capture-output-vbr', 'true'], home).settings
  assert.deepEqual([on.systemHealth, on.captureOutputVbr, on.captureSeconds], [true, true, 60])
})

test('the service manager is heard of, and children are not told', () => {
  const env = { ...home, NOTIFY_SOCKET: '/run/n', WATCHDOG_PID: String(process.pid), WATCHDOG_USEC: '30000000' }
  const { childEnv, manager } = readConfig([], env)
  assert.deepEqual(manager, { socket: '/run/n', watchdogMs: 30_000 })
  assert.deepEqual(Object.keys(childEnv).sort(), ['HOME', 'LC_ALL'])
  assert.equal(readConfig([], { ...env, WATCHDOG_PID: '1' }).manager?.watchdogMs, undefined)
  assert.equal(readConfig([], home).manager, undefined)
})

test('the help names every setting', () => {
  const help = helpText()
  for (const { env } of Object.values(SETTINGS)) assert.ok(help.includes(env), env)
})
