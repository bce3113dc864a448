import assert from 'node:assert/strict'
import { test } from 'node:test'
import type * as z from 'zod'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { requestOf, undone } from '../conventions/world.ts'
import { ofTurn, shareOf } from '../kit/turn.ts'
import { attempt, fieldsOf, GOOD, good, k, line, raw, type Sent, sweep, tokenFor } from './sweep.ts'

const bodied = k.routes.filter((r) => r.body)

const NEEDS_NOTHING = [
  '/nodes/:id/recording-jobs/claim-next',
  '/nodes/:id/recording-jobs/claim-next-group',
  '/nodes/:id/ssh-credential/rotate',
  '/recording-jobs/:id/heartbeat',
  '/schedules/:id/skip-next',
]

test('the good bodies are good: what is refused below is refused for its one fault', async () => {
  const missing = bodied.filter((r) => !GOOD[`${r.method} ${r.path}`]).map((r) => r.path)
  // All of these take an empty body.
  assert.deepEqual(
    missing.sort(),
    NEEDS_NOTHING,
    'a record with a body: one good body in GOOD (sweep.ts), unless {} is one',
  )
  for (const r of bodied.filter(
    (one) =>
      !/login|pair$|sign-in-link|display-session|me\/password|claim|doctor-report|jobs\/offer|jobs\/:id\/heartbeat|lifecycle\/:action|restore/.test(
        one.path,
      ),
  )) {
    const { answer } = await attempt(r, raw(JSON.stringify(good(r)), 'its good body'))
    assert.ok(answer.status < 300, `${line(r)} answers ${answer.text}`)
  }
})

const HUGE = 'a'.repeat(900_000)
const NASTY = [
  `\u0000`,
  '\ud800',
  '../../etc/passwd',
  `'; DROP TABLE users; --`,
  '%s%n',
  '\u202egpj.exe',
  '🎙️'.repeat(50),
  'x'.repeat(5000),
]
const WRONG: unknown[] = [
  null,
  0,
  -1,
  1.5,
  1e308,
  '',
  ' ',
  true,
  false,
  [],
  {},
  [null],
  [[]],
  [{}],
  { a: { b: 1 } },
  ...NASTY,
]

function* fieldCases(): Iterable<[AnyRoute, Sent]> {
  for (const r of ofTurn(bodied)) {
    const base = good(r)
    for (const field of fieldsOf(r.body as z.ZodType)) {
      for (const value of WRONG)
        yield [r, raw(JSON.stringify({ ...base, [field]: value }), `${field} = ${JSON.stringify(value)?.slice(0, 40)}`)]
      const { [field]: _, ...rest } = base
      yield [r, raw(JSON.stringify(rest), `no ${field}`)]
      yield [r, raw(JSON.stringify({ ...base, [field]: HUGE }), `a huge ${field}`)]
      // Wrong one level down: each member of an object or of a list's first element.
      for (const [place, wrongs] of nested(base[field]))
        for (const value of wrongs)
          yield [r, raw(JSON.stringify({ ...base, [field]: value }), `${field}.${place} wrong`)]
    }
  }
}

function* nested(value: unknown): Iterable<[string, unknown[]]> {
  const first = Array.isArray(value) ? value[0] : value
  if (typeof first !== 'object' || first === null) return
  for (const key of Object.keys(first)) {
    const changed = WRONG.map((wrong) => ({ ...first, [key]: wrong }))
    yield [key, Array.isArray(value) ? changed.map((one) => [one]) : changed]
  }
}

test('every field of every body, with every wrong type', async () => sweep(fieldCases(), shareOf(1000)))

const bytes = (...values: number[]) => Uint8Array.from(values)
const DEEP = 100_000

const LONG_LIST = JSON.stringify(Array(200_000).fill(1))
const MANY_MEMBERS = Array.from({ length: 50_000 }, (_, i) => `"k${i}":${i}`).join(',')

