// Environment files as systemd's EnvironmentFile= reads them, edited in place: what an operator wrote stays.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { makeDir } from '../../kernel/dirs.ts'
import { linesOf, replaceFile } from './files.ts'

/** A value systemd reads back as it is. @throws Error for more than one line: what follows would be a setting of its own */
function quoted(key: string, value: string): string {
  if (/[\0\r\n]/.test(value)) throw new Error(`${key} has to be one line of text.`)
  return /^[\w@%+=:,./~-]*$/.test(value) ? value : `"${value.replace(/(["\\$`])/g, '\\$1')}"`
}

function unquoted(value: string): string {
  const [, double, single] = /^(?:"(.*)"|'(.*)')$/s.exec(value) ?? []
  return double?.replace(/\\(["\\$`])/g, '$1') ?? single ?? value
}

const keyOf = (line: string): string | undefined => /^\s*(?:export\s+)?(\w+)\s*=/.exec(line)?.[1]

/** Our settings in a file's text; comments, blank lines and other names are passed over. */
export function parseEnvFile(content: string): Record<string, string | undefined> {
  const env: Record<string, string | undefined> = {}
  for (const line of content.split('\n')) {
    const [, key, value] = /^\s*(SVC_[A-Z0-9_]+)=(.*?)\s*$/.exec(line) ?? []
    if (key !== undefined && value !== undefined) env[key] = unquoted(value)
  }
  return env
}

/** Our settings in a file; none when there is no file. */
export const readEnvFile = (file: string): Record<string, string | undefined> =>
  fs.existsSync(file) ? parseEnvFile(fs.readFileSync(file, 'utf8')) : {}

/**
 * Sets what is given and removes what is given as undefined; every other line stays as it was written. The file is
 * replaced whole, mode 0640: it may hold a token.
 */
export function writeEnvFile(file: string, settings: Record<string, string | undefined>): void {
  makeDir(path.dirname(file))
  const wanted = new Map(Object.entries(settings))
  const placed = new Set<string>()
  const lineOf = (key: string): string[] => {
    const value = wanted.get(key)
    if (value === undefined || placed.has(key)) return []
    placed.add(key)
    return [`${key}=${quoted(key, value)}`]
  }
  const edited = linesOf(file).flatMap((line) => {
    const key = keyOf(line) ?? ''
    return wanted.has(key) ? lineOf(key) : [line]
  })
  const added = [...wanted.keys()].flatMap(lineOf)
  replaceFile(file, `${[...edited, ...added].join('\n')}\n`, 0o640)
}
