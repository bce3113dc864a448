// The only reader of the runner's environment. Two tables: what a run needs, wherever it runs, and what the server needs.
import * as os from 'node:os'
import * as z from 'zod'
import { misuse } from '../kernel/fail.ts'
import {
  type Env,
  flag,
  port,
  readNamedFile,
  readSettings,
  refuseUnknown,
  type SettingsTable,
  secret,
  webUrl,
} from '../kernel/settings.ts'
import { type ManagerCall, managerOf } from '../system/host/notify.ts'
import { USERS } from '../system/host/places.ts'
import { isHost } from '../wire/lifecycle.ts'
import type { ControllerAccess } from './material.ts'

const CA_MAX = 48_000
const user = z.string().regex(/^[A-Za-z_][A-Za-z0-9._-]{0,79}$/, 'expected a user name')
const host = z.string().refine(isHost, 'expected a host name or address')
const keyFile = z.string().regex(/^\/[^\r\n]{1,4000}$/, 'expected the absolute path of a file, never a key itself')
// The message does not repeat the value, which may be a secret set by mistake.
const TARGET_KEYS =
  'only host, port, sshUser and sshKeyFile are allowed there; a key is named by its file, and tokens have no place in it'
const target = z.strictObject(
  {
    host: host.optional(),
    port: z.number().int().min(1).max(65_535).optional(),
    sshKeyFile: keyFile.optional(),
    sshUser: user.optional(),
  },
  { error: ({ code }) => (code === 'unrecognized_keys' ? TARGET_KEYS : undefined) },
)
const json = <T extends z.ZodType>(schema: T) =>
  z.preprocess((text) => (typeof text === 'string' ? parsed(text) : text), schema)

/** What a run needs: also read by a controller that acts on its nodes itself. */
export const RUN_SETTINGS = {
  SVC_ANSIBLE_TARGETS: [
    json(z.record(z.string(), target)).default({}),
    'JSON: node id to {"host", and if wanted "port", "sshUser", "sshKeyFile"}; it must hold no secrets',
  ],
  SVC_ANSIBLE_HOST_OVERRIDES: [
    json(z.record(z.string(), host)).default({}),
    'JSON: node id, or the host a node reports, to the host to connect to',
  ],
  SVC_ANSIBLE_DEFAULT_SSH_USER: [user.default(USERS.agent), 'user to log in as where nothing else says'],
  SVC_ANSIBLE_SSH_KEY_FILE: [
    z.string().optional(),
    'private key for nodes that have no managed one or are not known to hold it yet, and for a runner without a controller',
  ],
  SVC_ANSIBLE_KNOWN_HOSTS_FILE: [
    z.string().optional(),
    'known_hosts for nodes whose host keys the controller does not know',
  ],
  SVC_ANSIBLE_TIMEOUT_SECONDS: [
    z.coerce.number({ error: 'expected a whole number' }).int().min(1).max(3600).default(120),
    'longest silence of a node during a run',
  ],
  SVC_RUNNER_CONTROLLER_CA: [
    z.string().optional(),
    'PEM file with the CA of the controller: the only one trusted here, and given to nodes by rotate_trust',
  ],
} as const satisfies SettingsTable

/** What `roomtone lifecycle` needs beside it. */
export const SERVER_SETTINGS = {
  SVC_ANSIBLE_RUNNER_HOST: [z.string().min(1).default('127.0.0.1'), 'address to listen on'],
  SVC_ANSIBLE_RUNNER_PORT: [port.default(8790), 'port to listen on, 0 = any free one'],
  SVC_ANSIBLE_RUNNER_TOKEN: [
    secret.optional(),
    'token that who asks for a run must show; without one there is no start',
  ],
  SVC_RUNNER_CONTROLLER_URL: [webUrl.optional(), 'base URL of the controller that keeps the keys'],
  SVC_RUNNER_TOKEN: [secret.optional(), 'token for the keys, the same as in the controller'],
  SVC_RUNNER_CLIENT_CERT_PATH: [
    z.string().optional(),
    'PEM certificate to show a controller that asks for one, with its key in SVC_RUNNER_CLIENT_KEY_PATH',
  ],
  SVC_RUNNER_CLIENT_KEY_PATH: [z.string().optional(), 'PEM key of that certificate'],
  SVC_RUNNER_ALLOW_INSECURE: [
    flag.default(false),
    'admit plain http or a certificate nobody vouches for; development only',
  ],
} as const satisfies SettingsTable

export interface RunSettings {
  /** PEM text. */
  controllerCa: string | undefined
  defaultUser: string
  /** For the ssh program: none of our settings. */
  env: NodeJS.ProcessEnv
  hostOverrides: Record<string, string>
  knownHostsFile: string | undefined
  silenceMs: number
  sshKeyFile: string | undefined
  targets: Record<string, z.infer<typeof target>>
  /** Candidates for the directories of runs, best first: in memory if possible. */
  vaultDirs: string[]
  /** Warnings for the log. */
  warnings: string[]
}

