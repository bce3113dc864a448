// The only reader of the agent's environment, flags and secret files. Everything is parsed once, by the table's schemas.
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { parseArgs } from 'node:util'
import type * as z from 'zod'
import { faultWords } from '../kernel/words.ts'
import { credentialFile } from '../system/host/credentials.ts'
import { parseEnvFile } from '../system/host/envfile.ts'
import { type ManagerCall, managerOf } from '../system/host/notify.ts'
import type { Row } from './settings.rows.ts'
import { SETTINGS, type Settings } from './settings.ts'

/** What is wrong with the settings, in a sentence for the person at the terminal. Holds no secret. */
export class BadConfig extends Error {}

const MODES = [
  'help',
  'version',
  'print-inventory',
  'bootstrap',
  'print-meter-frame',
  'print-channel-map-assignments',
  'attach-cache-file',
  'run-next-job',
  'capture-recording-id',
  'daemon',
] as const
/** In the order of the contract: the first that is asked for counts. */
type Mode = (typeof MODES)[number]

/** Where a secret comes from, so that a daemon can look again after it was replaced. */
export interface SecretSource {
  /** The value now. Throws BadConfig when its file cannot be read. */
  read(): string | undefined
}

export interface AgentConfig {
  bootstrapToken: SecretSource
  controllerToken: SecretSource
  /** Environment for child programs: C locale, because their output is parsed; none of our secrets. */
  childEnv: NodeJS.ProcessEnv
  /** What the service manager wants to be told; undefined without one. */
  manager: ManagerCall | undefined
  mode: Mode
  settings: Settings & {
    agentDir: string
    bootstrapAuthorizedKeys: string
    bootstrapUser: string
    cacheManifestFile: string
    /** SVC_CAPTURE_DEVICE is set, be it to its default. */
    deviceNamed: boolean
    diskPath: string
    healthLogFile: string
    healthSqliteFile: string
    stateFile: string
  }
  /** Sentences worth a log line: nothing that stops the start. */
  warnings: string[]
}

type Env = Record<string, string | undefined>
type Values = Map<string, string>

const flagOf = (env: string): string => env.replace(/^SVC_/, '').toLowerCase().replaceAll('_', '-')
const rows = Object.entries(SETTINGS) as [string, Row][]
const flagsOf = (row: Row): string[] => (row.kind === 'env-only' ? [] : [flagOf(row.env), ...(row.aliases ?? [])])

/** Every flag: what it sets, and whether it takes a value. Keys starting with `@` are not settings. */
function flagTable(): Map<string, { key: string; type: 'string' | 'boolean'; template: boolean }> {
  const table = new Map<string, { key: string; type: 'string' | 'boolean'; template: boolean }>()
  for (const [, row] of rows) {
    const type = row.kind === 'presence' ? 'boolean' : 'string'
    for (const flag of flagsOf(row)) table.set(flag, { key: row.env, type, template: row.kind === 'template' })
    if (row.kind === 'secret')
      table.set(flagOf(`${row.env}_FILE`), { key: `${row.env}_FILE`, type: 'string', template: false })
  }
  table.set('env-file', { key: '@env-file', type: 'string', template: false })
  for (const flag of ['help', 'version', 'print-inventory', 'print-meter-frame'])
    table.set(flag, { key: `@${flag}`, type: 'boolean', template: false })
  return table
}

/** Flags as a map of env name (or `@mode`) to text. Throws BadConfig for anything unknown, incomplete or out of place. */
function readFlags(args: string[]): Values {
  const table = flagTable()
  const options = Object.fromEntries([...table].map(([flag, { type }]) => [flag, { type }]))
  // Not strict: a template may begin with a hyphen, which strict parsing refuses. The checks follow.
  const { tokens } = parseArgs({ args, options, strict: false, tokens: true, allowPositionals: true })
  const values: Values = new Map()
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue
    if (token.kind === 'positional') throw new BadConfig(`unexpected argument ${JSON.stringify(token.value)}`)
    const flag = table.get(token.name)
    if (!flag) throw new BadConfig(`unknown flag ${token.rawName}; --help lists the flags`)
    values.set(flag.key, flagValue(token.rawName, token.value, token.inlineValue, flag))
  }
  return values
}

