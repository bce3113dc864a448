// Reading a whole bucket: what is in it, and single objects.
import type { Readable } from 'node:stream'
import { limitAnswers } from '../../kernel/s3.ts'
import type { S3Options } from '../../wire/uploads.ts'
import { DriverError } from './driver.ts'
import { driverErrorOf, s3Client, tooLarge } from './drivers.s3.ts'

export interface BucketObject {
  etag: string | null
  key: string
  modifiedAt: number
  sizeBytes: number
}

export interface Bucket {
  close(): void
  /** Objects whose keys begin with `prefix`, in the order of their keys. */
  list(prefix: string): AsyncGenerator<BucketObject>
  /** The bytes of an object. */
  read(key: string): Promise<Readable>
}

const PATIENCE = { connectionTimeout: 15_000, socketTimeout: 60_000 }

/** With one client until it is closed. Every method throws DriverError when the service refuses or does not answer. */
export async function openBucket(options: S3Options & { bucket: string; secretAccessKey: string }): Promise<Bucket> {
  const sdk = await import('@aws-sdk/client-s3')
  const client = s3Client(sdk, options, { maxAttempts: 3, requestHandler: PATIENCE })
  limitAnswers(client, tooLarge)
  const { bucket: Bucket, secretAccessKey } = options
  const failed = (e: unknown): never => {
    throw driverErrorOf(e, 'fetch', [secretAccessKey])
  }
  return {
    close: () => client.destroy(),
    async *list(prefix) {
      for (let token: string | undefined, more = true; more; more = token !== undefined) {
        const asked = { Bucket, Prefix: prefix, ...(token === undefined ? {} : { ContinuationToken: token }) }
        const { Contents = [], NextContinuationToken } = await client
          .send(new sdk.ListObjectsV2Command(asked))
          .catch(failed)
        for (const { ETag, Key: key = '', LastModified, Size = 0 } of Contents)
          yield { etag: ETag ?? null, key, modifiedAt: LastModified?.getTime() ?? 0, sizeBytes: Size }
        if (NextContinuationToken !== undefined && NextContinuationToken === token)
          throw new DriverError('s3_list_without_end', 'the store lists the same page again and again')
        token = NextContinuationToken
      }
    },
    read: async (key) =>
      (await client.send(new sdk.GetObjectCommand({ Bucket, Key: key })).catch(failed)).Body as Readable,
  }
}