export interface ServerSettings {
  /** The controller that keeps the keys, and how it is asked. */
  controller: ControllerAccess
  host: string
  /** How to notify systemd; undefined without it. */
  manager: ManagerCall | undefined
  port: number
  run: RunSettings
  token: string
}

/** @throws UserError */
export function readRunSettings(env: Env = process.env): RunSettings {
  const values = readSettings(RUN_SETTINGS, env)
  const { SVC_ANSIBLE_SSH_KEY_FILE: sshKeyFile, SVC_ANSIBLE_KNOWN_HOSTS_FILE: knownHostsFile } = values
  if (sshKeyFile) readNamedFile('SVC_ANSIBLE_SSH_KEY_FILE', sshKeyFile)
  if (knownHostsFile) readNamedFile('SVC_ANSIBLE_KNOWN_HOSTS_FILE', knownHostsFile)
  const warnings = keyWarnings(values.SVC_ANSIBLE_TARGETS)
  return {
    controllerCa: certificates(values.SVC_RUNNER_CONTROLLER_CA),
    defaultUser: values.SVC_ANSIBLE_DEFAULT_SSH_USER,
    env: { LC_ALL: 'C', PATH: env.PATH || '/usr/local/bin:/usr/bin:/bin' },
    hostOverrides: values.SVC_ANSIBLE_HOST_OVERRIDES,
    knownHostsFile,
    silenceMs: values.SVC_ANSIBLE_TIMEOUT_SECONDS * 1000,
    sshKeyFile,
    targets: values.SVC_ANSIBLE_TARGETS,
    vaultDirs: [env.RUNTIME_DIRECTORY?.split(':')[0], '/run', '/dev/shm', os.tmpdir()].filter(
      (dir) => !!dir,
    ) as string[],
    warnings,
  }
}

/** @throws UserError for a file that cannot be read */
function keyWarnings(targets: RunSettings['targets']): string[] {
  const named = Object.values(targets).flatMap(({ sshKeyFile }) => sshKeyFile ?? [])
  return [...new Set(named)].map((file) => {
    readNamedFile('SVC_ANSIBLE_TARGETS', file)
    return `SVC_ANSIBLE_TARGETS names the private key ${file}: once rotate_trust has put the managed key of the node in place, remove sshKeyFile from there.`
  })
}

/** @throws UserError */
export function readServerSettings(env: Env = process.env): ServerSettings {
  refuseUnknown(ALL_SETTINGS, env, isOurs, 'lifecycle runner')
  const values = readSettings(SERVER_SETTINGS, env)
  const { SVC_ANSIBLE_RUNNER_TOKEN: token, SVC_RUNNER_CONTROLLER_URL: url, SVC_RUNNER_TOKEN: controllerToken } = values
  if (!token)
    throw misuse('SVC_ANSIBLE_RUNNER_TOKEN is not set: anybody could act on the nodes. Set the same one on both sides.')
  const run = readRunSettings(env)
  const identity = {
    clientCertFile: values.SVC_RUNNER_CLIENT_CERT_PATH,
    clientKeyFile: values.SVC_RUNNER_CLIENT_KEY_PATH,
  }
  return {
    controller: {
      allowInsecure: values.SVC_RUNNER_ALLOW_INSECURE,
      token: controllerToken,
      trust: { ca: run.controllerCa, ...identity },
      url: url?.replace(/\/+$/, ''),
    },
    host: values.SVC_ANSIBLE_RUNNER_HOST,
    manager: managerOf(env),
    port: values.SVC_ANSIBLE_RUNNER_PORT,
    run,
    token,
  }
}

/** In the order in which `--help` prints them. */
export const ALL_SETTINGS = { ...SERVER_SETTINGS, ...RUN_SETTINGS }
// The controller's own, which may stand in the same environment.
const OF_THE_CONTROLLER = /^SVC_ANSIBLE_RUNNER_(URL|TIMEOUT_MS)(_FILE)?$/
const isOurs = (name: string): boolean => /^SVC_(ANSIBLE|RUNNER)_/.test(name) && !OF_THE_CONTROLLER.test(name)

function certificates(file: string | undefined): string | undefined {
  if (file === undefined) return undefined
  const text = readNamedFile('SVC_RUNNER_CONTROLLER_CA', file).trim()
  if (!/-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----/.test(text))
    throw misuse(`SVC_RUNNER_CONTROLLER_CA names ${file}, which contains no PEM certificate.`)
  if (text.length > CA_MAX)
    throw misuse(`SVC_RUNNER_CONTROLLER_CA names ${file}, a whole bundle: name a file with the controller's CA alone.`)
  return text
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The schema says that an object was expected.
    return text
  }
}
