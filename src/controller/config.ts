// The only reader of the controller's SVC_* names. Parsed once; what contradicts itself stops the start.
import * as fs from 'node:fs'
import * as path from 'node:path'
import * as z from 'zod'

type Env = Record<string, string | undefined>

const count = (fallback: number, least = 1) =>
  z.coerce
    .number({ error: 'expected a whole number' })
    .int()
    .min(least)
    .max(2 ** 40)
    .default(fallback)
const flag = (fallback: boolean) =>
  z.stringbool({ truthy: ['1', 'true', 'yes', 'on'], falsy: ['0', 'false', 'no', 'off'] }).default(fallback)
const secret = z.string().min(16, 'needs at least 16 characters')
const port = z.coerce.number({ error: 'expected a port number' }).int().min(0).max(65_535)

/** Every setting of the controller: its shape, and the words the help prints. */
export const SETTINGS = {
  SVC_HOST: [z.string().default('127.0.0.1'), 'address to listen on'],
  SVC_PORT: [port.optional(), 'port to listen on, 0 = any free one; PORT is honoured when this is unset (8787)'],
  SVC_DATA_DIR: [z.string().default('./data'), 'database, takes and generated keys live below it'],
  SVC_RECORDING_CACHE_DIR: [z.string().optional(), 'takes directory (default: recordings below the data directory)'],
  SVC_RECORDING_CACHE_MAX_BYTES: [count(4_294_967_296), 'largest accepted take, bytes'],
  SVC_LOCAL_ADMIN_EMAIL: [z.email().toLowerCase().default('admin@roomtone.local'), 'e-mail of the first admin'],
  SVC_LOCAL_ADMIN_NAME: [z.string().min(1).max(160).default('Local Admin'), 'name of the first admin'],
  SVC_LOCAL_ADMIN_PASSWORD: [
    z.string().min(8).max(200).optional(),
    'password of the first admin (default: made and printed once)',
  ],
  SVC_SECRET_KEY: [secret.optional(), 'seals secrets at rest (default: made on first start)'],
  SVC_NODE_SSH_MASTER_KEY: [secret.optional(), 'seals node SSH keys (default: SVC_SECRET_KEY)'],
  SVC_RUNNER_TOKEN: [secret.optional(), 'lets the lifecycle runner fetch SSH key material'],
  SVC_WEB_ORIGIN: [z.url().default('http://localhost:5173'), 'origin allowed to call the API from a browser'],
  SVC_TRUSTED_PROXIES: [z.string().default(''), 'comma list of peers whose X-Forwarded-For is believed'],
  SVC_API_TLS_CERT_PATH: [z.string().optional(), 'PEM certificate; serves HTTPS together with the key'],
  SVC_API_TLS_KEY_PATH: [z.string().optional(), 'PEM private key'],
  SVC_NATIVE_DIR: [z.string().optional(), 'directory that allows execution, for the SQLite addon'],
  SVC_LOG_LEVEL: [z.enum(['debug', 'info', 'warn', 'error']).default('info'), 'least level of the log'],
  SVC_NODE_OFFLINE_AFTER_SECONDS: [count(120, 0), 'silence after which a node is offline, 0 = never'],
  SVC_RECORDING_JOB_LEASE_SECONDS: [count(30), 'lease of a claimed job'],
  SVC_RECORDING_JOB_LEASE_RUNNER_ENABLED: [flag(true), 'whether expired leases fail their job'],
  SVC_RECORDING_JOB_LEASE_RUNNER_INTERVAL_SECONDS: [count(10), 'pause between lease sweeps'],
  SVC_AUDIT_MACHINE_WINDOW_SECONDS: [
    count(3600, 0),
    'one audit row per window for unchanged machine calls, 0 = every call',
  ],
  SVC_LOGIN_FAILURE_LIMIT: [count(10), 'failed logins per account and window before 429'],
  SVC_LOGIN_FAILURE_WINDOW_SECONDS: [count(300), 'that window'],
  SVC_TOKEN_FAILURE_LIMIT: [count(1000), 'refused tokens per address and window before 429'],
  SVC_AGENT_CAPTURE_CHANNELS: [count(2), 'channels of a job when nothing else says'],
  SVC_AGENT_CAPTURE_DEVICE: [z.string().min(1).default('default'), 'capture device when the node has no interface'],
  SVC_AGENT_CAPTURE_FORMAT: [z.string().min(1).default('S16_LE'), 'sample format of a job when nothing else says'],
  SVC_AGENT_CAPTURE_INTERFACE_ID: [z.string().optional(), 'interface of a job when the request names none'],
  SVC_AGENT_CAPTURE_SAMPLE_RATE: [count(48_000), 'sample rate, Hz, when nothing else says'],
  SVC_AGENT_CAPTURE_SECONDS: [count(3600), 'length of an ad-hoc take when the request names none'],
} as const satisfies Record<string, readonly [z.ZodType, string]>

