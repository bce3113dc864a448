// The only reader of the controller's SVC_* names. Parsed once; what contradicts itself stops the start.
import * as path from 'node:path'
import * as z from 'zod'
import { misuse } from '../kernel/fail.ts'
import {
  type Env,
  flag,
  port,
  readNamedFile,
  readSettings,
  refuseUnknown,
  type SettingsOf,
  type SettingsTable,
  secret,
  webUrl,
} from '../kernel/settings.ts'
import { type RunSettings, readRunSettings } from '../lifecycle/config.ts'
import { type ManagerCall, managerOf } from '../system/host/notify.ts'
import { isReleaseKey } from '../system/host/release.ts'
import { installedEnv } from './config.installed.ts'
import { tlsOf } from './config.tls.ts'
import type { CertificateFiles } from './http/certificates.ts'
import { issuerFault, type OidcSettings, tenantFault } from './identity/auth/oidc.rules.ts'

const count = (fallback: number, least = 1) =>
  z.coerce
    .number({ error: 'expected a whole number' })
    .int()
    .min(least)
    .max(2 ** 40)
    .default(fallback)
const choice = (fallback: boolean) => flag.default(fallback)

/** Every setting of the controller: its shape, and the words the help prints. */
export const SETTINGS = {
  SVC_HOST: [z.string().default('127.0.0.1'), 'address to listen on'],
  SVC_PORT: [port.optional(), 'port to listen on, 0 = any free one; PORT is honoured when this is unset (8787)'],
  SVC_PUBLIC_URL: [
    webUrl.optional(),
    'address at which people and recorders reach this controller (default: the one a request names)',
  ],
  SVC_DATA_DIR: [z.string().default('./data'), 'database, takes and generated keys live below it'],
  SVC_DATABASE_REPLICATED: [choice(false), 'another program replicates and checkpoints the database (Litestream)'],
  SVC_RECORDING_CACHE_DIR: [z.string().optional(), 'takes directory (default: recordings below the data directory)'],
  SVC_RECORDING_CACHE_MAX_BYTES: [count(4_294_967_296), 'largest accepted take, bytes'],
  SVC_FFPROBE_COMMAND: [z.string().min(1).default('ffprobe'), 'program that tells the shape of a take'],
  SVC_AUDIO_PREVIEW_MAX_BYTES: [count(67_108_864), 'largest output of an audio tool, bytes'],
  SVC_AUDIO_TOOL_TIMEOUT_MS: [count(15_000), 'time of an audio tool for a short take, ms; a long one gets more'],
  SVC_FFMPEG_COMMAND: [z.string().min(1).default('ffmpeg'), 'program that joins chunks and reads waveforms'],
  SVC_LOCAL_ADMIN_EMAIL: [z.email().toLowerCase().default('admin@roomtone.local'), 'e-mail of the first admin'],
  SVC_LOCAL_ADMIN_NAME: [z.string().min(1).max(160).default('Local Admin'), 'name of the first admin'],
  SVC_LOCAL_ADMIN_PASSWORD: [
    z.string().min(8).max(200).optional(),
    'password of the first admin (default: made and printed once)',
  ],
  SVC_SECRET_KEY: [secret.optional(), 'seals secrets at rest (default: made on first start)'],
  SVC_NODE_SSH_MASTER_KEY: [secret.optional(), 'seals node SSH keys (default: SVC_SECRET_KEY)'],
  SVC_RUNNER_TOKEN: [secret.optional(), 'lets the lifecycle runner fetch SSH key material'],
  SVC_METRICS_TOKEN: [secret.optional(), 'static token that reads /metrics, and nothing else, beside user sessions'],
  SVC_SWITCHER_ROUTING_RUNNER_ENABLED: [choice(true), 'whether live meetings are routed to switchers'],
  SVC_SWITCHER_ROUTING_RUNNER_INTERVAL_SECONDS: [count(20), 'pause between routing passes'],
  SVC_SWITCHER_ROUTING_RUNNER_BATCH_SIZE: [count(100), 'most switchers one routing pass asks'],
  SVC_OIDC_ENABLED: [choice(false), 'whether people may log in through an identity provider'],
  SVC_OIDC_ISSUER: [z.url().optional(), 'issuer of the identity provider'],
  SVC_OIDC_AZURE_TENANT_ID: [
    z.string().min(1).optional(),
    'id of your tenant of Microsoft Entra ID, in place of an issuer',
  ],
  SVC_OIDC_CLIENT_ID: [z.string().min(1).optional(), 'client id at the identity provider'],
  SVC_OIDC_CLIENT_SECRET: [z.string().min(1).optional(), 'client secret; without one this is a public client'],
  SVC_OIDC_REDIRECT_URI: [z.url().optional(), 'public address of /api/v1/auth/oidc/callback'],
  SVC_OIDC_SCOPES: [z.string().default('openid profile email'), 'scopes to ask for, by comma or space'],
  SVC_OIDC_ALLOW_INSECURE_ISSUER: [choice(false), 'admit an http issuer on loopback'],
  SVC_WEB_ORIGIN: [z.url().default('http://localhost:5173'), 'origin allowed to call the API from a browser'],
  SVC_TRUSTED_PROXIES: [z.string().default(''), 'comma list of peers whose X-Forwarded-For is believed'],
  SVC_ALLOW_PLAIN_HTTP: [
    choice(false),
    'listen without TLS where other machines reach it (a private network of containers)',
  ],
  SVC_API_TLS_CERT_PATH: [
    z.string().optional(),
    'PEM certificate; serves HTTPS together with the key. Replaced files are taken within seconds, or at SIGHUP',
  ],
  SVC_API_TLS_KEY_PATH: [z.string().optional(), 'PEM private key'],
  SVC_API_TLS_CA_PATH: [z.string().optional(), 'PEM authorities of that certificate, sent along with it'],
  SVC_API_TLS_CLIENT_CERT_MODE: [
    z.enum(['off', 'optional', 'required']).default('off'),
    'whether clients are asked for a certificate: off, optional or required',
  ],
  SVC_API_TLS_CLIENT_CA_PATH: [
    z.string().optional(),
    'PEM authorities of client certificates (default: SVC_API_TLS_CA_PATH)',
  ],
  SVC_API_TLS_NEXT_CERT_PATH: [z.string().optional(), 'PEM certificate that takes over one day, checked at the start'],
  SVC_API_TLS_NEXT_KEY_PATH: [z.string().optional(), 'PEM private key of the next certificate'],
  SVC_API_TLS_NEXT_NOT_BEFORE: [
    z.iso.datetime({ offset: true, error: 'expected a time such as 2026-03-02T09:00:00Z' }).optional(),
    'when the next certificate takes over',
  ],
  SVC_NATIVE_DIR: [z.string().optional(), 'directory that allows execution, for the SQLite addon'],
  SVC_LOG_LEVEL: [z.enum(['debug', 'info', 'warn', 'error']).default('info'), 'least level of the log'],
  SVC_METER_HISTORY_LIMIT: [count(600), 'meter frames kept in memory per node'],
  SVC_LISTEN_SESSION_TTL_SECONDS: [count(300), 'live-listen session that nobody polls ends after this'],
  SVC_NODE_OFFLINE_AFTER_SECONDS: [count(120, 0), 'silence after which a node is offline, 0 = never'],
  SVC_RECORDING_JOB_LEASE_SECONDS: [count(30), 'lease of a claimed job'],
  SVC_RECORDING_JOB_LEASE_RUNNER_ENABLED: [choice(true), 'whether expired leases fail their job'],
  SVC_RECORDING_JOB_LEASE_RUNNER_INTERVAL_SECONDS: [count(10), 'pause between lease sweeps'],
  SVC_RECORDING_JOB_LEASE_RUNNER_BATCH_SIZE: [count(200), 'most leases one sweep ends'],
  SVC_SCHEDULE_RUNNER_ENABLED: [choice(true), 'whether schedules start recordings'],
  SVC_SCHEDULE_RUNNER_INTERVAL_SECONDS: [count(30), 'longest pause between looks at what is due'],
  SVC_SCHEDULE_RUNNER_BATCH_SIZE: [count(200), 'most schedules one pass starts'],
  SVC_SCHEDULE_FAILURE_RETRY_SECONDS: [
    count(300),
    'pause before a scheduled recording that could not start is tried again',
  ],
  SVC_RETENTION_RUNNER_ENABLED: [choice(true), 'whether retention policies delete stored takes'],
  SVC_RETENTION_RUNNER_INTERVAL_SECONDS: [count(300), 'pause between retention passes'],
  SVC_RETENTION_RUNNER_BATCH_SIZE: [count(25), 'most takes one retention pass deletes'],
  SVC_WATCHDOG_RUNNER_ENABLED: [choice(true), 'whether recordings and nodes are watched'],
  SVC_WATCHDOG_RUNNER_INTERVAL_SECONDS: [count(30), 'pause between watchdog passes'],
  SVC_WATCHDOG_RUNNER_BATCH_SIZE: [count(1000), 'most recordings one watchdog pass looks at'],
  SVC_WATCHDOG_MAX_SAMPLE_SPAN_SECONDS: [count(30), 'longest time one meter frame stands for'],
  SVC_WATCHDOG_METER_MAX_AGE_SECONDS: [count(120), 'age from which the last meter frame counts as silence'],
  SVC_AUDIT_MACHINE_WINDOW_SECONDS: [
    count(3600, 0),
    'one audit row per window for unchanged machine calls, 0 = every call',
  ],
  SVC_AUDIT_RETENTION_DAYS: [count(400).pipe(z.number().max(36_500)), 'age at which audit rows are deleted, days'],
  SVC_AUDIT_RETENTION_RUNNER_ENABLED: [choice(true), 'whether old audit rows are deleted'],
  SVC_AUDIT_RETENTION_RUNNER_INTERVAL_SECONDS: [count(3600), 'pause between passes over old audit rows'],
  SVC_LOGIN_FAILURE_LIMIT: [count(10), 'failed logins per account and window before 429'],
  SVC_LOGIN_FAILURE_WINDOW_SECONDS: [count(300), 'that window'],
  SVC_TOKEN_FAILURE_LIMIT: [count(1000), 'refused tokens per address and window before 429'],
  SVC_STRANGER_REFUSALS_PER_MINUTE: [
    count(60),
    'audit rows for refused strangers per address (of IPv6 its /64) and minute; beyond it 429 and one row with a count',
  ],
  SVC_USER_REQUESTS_PER_MINUTE: [count(6000), 'requests per account and minute before 429'],
  SVC_AGENT_RELEASE_REPO: [
    z
      .string()
      .regex(/^[\w.-]+\/[\w.-]+$/, 'expected owner/name')
      .optional(),
    'repository (owner/name) whose releases are offered as agent updates; unset = no update check',
  ],
  SVC_AGENT_RELEASE_TTL_MS: [count(1_800_000, 1000), 'how long a checked release counts as fresh, ms'],
  SVC_AGENT_RELEASE_TIMEOUT_MS: [count(10_000), 'longest duration of a release check, ms'],
  SVC_AGENT_RELEASE_DIR: [
    z.string().optional(),
    'releases that nodes get from here, a folder each (default: releases below the data directory)',
  ],
  SVC_AGENT_RELEASE_FETCH: [choice(true), 'whether a new release is fetched from the release host, about 100 MB'],
  SVC_AGENT_RELEASE_PUBLIC_KEY: [
    z.string().refine(isReleaseKey, 'expected an Ed25519 public key (PEM)').optional(),
    'Ed25519 public key (PEM) that releases must be signed with; unset = checksums alone',
  ],
  SVC_GITHUB_API_URL: [webUrl.default('https://api.github.com'), 'base URL of the release list'],
  SVC_GITHUB_TOKEN: [z.string().min(1).optional(), 'token for the release list'],
  SVC_ANSIBLE_RUNNER_URL: [webUrl.optional(), 'base URL of the lifecycle runner; unset = lifecycle actions fail'],
  SVC_ANSIBLE_RUNNER_TOKEN: [secret.optional(), 'token the lifecycle runner asks for'],
  SVC_ANSIBLE_RUNNER_TIMEOUT_MS: [count(120_000), 'longest silence of the lifecycle runner during an action, ms'],
  SVC_LIFECYCLE_EMBEDDED: [
    choice(false),
    'whether this process acts on nodes itself, without a runner; with the settings of its runs',
  ],
  SVC_UPLOAD_RUNNER_ENABLED: [choice(true), 'whether the upload queue is worked on'],
  SVC_UPLOAD_RUNNER_INTERVAL_SECONDS: [count(60), 'pause between upload passes'],
  SVC_UPLOAD_RUNNER_BATCH_SIZE: [count(10), 'uploads that one pass begins'],
  SVC_UPLOAD_QUEUE_LEASE_SECONDS: [count(900), 'lease of an upload under way, renewed while it moves'],
  SVC_UPLOAD_QUEUE_MAX_ATTEMPTS: [count(5), 'attempts of an upload policy that names no number, at most 100'],
  SVC_UPLOAD_RAW_MASTERS: [
    flag.optional(),
    'whether the raw master is sent beside the enhanced take, to the same places (default: SVC_DATABASE_REPLICATED)',
  ],
  SVC_SMBCLIENT_COMMAND: [z.string().min(1).default('smbclient'), 'program that copies to SMB shares'],
  SVC_AGENT_CAPTURE_CHANNELS: [count(2), 'channels of a job when nothing else says'],
  SVC_AGENT_CAPTURE_DEVICE: [z.string().min(1).default('default'), 'capture device when the node has no interface'],
  SVC_AGENT_CAPTURE_FORMAT: [z.string().min(1).default('S16_LE'), 'sample format of a job when nothing else says'],
  SVC_AGENT_CAPTURE_INTERFACE_ID: [z.string().optional(), 'interface of a job when the request names none'],
  SVC_AGENT_CAPTURE_SAMPLE_RATE: [count(48_000), 'sample rate, Hz, when nothing else says'],
  SVC_AGENT_CAPTURE_SECONDS: [count(3600), 'length of an ad-hoc take when the request names none'],
} as const satisfies SettingsTable

