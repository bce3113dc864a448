// Verifies an uploaded object: by the size and SHA-256 the service reports or, where it reports none, by reading it back.

import type { Readable } from 'node:stream'
import type { GetObjectCommandOutput, HeadObjectCommandOutput, S3Client } from '@aws-sdk/client-s3'
import { checksumOf } from '../../kernel/checksum.ts'
import type { ChecksumVerification } from '../../wire/uploads.ts'
import { type Delivered, type Delivery, DriverError, type Watch } from './driver.ts'
import { checkSize, mismatch, verifyByReading } from './readback.ts'

type Sdk = typeof import('@aws-sdk/client-s3')

/** What is known of an object after it was written. Checksums are base64, as the service writes them. */
export interface Written {
  /** The checksum in the response, if any. */
  answered: string | undefined
  /** The checksum it should report for the object. */
  expected: string
}

interface Check {
  client: S3Client
  /** Whether it is a service other than AWS S3. */
  custom: boolean
  delivery: Delivery
  object: { Bucket: string; Key: string }
  sdk: Sdk
  watch: Watch
  written: Written
}

/**
 * Verifies that the object is the take.
 * @throws DriverError `checksum_mismatch`, or `verification_refused` when the object may not be read.
 */
export async function verify(check: Check): Promise<Delivered> {
  const { client, custom, delivery, object, sdk, watch, written } = check
  const { Bucket, Key } = object
  if (written.answered !== undefined) checkSum(written.answered, written, delivery)
  const head = await client
    .send(new sdk.HeadObjectCommand({ Bucket, ChecksumMode: 'ENABLED', Key }))
    .catch(refused<HeadObjectCommandOutput>)
  if (head?.ContentLength !== undefined) checkSize(head.ContentLength, delivery)
  if (head?.ChecksumSHA256) checkSum(head.ChecksumSHA256, written, delivery)
  const told = (answer: { ETag?: string | undefined }): Delivered['object'] => ({ etag: answer.ETag ?? null, key: Key })
  if (head?.ChecksumSHA256 && head.ContentLength !== undefined)
    return { object: told(head), verification: reported(delivery, 'provider_validated') }
  const answer = await client.send(new sdk.GetObjectCommand({ Bucket, Key })).catch(refused<GetObjectCommandOutput>)
  if (answer)
    return { object: told(answer), verification: await verifyByReading(answer.Body as Readable, delivery, watch) }
  // A write-only key is good practice on AWS, which rejects uploads that do not match their checksum. It has arrived; what it
  // holds nobody has seen, so that nothing is deleted for it.
  if (!custom && written.answered !== undefined) return { verification: reported(delivery, 'provider_accepted') }
  throw new DriverError(
    'verification_refused',
    'the upload could not be checked: allow the access key to read the bucket (s3:GetObject)',
  )
}

const reported = ({ sha256 }: Delivery, status: ChecksumVerification['status']): ChecksumVerification => ({
  algorithm: 'sha256',
  expected: checksumOf(sha256),
  method: 's3_checksum_sha256',
  status,
})

/** Services report either the checksum over the parts or that of the whole object: both are accepted. */
function checkSum(reported: string, { expected }: Written, { sha256 }: Delivery): void {
  if (reported !== expected && reported !== Buffer.from(sha256, 'hex').toString('base64'))
    throw mismatch('the checksum reported by the destination is not that of the take')
}

/** Undefined when reading is not allowed or not supported. @throws when the object is missing or the service fails. */
function refused<T>(e: Error & { $metadata?: { httpStatusCode?: number } }): T | undefined {
  const status = e.$metadata?.httpStatusCode ?? 0
  if (status === 404) throw mismatch('the destination does not hold what it was given')
  if ([400, 401, 403, 405, 501].includes(status)) return undefined
  throw e
}
