// What the console never does, whoever writes a page.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blank, lineOf, sources } from '../conventions/source.ts'

const all = sources(['src/console'], ['.ts', '.tsx'])

const HABITS: [rule: string, pattern: RegExp][] = [
  [
    'strings become text, never markup',
    /\b(dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write)\b/g,
  ],
  ['the policy refuses style attributes: classes and element.style', /\sstyle=/g],
  ['code comes from files', /\beval\s*\(|new Function\b/g],
  ['tokens have no place in storage', /Storage\.setItem\([^)]*(token|password)/gi],
]
for (const [rule, pattern] of HABITS)
  test(rule, () => {
    const found = all.flatMap(({ file, text }) =>
      [...blank(text).matchAll(pattern)].map(({ index }) => `${file}:${lineOf(text, index)}`),
    )
    assert.deepEqual(found, [])
  })

test('every word on the screen comes from the words of a language', () => {
  const found = all
    .filter(({ file }) => file.endsWith('.tsx'))
    .flatMap(({ file, text }) => [
      ...[...text.matchAll(/>[^<>{}=;()]*\p{L}{3,}[^<>{}=;()]*<\//gu)].map(
        ({ 0: it, index }) => `${file}:${lineOf(text, index)} ${it}`,
      ),
      ...[...text.matchAll(/\s(alt|aria-label|label|placeholder|title)="[^"]+"/g)].map(
        ({ 0: it, index }) => `${file}:${lineOf(text, index)} ${it}`,
      ),
    ])
  assert.deepEqual(found, [])
})
