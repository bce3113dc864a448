// An S3 server that believes nothing: it checks every signature (SigV4, header form, with and without a signed or chunked
// payload), every checksum and every part, and keeps objects on disk or only their hashes.
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { listedV1, namedIn } from './s3.listing.ts'
import { chunked, plain, sinkOf } from './s3.payload.ts'
import { hex, Refusal, signatureOf } from './s3.signature.ts'

export interface S3Object {
  /** Where the server keeps what it is given. */
  body: Buffer | undefined
  checksum: string | undefined
  contentType: string | undefined
  etag: string
  metadata: Record<string, string>
  modifiedAt?: string
  /** Hex, of the whole content; undefined for one that came in parts that were not kept. */
  sha256: string
  size: number
}

interface Part {
  body: Buffer | undefined
  checksum: string | undefined
  digest: Buffer
  etag: string
  size: number
}

interface Multipart {
  begun: Date
  checksummed: boolean
  contentType: string | undefined
  key: string
  metadata: Record<string, string>
  parts: Map<number, Part>
}

export interface S3Options {
  accessKeyId?: string
  /** What becomes of the bytes of an object or a part once they were checked: a store that damages what it is given. */
  alters?: (bytes: Buffer) => Buffer
  /** Where it listens. Default: here alone. */
  host?: string
  /** Writes whatever `If-Match` and `If-None-Match` say, as simple stores do. */
  ignoresConditions?: boolean
  /** Answers instead of the server: true when it has answered. */
  interfere?: (request: IncomingMessage, response: ServerResponse, operation: string) => boolean
  /** Keeps whole objects in memory and gives them back (GET). Default: only what is told of them. */
  keeps?: boolean
  /** Reports checksums of objects; a plain old server does not. Default true. */
  reportsChecksums?: boolean
  /** The size it tells of an object that is so large. Default: the truth. */
  reportsSize?: (size: number) => number
  secretAccessKey?: string
}

export const ACCESS_KEY = 'AKIAROOMTONETEST0001'
export const SECRET_KEY = 'tKq8vN2mXz5cLw7pRb3sYd9fGh1jUe4a0oVi6TxB'

