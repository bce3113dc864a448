// S3 and compatible services: one PUT for small files, parts for large ones, each with its SHA-256.

import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import * as fs from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { PutObjectCommandInput, S3Client, S3ClientConfig } from '@aws-sdk/client-s3'
import { checksumOf } from '../../kernel/checksum.ts'
import { limitAnswers, s3Settings } from '../../kernel/s3.ts'
import { systemWords } from '../../kernel/words.ts'
import type { S3Options } from '../../wire/uploads.ts'
import { contentTypeOf } from '../recordings/library/recordings.rules.ts'
import { cleanText, type Delivered, type Delivery, type Driver, DriverError, type Watch } from './driver.ts'
import { verify, type Written } from './drivers.s3.verify.ts'

const MIB = 1024 * 1024
/** Up to this size a file goes in one request, from memory; above it in parts. */
const SINGLE = 16 * MIB
const PART = 8 * MIB
// A service takes 10,000 parts.
const MAX_PARTS = 9_000
// Parts in memory at once, besides the one being read.
const PARALLEL = 2
const CONNECT_MS = 15_000
const SOCKET_IDLE_MS = 60_000

type Sdk = typeof import('@aws-sdk/client-s3')
type Put = Omit<PutObjectCommandInput, 'Body'> & { Bucket: string; Key: string }

export interface Secret {
  secretAccessKey: string
}

/** A driver for one destination; the SDK is loaded when the first file is delivered. */
export const s3Driver = (options: S3Options & Secret): Driver => ({
  deliver: (delivery, watch) =>
    withClient(options, 'upload', watch.signal, (sdk, client) => deliver(sdk, client, options, delivery, watch)),
  fetch: (remote, take, signal) =>
    withClient(options, 'fetch', signal, async (sdk, client) => {
      const object = { Bucket: options.bucket as string, Key: remote.join('/') }
      const body = await client.send(new sdk.GetObjectCommand(object)).then((answer) => answer.Body, ignoreMissing)
      if (body) await take(body as Readable)
      return body !== undefined
    }),
})

const typeOf = (name: string): string => (name.endsWith('.json') ? 'application/json' : contentTypeOf(name))

type Aim = 'fetch' | 'upload'

/** Runs `work` with a client of its own. @throws DriverError in place of errors of the service or the socket. */
async function withClient<T>(
  options: S3Options & Secret,
  aim: Aim,
  signal: AbortSignal,
  work: (sdk: Sdk, client: S3Client) => Promise<T>,
): Promise<T> {
  if (!options.bucket) throw new DriverError('s3_bucket_missing')
  const sdk = await import('@aws-sdk/client-s3')
  const requestHandler = { connectionTimeout: CONNECT_MS, socketTimeout: SOCKET_IDLE_MS }
  const client = s3Client(sdk, options, { maxAttempts: 3, requestHandler })
  limitAnswers(client, tooLarge, signal)
  try {
    return await work(sdk, client)
  } catch (e) {
    throw driverErrorOf(e, aim, [options.secretAccessKey])
  } finally {
    client.destroy()
  }
}

/** What a service sends beyond all measure. */
export const tooLarge = (): DriverError => new DriverError('s3_answer_too_large')

function ignoreMissing(e: unknown): undefined {
  if (!/^(NoSuchKey|NotFound)$/.test((e as Error).name)) throw e
}

/** A client that signs with the keys of a destination. `own`: how patient it is. */
export const s3Client = (
  sdk: Sdk,
  options: S3Options & Secret,
  own: Pick<S3ClientConfig, 'maxAttempts' | 'requestHandler'>,
): S3Client => new sdk.S3Client(s3Settings(options, own))

async function deliver(
  sdk: Sdk,
  client: S3Client,
  options: S3Options,
  delivery: Delivery,
  watch: Watch,
): Promise<Delivered> {
  const put: Put = {
    Bucket: options.bucket as string,
    ContentType: typeOf(delivery.remote.at(-1) ?? ''),
    Key: delivery.remote.join('/'),
    Metadata: {
      checksum: checksumOf(delivery.sha256),
      recording_id: delivery.recordingId,
      upload_queue_id: delivery.itemId,
    },
  }
  const send = delivery.size <= SINGLE ? single : inParts
  const written = await withFallback((checked) => send(sdk, client, put, delivery, watch, checked))
  return verify({ client, custom: options.endpoint !== undefined, delivery, object: put, sdk, watch, written })
}

/** Sends without checksums when the service rejects them; the file is then verified by reading it back. */
async function withFallback(send: (checked: boolean) => Promise<Written>): Promise<Written> {
  try {
    return await send(true)
  } catch (e) {
    if (!refusesChecksums(e)) throw e
    return send(false)
  }
}

function refusesChecksums(e: unknown): boolean {
  const { name = '', message = '' } = e as Error
  if (name === 'NotImplemented' || name === 'NotImplementedException') return true
  return /^(InvalidArgument|InvalidRequest|UnsupportedArgument)$/.test(name) && /checksum|x-amz-sdk/i.test(message)
}

