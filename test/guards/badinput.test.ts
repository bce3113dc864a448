import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import * as net from 'node:net'
import { after, before, test } from 'node:test'
import * as z from 'zod'
import type { AnyRoute } from '../../src/controller/edge/route.ts'
import { Server } from '../../src/controller/edge/server.ts'
import { type Answer, kit } from '../kit/kit.ts'
import { lastRow, requestOf, rowsSince, seed, targetType, things, undone } from './world.ts'

const RUNNER = 'runner-token-0123456789'
const k = kit({
  env: { SVC_RUNNER_TOKEN: RUNNER, SVC_LOGIN_FAILURE_LIMIT: '1000000', SVC_AUDIT_MACHINE_WINDOW_SECONDS: '0' },
})
after(() => k.close())

const tables = () =>
  k
    .rows<{ name: string }>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'audit_events' AND name NOT LIKE 'sqlite_%'`,
    )
    .map((t) => k.db.raw.prepare(`SELECT * FROM ${t.name}`))
let dumps: ReturnType<typeof tables> | undefined

/** Everything but the audit, as one hash. */
function fingerprint(): string {
  dumps ??= tables()
  return createHash('sha256')
    .update(JSON.stringify(dumps.map((t) => t.all())))
    .digest('hex')
}

let clean = ''
before(() => {
  seed(k)
  k.as('owner')
  // A credential just used is not touched again: what changes is the request's doing.
  k.sql('UPDATE node_credentials SET last_used_at = ?', k.now())
  k.sql(
    `INSERT INTO bootstrap_tokens VALUES ('${createHash('sha256').update('svc_bs_good').digest('hex')}', 'svc_bs_good', 'n1', NULL, ?, '2099-01-01T00:00:00.000Z', NULL)`,
    k.now(),
  )
  clean = fingerprint()
})

const line = (r: AnyRoute): string => `${r.method} ${r.path} (${r.auth})`
const tokenFor = (r: AnyRoute): string | undefined =>
  ({ user: 'svc_owner', node: 'svc_node_n1', bootstrap: 'svc_bs_good', runner: RUNNER, none: 'svc_owner' })[
    r.auth as string
  ]

type Sent = {
  body?: string | Uint8Array
  headers?: Record<string, string>
  path?: string
  query?: string
  what: string
}

const LARGEST_ANSWER = 64 * 1024

/** Sends it, takes it back, and says what is wrong with the answer. */
async function attempt(r: AnyRoute, sent: Sent): Promise<{ answer: Answer; complaints: string[] }> {
  return undone(k, async () => {
    const since = lastRow(k)
    const type = targetType(r)
    const path = sent.path ?? requestOf(r, type ? things(type)[0] : undefined, 'n1').path
    const headers = sent.headers ?? {}
    const answer = await k.bearer(tokenFor(r)).send(r.method, `${path}${sent.query ?? ''}`, sent.body, headers)
    const complaints: string[] = []
    const say = (words: string) => complaints.push(`${line(r)} with ${sent.what}: ${words}`)
    const { status } = answer
    if (status >= 500) say(`answers ${status} ${answer.text.slice(0, 200)}`)
    if (status < 400) return { answer, complaints }
    if (typeof answer.json?.error !== 'string' || answer.json.error === '')
      say(`has no error text: ${answer.text.slice(0, 100)}`)
    if (status === 400 && !Array.isArray(answer.json?.issues)) say('is a 400 without issues')
    if (answer.text.length > LARGEST_ANSWER) say(`answers with ${answer.text.length} bytes`)
    // A failed upload opens a health event, which the recording shows: that is all it may leave.
    if (r.path.endsWith('/cache-file')) {
      k.sql(`DELETE FROM health_events WHERE type = 'controller.recording.cache_file_failed'`)
      k.sql(`UPDATE recordings SET health_status = 'unknown', updated_at = recorded_at`)
    }
    if (status < 500 && fingerprint() !== clean) say(`answers ${status} and has changed the database`)
    const told = rowsSince(k, since).some((row) => row.outcome === 'failed' || row.outcome === 'denied')
    if (!told && r.audit !== 'none') say(`answers ${status} and leaves no audit row`)
    return { answer, complaints }
  })
}

async function sweep(cases: Iterable<[AnyRoute, Sent]>, least: number): Promise<void> {
  const wrong: string[] = []
  let count = 0
  for (const [r, sent] of cases) {
    count++
    wrong.push(...(await attempt(r, sent)).complaints)
  }
  assert.deepEqual(wrong.slice(0, 40), [])
  assert.ok(count >= least, `${count} cases`)
}

interface Json {
  properties?: Record<string, Json>
}
const fieldsOf = (schema: z.ZodType): string[] =>
  Object.keys((z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json).properties ?? {})

// One good body per route: a field is wrong alone, everything else is right. Routes not named here have none.
const NODE = { alias: 'A', hostname: 'h', location: { site: 'North', room: 'Hall' } }
const INTERFACE = { alias: 'A', systemName: 'a', systemRef: 'hw:A', backend: 'alsa', channelCount: 2 }
const GOOD: Record<string, object> = {
  'POST /auth/login': { email: 'a@example.org', password: 'not-the-password' },
  'POST /auth/users': { email: 'b@example.org', name: 'B', password: 'good-password', roles: ['viewer'] },
  'PATCH /auth/users/:id/access': { roles: ['viewer'], groupIds: [], resourceGrants: [] },
  'PATCH /auth/users/:id/password': { password: 'good-password' },
  'PATCH /auth/users/:id/status': { disabled: true },
  'POST /auth/groups': { name: 'G', memberIds: [] },
  'PATCH /auth/groups/:id': { name: 'G' },
  'PUT /auth/groups/:id/members': { memberIds: ['somebody'] },
  'PATCH /auth/access-policies': {
    policies: [{ effect: 'allow', subjectType: 'everyone', resourceType: 'node', resourceId: 'n1' }],
  },
  'PATCH /nodes/:id': { alias: 'B', tags: ['x'] },
  'PATCH /nodes/:id/interfaces/:iid': { alias: 'B' },
  'POST /nodes/enroll': { ...NODE, interfaces: [INTERFACE] },
  'POST /nodes/:id/bootstrap-token': { ttlSeconds: 60 },
  'POST /nodes/:id/heartbeat': { agentVersion: '1', hostname: 'h', status: 'online' },
  'POST /nodes/:id/inventory': { interfaces: [INTERFACE] },
  'POST /nodes/:id/health-events': { type: 'capture.failed', severity: 'warning', details: { a: 1 } },
  'POST /recordings': { nodeId: 'n1', name: 'T', durationSeconds: 5 },
  'POST /settings/recording-profiles': { name: 'P', codec: 'wav', bitrateKbps: 128 },
  'PATCH /settings/recording-profiles/:id': { name: 'P' },
  'POST /rooms': { name: 'R', site: 'North' },
  'PATCH /rooms/:roomId': { name: 'R' },
  'PUT /rooms/:roomId/roster': { entries: [{ capabilities: ['view'], subjectId: 'somebody', subjectType: 'user' }] },
}
const good = (r: AnyRoute): Record<string, unknown> => ({ ...GOOD[`${r.method} ${r.path}`] })

const bodied = k.routes.filter((r) => r.body)
const raw = (body: string | Uint8Array, what: string): Sent => ({ body, what })

const NEEDS_NOTHING: string[] = []

test('the good bodies are good: what is refused below is refused for its one fault', async () => {
  const missing = bodied.filter((r) => !GOOD[`${r.method} ${r.path}`]).map((r) => r.path)
  // All of these take an empty body.
  assert.deepEqual(missing.sort(), NEEDS_NOTHING)
  for (const r of bodied.filter((one) => !/login|claim|bootstrap$/.test(one.path))) {
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
  for (const r of bodied) {
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

test('every field of every body, with every wrong type', async () => sweep(fieldCases(), 1500))

const bytes = (...values: number[]) => Uint8Array.from(values)
const DEEP = 100_000

function* wholeBodies(): Iterable<[AnyRoute, Sent]> {
  for (const r of bodied) {
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
      yield [r, raw(JSON.stringify({ ...base, [field]: Array(200_000).fill(1) }), `a long list as ${field}`)]
      yield [
        r,
        raw(
          JSON.stringify({
            ...base,
            [field]: Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`k${i}`, i])),
          }),
          `many members in ${field}`,
        ),
      ]
    }
    yield [
      r,
      raw(
        JSON.stringify({ ...base, ...Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`k${i}`, i])) }),
        'many unknown keys',
      ),
    ]
    yield [r, raw(JSON.stringify({ ...base, unknownKey: 1 }), 'an unknown key')]
  }
}

test('bodies that are not what they should be, as a whole', async () => sweep(wholeBodies(), 500))

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
  for (const r of k.routes.filter((one) => one.query)) {
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

test('queries that make no sense', async () => sweep(queryCases(), 600))

const AUTHORIZATIONS = [
  '',
  'Bearer',
  'Bearer ',
  'bearer  svc_owner',
  'Basic YTpi',
  'Bearer svc_owner extra',
  `Bearer ${'x'.repeat(8000)}`,
  "Bearer ' OR 1=1 --",
  'svc_owner',
  'Bearer null',
  'Bearer svc_',
  'Bearer svc_node_',
  'Token svc_owner',
  'BEARER\tsvc_owner',
]

test('authorization headers of any shape: 401 or served, never an error', async () => {
  for (const r of k.routes.filter((one) => one.audit !== 'none'))
    for (const authorization of AUTHORIZATIONS) {
      const { path, body } = requestOf(r, undefined, 'n1')
      const { answer, rows } = await undone(k, async () => {
        const since = lastRow(k)
        const answer = await k.anonymous.send(r.method, path, body, { authorization })
        return { answer, rows: rowsSince(k, since) }
      })
      assert.ok(answer.status < 500, `${line(r)} with ${authorization}: ${answer.status}`)
      const served = /^bearer svc_owner( |$)/i.test(authorization)
      if (r.auth === 'user' && !served) assert.equal(answer.status, 401, `${line(r)} with ${authorization}`)
      if (answer.status === 401) assert.equal(rows.filter((row) => row.outcome === 'denied').length, 1, line(r))
    }
})

const HEADERS: Record<string, string[]> = {
  range: [
    'bytes=',
    'bytes=-',
    'bytes=a-b',
    'bytes=9-1',
    'bytes=0-0,5-6',
    'bytes=99999999999999999999-',
    'items=0-1',
    'x',
    'bytes=-0',
  ],
  'if-range': ['x', '"', 'W/"x"', 'Mon, 99 Foo'],
  'if-none-match': ['', '"', '*', 'x'.repeat(5000)],
  'if-modified-since': ['yesterday', '0', '-1'],
  'content-type': ['', 'text/plain', 'application/json; charset=utf-16', 'multipart/form-data', 'x'.repeat(2000)],
  'content-length': ['-1', 'x', '1e9', '0'],
  'upload-offset': ['-1', 'x', '1e9', '99999999999999999999', '1.5'],
  'upload-complete': ['?2', 'x', ''],
  'upload-length': ['-1', 'x', '99999999999999999999'],
  'content-digest': ['x', 'sha-256=', 'sha-256=:x:', 'md5=:x:', 'sha-256=:!!!!:'],
  'x-forwarded-for': ['x'.repeat(5000), ',,,', "' OR 1=1"],
  'x-svc-session-id': ['x'.repeat(5000)],
  'user-agent': ['x'.repeat(8000), ''],
  'x-svc-recording-job-id': ['x'.repeat(5000), '../x', ''],
  'x-svc-file-name': ['../../etc/passwd', 'x'.repeat(5000), '%00', ''],
  'x-svc-duration-seconds': ['-1', 'x', '1e99'],
  origin: ['null', 'x', 'http://evil.example'],
}

function* headerCases(): Iterable<[AnyRoute, Sent]> {
  for (const r of k.routes)
    for (const [name, values] of Object.entries(HEADERS))
      for (const value of values) {
        const body = r.body ? JSON.stringify(good(r)) : r.method === 'PUT' ? 'not audio' : undefined
        if (r.path === '/auth/login' || /password|auth\/users$/.test(r.path)) continue
        yield [r, { headers: { [name]: value }, what: `${name}: ${value.slice(0, 40)}`, ...(body ? { body } : {}) }]
      }
}

test('headers that make no sense', async () => sweep(headerCases(), 2000))

/** Raw bytes over a real connection; what came back until the other side closed, or fell silent after an answer. */
const speak = (url: string, text: string): Promise<string> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(url)
    const socket = net.connect(Number(port), hostname, () => socket.write(text))
    let got = ''
    socket.on('data', (chunk) => {
      got += chunk
      if (got.includes('\r\n\r\n')) socket.end()
    })
    socket.on('error', () => resolve(got))
    socket.on('close', () => resolve(got))
    // Half of a request, and no more of it: the peer has gone.
    if (text.endsWith('~')) setImmediate(() => socket.end())
  })

test('on the wire: lengths that lie, broken requests, absurd headers leave the server serving', async () => {
  const server = new Server(k.app, undefined)
  const url = await server.listen('127.0.0.1', 0)
  const post = (headers: string, body: string) =>
    `POST /api/v1/rooms HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer svc_owner\r\n${headers}\r\n\r\n${body}`
  const bodies = [
    post('Content-Length: 2', '{}'),
    post('Content-Length: 1', '{"name":"R"}'),
    post('Content-Length: 9000', '{"name":~'),
    post('Content-Length: -5', '{}'),
    post('Content-Length: 2\r\nContent-Length: 7', '{}'),
    post('Content-Length: 2\r\nTransfer-Encoding: chunked', '0\r\n\r\n'),
    post('Transfer-Encoding: chunked', 'zz\r\n{}\r\n0\r\n\r\n'),
    post('Transfer-Encoding: chunked', '2\r\n{}\r\n0\r\n\r\n'),
    post(`X-Long: ${'x'.repeat(40_000)}`, ''),
    post('Content-Length: 99999999999999', '{}'),
    'GET / HTTP/9.9\r\n\r\n',
    'NONSENSE\r\n\r\n',
    `GET /api/v1/${'x'.repeat(60_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    'GET /api/v1/nodes\u0000 HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET http:// HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET //api/v1/nodes HTTP/1.1\r\nHost: [\r\n\r\n',
    'GET /api/v1/nodes HTTP/1.1\r\n\r\n',
    'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n',
  ]
  try {
    for (const text of bodies) {
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(await speak(url, text))?.[1] ?? 0)
      assert.ok(status < 500, `${status} for ${text.slice(0, 120)}`)
    }
    assert.match(await speak(url, 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'), /^HTTP\/1\.1 200/)
    assert.equal(fingerprint(), clean)
  } finally {
    await server.close(100)
  }
})

test('none of all this was logged as a bug', () => {
  assert.deepEqual(
    k.logged.filter((entry) => entry.includes('"level":"error"')),
    [],
  )
})
