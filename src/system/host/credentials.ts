// Secrets as systemd hands them to a service: files of one directory that only this service can read. systemd.exec(5).
import * as fs from 'node:fs'
import * as path from 'node:path'

/** Name of the credential that carries a setting: `SVC_SECRET_KEY` is `roomtone.secret-key`. */
export const credentialName = (setting: string): string =>
  `roomtone.${setting.replace(/^SVC_/, '').toLowerCase().replaceAll('_', '-')}`

/** File of the credential for a setting; undefined when the service manager gave none. */
export function credentialFile(env: NodeJS.ProcessEnv, setting: string): string | undefined {
  const { CREDENTIALS_DIRECTORY: dir } = env
  if (!dir) return undefined
  const file = path.join(dir, credentialName(setting))
  return fs.existsSync(file) ? file : undefined
}
