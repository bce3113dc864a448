// Reads objects of one S3 destination: single ranges over kept connections, and links for whoever may fetch them himself.
import type { Readable } from 'node:stream'
import type { GetObjectCommandOutput, S3Client } from '@aws-sdk/client-s3'
import { limitAnswers } from '../../../kernel/s3.ts'
import type { S3Options } from '../../../wire/uploads.ts'
import type { ByteRange } from '../../http/files.ts'
import { DriverError, type ObjectAt } from '../driver.ts'
import { driverErrorOf, type Secret, s3Client, tooLarge } from '../drivers.s3.ts'

// A player waits for the first byte: a store that does not answer is told soon.
const CONNECT_MS = 5_000
const FIRST_BYTE_MS = 10_000
const SOCKET_IDLE_MS = 30_000
const MAX_SOCKETS = 256

/** The store answers, and has no such object, or another one in its place. */
export class NotTheObject extends Error {}

interface Range extends ByteRange {
  /** Bytes of the whole object. */
  size: number
}

/** How a link presents what it leads to. */
export interface Presented {
  disposition: string
  seconds: number
  type: string
}

/** The objects of a destination; the SDK is loaded at the first use. */
export class Objects {
  private readonly options: S3Options & Secret
  private client: Promise<S3Client> | undefined
  /** Requests and bodies under way. */
  private underWay = 0
  private retired = false

  constructor(options: S3Options & Secret) {
    this.options = options
  }

  /**
   * The bytes of a range, once the store has begun to send them.
   * @throws NotTheObject; DriverError when the store cannot be asked.
   */
  open(at: ObjectAt, range: Range, signal: AbortSignal): Promise<Readable> {
    return this.during(() => this.opened(at, range, signal))
  }

  private async opened({ etag, key }: ObjectAt, { end, size, start }: Range, signal: AbortSignal): Promise<Readable> {
    const { GetObjectCommand } = await import('@aws-sdk/client-s3')
    const asked = {
      Bucket: this.bucket(),
      Key: key,
      Range: `bytes=${start}-${end}`,
      ...(etag ? { IfMatch: etag } : {}),
    }
    const answer = await this.ask(signal, (client, abortSignal) =>
      client.send(new GetObjectCommand(asked), { abortSignal }),
    )
    const body = answer.Body as Readable
    const isOther = etag !== null && answer.ETag !== undefined && answer.ETag !== etag
    if (!isOther && isRange(answer, { end, size, start })) return this.counted(body)
    body.destroy()
    // A store may not know If-Match.
    throw new NotTheObject(isOther ? 'it is another object' : 'it has another length')
  }

  /** @throws NotTheObject; DriverError when the store cannot be asked. */
  check(at: ObjectAt, size: number | undefined, signal: AbortSignal): Promise<{ etag: string | null; size: number }> {
    return this.during(() => this.checked(at, size, signal))
  }

  private async checked(
    { etag, key }: ObjectAt,
    size: number | undefined,
    signal: AbortSignal,
  ): Promise<{ etag: string | null; size: number }> {
    const { HeadObjectCommand } = await import('@aws-sdk/client-s3')
    const asked = { Bucket: this.bucket(), Key: key, ...(etag ? { IfMatch: etag } : {}) }
    const head = await this.ask(signal, (client, abortSignal) =>
      client.send(new HeadObjectCommand(asked), { abortSignal }),
    ).catch((e) => (e instanceof NotTheObject ? this.reallyMissing(e, key, signal) : Promise.reject(e)))
    const held = head.ContentLength ?? -1
    if (etag && head.ETag !== etag) throw new NotTheObject('it is another object')
    if (size !== undefined && held !== size) throw new NotTheObject('it has another length')
    return { etag: head.ETag ?? null, size: held }
  }

  /** The answer to HEAD has no body: whether the object or the whole bucket is missing only GET tells. @throws one of them */
  private async reallyMissing(e: NotTheObject, key: string, signal: AbortSignal): Promise<never> {
    const { GetObjectCommand } = await import('@aws-sdk/client-s3')
    const asked = { Bucket: this.bucket(), Key: key, Range: 'bytes=0-0' }
    const answer = await this.ask(signal, (client, abortSignal) =>
      client.send(new GetObjectCommand(asked), { abortSignal }),
    )
    ;(answer.Body as Readable).destroy()
    throw e
  }