// Names of other programs, or of parts that read them themselves, that may stand in the same environment.
const FOREIGN =
  /^SVC_(CONTROLLER_|NODE_(ID|ALIAS|SITE|ROOM)$|ANSIBLE_|RUNNER_CONTROLLER_|RUNNER_(ALLOW_INSECURE$|CLIENT_)|BOOTSTRAP(_|$)|CAPTURE_|METER_|AGENT_(?!CAPTURE_)|HEARTBEAT_|JOB_POLL_|ALLOW_INSECURE|ALSA_|INVENTORY_|SYSTEM_HEALTH_|UPLOAD_MAX_KBPS$|DENOISE_|SSH_(KEYGEN|HOST_KEYS)|TEST_SOURCE|MAX_CONCURRENT|MONITOR_|CHANNEL_RENDER|RECORDER_CACHE|ATTACH_|RUN_NEXT_JOB|PRINT_CHANNEL_MAP_ASSIGNMENTS$)/

type Values = SettingsOf<typeof SETTINGS>
export type Config = Omit<Values, 'SVC_AGENT_RELEASE_DIR' | 'SVC_PORT' | 'SVC_RECORDING_CACHE_DIR'> & {
  SVC_AGENT_RELEASE_DIR: string
  SVC_PORT: number
  SVC_RECORDING_CACHE_DIR: string
  /** What the service manager wants to be told; undefined without one. */
  manager: ManagerCall | undefined
  /** What lifecycle runs in this process need; undefined when they are somebody else's. */
  embedded: RunSettings | undefined
  oidc: OidcSettings
  tls: CertificateFiles | undefined
  /** Where programs of the system are looked for. */
  programDirs: string[]
  trustedProxies: string[]
}

