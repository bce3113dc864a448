import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { createLink } from '../../../src/agent/link/client.ts'
import { type Link, LinkError, type Upload } from '../../../src/agent/link/link.ts'
import { type Handler, json, serve, stored, tempDir } from '../server.ts'

const SIZE = 8 * 1024 * 1024
const signal = new AbortController().signal

async function setUp(t: TestContext, handler: Handler, content = randomBytes(SIZE)) {
  const server = await serve(t, handler, { early: true })
  const file = path.join(tempDir(t), 'take.wav')
  fs.writeFileSync(file, content)
  const timeouts = { connectTimeoutMs: 5000, readTimeoutMs: 20_000, requestTimeoutMs: 60_000 }
  const link: Link = createLink({ allowInsecure: false, nodeId: 'n', token: () => 't', url: server.url, ...timeouts })
  t.after(() => link.close())
  const upload: Upload = {
    contentType: 'audio/wav',
    durationSeconds: 10.5,
    fileName: 'Größe.wav',
    jobId: 'job_1',
    path: file,
    recordingId: 'rec_1',
    rendition: 'raw',
  }
  return { content, link, server, upload }
}

const digestOf = (content: Buffer) => `sha-256=:${createHash('sha256').update(content).digest('base64')}:`

test('a take goes up whole, with its digest and what the controller wants to know', async (t) => {
  const parts: Buffer[] = []
  const { content, link, server, upload } = await setUp(t, (seen, response, request) => {
    if (seen.method === 'HEAD') return response.writeHead(404).end()
    request.on('data', (chunk: Buffer) => parts.push(chunk)).on('end', () => stored(response, seen))
  })
  await link.upload(upload, signal)
  const [head, put] = server.seen
  assert.equal(head?.url, '/api/v1/recordings/rec_1/cache-file?rendition=raw')
  assert.deepEqual([head?.method, put?.method, put?.url], ['HEAD', 'PUT', head?.url])
  assert.ok(Buffer.concat(parts).equals(content))
  const said = Object.entries(put?.headers ?? {}).filter(([name]) => /^(upload|content|x-svc)/.test(name))
  assert.deepEqual(Object.fromEntries(said), {
    'content-digest': digestOf(content),
    'content-length': String(SIZE),
    'content-type': 'audio/wav',
    'upload-complete': '?1',
    'upload-length': String(SIZE),
    'upload-offset': '0',
    'x-svc-agent-id': 'n',
    'x-svc-duration-seconds': '10.5',
    'x-svc-file-name': 'Gr__e.wav',
    'x-svc-recording-job-id': 'job_1',
  })
})

test('a limited line carries every byte, and says how far it is', async (t) => {
  const parts: Buffer[] = []
  const { content, server, upload } = await setUp(
    t,
    (seen, response, request) => {
      if (seen.method === 'HEAD') return response.writeHead(404).end()
      request.on('data', (chunk: Buffer) => parts.push(chunk)).on('end', () => stored(response, seen))
    },
    randomBytes(300_000),
  )
  const timeouts = { connectTimeoutMs: 5000, readTimeoutMs: 20_000, requestTimeoutMs: 60_000 }
  const own = { allowInsecure: false, nodeId: 'n', token: () => 't', uploadMaxKbps: 8000, url: server.url }
  const link = createLink({ ...own, ...timeouts })
  t.after(() => link.close())
  const told: number[] = []
  await link.upload({ ...upload, onProgress: (part) => void told.push(part) }, signal)
  assert.ok(Buffer.concat(parts).equals(content))
  assert.ok(told.length > 1 && told.every((part, i) => i === 0 || part > told[i - 1]!))
  assert.equal(told.at(-1), 1)
})

test('an upload cut in the middle goes on where the controller stopped', async (t) => {
  let kept = Buffer.alloc(0)
  let attempt = 0
  const { content, link, server, upload } = await setUp(t, (seen, response, request) => {
    request.on('error', () => undefined)
    if (seen.method === 'HEAD') {
      const found = kept.length > 0
      response.writeHead(found ? 204 : 404, found ? { 'upload-offset': kept.length } : {}).end()
      return
    }
    const cut = ++attempt === 1
    request.on('data', (chunk: Buffer) => {
      kept = Buffer.concat([kept, chunk])
      if (cut && kept.length > SIZE / 2) request.socket.destroy()
    })
    request.on('end', () => stored(response, seen))
  })
  await assert.rejects(link.upload(upload, signal), (e) => e instanceof LinkError && e.transient)
  const before = kept.length
  assert.ok(before > SIZE / 2 && before < SIZE)
  await link.upload(upload, signal)
  const put = server.seen.at(-1)
  assert.deepEqual(
    [put?.headers['upload-offset'], put?.headers['content-length']],
    [String(before), String(SIZE - before)],
  )
  assert.equal(put?.headers['content-digest'], digestOf(content))
  assert.ok(kept.equals(content))
})

