// Whether an object is what was sent: by the store's own size and SHA-256, or, where it tells none, by reading it back.
import type { Readable } from 'node:stream'
import type { GetObjectCommandOutput, HeadObjectCommandOutput, S3Client } from '@aws-sdk/client-s3'
import type { ChecksumVerification } from '../../wire/uploads.ts'
import { type Delivery, DriverError, type Watch } from './driver.ts'
import { compared, mismatch, sameSize } from './readback.ts'

type Sdk = typeof import('@aws-sdk/client-s3')

/** What is known of an object once it was written. Checksums are base64, as the service writes them. */
export interface Written {
  /** What the service said in its answer, if it said anything. */
  answered: string | undefined
  /** What it is to say of the object. */
  expected: string
}

interface Check {
  client: S3Client
  /** Whether it is another service than the one of the name itself. */
  custom: boolean
  delivery: Delivery
  object: { Bucket: string; Key: string }
  sdk: Sdk
  watch: Watch
  written: Written
}

/**
 * How it is known that the object is the take.
 * @throws DriverError `checksum_mismatch`, or `verification_refused` when nobody may look.
 */
export async function verified(check: Check): Promise<ChecksumVerification> {
  const { client, custom, delivery, object, sdk, watch, written } = check
  const { Bucket, Key } = object
  if (written.answered !== undefined) agreed(written.answered, written, delivery)
  const head = await client
    .send(new sdk.HeadObjectCommand({ Bucket, ChecksumMode: 'ENABLED', Key }))
    .catch(refused<HeadObjectCommandOutput>)
  if (head?.ContentLength !== undefined) sameSize(head.ContentLength, delivery)
  if (head?.ChecksumSHA256) agreed(head.ChecksumSHA256, written, delivery)
  if (head?.ChecksumSHA256 && head.ContentLength !== undefined) return validated(delivery)
  const answer = await client.send(new sdk.GetObjectCommand({ Bucket, Key })).catch(refused<GetObjectCommandOutput>)
  if (answer) return compared(answer.Body as Readable, delivery, watch)
  // A key that may only write is good practice there; the service refuses what does not fit its checksum, and named it.
  if (!custom && written.answered !== undefined) return validated(delivery)
  throw new DriverError(
    'verification_refused',
    'the upload could not be checked: allow the access key to read the bucket (s3:GetObject)',
  )
}

const validated = ({ sha256 }: Delivery): ChecksumVerification => ({
  algorithm: 'sha256',
  expected: `sha256:${sha256}`,
  method: 's3_checksum_sha256',
  status: 'provider_validated',
})

/** Some services tell the sum over an object in parts, some that of its bytes: both are known here. */
function agreed(told: string, { expected }: Written, { sha256 }: Delivery): void {
  if (told !== expected && told !== Buffer.from(sha256, 'hex').toString('base64'))
    throw mismatch('the checksum that the destination tells is not that of the take')
}

/** Not allowed to look, or not able to. @throws what says that the object is gone, or that the service is in trouble. */
function refused<T>(e: Error & { $metadata?: { httpStatusCode?: number } }): T | undefined {
  const status = e.$metadata?.httpStatusCode ?? 0
  if (status === 404) throw mismatch('the destination does not hold what it was given')
  if ([400, 401, 403, 405, 501].includes(status)) return undefined
  throw e
}
