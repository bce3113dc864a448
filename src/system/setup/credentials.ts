// Secrets of services as systemd credentials: files only root can read.
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { credentialName } from '../../kernel/settings.ts'
import { replaceFile } from '../host/files.ts'
import { PLACES } from '../host/places.ts'
import type { Step } from './journal.ts'
import { stands } from './journal.ts'

const MODE = 0o600
const DIRECTORY_MODE = 0o700

/** The file that holds this setting (SVC_...). */
export const credentialFile = (setting: string): string => path.join(PLACES.credentials, credentialName(setting))

/** That many random bytes, base64url. */
export const madeSecret = (bytes: number): string => randomBytes(bytes).toString('base64url')

interface CredentialParts {
  /** Whether nothing has to be written, whatever the file holds. */
  done: () => boolean
  /** As in "<name>: done". */
  name: string
  setting: string
  /** The secret; called when it is written. */
  value: () => string
}

export function credentialStep({ done, name, setting, value }: CredentialParts): Step {
  const file = credentialFile(setting)
  return {
    name: `${name} in ${file}`,
    done,
    apply(journal) {
      journal.keepDirectory(PLACES.credentials)
      journal.keep(file)
      fs.mkdirSync(PLACES.credentials, { mode: DIRECTORY_MODE, recursive: true })
      replaceFile(file, `${value()}\n`, MODE)
    },
  }
}

/** All credential files of Roomtone, whoever wrote them. */
export const credentialFiles = (): string[] =>
  stands(PLACES.credentials)
    ? fs
        .readdirSync(PLACES.credentials)
        .filter((name) => name.startsWith('roomtone.'))
        .map((name) => path.join(PLACES.credentials, name))
    : []

/** Undefined without a file. */
export const credentialIn = (setting: string): string | undefined =>
  stands(credentialFile(setting)) ? fs.readFileSync(credentialFile(setting), 'utf8').trim() : undefined
