// Environment files for systemd's EnvironmentFile=, edited in place to keep what an operator wrote.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { makeDir } from '../../kernel/dirs.ts'
import { linesOf, replaceFile } from './files.ts'

/** Quotes a value for systemd. @throws Error for more than one line, which could add a setting */
function quoted(key: string, value: string): string {
  if (/[\0\r\n]/.test(value)) throw new Error(`${key} must be one line of text.`)
  return /^[\w@%+=:,./~-]*$/.test(value) ? value : `"${value.replace(/(["\\$`])/g, '\\$1')}"`
}

function unquoted(value: string): string {
  const [, double, single] = /^(?:"(.*)"|'(.*)')$/s.exec(value) ?? []
  return double?.replace(/\\(["\\$`])/g, '$1') ?? single ?? value
}

const keyOf = (line: string): string | undefined => /^\s*(?:export\s+)?(\w+)\s*=/.exec(line)?.[1]

/** The SVC_ settings in a file's text; `names`: others as well. */
export function parseEnvFile(content: string, names = /^SVC_[A-Z0-9_]+$/): Record<string, string | undefined> {
  const env: Record<string, string | undefined> = {}
  for (const line of content.split('\n')) {
    const [, key, value] = /^\s*([A-Za-z_]\w*)=(.*?)\s*$/.exec(line) ?? []
    if (key !== undefined && value !== undefined && names.test(key)) env[key] = unquoted(value)
  }
  return env
}

/** The SVC_ settings in a file; none without a file. `names`: others as well. */
export const readEnvFile = (file: string, names?: RegExp): Record<string, string | undefined> =>
  fs.existsSync(file) ? parseEnvFile(fs.readFileSync(file, 'utf8'), names) : {}

/**
 * Sets the given settings and removes those given as undefined; other lines stay as they are. Replaces the file atomically,
 * mode 0640: it may hold a token.
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