// Names of other programs, or of parts that read them themselves, that may stand in the same environment.
const FOREIGN =
  /^SVC_(CONTROLLER_|NODE_(ID|ALIAS|SITE|ROOM)$|ANSIBLE_|RUNNER_CONTROLLER_|BOOTSTRAP(_|$)|CAPTURE_|METER_|AGENT_(?!CAPTURE_)|HEARTBEAT_|JOB_POLL_|ALLOW_INSECURE|ALSA_|INVENTORY_|SYSTEM_HEALTH_|SSH_KEYGEN|TEST_SOURCE|MAX_CONCURRENT|MONITOR_|CHANNEL_RENDER|RECORDER_CACHE|ATTACH_|RUN_NEXT_JOB)/

type Values = { [K in keyof typeof SETTINGS]: z.infer<(typeof SETTINGS)[K][0]> }
export type Config = Omit<Values, 'SVC_PORT' | 'SVC_RECORDING_CACHE_DIR'> & {
  SVC_PORT: number
  SVC_RECORDING_CACHE_DIR: string
  tls: { cert: string; key: string } | undefined
  trustedProxies: string[]
}

/** A setting that stops the start; the message is one sentence that says which and why. */
export class ConfigError extends Error {}

/**
 * Reads the settings; each may also come as `<NAME>_FILE`, a file whose trimmed text is the value.
 * @throws ConfigError for an unknown, unreadable, malformed or contradictory setting.
 */
export function readConfig(env: Env = process.env): Config {
  refuseUnknown(env)
  const values: Record<string, unknown> = {}
  for (const [name, [schema]] of Object.entries(SETTINGS)) {
    const given = settingOf(env, name)
    const result = schema.safeParse(given)
    if (!result.success)
      throw new ConfigError(`${name} is not usable: ${result.error.issues[0]?.message ?? 'malformed'}.`)
    values[name] = result.data
  }
  return whole(values as Values, env)
}

function refuseUnknown(env: Env): void {
  for (const name of Object.keys(env)) {
    if (!name.startsWith('SVC_') || FOREIGN.test(name)) continue
    if (!(name.replace(/_FILE$/, '') in SETTINGS)) throw new ConfigError(`${name} is not a setting of this controller.`)
  }
}

function settingOf(env: Env, name: string): string | undefined {
  const given = env[name] || undefined
  const file = env[`${name}_FILE`] || undefined
  if (given !== undefined && file !== undefined)
    throw new ConfigError(`${name} and ${name}_FILE are both set: keep one of them.`)
  return file === undefined ? given : read(`${name}_FILE`, file).trim()
}

function read(name: string, file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (e) {
    throw new ConfigError(`${name} names ${file}, which cannot be read: ${(e as Error).message}.`)
  }
}

function whole(values: Values, env: Env): Config {
  const { SVC_API_TLS_CERT_PATH: cert, SVC_API_TLS_KEY_PATH: key } = values
  if (!cert !== !key)
    throw new ConfigError('SVC_API_TLS_CERT_PATH and SVC_API_TLS_KEY_PATH go together: set both or neither.')
  const fallback = port.safeParse(env.PORT || 8787)
  if (values.SVC_PORT === undefined && !fallback.success) throw new ConfigError('PORT is not a port number.')
  const data = path.resolve(values.SVC_DATA_DIR)
  return {
    ...values,
    SVC_DATA_DIR: data,
    SVC_RECORDING_CACHE_DIR: path.resolve(values.SVC_RECORDING_CACHE_DIR ?? path.join(data, 'recordings')),
    SVC_PORT: values.SVC_PORT ?? fallback.data ?? 8787,
    tls:
      cert && key ? { cert: read('SVC_API_TLS_CERT_PATH', cert), key: read('SVC_API_TLS_KEY_PATH', key) } : undefined,
    trustedProxies: values.SVC_TRUSTED_PROXIES.split(',')
      .map((peer) => peer.trim())
      .filter(Boolean),
  }
}

/** Where the SQLite addon may be unpacked, in the order they are tried. */
export const nativeDirs = (config: Config, env: Env = process.env): string[] =>
  [
    config.SVC_NATIVE_DIR,
    env.TMPDIR,
    '/tmp',
    env.STATE_DIRECTORY,
    env.CACHE_DIRECTORY,
    config.SVC_DATA_DIR,
    '/var/tmp',
    '/dev/shm',
    env.RUNTIME_DIRECTORY,
  ]
    .flatMap((dirs) => dirs?.split(':') ?? [])
    .filter(Boolean)

/** The settings as the help prints them. */
export const settingsHelp = (): string =>
  Object.entries(SETTINGS)
    .map(([name, [, words]]) => `  ${name.padEnd(48)} ${words}`)
    .join('\n')