function* wholeBodies(): Iterable<[AnyRoute, Sent]> {
  for (const r of ofTurn(bodied)) {
    const base = good(r)
    const text = JSON.stringify(base)
    for (const body of [
      'null',
      '[]',
      '[[]]',
      '"x"',
      '3',
      'true',
      '{}',
      '',
      ' ',
      '\ufeff{}',
      'undefined',
      '{',
      '{"a":',
      `${text}}`,
      `${text}{}`,
    ])
      yield [r, raw(body, `the body ${body.slice(0, 30)}`)]
    for (let cut = 1; cut < text.length; cut += Math.max(1, Math.floor(text.length / 5)))
      yield [r, raw(text.slice(0, cut), 'a body that breaks off')]
    yield [r, raw(bytes(0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d), 'invalid UTF-8')]
    yield [r, raw(bytes(0xed, 0xa0, 0x80), 'a surrogate in UTF-8')]
    yield [r, raw(Buffer.from(text, 'utf16le'), 'UTF-16')]
    yield [r, raw('['.repeat(DEEP), 'brackets that never close')]
    yield [r, raw(`${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`, 'deep nesting')]
    yield [r, raw(`"${'\\"'.repeat(500_000)}`, 'a string that never closes')]
    yield [r, raw(`{"__proto__":{"admin":true},${text.slice(1)}`, '__proto__')]
    yield [r, raw(`{"constructor":{"prototype":{"admin":true}},${text.slice(1)}`, 'constructor')]
    for (const field of Object.keys(base)) {
      yield [r, raw(`{"${field}":{"a":[1]},${text.slice(1)}`, `${field} twice`)]
      yield [r, raw(`${text.slice(0, -1)},"${field}":{"a":[1]}}`, `${field} twice, wrong last`)]
      const { [field]: _, ...rest } = base
      const others = JSON.stringify(rest).slice(1, -1)
      const holding = (value: string) => `{"${field}":${value}${others && `,${others}`}}`
      yield [r, raw(holding(LONG_LIST), `a long list as ${field}`)]
      yield [r, raw(holding(`{${MANY_MEMBERS}}`), `many members in ${field}`)]
    }
    yield [r, raw(`{${MANY_MEMBERS}${text === '{}' ? '' : `,${text.slice(1, -1)}`}}`, 'many unknown keys')]
    yield [r, raw(JSON.stringify({ ...base, unknownKey: 1 }), 'an unknown key')]
  }
}

test('bodies that are not what they should be, as a whole', async () => sweep(wholeBodies(), shareOf(400)))

test('what is not UTF-8, not JSON or too deep is a 400 on every route that reads a body', async () => {
  const fill = (inner: Uint8Array): Buffer => Buffer.concat([Buffer.from('{"name":"'), inner, Buffer.from('"}')])
  const unreadable = [
    ...[bytes(0xff, 0xfe), bytes(0xc3), bytes(0xed, 0xa0, 0x80), bytes(0xc0, 0xaf)].map(fill),
    ...['{"a":', '{} {}', "{'a':1}", 'undefined', `${'['.repeat(65)}${']'.repeat(65)}`],
  ]
  for (const r of bodied)
    for (const body of unreadable) {
      const { answer, complaints } = await attempt(r, raw(body, 'what cannot be read'))
      assert.deepEqual(complaints, [])
      const where = `${line(r)} ${String(body).slice(0, 40)}`
      // Some tell who guesses nothing.
      if (r.badBody) assert.deepEqual([answer.status, answer.json], [401, { error: r.badBody().message }], where)
      else assert.deepEqual([answer.status, answer.json.issues[0].code], [400, 'invalid_json'], where)
    }
})

test('a body above 1 MiB is 413, whether it says so or not', async () => {
  for (const r of bodied) {
    const body = JSON.stringify({ ...good(r), filler: 'a'.repeat(1024 * 1024) })
    for (const headers of [{} as Record<string, string>, { 'content-length': String(body.length) }]) {
      const { answer, complaints } = await attempt(r, { body, headers, what: '1 MiB' })
      assert.deepEqual(complaints, [])
      assert.equal(answer.status, 413, line(r))
    }
  }
})

