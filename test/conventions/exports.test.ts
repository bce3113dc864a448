import assert from 'node:assert/strict'
import * as path from 'node:path'
import { test } from 'node:test'
import { blank, type Source, sources } from './source.ts'

const EXPORTED =
  /^export\s+(?:async\s+)?(?:abstract\s+)?(?:const|let|function\*?|class|interface|type|enum)\s+(?:(\w+)|\{([^}]*)\})/gm
const IMPORT = /\bimport\s+(?:type\s+)?([^'"()]*?)\s*from\s*['"](\.[^'"]+)['"]/g
const DYNAMIC = /\bimport\(\s*['"](\.[^'"]+)['"]/g

/** What stands between braces: `type a, b as c` names a and b; `take` says which side of `as` and `:` counts. */
const namesIn = (list: string, take: 0 | -1): string[] =>
  list
    .split(',')
    .map((one) => one.trim().replace(/^type\s+/, ''))
    .flatMap((one) => one.split(/\s+as\s+|\s*:\s*/).at(take) ?? [])
    .filter((name) => name !== '')

function exportsOf({ text }: Source): string[] {
  return [...blank(text).matchAll(EXPORTED)].flatMap(([, name, list]) => name ?? namesIn(list ?? '', -1))
}

/** `file name` of everything a source imports; `file *` where that may be all of a file. */
function importedBy({ file, text }: Source): string[] {
  const to = (from: string): string => path.posix.join(path.posix.dirname(file), from)
  const named = [...text.matchAll(IMPORT)].flatMap(([, what = '', from = '']) => {
    const list = /\{([^}]*)\}/.exec(what)?.[1]
    return list === undefined ? [`${to(from)} *`] : namesIn(list, 0).map((name) => `${to(from)} ${name}`)
  })
  return [...named, ...[...text.matchAll(DYNAMIC)].map(([, from = '']) => `${to(from)} *`)]
}

/** Exports that no other file imports. */
function needless(of: readonly Source[], importers: readonly Source[]): string[] {
  const imported = new Set(importers.flatMap(importedBy))
  return of.flatMap((source) =>
    imported.has(`${source.file} *`)
      ? []
      : exportsOf(source)
          .map((name) => `${source.file} ${name}`)
          .filter((one) => !imported.has(one)),
  )
}

test('what is exported is imported by another file', () => {
  const endings = ['.ts', '.tsx', '.mjs']
  const all = sources(['src', 'test', 'scripts'], endings)
  const own = all.filter(({ file }) => file.startsWith('src/') && !file.endsWith('.d.ts'))
  assert.deepEqual(needless(own, all), [], 'leave out `export`: nobody else imports it')
})

test('the guard sees what it must see', () => {
  const a = [
    'export const a = 1',
    'export async function b() {}',
    'export function* c() {}',
    'export const { d, e: f } = made()',
    'export interface G {}',
    'export type H = G',
    'export class I {}',
    '// export const none = 1',
  ].join('\n')
  const of: Source[] = [{ file: 'src/x/a.ts', text: a }]
  const all = ['a', 'b', 'c', 'd', 'f', 'G', 'H', 'I'].map((name) => `src/x/a.ts ${name}`)
  assert.deepEqual(needless(of, of), all)
  const by = (text: string) => needless(of, [{ file: 'src/y/b.ts', text }])
  assert.deepEqual(by("import { a as z, type G } from '../x/a.ts'\nimport type {\n  H,\n} from '../x/a.ts'"), [
    ...all.slice(1, 5),
    'src/x/a.ts I',
  ])
  assert.deepEqual(by("import * as all from '../x/a.ts'"), [])
  assert.deepEqual(by("const one = await import('../x/a.ts')"), [])
  assert.deepEqual(by("import { a } from './a.ts'"), all)
})