export async function s3Server(options: S3Options = {}) {
  const { accessKeyId = ACCESS_KEY, alters, interfere, keeps = false, reportsChecksums = true } = options
  const toldSize = options.reportsSize ?? ((size: number) => size)
  const state = { secretAccessKey: options.secretAccessKey ?? SECRET_KEY }
  const objects = new Map<string, S3Object>()
  const uploads = new Map<string, Multipart>()
  const operations: string[] = []
  let made = 0

  const authenticated = (request: IncomingMessage) =>
    signatureOf(request, { accessKeyId, secretAccessKey: state.secretAccessKey })

  /** The payload, verified by whatever the request declares of it. */
  async function payload(request: IncomingMessage, keep: boolean) {
    const auth = authenticated(request)
    const declared = String(request.headers['x-amz-content-sha256'])
    const sink = sinkOf(keep || alters !== undefined)
    const trailers = declared.startsWith('STREAMING-')
      ? await chunked(request, sink, declared.startsWith('STREAMING-AWS4') ? auth : undefined)
      : await plain(request, sink)
    const body = sink.done()
    if (!/^(STREAMING-|UNSIGNED-)/.test(declared) && declared !== body.sha256)
      throw new Refusal(400, 'XAmzContentSHA256Mismatch', 'The payload is not what its signature says.')
    const checksum =
      (request.headers['x-amz-checksum-sha256'] as string | undefined) ?? trailers['x-amz-checksum-sha256']
    if (checksum !== undefined && checksum !== Buffer.from(body.sha256, 'hex').toString('base64'))
      throw new Refusal(400, 'BadDigest', 'The SHA256 you specified did not match the calculated checksum.')
    return { ...body, checksum }
  }

  /** What is held of what was received; its checksum is of what is held, as a store that looks at its disk would tell. */
  function held<P extends Awaited<ReturnType<typeof payload>>>(got: P): P {
    if (!alters || !got.body) return got
    const body = alters(got.body)
    const sha256 = hex(body)
    const checksum = got.checksum === undefined ? undefined : Buffer.from(sha256, 'hex').toString('base64')
    return { ...got, body, checksum, sha256, size: body.length }
  }

  async function put(request: IncomingMessage, response: ServerResponse, key: string): Promise<void> {
    const got = await payload(request, keeps)
    if (got.size !== Number(request.headers['x-amz-decoded-content-length'] ?? request.headers['content-length']))
      throw new Refusal(400, 'IncompleteBody', 'The body is not as long as it says.')
    const { body, checksum, sha256, size } = held(got)
    if (!options.ignoresConditions) refuseUnmet(request, objects.get(key))
    objects.set(key, {
      body,
      checksum,
      contentType: request.headers['content-type'],
      etag: `"${sha256.slice(0, 32)}"`,
      metadata: metadataOf(request),
      modifiedAt: new Date().toISOString(),
      sha256,
      size,
    })
    response.writeHead(200, { etag: `"${sha256.slice(0, 32)}"`, ...reported(got.checksum) }).end()
  }

  const reported = (checksum: string | undefined) =>
    checksum !== undefined && reportsChecksums ? { 'x-amz-checksum-sha256': checksum } : {}

  async function create(request: IncomingMessage, response: ServerResponse, key: string): Promise<void> {
    await payload(request, false)
    const id = `upload-${++made}`
    const checksummed = request.headers['x-amz-checksum-algorithm'] === 'SHA256'
    uploads.set(id, {
      begun: new Date(),
      checksummed,
      contentType: request.headers['content-type'],
      key,
      metadata: metadataOf(request),
      parts: new Map(),
    })
    xml(response, 200, `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`)
  }

  async function part(request: IncomingMessage, response: ServerResponse, id: string, number: number): Promise<void> {
    const upload = uploads.get(id)
    if (!upload) throw new Refusal(404, 'NoSuchUpload', 'The upload does not exist.')
    const received = await payload(request, keeps || upload.parts.size < 8)
    const got = held(received)
    if (upload.checksummed && got.checksum === undefined)
      throw new Refusal(400, 'InvalidRequest', 'a part without checksum')
    const etag = `"${received.sha256.slice(0, 32)}"`
    upload.parts.set(number, {
      body: got.body,
      checksum: got.checksum,
      digest: Buffer.from(got.sha256, 'hex'),
      etag,
      size: got.size,
    })
    response.writeHead(200, { etag, ...reported(received.checksum) }).end()
  }

  async function complete(request: IncomingMessage, response: ServerResponse, id: string): Promise<void> {
    const upload = uploads.get(id)
    if (!upload) throw new Refusal(404, 'NoSuchUpload', 'The upload does not exist.')
    const { body } = await payload(request, true)
    const listed = [...String(body).matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, text = '']) => ({
      number: Number(/<PartNumber>(\d+)/.exec(text)?.[1]),
      etag: /<ETag>(.*?)<\/ETag>/.exec(text)?.[1]?.replaceAll('&quot;', '"'),
    }))
    const parts = listed.map(({ number, etag }) => {
      const own = upload.parts.get(number)
      if (!own || own.etag !== etag) throw new Refusal(400, 'InvalidPart', `part ${number}`)
      return own
    })
    if (parts.slice(0, -1).some((p) => p.size < 5 * 1024 * 1024))
      throw new Refusal(400, 'EntityTooSmall', 'a part is too small')
    const composite = createHash('sha256')
      .update(Buffer.concat(parts.map((p) => p.digest)))
      .digest('base64')
    const checksum = upload.checksummed ? `${composite}-${parts.length}` : undefined
    const whole = createHash('sha256')
    for (const p of parts) if (p.body) whole.update(p.body)
    objects.set(upload.key, {
      body: keeps ? Buffer.concat(parts.map((p) => p.body as Buffer)) : undefined,
      checksum,
      contentType: upload.contentType,
      etag: `"${hex(composite).slice(0, 32)}-${parts.length}"`,
      metadata: upload.metadata,
      sha256: parts.every((p) => p.body) ? whole.digest('hex') : '',
      size: parts.reduce((sum, p) => sum + p.size, 0),
    })
    uploads.delete(id)
    const told = checksum && reportsChecksums ? `<ChecksumSHA256>${checksum}</ChecksumSHA256>` : ''
    xml(
      response,
      200,
      `<CompleteMultipartUploadResult><Key>${upload.key}</Key><ETag>"x"</ETag>${told}</CompleteMultipartUploadResult>`,
    )
  }

  /** The object that is asked for, as `If-Match` names it. */
  function found(request: IncomingMessage, key: string, code: string): S3Object {
    authenticated(request)
    const object = objects.get(key)
    if (!object) throw new Refusal(404, code, 'The specified key does not exist.')
    const wanted = request.headers['if-match']
    if (wanted !== undefined && wanted !== object.etag)
      throw new Refusal(412, 'PreconditionFailed', 'At least one of the preconditions you specified did not hold.')
    return object
  }

  function head(request: IncomingMessage, response: ServerResponse, key: string): void {
    const object = found(request, key, 'NotFound')
    const asked = request.headers['x-amz-checksum-mode'] === 'ENABLED'
    const told = { 'content-length': toldSize(object.size), etag: object.etag }
    response.writeHead(200, { ...told, ...(asked ? reported(object.checksum) : {}) }).end()
  }

  function get(request: IncomingMessage, response: ServerResponse, key: string): void {
    const { body, etag } = found(request, key, 'NoSuchKey')
    if (!body) throw new Refusal(404, 'NoSuchKey', 'The specified key does not exist.')
    const query = new URL(request.url ?? '/', 'http://x').searchParams
    const presented = [...query].flatMap(([name, value]) =>
      name.startsWith('response-') ? [[name.slice('response-'.length), value]] : [],
    )
    const head = { ...Object.fromEntries(presented), etag }
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? []
    if (first === undefined) return void response.writeHead(200, { ...head, 'content-length': body.length }).end(body)
    const end = Math.min(last ? Number(last) : body.length, body.length - 1)
    if (Number(first) > end) throw new Refusal(416, 'InvalidRange', 'The requested range is not satisfiable')
    const range = { 'content-length': end + 1 - Number(first), 'content-range': `bytes ${first}-${end}/${body.length}` }
    response.writeHead(206, { ...head, ...range }).end(body.subarray(Number(first), end + 1))
  }

  function listUploads(request: IncomingMessage, response: ServerResponse, bucket: string, prefix: string): void {
    authenticated(request)
    const own = [...uploads].filter(([, { key }]) => key.startsWith(`${bucket}/${prefix}`))
    const listed = own.map(([id, { begun, key }]) => {
      const told = { Key: key.slice(bucket.length + 1), UploadId: id, Initiated: begun.toISOString() }
      return `<Upload>${Object.entries(told)
        .map(([name, text]) => `<${name}>${text}</${name}>`)
        .join('')}</Upload>`
    })
    xml(response, 200, `<ListMultipartUploadsResult>${listed.join('')}</ListMultipartUploadsResult>`)
  }

  /** One page of keys, in their order; `continuation-token` is the last key of the page before. */
  function list(request: IncomingMessage, response: ServerResponse, bucket: string, query: URLSearchParams): void {
    authenticated(request)
    const [after, prefix] = [query.get('continuation-token') ?? '', `${bucket}/${query.get('prefix') ?? ''}`]
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(bucket.length + 1))
    const page = keys.sort().filter((key) => key > after)
    const shown = page.slice(0, 5)
    const contents = shown.map((key) => {
      const size = objects.get(`${bucket}/${key}`)?.size
      const text = key.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
      return `<Contents><Key>${text}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>${size}</Size></Contents>`
    })
    const next = page.length > shown.length ? `<NextContinuationToken>${shown.at(-1)}</NextContinuationToken>` : ''
    xml(response, 200, `<ListBucketResult>${contents.join('')}${next}</ListBucketResult>`)
  }

  function listV1(request: IncomingMessage, response: ServerResponse, bucket: string, query: URLSearchParams): void {
    authenticated(request)
    xml(response, 200, listedV1(objects, bucket, query))
  }

  async function remove(request: IncomingMessage, response: ServerResponse, bucket: string): Promise<void> {
    const { body } = await payload(request, true)
    for (const key of namedIn(String(body))) objects.delete(`${bucket}/${key}`)
    xml(response, 200, '<DeleteResult></DeleteResult>')
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://x')
    const [, bucket = '', ...rest] = url.pathname.split('/').map(decodeURIComponent)
    const key = `${bucket}/${rest.join('/')}`
    const [id, number] = [url.searchParams.get('uploadId'), Number(url.searchParams.get('partNumber'))]
    const operation = operationOf(request.method ?? '', url)
    operations.push(operation)
    if (interfere?.(request, response, operation)) return
    if (bucket !== 'takes') throw new Refusal(404, 'NoSuchBucket', 'The specified bucket does not exist')
    if (operation === 'create') return create(request, response, key)
    if (operation === 'part') return part(request, response, id ?? '', number)
    if (operation === 'complete') return complete(request, response, id ?? '')
    if (operation === 'put') return put(request, response, key)
    if (operation === 'head') return head(request, response, key)
    if (operation === 'listV1') return listV1(request, response, bucket, url.searchParams)
    if (operation === 'post') return remove(request, response, bucket)
    if (operation === 'list') return list(request, response, bucket, url.searchParams)
    if (operation === 'get') return get(request, response, key)
    if (operation === 'uploads') return listUploads(request, response, bucket, url.searchParams.get('prefix') ?? '')
    if (operation !== 'abort') throw new Refusal(405, 'MethodNotAllowed', operation)
    authenticated(request)
    uploads.delete(id ?? '')
    response.writeHead(204).end()
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((e: unknown) => {
      const { code, message, status } = e instanceof Refusal ? e : new Refusal(500, 'InternalError', String(e))
      request.resume()
      if (response.headersSent) response.destroy()
      else xml(response, status, `<Error><Code>${code}</Code><Message>${message}</Message></Error>`)
    })
  })
  let connections = 0
  server.on('connection', () => connections++)
  const endpoint = await listening(server, options.host)
  return {
    accessKeyId,
    close: () => {
      server.closeAllConnections()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
    /** How many were made so far. */
    connections: () => connections,
    endpoint,
    objects,
    operations,
    secretAccessKey: SECRET_KEY,
    /** What the server expects from now on. */
    useSecret: (secret: string) => {
      state.secretAccessKey = secret
    },
    /** Multipart uploads that were begun and neither completed nor taken back. */
    uploads,
  }
}
export type S3Server = Awaited<ReturnType<typeof s3Server>>