test('a part that is already whole is only confirmed', async (t) => {
  const { link, server, upload } = await setUp(t, (seen, response) => {
    if (seen.method === 'HEAD') return response.writeHead(200, { 'upload-offset': SIZE }).end()
    stored(response, seen)
  })
  await link.upload(upload, signal)
  assert.deepEqual(
    [server.seen[1]?.headers['content-length'], server.seen[1]?.headers['upload-offset']],
    ['0', String(SIZE)],
  )
})

test('the offset the controller names in a conflict is used at once', async (t) => {
  const { link, server, upload } = await setUp(t, (seen, response, request) => {
    if (seen.method === 'HEAD') return response.writeHead(204, { 'upload-offset': 100 }).end()
    if (seen.headers['upload-offset'] === '100') {
      response.setHeader('upload-offset', '50')
      return json(response, 409, { error: 'offset', reason: 'upload_offset_mismatch' })
    }
    request.resume().on('end', () => stored(response, seen))
  })
  await link.upload(upload, signal)
  assert.deepEqual(
    server.seen.map((s) => s.headers['upload-offset']),
    [undefined, '100', '50'],
  )
})

for (const status of [401, 409, 413])
  test(`an early ${status} stops the sending and says why`, async (t) => {
    let received = 0
    const big = Buffer.alloc(64 * 1024 * 1024)
    const { link, upload } = await setUp(
      t,
      (seen, response, request) => {
        if (seen.method === 'HEAD') return response.writeHead(404).end()
        request.on('error', () => undefined)
        request.once('data', (chunk: Buffer) => {
          received += chunk.length
          request.pause()
          json(response, status, { error: 'no', reason: 'recording_job_not_completable' })
          request.on('data', (more: Buffer) => {
            received += more.length
          })
        })
      },
      big,
    )
    await assert.rejects(link.upload(upload, signal), (e: LinkError) => {
      assert.deepEqual([e.status, e.reason, e.transient], [status, 'recording_job_not_completable', false])
      return true
    })
    assert.ok(received < big.length, `received ${received}`)
  })

for (const [what, body] of [
  ['a page of something in between', '<!doctype html><title>Welcome</title>'],
  ['nothing', ''],
  ['no file', JSON.stringify({ data: {} })],
  ['no checksum', JSON.stringify({ data: { file: {} } })],
  ['another checksum than that of the bytes', JSON.stringify({ data: { file: { checksum: 'md5:00' } } })],
  ['other bytes than were sent', JSON.stringify({ data: { file: { checksum: `sha256:${'0'.repeat(64)}` } } })],
] as const)
  test(`a 200 that names ${what} is no custody: the take is to be sent again`, async (t) => {
    const { link, upload } = await setUp(t, (seen, response, request) => {
      if (seen.method === 'HEAD') return response.writeHead(200).end()
      request.resume().on('end', () => response.writeHead(200).end(body))
    })
    await assert.rejects(link.upload(upload, signal), (e) => e instanceof LinkError && e.transient)
  })

test('an empty or missing take is refused here, without a request', async (t) => {
  const { link, server, upload } = await setUp(t, (_seen, response) => response.writeHead(500).end(), Buffer.alloc(0))
  await assert.rejects(link.upload(upload, signal), (e: LinkError) => e.reason === 'empty_file' && !e.transient)
  await assert.rejects(link.upload({ ...upload, path: '/nowhere' }, signal), (e: LinkError) => !e.transient)
  assert.equal(server.seen.length, 0)
})

test('a running upload can be stopped', async (t) => {
  const abort = new AbortController()
  const { link, upload } = await setUp(t, (seen, response, request) => {
    request.on('error', () => undefined)
    if (seen.method === 'HEAD') response.writeHead(404).end()
    else request.once('data', () => abort.abort())
  })
  await assert.rejects(link.upload(upload, abort.signal), (e) => e instanceof LinkError && e.message === 'stopped')
})
