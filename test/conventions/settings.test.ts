import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { helpText, readConfig as readAgent } from '../../src/agent/config.ts'
import type { Row } from '../../src/agent/settings.rows.ts'
import { SETTINGS as AGENT } from '../../src/agent/settings.ts'
import { SETTINGS as CONTROLLER, readConfig } from '../../src/controller/config.ts'
import { UserError } from '../../src/kernel/fail.ts'
import { settingsHelp } from '../../src/kernel/settings.ts'
import { RUN_SETTINGS, readServerSettings, SERVER_SETTINGS } from '../../src/lifecycle/config.ts'
import { PAGES } from './docs.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const page = (name: string): string => readFileSync(path.join(ROOT, name), 'utf8')
const dir = mkdtempSync(path.join(tmpdir(), 'roomtone-settings-'))
after(() => rmSync(dir, { recursive: true, force: true }))
const file = (name: string, text: string): string => {
  writeFileSync(path.join(dir, name), text)
  return path.join(dir, name)
}

const runnerNames = Object.keys({ ...RUN_SETTINGS, ...SERVER_SETTINGS })
const agentRows = Object.values(AGENT) as Row[]

test('every setting is in docs/ and in --help', () => {
  const documented = PAGES.map(page).join('\n')
  const help = (program: string): string => {
    const run = spawnSync(process.execPath, [path.join(ROOT, 'src/main.ts'), program, '--help'], { encoding: 'utf8' })
    assert.equal(run.status, 0, run.stderr)
    return run.stdout
  }
  const controller = help('controller')
  const agent = help('agent')
  const lifecycle = help('lifecycle')
  assert.ok(controller.includes(settingsHelp(CONTROLLER)))
  assert.ok(agent.includes(helpText()))
  const isTold = (name: string, help: string): void => {
    assert.match(help, new RegExp(`\\b${name}\\b`), `${name} is not in --help`)
    assert.ok(
      documented.includes(`\`${name}\``),
      `${name} is not in docs/: run scripts/node test/conventions/docs.update.ts`,
    )
  }
  for (const name of Object.keys(CONTROLLER)) isTold(name, controller)
  for (const name of runnerNames) isTold(name, lifecycle)
  for (const { env } of agentRows) isTold(env, agent)
})

test('a setting has words, and neither program has one twice', () => {
  for (const [name, [, words]] of Object.entries(CONTROLLER)) assert.ok(words.length > 10, name)
  for (const { env, help } of agentRows) assert.ok(help.length > 5, env)
  const names = agentRows.map((row) => row.env)
  assert.equal(new Set(names).size, names.length)
})

const refused = (env: Record<string, string>): string => {
  try {
    readConfig(env)
  } catch (e) {
    assert.ok(e instanceof UserError, String(e))
    return e.message
  }
  assert.fail(`${JSON.stringify(env)} was accepted`)
}

const short = file('short', 'too short')
const BAD: [env: Record<string, string>, named: string][] = [
  [{ SVC_HSOT: '::' }, 'SVC_HSOT'],
  [{ SVC_UNKNOWN: '' }, 'SVC_UNKNOWN'],
  [{ SVC_AGENT_CAPTURE_SECONDZ: '5' }, 'SVC_AGENT_CAPTURE_SECONDZ'],
  [{ SVC_PORT_FILE_FILE: 'x' }, 'SVC_PORT_FILE_FILE'],
  [{ SVC_PORT: 'http' }, 'SVC_PORT'],
  [{ SVC_PORT: '65536' }, 'SVC_PORT'],
  [{ SVC_PORT: '-1' }, 'SVC_PORT'],
  [{ PORT: 'x' }, 'PORT'],
  [{ SVC_SECRET_KEY: 'short' }, 'SVC_SECRET_KEY'],
  [{ SVC_SECRET_KEY_FILE: short }, 'SVC_SECRET_KEY'],
  [{ SVC_RUNNER_TOKEN: 'short' }, 'SVC_RUNNER_TOKEN'],
  [{ SVC_NODE_SSH_MASTER_KEY: 'x' }, 'SVC_NODE_SSH_MASTER_KEY'],
  [{ SVC_RUNNER_TOKEN_FILE: '/nonexistent/file' }, 'SVC_RUNNER_TOKEN_FILE'],
  [{ SVC_LOCAL_ADMIN_PASSWORD: 'x'.repeat(9), SVC_LOCAL_ADMIN_PASSWORD_FILE: short }, 'SVC_LOCAL_ADMIN_PASSWORD_FILE'],
  [{ SVC_LOCAL_ADMIN_PASSWORD: 'short' }, 'SVC_LOCAL_ADMIN_PASSWORD'],
  [{ SVC_LOCAL_ADMIN_EMAIL: 'nobody' }, 'SVC_LOCAL_ADMIN_EMAIL'],
  [{ SVC_WEB_ORIGIN: 'not a url' }, 'SVC_WEB_ORIGIN'],
  [{ SVC_API_TLS_CERT_PATH: short }, 'SVC_API_TLS_KEY_PATH'],
  [{ SVC_API_TLS_KEY_PATH: short }, 'SVC_API_TLS_CERT_PATH'],
  [{ SVC_API_TLS_CERT_PATH: '/nonexistent', SVC_API_TLS_KEY_PATH: short }, 'SVC_API_TLS_CERT_PATH'],
  [{ SVC_LOG_LEVEL: 'loud' }, 'SVC_LOG_LEVEL'],
]