test('nothing of a body pollutes objects', async () => {
  const r = bodied.find((one) => one.path === '/rooms') as AnyRoute
  await attempt(r, raw('{"__proto__":{"polluted":1},"name":"R","site":"S"}', '__proto__'))
  assert.equal(({} as { polluted?: number }).polluted, undefined)
})

const IDS = [
  '..%2F..%2Fetc%2Fpasswd',
  '%2e%2e%2f',
  '..%5C..',
  '%00',
  'r1%00.wav',
  'x'.repeat(10_000),
  encodeURIComponent('🎙️'),
  encodeURIComponent(`'; DROP TABLE users; --`),
  '%20',
  '%',
  '%zz',
  '%ff%fe',
  '*',
  '%2A',
  '__proto__',
  'constructor',
  'r1%2Fstream',
  '%7B%7D',
  '-1',
  'null',
]

function* pathCases(): Iterable<[AnyRoute, Sent]> {
  for (const r of k.routes)
    for (const name of r.path.matchAll(/:(\w+)/g))
      for (const id of IDS) {
        const filled = requestOf(r, undefined, 'n1').path.split('/')
        filled[r.path.split('/').indexOf(name[0])] = id
        const body = r.body ? JSON.stringify(good(r)) : undefined
        yield [r, { path: filled.join('/'), what: `${name[0]} = ${id.slice(0, 40)}`, ...(body ? { body } : {}) }]
      }
}

test('ids in paths that are no ids', async () => sweep(pathCases(), 800))

test('dots for an id lead to no route at all', async () => {
  for (const dots of ['..', '%2E%2E', '.%2e']) {
    const answer = await k.bearer('svc_owner').get(`/recordings/${dots}/stream`)
    assert.equal(answer.status, 404)
    assert.deepEqual(answer.json, { error: 'Not found' })
  }
})

test('an empty id finds no route, and never another resource', async () => {
  for (const r of k.routes.filter((one) => one.path.includes(':'))) {
    const path = r.path.replace(/:\w+/g, '')
    const answer = await undone(k, () => k.bearer(tokenFor(r)).send(r.method, path, r.body ? {} : undefined))
    assert.ok(
      [404, 405].includes(answer.status) || k.routes.some((o) => o.path === path),
      `${line(r)} ${answer.status}`,
    )
    assert.ok(answer.status < 500)
  }
})

const GARBAGE = [
  '',
  ' ',
  'x',
  '-1',
  '0',
  '1.5',
  '1e9',
  'NaN',
  'null',
  '%00',
  '%ff',
  '2026-99-99',
  '99999999999999999999',
  encodeURIComponent(`' OR 1=1 --`),
  'x'.repeat(10_000),
  '%25%5F',
  '[]',
]

function* queryCases(): Iterable<[AnyRoute, Sent]> {
  for (const r of ofTurn(k.routes.filter((one) => one.query))) {
    for (const name of fieldsOf(r.query as z.ZodType))
      for (const value of GARBAGE) {
        // A claim that is told to wait, waits.
        if (name === 'waitSeconds' && /^[1-9]/.test(value)) continue
        yield [r, { query: `?${name}=${value}`, what: `${name}=${value.slice(0, 30)}` }]
        yield [r, { query: `?${name}=${value}&${name}=2`, what: `${name} twice` }]
        yield [r, { query: `?${name}[]=${value}&${name}[a]=1`, what: `${name} as a list` }]
      }
    yield [r, { query: '?__proto__=1&constructor=2&toString=3', what: 'names of the language' }]
    yield [r, { query: '?&&=&=x&%=%', what: 'no names at all' }]
    yield [r, { query: `?${'a=1&'.repeat(5000)}`, what: 'thousands of parameters' }]
  }
}

test('queries that make no sense', async () => sweep(queryCases(), shareOf(400)))

test('none of all this was logged as a bug', () => {
  assert.deepEqual(
    k.logged.filter((entry) => entry.includes('"level":"error"')),
    [],
  )
})
