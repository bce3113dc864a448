import assert from 'node:assert/strict'
import { stripTypeScriptTypes } from 'node:module'
import { test } from 'node:test'
import { blank, lineOf, type Source, sources } from './source.ts'

const FILE_LINES = 400
const FUNCTION_LINES = 60
// With the functions inside it, which are not measured for themselves.
const COMPONENT_LINES = 120
// The places everybody reads first.
const SHORTER: Record<string, number> = { 'src/main.ts': 82, 'src/controller/controller.ts': 150 }
// Tables of records are as long as what they list.
const TABLE = /Routes$/

interface Span {
  name: string
  start: number
  end: number
}

interface Measured {
  name: string
  line: number
  /** First to last line, where a function inside counts as one: it is measured for itself, like a method of a class. */
  lines: number
}

const OPEN: Record<string, string> = { ')': '(', ']': '[', '}': '{' }
const CONTROL = /^(if|for|while|switch|catch|with|await)$/

/** Every function of a source, nested ones included. Types are erased first: what is left is plain structure. */
function functionsOf({ text }: Source): Measured[] {
  const code = blank(stripTypeScriptTypes(text))
  const pairs = pairsOf(code)
  const openers = new Map([...pairs].map(([open, close]) => [close, open]))
  const found: Span[] = []
  const add = (start: number, end: number) => found.push({ name: nameBefore(code, start), start, end })
  for (const [open, close] of pairs) {
    const parameters = code[open] === '{' ? openers.get(lastBefore(code, open)) : undefined
    if (parameters !== undefined && !CONTROL.test(wordBefore(code, parameters))) add(parameters, close)
  }
  for (const { index } of code.matchAll(/=>/g)) {
    const before = lastBefore(code, index)
    const start = openers.get(before) ?? before - wordBefore(code, before + 1).length + 1
    add(start, bodyEnd(code, index + 2, pairs))
  }
  return found.map((span) => ({ name: span.name, line: lineOf(code, span.start), lines: ownLines(code, span, found) }))
}

/** Components and what else stands at the top of a source with JSX, which nothing here can read further. */
function topLevelOf({ text }: Source): Measured[] {
  const lines = text.split('\n')
  return lines.flatMap((line, at) => {
    const name = /^(?:export )?(?:async )?(?:function|const) (\w+)/.exec(line)?.[1]
    const end = /[{(]$/.test(line) ? lines.findIndex((other, n) => n > at && /^[})]/.test(other)) : at
    return name ? [{ name, line: at + 1, lines: end - at + 1 }] : []
  })
}

const measured = (source: Source): Measured[] =>
  source.file.endsWith('.tsx') ? topLevelOf(source) : functionsOf(source)

function ownLines(code: string, span: Span, all: Span[]): number {
  const within = (a: Span, b: Span) => a !== b && a.start >= b.start && a.end <= b.end
  const extent = ({ start, end }: Span) => lineOf(code, end) - lineOf(code, start) + 1
  const inside = all.filter((other) => within(other, span))
  const direct = inside.filter((other) => !inside.some((between) => within(other, between)))
  return direct.reduce((lines, other) => lines - extent(other) + 1, extent(span))
}

/** Matching brackets: place of the opening one -> place of the closing one. */
function pairsOf(code: string): Map<number, number> {
  const pairs = new Map<number, number>()
  const stack: number[] = []
  for (let at = 0; at < code.length; at++) {
    const c = code[at] as string
    if ('([{'.includes(c)) stack.push(at)
    else if (c in OPEN) {
      const open = stack.pop() ?? -1
      assert.equal(code[open], OPEN[c], `brackets do not match in line ${lineOf(code, at)}`)
      pairs.set(open, at)
    }
  }
  assert.deepEqual(stack, [], 'a bracket stays open')
  return pairs
}

/** Where the body of an arrow function ends: its block, or the expression up to a comma, a bracket or a finished line. */
function bodyEnd(code: string, from: number, pairs: Map<number, number>): number {
  let at = from + (code.slice(from).match(/^\s*/)?.[0].length ?? 0)
  if (code[at] === '{') return pairs.get(at) ?? at
  for (; at < code.length; at++) {
    if (pairs.has(at)) at = pairs.get(at) as number
    else if (/[,;)\]}]/.test(code[at] as string)) break
    else if (code[at] === '\n' && !continues(code, at)) break
  }
  return at - 1
}

/** Whether the expression goes on behind this line's end: an operator ends this line or begins the next. */
const continues = (code: string, at: number): boolean =>
  /(=>|[=+\-*/%&|?:<>([{,])\s*$/.test(code.slice(Math.max(0, at - 40), at)) ||
  /^\s*[.?:+\-*/%&|<>=([]/.test(code.slice(at))

const lastBefore = (code: string, at: number): number => code.slice(0, at).trimEnd().length - 1
const wordBefore = (code: string, at: number): string =>
  /([\w$#]*)\s*$/.exec(code.slice(Math.max(0, at - 200), at))?.[1] ?? ''

function nameBefore(code: string, start: number): string {
  const before = code.slice(Math.max(0, start - 200), start)
  return /([\w$#]+)\s*(?:[=:]\s*)?(?:async\s*)?$/.exec(before)?.[1] ?? '(unnamed)'
}

const median = (numbers: number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0

test(`files have at most ${FILE_LINES} lines`, () => {
  const long = sources(['src', 'test', 'scripts'], ['.ts', '.tsx', '.mjs'])
    .map(({ file, text }) => ({ file, lines: text.split('\n').length - 1 }))
    .filter(({ file, lines }) => lines > (SHORTER[file] ?? FILE_LINES))
  assert.deepEqual(long, [])
})

test(`functions have at most ${FUNCTION_LINES} lines, components ${COMPONENT_LINES}, tables of routes excepted`, (t) => {
  const all = sources(['src'], ['.ts', '.tsx'])
    .filter(({ file }) => !file.endsWith('.d.ts'))
    .flatMap((source) => measured(source).map((f) => ({ file: source.file, ...f })))
  t.diagnostic(`${all.length} functions, median ${median(all.map((f) => f.lines))} lines`)
  const most = (file: string): number => (file.endsWith('.tsx') ? COMPONENT_LINES : FUNCTION_LINES)
  const long = all.filter((f) => f.lines > most(f.file) && !TABLE.test(f.name))
  assert.deepEqual(
    long.map((f) => `${f.file}:${f.line} ${f.name} has ${f.lines} lines`),
    [],
  )
})

test('the ruler measures every kind of function', () => {
  const text = `
function plain<T extends { a: string }>(x: T): { b: string } {
  if (x.a) {
    return { b: \`}\${x.a}{\` }
  }
  return { b: '}' } // }
}
export const arrow = async (a: number): Promise<void> => {
  for (const b of [a]) { void b }
}
const short = (a: number): number =>
  a / 2 +
  1
const list = () => [
  /[}/]/,
]
class Thing {
  run(this: Thing, a = (): number => 1): void {
    a()
  }
  get size(): number { return 1 }
}
const factory = (a: number) => {
  const helper = () => {
    return a
  }
  return {
    get(): number {
      return helper()
    },
  }
}
const table = { key: (x: string) => x, other: x => ({
  x }) }
`
  const measured = functionsOf({ file: 'x.ts', text }).map((f) => `${f.name} ${f.lines}`)
  assert.deepEqual(measured.sort(), [
    'a 1',
    'arrow 3',
    'factory 6',
    'get 3',
    'helper 3',
    'key 1',
    'list 3',
    'other 2',
    'plain 6',
    'run 3',
    'short 3',
    'size 1',
  ])
})
