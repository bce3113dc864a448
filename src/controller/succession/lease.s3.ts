// The lease as an object of a bucket, written only if nobody else has written it meanwhile.
import type { Readable } from 'node:stream'
import { UserError } from '../../kernel/fail.ts'
import { jsonOf } from '../../kernel/http.ts'
import { limitAnswers, s3Settings, textOf } from '../../kernel/s3.ts'
import { systemWords } from '../../kernel/words.ts'
import { type Lease, leaseOf } from '../../wire/lease.ts'
import { accountOf, type BucketPlace, type PairSettings } from './place.rules.ts'
import type { HasBehind } from './replica.ts'

/** The lease, and what the store calls this state of it. */
export interface Seen {
  etag: string
  lease: Lease
}

/** Its methods throw StoreUnreachable. */
export interface LeaseStore {
  close(): void
  /** Undefined when there is none. */
  read(): Promise<Seen | undefined>
  /** Writes where the object still is what was seen, or still missing. Undefined when it is not: read it again. */
  write(lease: Lease, over: Seen | undefined): Promise<Seen | undefined>
}

/** The store gave no answer, or not the one that was asked for. */
export class StoreUnreachable extends UserError {}

/** No lease is longer, bytes. */
const LARGEST = 16_384

const SETTING = { lease: 'SVC_LEASE_URL', replica: 'SVC_REPLICA_URL' } as const

/** A client of the bucket of the lease, or of the replica. `askMs`: how long one request may take. */
async function openClient(pair: PairSettings, which: keyof typeof SETTING, askMs: number) {
  const sdk = await import('@aws-sdk/client-s3')
  // Whoever asks comes again: a late write must not follow an answer.
  const once = { maxAttempts: 1, requestHandler: { connectionTimeout: askMs, socketTimeout: askMs } }
  const client = new sdk.S3Client(s3Settings(accountOf(pair, pair[which]), once))
  const fault = `${SETTING[which]} returned an oversized answer: is it an S3 service?`
  limitAnswers(client, () => new StoreUnreachable(fault))
  return { client, sdk }
}

/** `askMs`: how long one request may take. */
export async function leaseStore(pair: PairSettings, askMs: number): Promise<LeaseStore> {
  const { client, sdk } = await openClient(pair, 'lease', askMs)
  const object = { Bucket: pair.lease.bucket, Key: pair.lease.key }
  const send = <T>(work: (abort: { abortSignal: AbortSignal }) => Promise<T>) =>
    work({ abortSignal: AbortSignal.timeout(askMs) })
  return {
    close: () => client.destroy(),
    async read() {
      try {
        const { Body, ETag } = await send((abort) => client.send(new sdk.GetObjectCommand(object), abort))
        return seenOf(await textOf(Body as Readable, LARGEST), ETag)
      } catch (e) {
        if (statusOf(e) === 404 && (e as Error).name !== 'NoSuchBucket') return undefined
        throw unreachable(e, pair)
      }
    },
    async write(lease, over) {
      const condition = over ? { IfMatch: over.etag } : { IfNoneMatch: '*' }
      const body = { Body: JSON.stringify(lease), ContentType: 'application/json' }
      try {
        const put = new sdk.PutObjectCommand({ ...object, ...condition, ...body })
        const { ETag } = await send((abort) => client.send(put, abort))
        return { etag: tagOf(ETag), lease }
      } catch (e) {
        // 404: it was removed; 409: somebody writes it this moment.
        if ([404, 409, 412].includes(statusOf(e)) && (e as Error).name !== 'NoSuchBucket') return undefined
        throw unreachable(e, pair)
      }
    },
  }
}

/** Looks into the folder of a replica. `askMs`: how long one request may take. */
export async function replicaStore(
  pair: PairSettings,
  place: BucketPlace,
  askMs: number,
): Promise<{ close(): void; hasBehind: HasBehind }> {
  const { client, sdk } = await openClient(pair, 'replica', askMs)
  const { bucket: Bucket, key } = place
  return {
    close: () => client.destroy(),
    async hasBehind(folder, name) {
      const Prefix = `${key}/${folder}`
      const list = new sdk.ListObjectsV2Command({ Bucket, MaxKeys: 1, Prefix, StartAfter: Prefix + name })
      const { Contents = [] } = await client.send(list, { abortSignal: AbortSignal.timeout(askMs) })
      return Contents.length > 0
    },
  }
}

/**
 * @throws UserError for a store that writes in spite of the condition: two boxes could hold the lease then. The object is
 * there, and what is written is what it is.
 */
export async function refuseUnconditional(store: LeaseStore, { lease }: Seen): Promise<void> {
  if (await store.write(lease, undefined))
    throw new UserError(
      'The store of SVC_LEASE_URL does not know conditional writes (If-None-Match), so it cannot keep a lease: use a bucket ' +
        'of a service that does, such as AWS S3, MinIO, Ceph or R2.',
    )
}

const statusOf = (e: unknown): number =>
  (e as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode ?? 0

function tagOf(tag: string | undefined): string {
  if (!tag) throw new StoreUnreachable('the store of SVC_LEASE_URL does not tell the ETag of the lease')
  return tag
}

function seenOf(text: string, tag: string | undefined): Seen {
  const lease = text.length > LARGEST ? undefined : leaseOf(jsonOf(text))
  if (!lease) throw new StoreUnreachable('the object at SVC_LEASE_URL is not a lease: choose an unused key')
  return { etag: tagOf(tag), lease }
}

/** In words, without the keys. */
function unreachable(e: unknown, { lease, secretAccessKey }: PairSettings): unknown {
  if (!(e instanceof Error)) return e
  // The SDK adds lines of its own to what is thrown while it reads an answer.
  if (e instanceof StoreUnreachable) return new StoreUnreachable(e.message.replace(/\n.*/s, ''))
  const status = statusOf(e)
  const own = status > 0 && e.name !== 'Error' ? `HTTP ${status} ${e.name.slice(0, 60)}` : undefined
  const words = (own ?? systemWords(e) ?? e.message.slice(0, 200)).replaceAll(secretAccessKey, '...')
  return new StoreUnreachable(`the bucket ${lease.bucket} of SVC_LEASE_URL gives no answer: ${words}`)
}
