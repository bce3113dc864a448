import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { deriveKey } from '../crypto/seal.ts'
import type { Log } from '../kernel/log.ts'
import type { Config } from './config.ts'

/**
 * The secret that seals what is stored: the configured one, else one generated at first start and kept next to the
 * database, 0600 (ADR-0006). There is no built-in key.
 */
export function secretKey(config: Config, log: Log): string {
  if (config.SVC_SECRET_KEY) return config.SVC_SECRET_KEY
  const file = secretPlace(config)
  if (!fs.existsSync(file)) create(file, log)
  return fs.readFileSync(file, 'utf8').trim()
}

/** The same without making one; undefined where there is none. */
export function secretHere(config: Config): string | undefined {
  if (config.SVC_SECRET_KEY) return config.SVC_SECRET_KEY
  const file = secretPlace(config)
  // Not `existsSync`, which leaves out who may see it by a capability alone (access(2)).
  return fs.statSync(file, { throwIfNoEntry: false }) && fs.readFileSync(file, 'utf8').trim()
}

/** Where the secret is: the name of a setting, or a file. */
export const secretPlace = (config: Config): string =>
  config.SVC_SECRET_KEY ? 'SVC_SECRET_KEY' : path.join(config.SVC_DATA_DIR, 'secret.key')

function create(file: string, log: Log): void {
  // Written aside and renamed: a crash must not leave half a key that later starts would trust.
  const draft = `${file}.${process.pid}`
  fs.writeFileSync(draft, `${randomBytes(32).toString('base64url')}\n`, { flag: 'wx', mode: 0o600, flush: true })
  fs.renameSync(draft, file)
  log.warn('SVC_SECRET_KEY is not set: a key was generated; back it up with the database, sealed secrets need it', {
    file,
  })
}

/** Secrets that seal what is stored. */
interface Secrets {
  nodeSshKey: string
  settingsKey: string
}

/** The keys derived from the secrets. */
export interface SealKeys {
  node: Uint8Array
  /** Derived on first use, because that takes a while; usually there is one secret for both. */
  settings: () => Uint8Array
}

export function sealKeys({ nodeSshKey, settingsKey }: Secrets): SealKeys {
  const node = deriveKey(nodeSshKey)
  let settings = settingsKey === nodeSshKey ? node : undefined
  return {
    node,
    settings: () => {
      settings ??= deriveKey(settingsKey)
      return settings
    },
  }
}
