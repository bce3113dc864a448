// Reads our sources the way the guards need them: without comments, without the insides of strings, with places.
import * as fs from 'node:fs'
import * as path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '..', '..')

export interface Source {
  /** Path below the project's root, with slashes. */
  file: string
  text: string
}

/** Every file with one of the endings below the given folders, in order. */
export function sources(folders: string[], endings: string[] = ['.ts']): Source[] {
  return folders
    .flatMap((folder) => fs.readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !file.includes('node_modules') && !file.includes('/fixtures/'))
    .map((file) => ({ file: path.relative(ROOT, file), text: fs.readFileSync(file, 'utf8') }))
    .sort((a, b) => (a.file < b.file ? -1 : 1))
}

// What a slash follows when it begins a regular expression and not a division.
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else|void|yield|await))\s*$/

/**
 * The text with comments and the insides of strings, templates and regular expressions turned into spaces:
 * same length, same lines, `${...}` kept. What is left is structure.
 */
export function blank(text: string): string {
  const out = text.split('')
  const erase = (from: number, to: number) => {
    for (let i = from; i < to; i++) if (out[i] !== '\n') out[i] = ' '
  }
  /** Walks code from `at` to the brace that closes it (or the end); returns the place behind it. */
  const code = (start: number): number => {
    let at = start
    for (let depth = 0; at < text.length; ) {
      const c = text[at] as string
      if (c === '}' && depth-- === 0) return at + 1
      if (c === '{') depth++
      const end = literalEnd(text, at, out)
      if (c === '`') at = template(at)
      else if (end > at) {
        const comment = c === '/' && /[/*]/.test(text[at + 1] ?? '')
        erase(comment ? at : at + 1, comment ? end : end - 1)
        at = end
      } else at++
    }
    return at
  }
  const template = (start: number): number => {
    let at = start + 1
    while (at < text.length && text[at] !== '`') {
      if (text.startsWith('${', at)) at = code(at + 2)
      else {
        const step = text[at] === '\\' ? 2 : 1
        erase(at, at + step)
        at += step
      }
    }
    return at + 1
  }
  code(0)
  return out.join('')
}

/** Where the comment, string or regular expression that begins at `at` ends; `at` when none does. */
function literalEnd(text: string, at: number, seen: string[]): number {
  const rest = (pattern: RegExp): number => {
    pattern.lastIndex = at
    return pattern.exec(text)?.[0].length ?? 0
  }
  const c = text[at]
  if (c === "'" || c === '"') return at + rest(/'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y)
  if (c !== '/') return at
  const comment = rest(/\/\/[^\n]*|\/\*[\s\S]*?\*\//y)
  if (comment > 0) return at + comment
  const before = seen.slice(Math.max(0, at - 40), at).join('')
  return BEFORE_REGEX.test(before) ? at + rest(/\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y) : at
}

export const lineOf = (text: string, at: number): number => text.slice(0, at).split('\n').length

/** `file:line` of every match of `pattern` (global) in the structure of a source. */
export function places({ file, text }: Source, pattern: RegExp): string[] {
  const structure = blank(text)
  return [...structure.matchAll(pattern)].map((match) => `${file}:${lineOf(text, match.index)} ${match[0].trim()}`)
}
