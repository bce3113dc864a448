import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { BadConfig, helpText, readConfig as readAgent } from '../../src/agent/config.ts'
import { SETTINGS as AGENT, type Row } from '../../src/agent/settings.ts'
import { SETTINGS as CONTROLLER, ConfigError, readConfig, settingsHelp } from '../../src/controller/config.ts'
import { kit } from '../kit/kit.ts'
import { renewed } from './readme.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const README = readFileSync(path.join(ROOT, 'README.md'), 'utf8')
const dir = mkdtempSync(path.join(tmpdir(), 'roomtone-settings-'))
after(() => rmSync(dir, { recursive: true, force: true }))
const file = (name: string, text: string): string => {
  writeFileSync(path.join(dir, name), text)
  return path.join(dir, name)
}

const agentRows = Object.values(AGENT) as Row[]

test('the generated parts of the README are up to date (scripts/node test/guards/readme.update.ts renews them)', async () => {
  const k = kit()
  const wanted = renewed(README, k.routes)
  await k.close()
  assert.equal(README, wanted)
})

test('every setting is in the README and in --help', () => {
  const help = (program: string): string => {
    const run = spawnSync(process.execPath, [path.join(ROOT, 'src/main.ts'), program, '--help'], { encoding: 'utf8' })
    assert.equal(run.status, 0, run.stderr)
    return run.stdout
  }
  const controller = help('controller')
  const agent = help('agent')
  assert.ok(controller.includes(settingsHelp()))
  assert.ok(agent.includes(helpText()))
  for (const name of Object.keys(CONTROLLER))
    assert.ok(controller.includes(`  ${name} `) && README.includes(`\`${name}\``), name)
  for (const { env } of agentRows) assert.ok(agent.includes(env) && README.includes(`\`${env}\``), env)
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
    assert.ok(e instanceof ConfigError, String(e))
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
  const controllers = Object.fromEntries(
    Object.keys(CONTROLLER)
      .filter((name) => name !== 'SVC_LOG_LEVEL')
      .map((name) => [name, 'x']),
  )
  assert.deepEqual(readAgent([], controllers).warnings, [])
})

const refusedByAgent = (args: string[], env: Record<string, string>): string => {
  try {
    const config = readAgent(args, env)
    config.controllerToken.read()
  } catch (e) {
    assert.ok(e instanceof BadConfig, String(e))
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
