// Secrets of services as systemd hands them over: files that only root reads.
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

/** The file whose content is this setting (SVC_...) of the services that ask for it. */
export const credentialFile = (setting: string): string => path.join(PLACES.credentials, credentialName(setting))

/** One word of that many random bytes. */
export const madeSecret = (bytes: number): string => randomBytes(bytes).toString('base64url')

interface CredentialParts {
  /** Whether nothing has to be written, although the file says something else, or is not there. */
  done: () => boolean
  /** As in "<name>: done". */
  name: string
  setting: string
  /** The secret to be there, asked for when it is written. */
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

/** All of Roomtone's that stand there, whoever wrote them. */
export const credentialFiles = (): string[] =>
  stands(PLACES.credentials)
    ? fs
        .readdirSync(PLACES.credentials)
        .filter((name) => name.startsWith('roomtone.'))
        .map((name) => path.join(PLACES.credentials, name))
    : []

/** The secret in the file; undefined without one. */
export const credentialIn = (setting: string): string | undefined =>
  stands(credentialFile(setting)) ? fs.readFileSync(credentialFile(setting), 'utf8').trim() : undefined
