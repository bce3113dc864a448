import assert from 'node:assert/strict'
import * as net from 'node:net'
import { test } from 'node:test'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { Server } from '../../src/controller/http/server.ts'
import { lastRow, requestOf, rowsSince, undone } from '../conventions/world.ts'
import { attempt, clean, fingerprint, good, k, line, peerless, type Sent, sweep } from './sweep.ts'

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
      const good = answer.status < 500 || peerless(r, answer.status)
      assert.ok(good, `${line(r)} with ${authorization}: ${answer.status}`)
      const served = /^bearer svc_owner( |$)/i.test(authorization)
      if (r.auth === 'user' && !served) assert.equal(answer.status, 401, `${line(r)} with ${authorization}`)
      if (answer.status === 401) assert.equal(rows.filter((row) => row.outcome === 'denied').length, 1, line(r))
    }
})

const HEADERS: Record<string, string[]> = {
  cookie: [
    '',
    ';',
    '=',
    'svc_session=',
    'svc_session=svc_cookie_x',
    `svc_session=svc_cookie_${'x'.repeat(9000)}`,
    'svc_session=a; svc_session=b',
  ],
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
  'x-svc-rendition-details': ['{', '%', '%7B%7D', 'null', '%5B1%5D', '%7B%22gaps%22%3A1%7D', 'x'.repeat(9000)],
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

test('the take that ranges are asked of is there', async () => {
  for (const r of k.routes.filter((one) => /^\/recordings\/.*\/(stream|file)$/.test(one.path))) {
    const { answer } = await attempt(r, { headers: { range: 'bytes=0-1' }, what: 'a good range' })
    assert.equal(answer.status, 206)
  }
})

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
