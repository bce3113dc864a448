import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { DriverError } from '../../../src/controller/uploads/driver.ts'
import { s3Driver } from '../../../src/controller/uploads/drivers.s3.ts'
import type { S3Options } from '../../../src/wire/uploads.ts'
import { type S3Server, type S3Options as ServerOptions, s3Server } from '../../kit/s3.ts'
import { sha256 } from './uploads.ts'

const dir = mkdtempSync(path.join(tmpdir(), 'roomtone-s3-'))
after(() => rmSync(dir, { recursive: true, force: true }))

const MIB = 1024 * 1024
const sum = (bytes: Buffer): string => Buffer.from(sha256(bytes), 'hex').toString('base64')
const SMALL = randomBytes(1000)
// Three parts, the last one short.
const LARGE = randomBytes(17 * MIB + 7)
for (const [name, bytes] of Object.entries({ small: SMALL, large: LARGE })) writeFileSync(path.join(dir, name), bytes)

interface Try {
  bytes?: Buffer
  options?: Partial<S3Options> & { secretAccessKey?: string }
  progress?: () => void
  remote?: string[]
  signal?: AbortSignal
}

function deliver(server: S3Server, { bytes = SMALL, options = {}, progress, remote, signal }: Try = {}) {
  const { accessKeyId, endpoint, secretAccessKey } = server
  const driver = s3Driver({ accessKeyId, bucket: 'takes', endpoint, forcePathStyle: true, secretAccessKey, ...options })
  const delivery = {
    file: path.join(dir, bytes === LARGE ? 'large' : 'small'),
    itemId: 'upload_1',
    recordingId: 'rec_1',
    remote: remote ?? ['folder', 'take.flac'],
    sha256: sha256(bytes),
    size: bytes.length,
  }
  return driver.deliver(delivery, { progress: progress ?? (() => {}), signal: signal ?? new AbortController().signal })
}

const verified = async (...given: Parameters<typeof deliver>) => (await deliver(...given)).verification

const reasonOf = async (attempt: Promise<unknown>): Promise<string> => {
  const e = await attempt.then(
    () => assert.fail('it arrived'),
    (e: unknown) => e,
  )
  assert.ok(e instanceof DriverError, String(e))
  return e.message
}

async function against(options: ServerOptions, run: (server: S3Server) => Promise<void>): Promise<void> {
  const server = await s3Server(options)
  try {
    await run(server)
  } finally {
    await server.close()
  }
}

test('a small file goes in one signed request with its checksum', () =>
  against({}, async (server) => {
    const { status } = await verified(server, { remote: ['a b', "ü (1) !'*+&=.flac"] })
    assert.equal(status, 'provider_validated')
    assert.deepEqual(server.operations, ['put', 'head'])
    const object = server.objects.get("takes/a b/ü (1) !'*+&=.flac")
    assert.deepEqual([object?.sha256, object?.contentType], [sha256(SMALL), 'audio/flac'])
  }))

test('a large file goes in parts, each with its checksum, and their sum is asked for', () =>
  against({}, async (server) => {
    let moved = 0
    const { status } = await verified(server, { bytes: LARGE, progress: () => moved++ })
    assert.equal(status, 'provider_validated')
    assert.deepEqual(server.operations, ['create', 'part', 'part', 'part', 'complete', 'head'])
    assert.equal(server.objects.get('takes/folder/take.flac')?.sha256, sha256(LARGE))
    assert.equal(moved, 3)
  }))

const REFUSALS: [string, Try['options'], RegExp][] = [
  ['a wrong secret', { secretAccessKey: 'not-the-secret-at-all' }, /^SignatureDoesNotMatch: /],
  ['a wrong access key', { accessKeyId: 'AKIASOMEBODYELSE' }, /^InvalidAccessKeyId: /],
  ['a bucket that is not there', { bucket: 'elsewhere' }, /^NoSuchBucket: /],
  ['no bucket', { bucket: '' }, /^s3_bucket_missing$/],
  ['nobody listening', { endpoint: 'http://127.0.0.1:1' }, /^s3_upload_failed: nothing listens at 127\.0\.0\.1:1: /],
  [
    'a host that does not exist',
    { endpoint: 'http://host.invalid' },
    /^s3_upload_failed: the name host\.invalid (is not known|could not be resolved)/,
  ],
]
for (const [what, options, reason] of REFUSALS)
  for (const bytes of [SMALL, LARGE])
    test(`${what}: told with its reason and without the secret (${bytes.length} bytes)`, () =>
      against({}, async (server) => {
        const told = await reasonOf(deliver(server, { bytes, options }))
        assert.match(told, reason)
        assert.ok(!told.includes(options?.secretAccessKey ?? server.secretAccessKey))
        assert.equal(server.objects.size, 0)
      }))

