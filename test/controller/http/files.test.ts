import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  byteRange,
  contentDisposition,
  type OutgoingFile,
  removeFiles,
  sendFile,
} from '../../../src/controller/http/files.ts'
import type { Incoming } from '../../../src/controller/http/route.ts'

const request = (
  headers: Record<string, string> = {},
  method = 'GET',
  signal = new AbortController().signal,
): Incoming => ({
  address: '',
  body: async function* () {},
  gone: () => signal,
  header: (name) => headers[name],
  method,
  network: '',
  overHttps: false,
  sameOrigin: () => true,
  whole: async () => [],
})

function world() {
  const root = mkdtempSync(join(tmpdir(), 'roomtone-files-'))
  writeFileSync(join(root, 'take.wav'), '0123456789')
  const file: OutgoingFile = {
    contentType: 'audio/wav',
    disposition: 'inline',
    name: { ascii: 'take.wav', unicode: 'take.wav' },
    path: 'take.wav',
    size: 10,
    storedAt: '2026-03-02T09:00:00.500Z',
    tag: 'sha256:abc',
  }
  const get = async (headers = {}, more: Partial<OutgoingFile> = {}, method = 'GET') => {
    const { response } = await sendFile(request(headers, method), root, { ...file, ...more })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  return { file, get, root, close: () => rmSync(root, { recursive: true, force: true }) }
}

test('one range is understood; none, several and nonsense mean the whole file', () => {
  const rows: [string | undefined, ReturnType<typeof byteRange>][] = [
    [undefined, 'whole'],
    ['bytes=0-0', { start: 0, end: 0 }],
    ['bytes=2-', { start: 2, end: 9 }],
    ['Bytes=2-99', { start: 2, end: 9 }],
    ['bytes=-3', { start: 7, end: 9 }],
    ['bytes=-99', { start: 0, end: 9 }],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=10-', 'unsatisfiable'],
    [`bytes=${'9'.repeat(400)}-`, 'unsatisfiable'],
    ['bytes=5-4', 'whole'],
    ['bytes=0-1,4-5', 'whole'],
    ['bytes=-', 'whole'],
    ['bytes=a-b', 'whole'],
    ['seconds=0-1', 'whole'],
  ]
  for (const [header, want] of rows) assert.deepEqual(byteRange(header, 10), want, header)
  assert.equal(byteRange('bytes=-1', 0), 'unsatisfiable')
})

test('conditional requests are judged in the order of the RFC', async () => {
  const w = world()
  const etag = '"sha256:abc"'
  const date = 'Mon, 02 Mar 2026 09:00:00 GMT'
  const later = 'Mon, 02 Mar 2026 10:00:00 GMT'
  const earlier = 'Mon, 02 Mar 2026 08:00:00 GMT'
  const range = { range: 'bytes=1-2' }
  const rows: [Record<string, string>, number][] = [
    [{ 'if-none-match': etag }, 304],
    [{ 'if-none-match': `"x", W/${etag}` }, 304],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': '"x"', 'if-modified-since': later }, 200],
    [{ 'if-modified-since': date }, 304],
    [{ 'if-modified-since': earlier }, 200],
    [{ 'if-modified-since': 'never' }, 200],
    [{ 'if-match': etag }, 200],
    [{ 'if-match': `W/${etag}` }, 412],
    [{ 'if-match': '"x"', 'if-none-match': etag }, 412],
    [{ 'if-unmodified-since': earlier }, 412],
    [{ 'if-unmodified-since': date }, 200],
    [{ ...range, 'if-range': etag }, 206],
    [{ ...range, 'if-range': `W/${etag}` }, 200],
    [{ ...range, 'if-range': '"x"' }, 200],
    [{ ...range, 'if-range': date }, 206],
    [{ ...range, 'if-range': later }, 200],
    [{ ...range, 'if-none-match': etag }, 304],
  ]
  for (const [headers, want] of rows) {
    const answer = await w.get(headers)
    assert.equal(answer.status, want, JSON.stringify(headers))
    assert.equal(answer.text, want === 206 ? '12' : want === 200 ? '0123456789' : '')
    assert.equal(answer.headers.get('etag'), etag)
  }
  w.close()
})

test('HEAD says what GET would, and knows no ranges', async () => {
  const w = world()
  const head = await w.get({ range: 'bytes=1-2' }, {}, 'HEAD')
  assert.deepEqual([head.status, head.text, head.headers.get('content-length')], [200, '', '10'])
  assert.deepEqual([head.headers.get('accept-ranges'), head.headers.get('content-range')], ['bytes', null])
  w.close()
})

test('a file that is shorter than it was stored is served without the tag that names other bytes', async () => {
  const w = world()
  const answer = await w.get({ range: 'bytes=8-', 'if-range': '"sha256:abc"' }, { size: 11 })
  assert.deepEqual([answer.status, answer.headers.get('etag'), answer.text], [200, null, '0123456789'])
  w.close()
})

test('what is missing, no file or outside of the root is unavailable', async () => {
  const w = world()
  const outside = world()
  symlinkSync(join(outside.root, 'take.wav'), join(w.root, 'link.wav'))
  symlinkSync('loop.wav', join(w.root, 'loop.wav'))
  for (const path of [
    'gone.wav',
    '../',
    '.',
    `../${outside.root.split('/').pop()}/take.wav`,
    'link.wav',
    'loop.wav',
    'take.wav/x',
    'x'.repeat(300),
  ])
    await assert.rejects(w.get({}, { path }), { status: 409, reason: 'recording_file_unavailable' }, path)
  w.close()
  outside.close()
})

test('bytes of another file of the same name never follow the headers', async () => {
  const w = world()
  const { response } = await sendFile(request(), w.root, w.file)
  rmSync(join(w.root, 'take.wav'))
  writeFileSync(join(w.root, 'take.wav'), 'abcdefghijkl')
  await assert.rejects(response.text(), /replaced/)
  w.close()
})

test('when the client has gone nothing more is read', async () => {
  const w = world()
  const gone = new AbortController()
  const { response } = await sendFile(request({}, 'GET', gone.signal), w.root, w.file)
  gone.abort()
  await assert.rejects(response.text(), /has gone/)
  w.close()
})

test('a name outside of ASCII is given twice', () => {
  const name = { ascii: "B_ro '1'.wav", unicode: "Büro '1'.wav" }
  assert.equal(contentDisposition('inline', { ascii: 'a.wav', unicode: 'a.wav' }), 'inline; filename="a.wav"')
  assert.equal(
    contentDisposition('attachment', name),
    `attachment; filename="B_ro '1'.wav"; filename*=UTF-8''B%C3%BCro%20%271%27.wav`,
  )
})

test('files are removed below the root only, and each failure is told', async () => {
  const w = world()
  const outside = world()
  symlinkSync(outside.root, join(w.root, 'out'))
  const left = await removeFiles(w.root, ['gone.wav', 'none/gone.wav', 'out/take.wav', '..', 'take.wav'])
  assert.deepEqual(
    left.map((file) => file.path),
    ['out/take.wav', '..'],
  )
  assert.equal((await outside.get()).status, 200)
  await assert.rejects(w.get(), { status: 409 })
  w.close()
  outside.close()
})
