// Reads settings. Each program has a table; a value comes from the environment, a file, or a systemd credential.
import * as fs from 'node:fs'
import * as path from 'node:path'
import * as z from 'zod'
import { misuse } from './fail.ts'
import { faultWords } from './words.ts'

export type Env = Record<string, string | undefined>

/** Name, schema, and the words `--help` prints. */
export type SettingsTable = Record<string, readonly [schema: z.ZodType, words: string]>
export type SettingsOf<T extends SettingsTable> = { [K in keyof T]: z.infer<T[K][0]> }

const WORDS = { truthy: ['1', 'true', 'yes', 'on'], falsy: ['0', 'false', 'no', 'off'] }
export const flag = z.stringbool({ ...WORDS, error: `expected one of ${Object.values(WORDS).flat().join(', ')}` })
/** For settings that are read without a table; whatever is no flag is off. */
export const isOn = (text: string | undefined): boolean => flag.safeParse(text).data ?? false

/** A whole number; without a value `fallback`. */
export const count = (fallback: number, least = 1, most = 2 ** 40) =>
  z.coerce.number({ error: 'expected a whole number' }).int().min(least).max(most).default(fallback)
/** A switch; without a value `fallback`. */
export const choice = (fallback: boolean) => flag.default(fallback)

export const port = z.coerce.number({ error: 'expected a port number' }).int().min(0).max(65_535)
export const secret = z.string().min(16, 'needs at least 16 characters')
export const webUrl = z.url({ protocol: /^https?$/, error: 'expected an http or https URL' })

/** Name of the systemd credential that carries a setting: `SVC_SECRET_KEY` is `roomtone.secret-key`. systemd.exec(5) */
export const credentialName = (setting: string): string =>
  `roomtone.${setting.replace(/^SVC_/, '').toLowerCase().replaceAll('_', '-')}`

/** Also for who may see it by a capability alone, which `existsSync` leaves out (access(2)). */
function isThere(file: string): boolean {
  try {
    return fs.statSync(file).isFile()
  } catch {
    // None, or not for this user: the setting has no value then.
    return false
  }
}

function credentialFile({ CREDENTIALS_DIRECTORY: dir }: Env, setting: string): string | undefined {
  const file = dir && path.join(dir, credentialName(setting))
  return file && isThere(file) ? file : undefined
}

/** A value, or the file it is read from. */
export type SettingSource = { file: string } | { text: string | undefined }

/**
 * Where a setting comes from: from `find`, from the file that `<NAME>_FILE` names, else from a credential. Empty is unset.
 * @throws UserError when both are set
 */
export function settingSource(env: Env, name: string, find = (key: string) => env[key]): SettingSource {
  const text = find(name) || undefined
  const file = find(`${name}_FILE`) || undefined
  if (text !== undefined && file !== undefined) throw misuse(`${name} and ${name}_FILE are both set: keep one of them.`)
  const from = file ?? (text === undefined ? credentialFile(env, name) : undefined)
  return from === undefined ? { text } : { file: from }
}

/** The text of a file that a setting or an option names; `-` is standard input. @throws UserError when it cannot be read */
export function readNamedFile(name: string, file: string): string {
  try {
    return fs.readFileSync(file === '-' ? 0 : path.resolve(file), 'utf8')
  } catch (e) {
    throw misuse(`${name} names ${file}, which cannot be read: ${faultWords(e, file)}.`)
  }
}

function textOf(env: Env, name: string): string | undefined {
  const source = settingSource(env, name)
  return 'file' in source ? readNamedFile(`${name}_FILE`, source.file).trim() : source.text
}

/** Does not repeat the value: it may be a secret set by mistake. */
function faultOf({ issues: [issue] }: z.ZodError): string {
  if (!issue) return 'malformed'
  const at = issue.path.length === 0 ? '' : `${issue.path.join('.')}: `
  return `${at}${issue.message}`
}

/** @throws UserError for a setting that is unreadable or malformed */
export function readSettings<T extends SettingsTable>(table: T, env: Env): SettingsOf<T> {
  const values = Object.entries(table).map(([name, [schema]]) => {
    const { data, error } = schema.safeParse(textOf(env, name))
    if (error) throw misuse(`${name} is not usable: ${faultOf(error)}.`)
    return [name, data]
  })
  return Object.fromEntries(values)
}

/** Names of ours that `isOurs` tells and the table does not have, most likely misspelt. */
export const unknownSettings = (table: object, env: Env, isOurs: (name: string) => boolean): string[] =>
  Object.keys(env).filter((name) => isOurs(name) && !(name in table) && !(name.replace(/_FILE$/, '') in table))

/** @throws UserError for a setting that the program does not have */
export function refuseUnknown(table: object, env: Env, isOurs: (name: string) => boolean, program: string): void {
  const [name] = unknownSettings(table, env, isOurs)
  if (name !== undefined) throw misuse(`${name} is not a setting of the ${program}: check its spelling.`)
}

/** The table as `--help` prints it. */
export const settingsHelp = (table: SettingsTable): string => {
  const width = Math.max(...Object.keys(table).map((name) => name.length))
  return Object.entries(table)
    .map(([name, [, words]]) => `  ${name.padEnd(width)} ${words}`)
    .join('\n')
}
