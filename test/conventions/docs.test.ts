import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { anchors, defines } from './docs.ts'
import { sources } from './source.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
/** Every page of docs/, by its path below the project's root. */
const PAGES = readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
  .sort()
const OUTSIDE = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md']
const TEXTS = [...OUTSIDE, ...PAGES]
const RECORDS = PAGES.filter((page) => page.startsWith('docs/decisions/') && !page.endsWith('README.md'))

test('every place a page names is there', () => {
  const found = TEXTS.flatMap((page) => anchors(read(page)).map((anchor) => ({ page, ...anchor })))
  assert.ok(found.length > 50, `${found.length} places`)
  for (const { file, name, page } of found)
    assert.ok(
      existsSync(path.join(ROOT, file)) && defines(read(file), name),
      `${page}: ${file} does not define ${name}`,
    )
})

test('every file and folder a page names exists', () => {
  // What the recipe makes.
  const made = /sites|000N|<|X\./
  for (const page of TEXTS)
    for (const [, name = ''] of read(page).matchAll(/`((?:src|test|sql|scripts|systemd)\/[\w./<>*-]*)`/g))
      if (!made.test(name)) assert.ok(existsSync(path.join(ROOT, name)), `${page}: ${name} does not exist`)
})

test('the architecture tells of every folder of src', () => {
  assert.deepEqual(
    untold(read('docs/architecture.md'), 'src', ''),
    [],
    'docs/architecture.md: add a row to the table of the folder it is in, or name it in the row of that folder: what it owns',
  )
})

/**
 * The folders below `parent` that a page does not tell of: each begins a row of the table "Folder of `parent/`", or is named in
 * `row`, that of `parent` itself, where there is no such table.
 */
function untold(page: string, parent: string, row: string): string[] {
  const [, table] = page.split(`\n| Folder of \`${parent}/\` | `)
  const rows = table?.split('\n\n')[0]?.split('\n').slice(2)
  const folders = readdirSync(path.join(ROOT, parent), { withFileTypes: true }).filter((one) => one.isDirectory())
  return folders.flatMap(({ name }) => {
    const told = (text: string): boolean => text.includes(`\`${name}/\``)
    const own = rows ? rows.find((one) => told(one.split('|')[1] ?? '')) : told(row) ? row : undefined
    return own === undefined ? [`${parent}/${name}`] : untold(page, `${parent}/${name}`, own)
  })
}

test('decisions are numbered without gaps, are in the index, and say what would change them', () => {
  const index = read('docs/decisions/README.md')
  for (const [i, page] of RECORDS.entries()) {
    const number = String(i + 1).padStart(4, '0')
    const text = read(page)
    assert.ok(path.basename(page).startsWith(`${number}-`), page)
    assert.ok(text.startsWith(`# ADR-${number}: `) && /\nStatus: \w+.* · \d{4}-\d\d-\d\d\n/.test(text), page)
    assert.deepEqual(
      [...text.matchAll(/^## (.*)$/gm)].map(([, title]) => title),
      ['Context', 'Decision', 'Consequences', 'What would change it'],
      page,
    )
    assert.ok(index.includes(`[ADR-${number}](${path.basename(page)})`), `${page} is not in the index`)
  }
})

test('every link leads somewhere, and every page is linked from the README or from an index the README links', () => {
  const linked = new Set<string>()
  for (const page of TEXTS)
    for (const [, to = '', heading] of read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)) {
      const file = to ? path.join(path.dirname(page), to) : page
      assert.ok(existsSync(path.join(ROOT, file)), `${page}: ${to}`)
      if (heading) assert.ok(headings(read(file)).includes(heading), `${page}: ${to}#${heading}`)
      linked.add(file)
    }
  assert.deepEqual(
    PAGES.filter((page) => !linked.has(page)),
    [],
  )
})

/** The names of a page's headings in links. */
const headings = (text: string): string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  )

const CITED = /ADR-(\d{4})|`?(docs\/contract\/[\w-]+\.md)`?(?:: ([A-Z][\w ,-]*\w))?/g

test('what comments cite is there', () => {
  // A citation may go on in the next line of its comment.
  for (const { file, text } of sources(['src', 'test', 'scripts', 'sql'], ['.ts', '.mjs', '.sql']))
    for (const [cited, record, page, section] of text.replaceAll(/\n\s*(\/\/|\*|--) /g, ' ').matchAll(CITED)) {
      const where = `${file} cites ${cited}`
      if (record)
        assert.ok(
          RECORDS.some((one) => path.basename(one).startsWith(record)),
          where,
        )
      if (!page) continue
      assert.ok(existsSync(path.join(ROOT, page)), where)
      const titles = [...read(page).matchAll(/^## (.*)$/gm)].map(([, title = '']) => title)
      if (section)
        assert.ok(
          titles.some((title) => section.startsWith(title)),
          `${where}, which has ${titles.join(', ')}`,
        )
    }
})

test('nothing cites a document that is not in the repository', () => {
  const outside = /\bcontract [A-Z]\b|\bcontract,? section\b|\bdecisions? \d|\bthe specification\b/gi
  const found = sources(['src', 'test', 'scripts', 'sql'], ['.ts', '.mjs', '.sql'])
    .filter(({ file }) => !file.endsWith('docs.test.ts'))
    .flatMap(({ file, text }) => [...text.matchAll(outside)].map(([cited]) => `${file}: ${cited}`))
  assert.deepEqual(found, [])
})