  /** An address that whoever has it may fetch the object from; never to be logged. */
  async link(key: string, { disposition, seconds, type }: Presented): Promise<string> {
    const { GetObjectCommand } = await import('@aws-sdk/client-s3')
    const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner')
    const object = { Bucket: this.bucket(), Key: key }
    const command = new GetObjectCommand({
      ...object,
      ResponseCacheControl: 'private, no-store',
      ResponseContentDisposition: disposition,
      ResponseContentType: type,
    })
    return getSignedUrl((await this.connected()) as never, command as never, { expiresIn: seconds })
  }

  /** Takes back what was begun for a key before `before` and never completed. @returns how many uploads that were */
  takeBack(key: string, before: Date, signal: AbortSignal): Promise<number> {
    return this.during(() => this.takenBack(key, before, signal))
  }

  private async takenBack(key: string, before: Date, signal: AbortSignal): Promise<number> {
    const sdk = await import('@aws-sdk/client-s3')
    const Bucket = this.bucket()
    const { Uploads = [] } = await this.ask(signal, (client, abortSignal) =>
      client.send(new sdk.ListMultipartUploadsCommand({ Bucket, Prefix: key }), { abortSignal }),
    )
    const own = Uploads.filter(({ Initiated, Key }) => Key === key && Initiated !== undefined && Initiated < before)
    for (const { UploadId } of own)
      await this.ask(signal, (client, abortSignal) =>
        client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key: key, UploadId }), { abortSignal }),
      )
    return own.length
  }

  /** Closes once nothing is under way any more: another one has taken its place. */
  retire(): void {
    this.retired = true
    this.settle()
  }

  /** Closes at once, whatever is under way. */
  async close(): Promise<void> {
    const client = await this.client?.catch(() => undefined)
    client?.destroy()
  }

  private async during<T>(work: () => Promise<T>): Promise<T> {
    this.underWay++
    try {
      return await work()
    } finally {
      this.over()
    }
  }

  private counted(body: Readable): Readable {
    this.underWay++
    return body.once('close', () => this.over())
  }

  private over(): void {
    this.underWay--
    this.settle()
  }

  private settle(): void {
    if (this.retired && this.underWay === 0) void this.close()
  }

  private bucket(): string {
    if (!this.options.bucket) throw new DriverError('s3_bucket_missing')
    return this.options.bucket
  }

  private connected(): Promise<S3Client> {
    this.client ??= import('@aws-sdk/client-s3').then((sdk) => {
      const requestHandler = { connectionTimeout: CONNECT_MS, socketTimeout: SOCKET_IDLE_MS }
      const agents = { httpAgent: { maxSockets: MAX_SOCKETS }, httpsAgent: { maxSockets: MAX_SOCKETS } }
      const client = s3Client(sdk, this.options, { maxAttempts: 2, requestHandler: { ...requestHandler, ...agents } })
      limitAnswers(client, tooLarge)
      return client
    })
    return this.client
  }

  /** Asks, but waits for no longer than `FIRST_BYTE_MS` for the head of the answer. */
  private async ask<T>(signal: AbortSignal, send: (client: S3Client, signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), FIRST_BYTE_MS)
    try {
      return await send(await this.connected(), AbortSignal.any([signal, late.signal]))
    } catch (e) {
      if (late.signal.aborted) throw new DriverError('s3_no_answer', `no answer for ${FIRST_BYTE_MS / 1000} s`)
      throw notTheObject(e) ?? driverErrorOf(e, 'fetch', [this.options.secretAccessKey])
    } finally {
      clearTimeout(timer)
    }
  }
}

function isRange({ ContentLength, ContentRange }: GetObjectCommandOutput, { end, size, start }: Range): boolean {
  if (ContentLength !== undefined && ContentLength !== end + 1 - start) return false
  if (ContentRange !== undefined) return ContentRange === `bytes ${start}-${end}/${size}`
  // A store may send the whole object instead (RFC 9110, 14.2).
  return start === 0 && end === size - 1 && ContentLength === size
}

/** What says that the object is lost or another one, and not that the store has a problem. */
function notTheObject(e: unknown): NotTheObject | undefined {
  const { $metadata, name } = e as Error & { $metadata?: { httpStatusCode?: number } }
  const status = $metadata?.httpStatusCode
  const missing = name === 'NoSuchKey' || (status === 404 && name === 'NotFound')
  if (missing) return new NotTheObject('it is not there')
  if (status === 412) return new NotTheObject('it is another object')
  if (status === 416 || name === 'InvalidRange') return new NotTheObject('it is shorter')
}
