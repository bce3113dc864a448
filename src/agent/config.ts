// The only reader of the agent's environment, flags and secret files. Everything is parsed once, by the table's schemas.

import * as os from 'node:os'
import * as path from 'node:path'
import { parseArgs } from 'node:util'
import type * as z from 'zod'
import { misuse } from '../kernel/fail.ts'
import { type Env, readNamedFile, type SettingSource, settingSource, unknownSettings } from '../kernel/settings.ts'
import { parseEnvFile } from '../system/host/envfile.ts'
import { type ManagerCall, managerOf } from '../system/host/notify.ts'
import { withAsked } from '../system/host/pairing.ts'
import type { Row } from './settings.rows.ts'
import { SETTINGS, type Settings } from './settings.ts'
import type { SecretSource } from './token.ts'

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

/** Flags as a map of env name (or `@mode`) to text. Throws UserError for anything unknown, incomplete or out of place. */
function readFlags(args: string[]): Values {
  const table = flagTable()
  const options = Object.fromEntries([...table].map(([flag, { type }]) => [flag, { type }]))
  // Not strict: a template may begin with a hyphen, which strict parsing refuses. The checks follow.
  const { tokens } = parseArgs({ args, options, strict: false, tokens: true, allowPositionals: true })
  const values: Values = new Map()
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue
    if (token.kind === 'positional') throw misuse(`unexpected argument ${JSON.stringify(token.value)}`)
    const flag = table.get(token.name)
    if (!flag) throw misuse(`unknown flag ${token.rawName}; --help lists the flags`)
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
    if (value !== undefined) throw misuse(`${name} is a switch and takes no value`)
    return 'true'
  }
  if (value === undefined || value === '') throw misuse(`${name} needs a value`)
  // Most likely a forgotten value that swallowed the next flag.
  if (value.startsWith('--') && !inline && !flag.template) throw misuse(`${name} needs a value, got ${value}`)
  return value
}

/** First that is set wins: flag, environment, env file. Blank counts as unset. */
const lookup =
  (flags: Values, env: Env, fileEnv: Env) =>
  (name: string): string | undefined =>
    flags.get(name) || env[name] || fileEnv[name] || undefined

/** A secret in a file is read again each time; standard input (`-`) only once. */
function secretSource(name: string, { schema }: Row, source: SettingSource): SecretSource {
  const checked = (text: string | undefined, what: string): string | undefined => {
    const { data, error } = schema.safeParse(text || undefined)
    if (error) throw misuse(`${what} is not a token: ${why(error)}`)
    return data as string | undefined
  }
  if ('text' in source) {
    const value = checked(source.text, name)
    return { read: () => value }
  }
  const fromFile = () => checked(readNamedFile(`${name}_FILE`, source.file).trim(), `the content of ${name}_FILE`)
  if (source.file !== '-') return { read: fromFile }
  const typed: (string | undefined)[] = []
  return {
    read: () => {
      if (typed.length === 0) typed.push(fromFile())
      return typed[0]
    },
  }
}

const why = (error: z.ZodError): string => error.issues.map((issue) => issue.message).join(', ')

function parseSettings(find: (name: string) => string | undefined): Settings {
  const settings: Record<string, unknown> = {}
  for (const [key, row] of rows) {
    if (row.kind === 'secret') continue
    const parsed = row.schema.safeParse(find(row.env))
    if (!parsed.success) throw misuse(`${row.env} (--${flagOf(row.env)}): ${why(parsed.error)}`)
    settings[key] = parsed.data
  }
  return settings as Settings
}

/** The controller's own names may share the environment. */
const CONTROLLERS = /^SVC_AGENT_(CAPTURE|RELEASE)_/
const isOurs = (name: string): boolean => /^SVC_(AGENT|CAPTURE)_/.test(name) && !CONTROLLERS.test(name)
const names = Object.fromEntries(rows.map(([, row]) => [row.env, row]))

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
  const secrets = /^SVC_.*(TOKEN|PASSWORD|SECRET|KEY|PAIRING_CODE)/
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

/** Reads flags and environment. Throws UserError with a sentence that says which setting and why. */
export function readConfig(args: string[], env: Env = process.env): AgentConfig {
  const flags = readFlags(withAsked(args))
  const envFile = flags.get('@env-file')
  const fileEnv = envFile ? parseEnvFile(readNamedFile('--env-file', envFile)) : {}
  const find = lookup(flags, env, fileEnv)
  const settings = parseSettings(find)
  const agentDir = path.resolve(settings.agentDir)
  const home = env.HOME || os.homedir()
  const secretOf = (row: Row) => secretSource(row.env, row, settingSource(env, row.env, find))
  return {
    bootstrapToken: secretOf(SETTINGS.bootstrapToken),
    controllerToken: secretOf(SETTINGS.controllerToken),
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
    warnings: [
      ...unknownSettings(names, { ...fileEnv, ...env }, isOurs).map(
        (name) => `${name} is not a setting of this agent and has no effect`,
      ),
      ...inArgv(flags),
    ],
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
