// The only reader of the controller's SVC_* settings. Parsed once; a contradiction stops the start.
import * as path from 'node:path'
import { misuse } from '../kernel/fail.ts'
import {
  type Env,
  port,
  readNamedFile,
  readSettings,
  refuseUnknown,
  type SettingsOf,
  type SettingsTable,
} from '../kernel/settings.ts'
import { type RunSettings, readRunSettings } from '../lifecycle/config.ts'
import { type ManagerCall, managerOf } from '../system/host/notify.ts'
import { AUDIT_SETTINGS } from './audit/settings.ts'
import { installedEnv } from './config.installed.ts'
import { pairOf } from './config.pair.ts'
import { tlsOf } from './config.tls.ts'
import { FLEET_SETTINGS } from './fleet/settings.ts'
import type { CertificateFiles } from './http/certificates.ts'
import { HTTP_SETTINGS } from './http/settings.ts'
import { issuerFault, type OidcSettings, tenantFault } from './identity/auth/oidc.rules.ts'
import { IDENTITY_SETTINGS } from './identity/settings.ts'
import { MONITORING_SETTINGS } from './monitoring/settings.ts'
import { NOTIFICATION_SETTINGS } from './notifications/settings.ts'
import { RECORDING_SETTINGS } from './recordings/settings.ts'
import { SCHEDULE_SETTINGS } from './schedules/settings.ts'
import { STORE_SETTINGS } from './store/settings.ts'
import type { PairSettings } from './succession/place.rules.ts'
import { SUCCESSION_SETTINGS } from './succession/settings.ts'
import { UPLOAD_SETTINGS } from './uploads/settings.ts'

/** Every setting of the controller: each module keeps its own. */
export const SETTINGS = {
  ...HTTP_SETTINGS,
  ...STORE_SETTINGS,
  ...SUCCESSION_SETTINGS,
  ...IDENTITY_SETTINGS,
  ...FLEET_SETTINGS,
  ...RECORDING_SETTINGS,
  ...SCHEDULE_SETTINGS,
  ...UPLOAD_SETTINGS,
  ...MONITORING_SETTINGS,
  ...AUDIT_SETTINGS,
  ...NOTIFICATION_SETTINGS,
} as const satisfies SettingsTable

// Names that other programs or parts read, and that may be in the same environment.
const FOREIGN =
  /^SVC_(CONTROLLER_|NODE_(ID|ALIAS|SITE|ROOM)$|ANSIBLE_|RUNNER_CONTROLLER_|RUNNER_(ALLOW_INSECURE$|CLIENT_)|BOOTSTRAP(_|$)|CAPTURE_|METER_|AGENT_(?!CAPTURE_)|HEARTBEAT_SECONDS$|JOB_POLL_|ALLOW_INSECURE|ALSA_|INVENTORY_|SYSTEM_HEALTH_|UPLOAD_MAX_KBPS$|DENOISE_|SSH_(KEYGEN|HOST_KEYS)|TEST_SOURCE|MAX_CONCURRENT|MONITOR_|CHANNEL_RENDER|RECORDER_CACHE|ATTACH_|RUN_NEXT_JOB|PRINT_CHANNEL_MAP_ASSIGNMENTS$|PAIRING_CODE$)/

type Values = SettingsOf<typeof SETTINGS>
export type Config = Omit<Values, 'SVC_AGENT_RELEASE_DIR' | 'SVC_PORT' | 'SVC_RECORDING_CACHE_DIR'> & {
  SVC_AGENT_RELEASE_DIR: string
  SVC_PORT: number
  SVC_RECORDING_CACHE_DIR: string
  /** How to notify the service manager; undefined without one. */
  manager: ManagerCall | undefined
  /** Settings of lifecycle runs in this process; undefined when an external runner does them. */
  embedded: RunSettings | undefined
  oidc: OidcSettings
  /** The lease it shares with a second box; undefined for a box that is alone. */
  pair: PairSettings | undefined
  tls: CertificateFiles | undefined
  /** Directories searched for programs of the system. */
  programDirs: string[]
  trustedProxies: string[]
}

/** @throws UserError for an unknown, unreadable, malformed or contradictory setting */
export function readConfig(env: Env = process.env): Config {
  refuseUnknown(SETTINGS, env, (name) => name.startsWith('SVC_') && !FOREIGN.test(name), 'controller')
  return complete(readSettings(SETTINGS, env), env)
}

/** `readConfig` for a command next to the service: the installed controller's, unless the environment names another. */
export const readConfigBeside = (env: Env = process.env): Config => readConfig(installedEnv(env))

function complete(values: Values, env: Env): Config {
  const fallback = port.safeParse(env.PORT || 8787)
  if (values.SVC_PORT === undefined && !fallback.success) throw misuse('PORT is not a port number.')
  const data = path.resolve(values.SVC_DATA_DIR)
  const trustedProxies = values.SVC_TRUSTED_PROXIES.split(',')
    .map((peer) => peer.trim())
    .filter(Boolean)
  const { fault, tls } = tlsOf(values, trustedProxies.length > 0)
  if (fault) throw misuse(fault)
  const { fault: pairFault, pair } = pairOf(values)
  if (pairFault) throw misuse(pairFault)
  for (const [name, file] of Object.entries(tls ? values : {}))
    if (/^SVC_API_TLS_.*_PATH$/.test(name) && file) readNamedFile(name, String(file))
  return {
    ...values,
    SVC_DATA_DIR: data,
    SVC_DATABASE_REPLICATED: values.SVC_DATABASE_REPLICATED || pair !== undefined,
    SVC_AGENT_RELEASE_DIR: path.resolve(values.SVC_AGENT_RELEASE_DIR ?? path.join(data, 'releases')),
    SVC_RECORDING_CACHE_DIR: path.resolve(values.SVC_RECORDING_CACHE_DIR ?? path.join(data, 'recordings')),
    SVC_PORT: values.SVC_PORT ?? fallback.data ?? 8787,
    manager: managerOf(env),
    embedded: embeddedOf(values, env),
    oidc: oidcOf(values),
    pair,
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