function flagValue(
  name: string,
  value: string | undefined,
  inline: boolean | undefined,
  flag: { type: 'string' | 'boolean'; template: boolean },
): string {
  if (flag.type === 'boolean') {
    if (value !== undefined) throw new BadConfig(`${name} is a switch and takes no value`)
    return 'true'
  }
  if (value === undefined || value === '') throw new BadConfig(`${name} needs a value`)
  // Most likely a forgotten value that swallowed the next flag.
  if (value.startsWith('--') && !inline && !flag.template) throw new BadConfig(`${name} needs a value, got ${value}`)
  return value
}

const readText = (what: string, file: string): string => {
  try {
    // 0 is standard input: a secret can be piped in without touching the disk.
    return fs.readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (e) {
    throw new BadConfig(`${what} cannot be read: ${faultWords(e, file)}`)
  }
}

/** First that is set wins: flag, environment, env file. Blank counts as unset. */
const lookup =
  (flags: Values, env: Env, fileEnv: Env) =>
  (name: string): string | undefined =>
    flags.get(name) || env[name] || fileEnv[name] || undefined

function secretSource(
  env: string,
  find: (name: string) => string | undefined,
  schema: z.ZodType,
  credential?: string,
): SecretSource {
  const direct = find(env)
  const file = find(`${env}_FILE`) ?? (direct ? undefined : credential)
  if (direct && file)
    throw new BadConfig(`${env} and ${env}_FILE are both set: keep one, so that it is clear which counts`)
  const checked = (value: string | undefined): string | undefined => {
    const parsed = schema.safeParse(value || undefined)
    if (!parsed.success)
      throw new BadConfig(`${file ? `the content of ${env}_FILE` : env} is not a token: ${why(parsed.error)}`)
    return parsed.data as string | undefined
  }
  if (!file) {
    const value = checked(direct)
    return { read: () => value }
  }
  if (file !== '-') return { read: () => checked(readText(`${env}_FILE`, file).trim()) }
  let once: { value: string | undefined } | undefined
  return {
    read: () => {
      once ??= { value: checked(readText(`${env}_FILE`, file).trim()) }
      return once.value
    },
  }
}

const why = (error: z.ZodError): string => error.issues.map((issue) => issue.message).join(', ')

function parseSettings(find: (name: string) => string | undefined): Settings {
  const settings: Record<string, unknown> = {}
  for (const [key, row] of rows) {
    if (row.kind === 'secret') continue
    const parsed = row.schema.safeParse(find(row.env))
    if (!parsed.success) throw new BadConfig(`${row.env} (--${flagOf(row.env)}): ${why(parsed.error)}`)
    settings[key] = parsed.data
  }
  return settings as Settings
}

/** Names near ours that nobody reads: most likely misspelt. The controller's own names may share the environment. */
const CONTROLLERS = /^SVC_AGENT_(CAPTURE|RELEASE)_/
function strangers(env: Env): string[] {
  const known = new Set(rows.flatMap(([, row]) => [row.env, `${row.env}_FILE`]))
  return Object.keys(env)
    .filter((name) => /^SVC_(AGENT|CAPTURE)_/.test(name) && !known.has(name) && !CONTROLLERS.test(name))
    .map((name) => `${name} is not a setting of this agent and has no effect`)
}

function chooseMode(flags: Values, settings: Settings): Mode {
  const asked: Partial<Record<Mode, unknown>> = {
    'attach-cache-file': settings.attachCacheFile ?? settings.attachCacheRecordingId,
    bootstrap: settings.bootstrap,
    'capture-recording-id': settings.captureRecordingId,
    daemon: true,
    'print-channel-map-assignments': settings.printChannelMapAssignments,
    'run-next-job': settings.runNextJob,
  }
  return MODES.find((mode) => asked[mode] || flags.has(`@${mode}`)) ?? 'daemon'
}

/** The environment a child program gets. */
function childEnvironment(env: Env): NodeJS.ProcessEnv {
  const secrets = /^SVC_.*(TOKEN|PASSWORD|SECRET|KEY)/
  // Nor does a child speak to the service manager in our name.
  const manager = /^(NOTIFY_SOCKET|WATCHDOG_(PID|USEC))$/
  const kept = Object.entries(env).filter(([name]) => !secrets.test(name) && !manager.test(name))
  return { ...Object.fromEntries(kept), LC_ALL: 'C' }
}

const inArgv = (flags: Values): string[] =>
  rows
    .filter(([, row]) => row.kind === 'secret' && flags.has(row.env))
    .map(([, row]) => `--${flagOf(row.env)} shows a secret to every user of this machine; use ${row.env}_FILE`)

function currentUser(env: Env): string {
  try {
    return os.userInfo().username
  } catch {
    // A uid without a passwd entry, as containers have it.
    return env.USER || 'root'
  }
}

/** Reads flags and environment. Throws BadConfig with a sentence that says which setting and why. */
export function readConfig(args: string[], env: Env = process.env): AgentConfig {
  const flags = readFlags(args)
  const envFile = flags.get('@env-file')
  const fileEnv = envFile ? parseEnvFile(readText('--env-file', envFile)) : {}
  const find = lookup(flags, env, fileEnv)
  const settings = parseSettings(find)
  const agentDir = path.resolve(settings.agentDir)
  const home = env.HOME || os.homedir()
  const credential = credentialFile(env, 'SVC_CONTROLLER_TOKEN')
  return {
    bootstrapToken: secretSource('SVC_BOOTSTRAP_TOKEN', find, SETTINGS.bootstrapToken.schema),
    controllerToken: secretSource('SVC_CONTROLLER_TOKEN', find, SETTINGS.controllerToken.schema, credential),
    childEnv: childEnvironment(env),
    manager: managerOf(env),
    mode: chooseMode(flags, settings),
    settings: {
      ...settings,
      agentDir,
      bootstrapAuthorizedKeys: settings.bootstrapAuthorizedKeys ?? path.join(home, '.ssh', 'authorized_keys'),
      bootstrapUser: settings.bootstrapUser ?? currentUser(env),
      cacheManifestFile: settings.cacheManifestFile ?? path.join(agentDir, 'recorder-cache-manifest.json'),
      deviceNamed: find(SETTINGS.captureDevice.env) !== undefined,
      diskPath: settings.diskPath ?? agentDir,
      healthSqliteFile: settings.healthSqliteFile ?? path.join(agentDir, 'health-events.sqlite3'),
      stateFile: settings.stateFile ?? path.join(agentDir, 'job-state.json'),
      healthLogFile: settings.healthLogFile ?? path.join(agentDir, 'health-events.jsonl'),
    },
    warnings: [...strangers({ ...fileEnv, ...env }), ...inArgv(flags)],
  }
}

const MODE_HELP: [string, string][] = [
  ['--print-inventory', 'print what this node is and hears, then exit'],
  ['--print-meter-frame', 'measure the metering device once and print its levels, then exit'],
  ['--env-file PATH', 'read KEY=VALUE lines (the environment wins over them)'],
  ['--help, --version', ''],
]

const helpLine = (left: string, right: string): string => `  ${left.padEnd(42)} ${right}`.trimEnd()

function rowHelp(row: Row): string {
  if (row.kind === 'env-only') return helpLine(row.env, row.help)
  const flags = flagsOf(row).map((flag) => `--${flag}`)
  const value = row.kind === 'presence' ? '' : row.kind === 'secret' ? '-file PATH' : ' VALUE'
  const left = row.kind === 'secret' ? `${flags[0]}${value}` : `${flags.join(', ')}${value}`
  return helpLine(left, `${row.help} [${row.env}${row.kind === 'secret' ? '(_FILE), - = standard input' : ''}]`)
}

/** The text of `--help`, made from the table of settings. */
export function helpText(): string {
  const groups = Map.groupBy(rows, ([, row]) => row.group)
  const parts = [...groups].map(([group, list]) => [`${group}:`, ...list.map(([, row]) => rowHelp(row))].join('\n'))
  const modes = MODE_HELP.map(([left, right]) => helpLine(left, right)).join('\n')
  const usage = `Usage: roomtone agent [flags]

The recorder agent. Without a mode it records for its controller until it is stopped.
Each setting: flag, meaning, (default), [variable of the environment or of the env file]. A flag wins over both.
A recorder needs three: --controller-url, --node-id and the token, which --bootstrap writes into the env file.`
  return `${usage}\n\n${parts.join('\n\n')}\n${modes}\n`
}
