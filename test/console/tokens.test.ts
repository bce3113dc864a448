// Every colour of text can be read on every ground it stands on, in both themes (WCAG 1.4.3, 1.4.11).
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { test } from 'node:test'

const css = fs.readFileSync(new URL('../../src/console/style/tokens.css', import.meta.url), 'utf8')
const tokens = new Map(
  [...css.matchAll(/--([\w-]+): light-dark\((#[\da-f]{6}), (#[\da-f]{6})\)/g)].map(([, name, light, dark]) => [
    name as string,
    { dark: dark as string, light: light as string },
  ]),
)

/** Relative luminance of `#rrggbb`. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: string, other: string): number {
  const [more = 0, less = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (more + 0.05) / (less + 0.05)
}

const GROUNDS = ['ground', 'surface', 'raised']
const PAIRS: [name: string, grounds: string[], least: number][] = [
  ...['text', 'quiet', 'accent', 'good', 'warn', 'bad', 'record'].map(
    (name) => [name, GROUNDS, 4.5] as [string, string[], number],
  ),
  ['on-accent', ['accent'], 4.5],
  ['control-line', ['ground', 'surface'], 3],
  ['focus', GROUNDS, 3],
]

test('the contrast of text is 4.5:1, of what surrounds controls 3:1', () => {
  const weak = PAIRS.flatMap(([name, grounds, least]) =>
    grounds.flatMap((ground) =>
      (['light', 'dark'] as const).flatMap((theme) => {
        const [front, back] = [tokens.get(name)?.[theme], tokens.get(ground)?.[theme]]
        assert.ok(front && back, `${name} on ${ground}`)
        const ratio = contrast(front, back)
        return ratio < least ? [`${name} on ${ground}, ${theme}: ${ratio.toFixed(2)}`] : []
      }),
    ),
  )
  assert.deepEqual(weak, [])
})