test('the controller refuses unknown, malformed and contradictory settings in a sentence that names them', () => {
  for (const [env, named] of BAD) {
    const message = refused(env)
    assert.ok(message.includes(named), `${JSON.stringify(env)}: ${message}`)
    assert.match(message, /\.$/, message)
    for (const [name, value] of Object.entries(env))
      if (/KEY|TOKEN|PASSWORD/.test(name) && !name.endsWith('_PATH') && !name.endsWith('_FILE') && value.length > 1)
        assert.ok(!message.includes(`"${value}"`) && !message.includes(` ${value} `), `a secret is told: ${message}`)
  }
})

test('every number, flag and choice of the controller is checked', () => {
  for (const [name, [schema]] of Object.entries(CONTROLLER)) {
    const fallback = schema.safeParse(undefined).data
    if (typeof fallback === 'number')
      for (const bad of ['x', '-1', '1.5', '1e99']) assert.ok(refused({ [name]: bad }).includes(name), name)
    if (typeof fallback === 'boolean') assert.ok(refused({ [name]: 'maybe' }).includes(name), name)
  }
})

test('every setting of the controller may come from a file', () => {
  const name = 'SVC_LOCAL_ADMIN_NAME'
  assert.equal(readConfig({ [`${name}_FILE`]: file('name', 'From a file\n') })[name], 'From a file')
})

test('settings of the agent may stand in the environment of the controller, and the other way round', () => {
  const both = Object.fromEntries(agentRows.filter((row) => row.env !== 'SVC_LOG_LEVEL').map((row) => [row.env, 'x']))
  assert.doesNotThrow(() => readConfig(both))
  const runners = Object.fromEntries(
    runnerNames.map((name) => [name, `x${name in CONTROLLER ? '0123456789abcdef' : ''}`]),
  )
  assert.doesNotThrow(() => readConfig(runners))
  const controllers = Object.fromEntries(
    Object.keys(CONTROLLER)
      .filter((name) => name !== 'SVC_LOG_LEVEL')
      .map((name) => [name, 'x']),
  )
  assert.deepEqual(readAgent([], controllers).warnings, [])
  const tokens = { SVC_ANSIBLE_RUNNER_TOKEN: '0123456789abcdef', SVC_RUNNER_TOKEN: '0123456789abcdef' }
  assert.doesNotThrow(() => readServerSettings({ ...both, ...controllers, ...tokens }))
})

const refusedByAgent = (args: string[], env: Record<string, string>): string => {
  try {
    const config = readAgent(args, env)
    config.controllerToken.read()
  } catch (e) {
    assert.ok(e instanceof UserError, String(e))
    return e.message
  }
  assert.fail(`${args} ${JSON.stringify(env)} was accepted`)
}

test('the agent refuses malformed and contradictory settings in words that name them', () => {
  for (const [args, env, named] of [
    [[], { SVC_HEARTBEAT_SECONDS: '0' }, 'SVC_HEARTBEAT_SECONDS'],
    [[], { SVC_HEARTBEAT_SECONDS: 'x' }, '--heartbeat-seconds'],
    [[], { SVC_CONTROLLER_URL: 'ftp://x' }, 'SVC_CONTROLLER_URL'],
    [[], { SVC_CONTROLLER_URL: 'http://user:secret-word@x' }, 'SVC_CONTROLLER_URL'],
    [[], { SVC_NODE_ID: '../x' }, 'SVC_NODE_ID'],
    [[], { SVC_CAPTURE_BACKEND: 'oss' }, 'SVC_CAPTURE_BACKEND'],
    [[], { SVC_CONTROLLER_TOKEN: 'a', SVC_CONTROLLER_TOKEN_FILE: short }, 'SVC_CONTROLLER_TOKEN_FILE'],
    [[], { SVC_CONTROLLER_TOKEN_FILE: short }, 'SVC_CONTROLLER_TOKEN_FILE'],
    [['--no-such-flag'], {}, '--no-such-flag'],
    [['--heartbeat-seconds'], {}, '--heartbeat-seconds'],
    [['--bootstrap=yes'], {}, '--bootstrap'],
    [['daemon'], {}, 'daemon'],
  ] as [string[], Record<string, string>, string][]) {
    const message = refusedByAgent(args, env)
    assert.ok(message.includes(named), message)
    assert.ok(!message.includes('secret-word'), message)
  }
})

