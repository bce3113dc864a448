// The node's token, where this box keeps it: in the settings, in a file they name, or as a credential of the service.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { credentialName } from '../../kernel/settings.ts'
import { writeEnvFile } from '../host/envfile.ts'
import { replaceFile } from '../host/files.ts'
import { PLACES } from '../host/places.ts'
import { settingsOf } from './box.ts'

const SETTING = 'SVC_CONTROLLER_TOKEN'
const CREDENTIAL = path.join('/etc/credstore', credentialName(SETTING))
const READABLE_BY_GROUP = 0o640

const content = (file: string): string | undefined =>
  fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() || undefined : undefined

/** What the agent uses: the settings come before the credential. Undefined when this box has none. */
export function readToken(): string | undefined {
  const { [SETTING]: token, [`${SETTING}_FILE`]: file } = settingsOf()
  return token ?? content(file ?? CREDENTIAL)
}

/** As it stands in the settings or their file, so that it can be put back; undefined: there is none, or a credential. */
export function tokenInSettings(): string | undefined {
  const { [SETTING]: token, [`${SETTING}_FILE`]: file } = settingsOf()
  return file === undefined ? token : content(file)
}

/** In its place, and nowhere else: two tokens are one too many. A credential stays, and counts again without this one. */
export function putToken(token: string | undefined): void {
  const file = settingsOf()[`${SETTING}_FILE`]
  if (file === undefined) writeEnvFile(PLACES.agentSettings, { [SETTING]: token })
  else replaceFile(file, token === undefined ? '' : `${token}\n`, READABLE_BY_GROUP)
}
