import assert from 'node:assert/strict'
import { readdirSync, readlinkSync, rmSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { serve } from '@hono/node-server'
import { type Kit, kit } from '../../../kit/kit.ts'
import { pattern, takes } from './takes.ts'

interface Wire {
  body: Buffer
  headers: IncomingHttpHeaders
  status: number
}

/** The controller behind a real listener on loopback. */
async function listening(k: Kit) {
  k.as('admin')
  const server = serve({ fetch: k.app.fetch, hostname: '127.0.0.1', port: 0 }) as Server
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const open = (method: string, path: string, headers = {}) =>
    httpRequest({
      port,
      host: '127.0.0.1',
      path: `/api/v1${path}`,
      method,
      headers: { authorization: 'Bearer svc_admin', ...headers },
    }).end()
  return {
    open,
    send: (method: string, path: string, headers = {}): Promise<Wire> =>
      new Promise((resolve, reject) => {
        open(method, path, headers)
          .once('error', reject)
          .once('response', async (response) => {
            const parts: Buffer[] = []
            for await (const part of response) parts.push(part)
            resolve({ body: Buffer.concat(parts), headers: response.headers, status: response.statusCode ?? 0 })
          })
      }),
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
      await k.close()
    },
  }
}

/** Descriptors of this process that are open on files below `dir`. */
function openBelow(dir: string): number {
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return '' // the descriptor that listed the directory is gone by now
    }
  })
  return targets.filter((target) => target.startsWith(dir)).length
}

const eventually = async (what: () => boolean): Promise<void> => {
  while (!what()) await new Promise((resolve) => setImmediate(resolve))
}

test('over a real connection: whole, ranged and conditional answers are exact to the byte', async () => {
  const k = kit()
  const t = takes(k)
  const wav = pattern(3_000_001)
  t.recording('r1', { name: 'Büro 09:00' })
  t.file('r1', 'raw', wav)
  const http = await listening(k)
  const path = '/recordings/r1/stream'
  const whole = await http.send('GET', path)
  assert.equal(whole.status, 200)
  assert.ok(whole.body.equals(wav))
  assert.equal(whole.headers['content-length'], '3000001')
  assert.equal(whole.headers['transfer-encoding'], undefined)
  assert.equal(whole.headers['content-type'], 'audio/wav')
  assert.equal(
    whole.headers['content-disposition'],
    `inline; filename="B_ro 09_00.wav"; filename*=UTF-8''B%C3%BCro%2009_00.wav`,
  )
  for (const [range, start, end] of [
    ['bytes=0-0', 0, 0],
    ['bytes=44-2000043', 44, 2_000_043],
    ['bytes=2999999-', 2_999_999, 3_000_000],
    ['bytes=-5', 2_999_996, 3_000_000],
    ['bytes=262143-262144', 262_143, 262_144],
  ] as const) {
    const part = await http.send('GET', path, { range })
    assert.deepEqual([part.status, part.headers['content-range']], [206, `bytes ${start}-${end}/3000001`])
    assert.equal(part.headers['content-length'], String(end - start + 1))
    assert.ok(part.body.equals(wav.subarray(start, end + 1)), range)
  }
  const beyond = await http.send('GET', path, { range: 'bytes=3000001-' })
  assert.deepEqual([beyond.status, beyond.headers['content-range']], [416, 'bytes */3000001'])
  const several = await http.send('GET', path, { range: 'bytes=0-1,5-6' })
  assert.deepEqual([several.status, several.body.length], [200, 3_000_001])
  const same = await http.send('GET', path, { 'if-none-match': whole.headers.etag })
  assert.deepEqual([same.status, same.body.length], [304, 0])
  const head = await http.send('HEAD', path)
  assert.deepEqual([head.status, head.body.length, head.headers['content-length']], [200, 0, '3000001'])
  assert.equal(head.headers.etag, whole.headers.etag)
  assert.equal(openBelow(t.root), 0)
  await http.close()
})