test('a server that quotes the secret is not repeated', () =>
  against(
    { interfere: (_, response) => error(response, 403, 'AccessDenied', 'no: the-secret-as-it-was-configured is bad') },
    async (server) => {
      const told = await reasonOf(deliver(server, { options: { secretAccessKey: 'the-secret-as-it-was-configured' } }))
      assert.equal(told, 'AccessDenied: no: *** is bad')
    },
  ))

const only = (operation: string, answer: (response: ServerResponse, request: IncomingMessage) => void) => ({
  interfere: (request: IncomingMessage, response: ServerResponse, asked: string) => {
    if (asked !== operation) return false
    request.resume()
    answer(response, request)
    return true
  },
})

function error(response: ServerResponse, status: number, code: string, message: string): true {
  response.writeHead(status, { 'content-type': 'application/xml' })
  response.end(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`)
  return true
}

test('an endless answer is not read to its end', () =>
  against(
    only('put', (response) => {
      response.writeHead(500, { 'content-type': 'application/xml' })
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(64 * 1024)));
        if (!response.destroyed) response.once('drain', more)
      }
      more()
    }),
    async (server) => {
      assert.match(await reasonOf(deliver(server)), /^s3_answer_too_large|^s3_upload_failed/)
    },
  ))

const STRANGE: [string, (response: ServerResponse) => void][] = [
  [
    'a web page instead of an answer',
    (r) => r.writeHead(502, { 'content-type': 'text/html' }).end('<html><body>Bad gateway</body></html>'),
  ],
  [
    'an answer that breaks off',
    (r) => r.writeHead(503, { 'content-length': 1000 }).write('<Error><Co', () => r.destroy()),
  ],
  ['a connection that is closed', (r) => void r.destroy()],
  ['XML that is none', (r) => r.writeHead(400, { 'content-type': 'application/xml' }).end('<Error><Code>')],
  ['JSON of another service', (r) => r.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"no"}')],
]
for (const [what, answer] of STRANGE)
  test(`${what} fails the attempt with a short reason`, () =>
    against(only('put', answer), async (server) => {
      const told = await reasonOf(deliver(server))
      assert.match(told, /^(s3_upload_failed|[A-Za-z]+)\b/)
      assert.ok(told.length < 400 && !/[\r\n]|response on this/.test(told), told)
    }))

test('a web page that says 200 to the beginning of a large upload is no success', () =>
  against(
    only('create', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>')),
    async (server) => {
      await reasonOf(deliver(server, { bytes: LARGE }))
      assert.equal(server.objects.size, 0)
    },
  ))

test('a part that fails for good takes the whole upload back', () =>
  against(
    only('part', (response) => error(response, 403, 'AccessDenied', 'quota')),
    async (server) => {
      assert.equal(await reasonOf(deliver(server, { bytes: LARGE })), 'AccessDenied: quota')
      assert.equal(server.operations.at(-1), 'abort')
      assert.equal(server.uploads.size, 0)
    },
  ))

test('an upload that cannot be completed is taken back', () =>
  against(
    only('complete', (response) => error(response, 200, 'InternalError', 'we tried')),
    async (server) => {
      await reasonOf(deliver(server, { bytes: LARGE }))
      assert.equal(server.uploads.size, 0)
    },
  ))

test('stopping takes a large upload back', async () => {
  const abort = new AbortController()
  // The second part never gets an answer.
  const held = only('part', (response, request) => {
    if (request.url?.includes('partNumber=2')) abort.abort(new DriverError('controller_stopping'))
    else error(response, 500, 'InternalError', 'later')
  })
  await against(held, async (server) => {
    await assert.rejects(deliver(server, { bytes: LARGE, signal: abort.signal }))
    assert.equal(server.uploads.size, 0)
  })
})

const withoutChecksums: ServerOptions['interfere'] = (request, response, operation) => {
  if (!request.headers['x-amz-checksum-sha256'] && !request.headers['x-amz-checksum-algorithm']) return false
  if (operation === 'head') return false
  request.resume()
  return error(response, 501, 'NotImplemented', 'A header you provided implies functionality that is not implemented')
}

test('a service that does not know checksums gets the file without, and it is read back', () =>
  against({ interfere: withoutChecksums, keeps: true }, async (server) => {
    for (const bytes of [SMALL, LARGE]) {
      const observed = `sha256:${sha256(bytes)}`
      const expected = {
        algorithm: 'sha256',
        expected: observed,
        method: 'file_copy_sha256',
        observed,
        status: 'matched',
      }
      assert.deepEqual(await verified(server, { bytes }), expected)
      assert.equal(server.operations.at(-1), 'get')
      assert.equal(server.uploads.size, 0)
    }
  }))

const DAMAGES: [string, (bytes: Buffer) => Buffer][] = [
  ['flips a bit', (bytes) => Buffer.concat([bytes.subarray(0, -1), Buffer.of((bytes.at(-1) as number) ^ 1)])],
  ['truncates', (bytes) => bytes.subarray(0, -1)],
  ['writes more than it was given', (bytes) => Buffer.concat([bytes, Buffer.of(0)])],
]
// Parts must keep their least size, or the store itself would refuse them.
const STORES: [string, ServerOptions][] = [
  ['tells the checksum of what it holds', {}],
  ['tells no checksums', { reportsChecksums: false }],
  ['knows no checksums', { interfere: withoutChecksums }],
  ['may not be asked for them', only('head', (response) => response.writeHead(403).end())],
]
for (const [damage, alters] of DAMAGES)
  for (const [store, options] of STORES)
    for (const bytes of [SMALL, LARGE])
      test(`a store that ${damage} and ${store} fails the upload (${bytes.length} bytes)`, () =>
        against({ ...options, alters, keeps: true }, async (server) => {
          assert.match(await reasonOf(deliver(server, { bytes })), /^checksum_mismatch: /)
        }))

for (const reportsChecksums of [true, false])
  for (const bytes of [SMALL, LARGE])
    test(`a store that lies about the size fails the upload (${reportsChecksums}, ${bytes.length} bytes)`, () =>
      against({ keeps: true, reportsChecksums, reportsSize: (size) => size - 1 }, async (server) => {
        assert.match(await reasonOf(deliver(server, { bytes })), /^checksum_mismatch: /)
      }))

test('a store that answers with another checksum than was sent fails the upload', () =>
  against(
    only('put', (response) => response.writeHead(200, { 'x-amz-checksum-sha256': sum(LARGE) }).end()),
    async (server) => assert.match(await reasonOf(deliver(server)), /^checksum_mismatch: /),
  ))

test('a store that says 200 and keeps nothing fails the upload', () =>
  against(
    only('put', (response) => response.writeHead(200, { 'x-amz-checksum-sha256': sum(SMALL) }).end()),
    async (server) => assert.match(await reasonOf(deliver(server)), /^checksum_mismatch: /),
  ))

test('a store that sends without end when it is read back is not read to its end', () =>
  against(
    {
      reportsChecksums: false,
      interfere: (_, response, operation) => {
        if (operation === 'head') response.writeHead(501).end()
        if (operation !== 'get') return operation === 'head'
        response.writeHead(200)
        const more = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
          if (!response.destroyed) response.once('drain', more)
        }
        more()
        return true
      },
    },
    async (server) => assert.match(await reasonOf(deliver(server)), /^checksum_mismatch: /),
  ))

test('a store that lets nobody look is told in words', () =>
  against(
    {
      interfere: (_, response, operation) => {
        if (operation !== 'head' && operation !== 'get') return false
        return operation === 'head' ? !!response.writeHead(403).end() : error(response, 403, 'AccessDenied', 'no')
      },
    },
    async (server) => assert.match(await reasonOf(deliver(server)), /^verification_refused: .*read/),
  ))

test('a store that cannot be asked at the moment fails the attempt with its own reason', () =>
  against(
    only('head', (response) => response.writeHead(500).end()),
    async (server) => assert.match(await reasonOf(deliver(server)), /^s3_upload_failed: HTTP 500/),
  ))

test('parts that are read otherwise than the file was hashed are not completed', () =>
  against({}, async (server) => {
    const { accessKeyId, endpoint, secretAccessKey } = server
    const driver = s3Driver({ accessKeyId, bucket: 'takes', endpoint, forcePathStyle: true, secretAccessKey })
    const file = path.join(dir, 'large')
    const delivery = {
      file,
      itemId: 'i',
      recordingId: 'r',
      remote: ['x.wav'],
      sha256: sha256(SMALL),
      size: LARGE.length,
    }
    const watch = { progress: () => {}, signal: new AbortController().signal }
    assert.equal(await reasonOf(driver.deliver(delivery, watch)), 'source_checksum_mismatch')
    assert.deepEqual([server.objects.size, server.uploads.size], [0, 0])
  }))

test('a file that shrank since it was hashed is not delivered', () =>
  against({}, async (server) => {
    const file = path.join(dir, 'shrunk')
    writeFileSync(file, LARGE.subarray(0, 16 * MIB + 1))
    const { accessKeyId, endpoint, secretAccessKey } = server
    const driver = s3Driver({ accessKeyId, bucket: 'takes', endpoint, forcePathStyle: true, secretAccessKey })
    const delivery = {
      file,
      itemId: 'i',
      recordingId: 'r',
      remote: ['x.wav'],
      sha256: sha256(LARGE),
      size: LARGE.length,
    }
    const watch = { progress: () => {}, signal: new AbortController().signal }
    assert.equal(await reasonOf(driver.deliver(delivery, watch)), 'source_checksum_mismatch')
    assert.deepEqual([server.objects.size, server.uploads.size], [0, 0])
  }))

const fetched = async (server: S3Server, remote: string[], options: Try['options'] = {}) => {
  const { accessKeyId, endpoint, secretAccessKey } = server
  const driver = s3Driver({ accessKeyId, bucket: 'takes', endpoint, forcePathStyle: true, secretAccessKey, ...options })
  const pieces: Buffer[] = []
  const take = async (body: AsyncIterable<Buffer>) => {
    for await (const piece of body) pieces.push(piece)
  }
  const there = await driver.fetch(remote, take, new AbortController().signal)
  return { bytes: Buffer.concat(pieces), there }
}

test('what was delivered comes back, however large; what was not is told apart from what cannot be asked', () =>
  against({ keeps: true }, async (server) => {
    for (const bytes of [SMALL, LARGE]) {
      await deliver(server, { bytes })
      assert.ok((await fetched(server, ['folder', 'take.flac'])).bytes.equals(bytes))
    }
    assert.deepEqual(await fetched(server, ['folder', 'other.flac']), { bytes: Buffer.alloc(0), there: false })
    const refused = fetched(server, ['folder', 'take.flac'], { secretAccessKey: 'not-the-secret-of-this-server' })
    assert.match(await reasonOf(refused), /^SignatureDoesNotMatch/)
    const nobody = fetched(server, ['folder', 'take.flac'], { endpoint: 'http://127.0.0.1:1' })
    assert.match(await reasonOf(nobody), /^s3_fetch_failed: nothing listens at /)
  }))

test('a take that breaks off on its way back is no take', () => {
  const interfere: ServerOptions['interfere'] = (_request, response, operation) => {
    if (operation !== 'get') return false
    response.writeHead(200, { 'content-length': 1000 })
    response.write(Buffer.alloc(500), () => response.destroy())
    return true
  }
  return against({ interfere, keeps: true }, async (server) => {
    assert.match(await reasonOf(fetched(server, ['folder', 'take.flac'])), /^s3_fetch_failed/)
  })
})