/** One PUT. */
async function single(sdk: Sdk, client: S3Client, put: Put, delivery: Delivery, watch: Watch, checked: boolean) {
  const body = await fs.readFile(delivery.file, { signal: watch.signal })
  const checksum = Buffer.from(delivery.sha256, 'hex').toString('base64')
  const sum = checked ? { ChecksumSHA256: checksum } : {}
  const request = { ...put, ...sum, Body: body, ContentLength: body.length }
  const { ChecksumSHA256: answered } = await client.send(new sdk.PutObjectCommand(request))
  watch.progress()
  return { answered, expected: checksum }
}

/** Parts with their own checksums; an upload that is not completed is aborted. */
async function inParts(sdk: Sdk, client: S3Client, put: Put, delivery: Delivery, watch: Watch, checked: boolean) {
  const { Upload } = await import('@aws-sdk/lib-storage')
  const partSize = Math.max(PART, Math.ceil(delivery.size / MAX_PARTS))
  const parts = partHashes(partSize, delivery)
  const sum = checked ? { ChecksumAlgorithm: sdk.ChecksumAlgorithm.SHA256 } : {}
  usePartHashes(client, checked ? parts.sum : () => undefined)
  const source = createReadStream(delivery.file, { highWaterMark: MIB, signal: watch.signal })
  const upload = new Upload({
    client,
    params: { ...put, ...sum, Body: Readable.from(parts.through(source), { objectMode: false, highWaterMark: MIB }) },
    partSize,
    queueSize: PARALLEL,
  })
  watch.inParts?.()
  upload.on('httpUploadProgress', ({ loaded }) => watch.progress(loaded))
  const { ChecksumSHA256: answered } = await upload.done()
  return { answered, expected: parts.checksum() }
}

/**
 * Parts are hashed piece by piece as they are read; the SDK would hash each whole part twice more, for its checksum and its
 * signature, and block the event loop meanwhile.
 */
function usePartHashes(client: S3Client, sum: (part: number) => string | undefined): void {
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        const input = args.input as { ChecksumSHA256?: string; PartNumber?: number }
        const known = commandName === 'UploadPartCommand' ? sum(input.PartNumber ?? 0) : undefined
        return next(known ? ({ ...args, input: { ...input, ChecksumSHA256: known } } as typeof args) : args)
      },
    { name: 'partChecksum', override: true, step: 'initialize' },
  )
  client.middlewareStack.add(
    (next) => (args) => {
      const { headers = {} } = args.request as { headers?: Record<string, string> }
      const known = headers['x-amz-checksum-sha256']
      if (known) headers['x-amz-content-sha256'] = Buffer.from(known, 'base64').toString('hex')
      return next(args)
    },
    { name: 'payloadHash', override: true, priority: 'low', step: 'build' },
  )
}

/** The checksum of a multipart object: SHA-256 over the checksums of its parts, and their number. Hashes the whole file too. */
function partHashes(partSize: number, { sha256, size }: Delivery) {
  const sums: Buffer[] = []
  const whole = createHash('sha256')
  let part: Hash = createHash('sha256')
  let room = partSize
  let left = size
  const take = (chunk: Buffer): void => {
    for (let at = 0; at < chunk.length; ) {
      const piece = chunk.subarray(at, at + room)
      part.update(piece)
      at += piece.length
      room -= piece.length
      if (room === 0) next()
    }
  }
  const next = (): void => {
    sums.push(part.digest())
    part = createHash('sha256')
    room = partSize
  }
  return {
    async *through(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of source) {
        left -= chunk.length
        whole.update(chunk)
        take(chunk)
        yield chunk
      }
      // The parts match their own checksums whatever was read: only the whole file's proves that it is the take.
      if (left !== 0 || whole.digest('hex') !== sha256) throw new DriverError('source_checksum_mismatch')
      if (room < partSize) next()
    },
    sum: (number: number): string | undefined => sums[number - 1]?.toString('base64'),
    checksum: (): string => `${createHash('sha256').update(Buffer.concat(sums)).digest('base64')}-${sums.length}`,
  }
}

/** The error code of the service (`SignatureDoesNotMatch`) or the socket, and the message without our secret. */
export function driverErrorOf(e: unknown, aim: Aim, secrets: readonly string[]): unknown {
  if (e instanceof DriverError || !(e instanceof Error)) return e
  const { $metadata, code } = e as Error & { $metadata?: { httpStatusCode?: number }; code?: string }
  const status = $metadata?.httpStatusCode
  const own = /^[A-Za-z][A-Za-z0-9]{2,60}$/.test(e.name) && !/Error$|^Unknown/.test(e.name) ? e.name : undefined
  if (own && status) return new DriverError(own, cleanText(e.message, secrets))
  const said = systemWords(e) ?? e.message.split('Deserialization error')[0] ?? ''
  const text = [status ? `HTTP ${status}` : '', systemWords(e) ? '' : (code ?? ''), cleanText(said, secrets)].filter(
    Boolean,
  )
  return new DriverError(`s3_${aim}_failed`, text.join(' '))
}