/** @throws UserError for an unknown, unreadable, malformed or contradictory setting */
export function readConfig(env: Env = process.env): Config {
  refuseUnknown(SETTINGS, env, (name) => name.startsWith('SVC_') && !FOREIGN.test(name), 'controller')
  return whole(readSettings(SETTINGS, env), env)
}

/** The same for a program beside the service: of the installed controller, unless the environment names another one. */
export const readConfigBeside = (env: Env = process.env): Config => readConfig(installedEnv(env))

function whole(values: Values, env: Env): Config {
  const fallback = port.safeParse(env.PORT || 8787)
  if (values.SVC_PORT === undefined && !fallback.success) throw misuse('PORT is not a port number.')
  const data = path.resolve(values.SVC_DATA_DIR)
  const trustedProxies = values.SVC_TRUSTED_PROXIES.split(',')
    .map((peer) => peer.trim())
    .filter(Boolean)
  const { fault, tls } = tlsOf(values, trustedProxies.length > 0)
  if (fault) throw misuse(fault)
  for (const [name, file] of Object.entries(tls ? values : {}))
    if (/^SVC_API_TLS_.*_PATH$/.test(name) && file) readNamedFile(name, String(file))
  return {
    ...values,
    SVC_DATA_DIR: data,
    SVC_AGENT_RELEASE_DIR: path.resolve(values.SVC_AGENT_RELEASE_DIR ?? path.join(data, 'releases')),
    SVC_RECORDING_CACHE_DIR: path.resolve(values.SVC_RECORDING_CACHE_DIR ?? path.join(data, 'recordings')),
    SVC_PORT: values.SVC_PORT ?? fallback.data ?? 8787,
    manager: managerOf(env),
    embedded: embeddedOf(values, env),
    oidc: oidcOf(values),
    tls,
    programDirs: (env.PATH || '/usr/local/bin:/usr/bin:/bin').split(':').filter((dir) => path.isAbsolute(dir)),
    trustedProxies,
  }
}