function operationOf(method: string, url: URL): string {
  const has = (name: string) => url.searchParams.has(name)
  if (method === 'POST') return has('uploads') ? 'create' : has('uploadId') ? 'complete' : 'post'
  if (method === 'PUT') return has('partNumber') ? 'part' : 'put'
  if (method === 'GET' && has('uploads')) return 'uploads'
  if (method === 'GET' && has('list-type')) return 'list'
  if (method === 'GET' && /^\/[^/]+\/?$/.test(url.pathname)) return 'listV1'
  if (method === 'DELETE') return has('uploadId') ? 'abort' : 'delete'
  return method.toLowerCase()
}

const metadataOf = (request: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(request.headers).flatMap(([name, value]) =>
      name.startsWith('x-amz-meta-') ? [[name.slice('x-amz-meta-'.length), String(value)]] : [],
    ),
  )

/** Conditions of a write, looked at where nothing comes between look and write. @throws Refusal */
function refuseUnmet({ headers }: IncomingMessage, there: S3Object | undefined): void {
  const [wanted, none] = [headers['if-match'], headers['if-none-match']]
  if (wanted !== undefined && !there) throw new Refusal(404, 'NoSuchKey', 'The specified key does not exist.')
  if ((there && none === '*') || (wanted !== undefined && wanted !== there?.etag))
    throw new Refusal(412, 'PreconditionFailed', 'At least one of the preconditions you specified did not hold.')
}

function xml(response: ServerResponse, status: number, body: string): void {
  response
    .writeHead(status, { 'content-type': 'application/xml' })
    .end(`<?xml version="1.0" encoding="UTF-8"?>\n${body}`)
}

const listening = (server: Server, host = '127.0.0.1'): Promise<string> =>
  new Promise((resolve) =>
    server.listen(0, host, () => resolve(`http://${host}:${(server.address() as AddressInfo).port}`)),
  )
