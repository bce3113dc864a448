import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { anchors, defines } from './docs.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
const GUIDE = read('src/GUIDE.md')

test('every place the guide names is there', () => {
  const found = anchors(GUIDE)
  assert.ok(found.length > 25, `${found.length} places`)
  for (const { file, name } of found)
    assert.ok(existsSync(path.join(ROOT, file)) && defines(read(file), name), `${file} does not define ${name}`)
})

test('every file and folder the guide, the decisions, the README and docs/ name exists', () => {
  const pages = readdirSync(path.join(ROOT, 'docs')).map((name) => read(`docs/${name}`))
  const texts = [GUIDE, read('src/DECISIONS.md'), read('README.md'), ...pages]
  // What the recipe makes.
  const made = /sites|000N|<|X\./
  for (const text of texts)
    for (const [, name = ''] of text.matchAll(/`((?:src|test|sql|scripts|systemd)\/[\w./<>*-]*)`/g))
      if (!made.test(name)) assert.ok(existsSync(path.join(ROOT, name)), `${name} does not exist`)
})

test('decisions are numbered without gaps and say what would change them', () => {
  const paragraphs = read('src/DECISIONS.md')
    .split(/\n(?=\d+\. )/)
    .slice(1)
  for (const [i, text] of paragraphs.entries()) {
    assert.ok(text.startsWith(`${i + 1}. **`), text.slice(0, 60))
    assert.match(text, /\*Would\s+change\s+it:\*/, text.slice(0, 60))
  }
})

test('every link of the README and of docs/ leads somewhere, and every page is in the README', () => {
  const pages = readdirSync(path.join(ROOT, 'docs')).map((name) => `docs/${name}`)
  for (const page of ['README.md', ...pages])
    for (const [, to = ''] of read(page).matchAll(/\]\((?!https?:)([^)#\s]+)/g))
      assert.ok(existsSync(path.join(ROOT, path.dirname(page), to)), `${page}: ${to}`)
  for (const page of pages) assert.ok(read('README.md').includes(`](${page})`), page)
})
