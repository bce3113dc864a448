// Takes and manifests in a bucket. The list of objects is sorted: a manifest follows its take closely.
import { checksumOf, sha256Of } from '../../../kernel/checksum.ts'
import { misuse } from '../../../kernel/fail.ts'
import { textOf } from '../../../kernel/s3.ts'
import { besideManifest, MAX_MANIFEST_BYTES } from '../../../wire/manifests.ts'
import { CODECS } from '../../../wire/profiles.ts'
import type { S3Options } from '../../../wire/uploads.ts'
import type { Config } from '../../config.ts'
import { accountOf, placeOf } from '../../succession/place.rules.ts'
import { segments } from '../../uploads/destinations.rules.ts'
import { DriverError } from '../../uploads/driver.ts'
import type { Bucket, BucketObject } from '../../uploads/drivers.s3.bucket.ts'
import { damageOf, type Finding, parsedManifest, type Unlisted } from './findings.ts'

export type BucketOptions = S3Options & { bucket: string; secretAccessKey: string }

// Manifests that are fetched at once.
const PARALLEL = 16
// Takes whose manifest has not been seen yet: it comes soon or not at all.
const WAITING = 1000
const EXAMPLE = 's3://bucket/folder?endpoint=https://s3.example&region=REGION'

/** `s3://BUCKET/FOLDER?endpoint=&region=`, as replicas are named. @throws UserError */
export function bucketOf(text: string, config: Config): BucketOptions {
  const place = placeOf(text, { whole: true })
  if (!place)
    throw misuse(`Without a database nothing is known of destination "${text}": name its bucket, as ${EXAMPLE}`)
  const { SVC_REBUILD_S3_ACCESS_KEY_ID: accessKeyId, SVC_REBUILD_S3_SECRET_ACCESS_KEY: secretAccessKey } = config
  if (!accessKeyId || !secretAccessKey)
    throw misuse(
      'Set SVC_REBUILD_S3_ACCESS_KEY_ID and SVC_REBUILD_S3_SECRET_ACCESS_KEY to a key that may read the bucket',
    )
  const prefix = segments(place.key).join('/')
  return { ...accountOf({ accessKeyId, secretAccessKey }, place), ...(prefix ? { prefix } : {}) }
}

/** Every manifest below the prefix, and every take that has none. */
export async function* bucketFindings(bucket: Bucket, prefix: string | undefined): AsyncGenerator<Finding | Unlisted> {
  const waiting = new Map<string, BucketObject>()
  let batch: Promise<Finding>[] = []
  const settled = async () => {
    const found = await Promise.all(batch)
    batch = []
    for (const one of found) if (!('damaged' in one)) waiting.delete(one.place)
    return found
  }
  for await (const object of bucket.list(prefix ? `${prefix}/` : '')) {
    const { key } = object
    const place = besideManifest(key)
    if (place !== undefined) batch.push(begun(finding(bucket, object, place, waiting)))
    else if (CODECS.some((codec) => key.endsWith(`.${codec}`)) && object.sizeBytes > 0) waiting.set(key, object)
    if (batch.length === PARALLEL) yield* await settled()
    if (waiting.size <= WAITING + PARALLEL) continue
    yield* await settled()
    yield* unlisted(waiting, WAITING)
  }
  yield* await settled()
  yield* unlisted(waiting, 0)
}

/** A failure is told when the batch is awaited, not before. */
function begun<T>(work: Promise<T>): Promise<T> {
  work.catch(() => {})
  return work
}

/** The oldest of those that wait, until `left` are left. */
function* unlisted(waiting: Map<string, BucketObject>, left: number): Generator<Unlisted> {
  for (const [key, object] of waiting) {
    if (waiting.size <= left) return
    waiting.delete(key)
    yield unlistedOf(object)
  }
}

const unlistedOf = ({ etag, key: place, modifiedAt, sizeBytes }: BucketObject): Unlisted => ({
  ...{ etag, modifiedAt, place, sizeBytes },
})

async function finding(
  bucket: Bucket,
  object: BucketObject,
  place: string,
  takes: ReadonlyMap<string, BucketObject>,
): Promise<Finding> {
  const take = takes.get(place)
  if (!take) return { damaged: 'its audio file is missing', place }
  if (object.sizeBytes > MAX_MANIFEST_BYTES) return { damaged: 'it is too large', place }
  try {
    const text = await textOf(await bucket.read(object.key), MAX_MANIFEST_BYTES)
    const { manifest, own } = parsedManifest(text)
    if (own.sizeBytes !== take.sizeBytes) return { damaged: 'its take has another size', place }
    return { entries: [own], etag: take.etag, manifest, place, unlisted: unlistedOf(take) }
  } catch (e) {
    // A store that does not answer ends it all; one object that it does not give is one that cannot be used.
    if (e instanceof DriverError && !OF_ONE_OBJECT.test(e.message)) throw e
    return { damaged: damageOf(e), place }
  }
}
const OF_ONE_OBJECT = /AccessDenied|InvalidObjectState|NoSuchKey/

/** In the database's format. @throws DriverError when the store sends more than the list of it told */
export async function checksumAt(bucket: Bucket, key: string, sizeBytes: number): Promise<string> {
  let size = 0
  const sha256 = await sha256Of(await bucket.read(key), (piece) => {
    size += piece.length
    if (size > sizeBytes) throw new DriverError('s3_object_too_large', `${key} is longer than it was listed`)
  })
  return checksumOf(sha256)
}