test('abandoned downloads leave no descriptor open', async () => {
  const k = kit()
  const t = takes(k)
  t.recording('r1')
  t.file('r1', 'primary', pattern(40_000_000))
  const http = await listening(k)
  const abandoned = Array.from({ length: 12 }, () => http.open('GET', '/recordings/r1/file'))
  await Promise.all(
    abandoned.map(
      (request) => new Promise((resolve) => request.once('response', (response) => response.once('readable', resolve))),
    ),
  )
  // The file is larger than what fits between us: each download waits for its reader, with its file open.
  assert.equal(openBelow(t.root), 12)
  for (const request of abandoned) request.on('error', () => {}).destroy()
  await eventually(() => openBelow(t.root) === 0)
  const early = http.open('GET', '/recordings/r1/file').on('error', () => {})
  await new Promise((resolve) => early.once('socket', (socket) => socket.once('connect', resolve)))
  early.destroy()
  const next = await http.send('GET', '/recordings/r1/file', { range: 'bytes=-4' })
  assert.deepEqual([next.status, next.body.length], [206, 4])
  await eventually(() => openBelow(t.root) === 0)
  await http.close()
})

test('the rendition asked for is served, or the best there is', async () => {
  const k = kit()
  const t = takes(k)
  const admin = k.as('admin')
  const served = async (query: string) => (await admin.get(`/recordings/r1/stream${query}`)).text
  t.recording('r1')
  t.file('r1', 'raw', Buffer.from('raw'))
  assert.deepEqual([await served(''), await served('?rendition=enhanced')], ['raw', 'raw'])
  t.file('r1', 'primary', Buffer.from('primary'), 'flac')
  assert.deepEqual(
    [await served(''), await served('?rendition=enhanced'), await served('?rendition=raw')],
    ['primary', 'primary', 'raw'],
  )
  t.file('r1', 'enhanced', Buffer.from('enhanced'), 'mp3')
  const all = ['', '?rendition=x', '?rendition=enhanced', '?rendition=raw']
  assert.deepEqual(await Promise.all(all.map(served)), ['enhanced', 'enhanced', 'enhanced', 'raw'])
  const types = await Promise.all(
    ['', '?rendition=raw'].map(async (q) => (await admin.get(`/recordings/r1/file${q}`)).headers.get('content-type')),
  )
  assert.deepEqual(types, ['audio/mpeg', 'audio/wav'])
  await k.close()
})

test('the trail tells who took which file, and why one was refused', async () => {
  const k = kit()
  const t = takes(k)
  const admin = k.as('admin')
  t.recording('r1', { name: 'Council' })
  assert.equal((await admin.get('/recordings/r1/stream')).json.reason, 'recording_not_cached')
  const path = t.file('r1', 'enhanced', pattern(8), 'mp3')
  const master = await admin.get('/recordings/r1/file?rendition=raw')
  assert.deepEqual([master.status, master.json.reason], [409, 'recording_not_cached'])
  assert.equal(master.json.error, 'The raw rendition is not cached')
  const file = await admin.get('/recordings/r1/file?rendition=enhanced')
  assert.equal(file.headers.get('content-disposition'), 'attachment; filename="Council.mp3"')
  assert.equal((await admin.get('/recordings/r1/stream', { range: 'bytes=8-' })).status, 416)
  rmSync(join(t.root, path))
  const gone = await admin.get('/recordings/r1/stream')
  assert.deepEqual([gone.status, gone.json.reason], [409, 'recording_file_unavailable'])
  assert.equal((await admin.get('/recordings/nope/file')).status, 404)
  assert.equal((await k.as('auditor').get('/recordings/r1/file')).status, 403)
  assert.deepEqual(k.trail(), [
    'recordings.playback.stream allowed',
    'recordings.playback.stream.failed failed recording_not_cached',
    'recordings.download.file allowed',
    'recordings.download.file.failed failed recording_not_cached',
    'recordings.download.file allowed',
    'recordings.download.file.succeeded succeeded',
    'recordings.playback.stream allowed',
    'recordings.playback.stream.failed failed range_not_satisfiable',
    'recordings.playback.stream allowed',
    'recordings.playback.stream.failed failed recording_file_unavailable',
    'recordings.download.file allowed',
    'recordings.download.file.failed failed recording_not_found',
    'recordings.download.file denied missing_permission',
  ])
  const [row] = k.rows<{ details: string }>(
    "SELECT details FROM audit_events WHERE action = 'recordings.download.file.succeeded'",
  )
  const { disposition, fileName, rendition, size } = JSON.parse(row?.details ?? '')
  assert.deepEqual([disposition, fileName, rendition, size], ['attachment', 'Council.mp3', 'enhanced', 8])
  await k.close()
})