test('a misspelt setting of the agent is told as a warning', () => {
  const { warnings } = readAgent([], { SVC_AGENT_DRI: '/x', SVC_CAPTURE_COMAND: 'y' })
  assert.deepEqual(
    warnings.map((words) => words.split(' ')[0]),
    ['SVC_AGENT_DRI', 'SVC_CAPTURE_COMAND'],
  )
})

// Every setting that agents are installed with, without the prefix.
const CONTRACT = `
  CONTROLLER_URL CONTROLLER_TOKEN ALLOW_INSECURE_CONTROLLER CONTROLLER_CA_CERT_PATH CONTROLLER_CONNECT_TIMEOUT_MS
  CONTROLLER_READ_TIMEOUT_MS CONTROLLER_REQUEST_TIMEOUT_MS NODE_ID NODE_ALIAS NODE_SITE NODE_ROOM HEARTBEAT_SECONDS
  JOB_POLL_SECONDS MAX_CONCURRENT_RECORDINGS MONITOR_CHUNK_SYNC_ENABLED CAPTURE_BACKEND CAPTURE_COMMAND CAPTURE_DEVICE
  CAPTURE_FORMAT CAPTURE_SAMPLE_RATE CAPTURE_CHANNELS CAPTURE_SECONDS CAPTURE_CHUNK_SECONDS CAPTURE_ARGS_TEMPLATE
  METER_ARGS_TEMPLATE CHANNEL_RENDER_COMMAND CAPTURE_MIN_OUTPUT_BYTES CAPTURE_GROWTH_GRACE_SECONDS
  CAPTURE_STALLED_SECONDS CAPTURE_OUTPUT CAPTURE_OUTPUT_CODEC CAPTURE_OUTPUT_BITRATE_KBPS CAPTURE_OUTPUT_VBR
  METER_BACKEND METER_SAMPLE_SECONDS METER_CLIP_DBFS METER_FLATLINE_DBFS METER_LOW_SIGNAL_DBFS AGENT_STATE_FILE
  RECORDER_CACHE_MANIFEST_FILE AGENT_HEALTH_LOG_STORE AGENT_HEALTH_LOG_FILE AGENT_HEALTH_SQLITE_FILE
  AGENT_HEALTH_LOG_MAX_BYTES AGENT_HEALTH_LOG_RETAINED_FILES SYSTEM_HEALTH_ENABLED SYSTEM_HEALTH_DF_COMMAND
  SYSTEM_HEALTH_DISK_PATH SYSTEM_HEALTH_DISK_WARNING_PERCENT SYSTEM_HEALTH_DISK_CRITICAL_PERCENT
  SYSTEM_HEALTH_LOAD_WARNING_PER_CORE SYSTEM_HEALTH_LOAD_CRITICAL_PER_CORE SYSTEM_HEALTH_LOADAVG_PATH
  INVENTORY_ARECORD_COMMAND INVENTORY_PROC_ASOUND_PCM_PATH BOOTSTRAP_TOKEN BOOTSTRAP_AUTHORIZED_KEYS BOOTSTRAP_ENV_FILE
  SSH_KEYGEN_COMMAND ATTACH_CACHE_RECORDING_ID ATTACH_CACHE_FILE ATTACH_CACHE_CONTENT_TYPE
  ATTACH_CACHE_DURATION_SECONDS ATTACH_CACHE_FILE_NAME BOOTSTRAP RUN_NEXT_JOB CAPTURE_RECORDING_ID
  PRINT_CHANNEL_MAP_ASSIGNMENTS
`
const WITHOUT: Record<string, string> = {
  CAPTURE_MIN_OUTPUT_BYTES: 'a take counts by its frames: one frame is audio, none is nothing, a size says neither',
  SSH_KEYGEN_COMMAND: 'the key is made in memory: no program makes it and no file ever holds it',
}

test('every setting of the contract is one of the agent, or there is a reason', () => {
  const names = new Set(agentRows.map(({ env }) => env.replace('SVC_', '')))
  const missing = CONTRACT.trim()
    .split(/\s+/)
    .filter((name) => !names.has(name))
  assert.deepEqual(missing, Object.keys(WITHOUT))
})