function embeddedOf(values: Values, env: Env): RunSettings | undefined {
  if (!values.SVC_LIFECYCLE_EMBEDDED) return undefined
  if (values.SVC_ANSIBLE_RUNNER_URL)
    throw misuse(
      'SVC_LIFECYCLE_EMBEDDED and SVC_ANSIBLE_RUNNER_URL are both set: either this process acts on nodes, or a runner does.',
    )
  return readRunSettings(env)
}

function oidcOf(values: Values): OidcSettings {
  const tenant = values.SVC_OIDC_AZURE_TENANT_ID
  const foreign = tenant && tenantFault(tenant)
  if (foreign) throw misuse(`SVC_OIDC_AZURE_TENANT_ID is not usable: ${foreign}.`)
  const issuer = values.SVC_OIDC_ISSUER ?? (tenant && `https://login.microsoftonline.com/${tenant}/v2.0`)
  const fault = issuer && issuerFault(issuer, values.SVC_OIDC_ALLOW_INSECURE_ISSUER)
  if (fault) throw misuse(`SVC_OIDC_ISSUER is not usable: ${fault}.`)
  return {
    clientId: values.SVC_OIDC_CLIENT_ID,
    clientSecret: values.SVC_OIDC_CLIENT_SECRET,
    enabled: values.SVC_OIDC_ENABLED,
    insecure: values.SVC_OIDC_ALLOW_INSECURE_ISSUER,
    issuer,
    provider: tenant ? 'azure_ad' : 'oidc',
    redirectUri: values.SVC_OIDC_REDIRECT_URI,
    scopes: values.SVC_OIDC_SCOPES.split(/[\s,]+/).filter(Boolean),
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
