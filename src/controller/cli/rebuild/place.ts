// Where takes and manifests are found: on this disk, or in a bucket that then is a destination of the new database.

import * as path from 'node:path'
import { checksumOfFile } from '../../../kernel/checksum.ts'
import { iso, systemClock } from '../../../kernel/clock.ts'
import type { Ids } from '../../../kernel/ids.ts'
import { jsonLog } from '../../../kernel/log.ts'
import { frameBytes, wavFormat } from '../../../kernel/wav.rules.ts'
import type { ChunkFile, RenditionFile } from '../../../wire/manifests.ts'
import { codecOfPath } from '../../recordings/chunks/chunks.rules.ts'
import { readWav } from '../../recordings/chunks/join.ts'
import { sealKeys, secretKey } from '../../secrets.ts'
import type { Db } from '../../store/db.ts'
import { segments } from '../../uploads/destinations.rules.ts'
import { destinationStore } from '../../uploads/destinations.store.ts'
import { openBucket } from '../../uploads/drivers.s3.bucket.ts'
import type { ControllerFiles } from '../verb.ts'
import { type BucketOptions, bucketFindings, checksumAt } from './bucket.ts'
import type { Finding, Unlisted } from './findings.ts'
import type { RebuiltLibrary } from './library.store.ts'
import { localFindings, localUnlisted } from './local.ts'

/** A file of a recording, and where it was found. */
interface Kept {
  entry: Pick<ChunkFile | RenditionFile, 'checksum' | 'path'> & { index?: number }
  etag?: string | null | undefined
  place: string
  recordingId: string
}

export interface Place {
  close(): void
  /** Manifests, and takes without one; `settle` takes in what was given so far, before it is asked what is known. */
  findings(library: RebuiltLibrary, settle: () => Promise<void>): AsyncGenerator<Finding | Unlisted>
  /** Notes where a file lies, beyond its row. Call it inside a transaction. */
  keep(kept: Kept, library: RebuiltLibrary): void
  /** Whether the files are at a destination, and not on this disk. */
  remote: boolean
  /** What is found out about a file by reading it; `path` is the one it gets here. */
  read(found: Unlisted, id: string): Promise<{ checksum: string; durationSeconds: number; path: string }>
}

export function onDisk(takes: string): Place {
  return {
    close() {},
    async *findings(library, settle) {
      yield* localFindings(takes)
      await settle()
      yield* localUnlisted(takes, library.knows)
    },
    keep() {},
    remote: false,
    read: async ({ place }) => {
      const file = path.join(takes, place)
      return { checksum: await checksumOfFile(file), durationSeconds: await secondsOf(file), path: place }
    },
  }
}

/** Of a WAV file by its header; 0 for what only a decoder knows. */
async function secondsOf(file: string): Promise<number> {
  if (codecOfPath(file) !== 'wav') return 0
  try {
    const { dataBytes, fmt } = await readWav(file)
    return Math.round(dataBytes / frameBytes(fmt) / (wavFormat(fmt)?.rate ?? Number.POSITIVE_INFINITY))
  } catch {
    // No sound in it that can be read: it is listed all the same.
    return 0
  }
}

/** Makes the bucket a destination of `db`, with the key it is read with. */
export async function inBucket(options: BucketOptions, db: Db, { config }: ControllerFiles, ids: Ids): Promise<Place> {
  const { bucket: name, prefix, secretAccessKey, ...rest } = options
  const at = iso(systemClock.now())
  const secret = secretKey(
    config,
    jsonLog((line) => process.stderr.write(line), config.SVC_LOG_LEVEL),
  )
  const { settings } = sealKeys({ nodeSshKey: secret, settingsKey: secret })
  const target = ['s3:/', name, ...segments(prefix)].join('/')
  const s3 = { ...rest, bucket: name, ...(prefix ? { prefix } : {}) }
  const destinationId = ids.make('upload_dest')
  const own = { displayName: target, enabled: true, keepsLibrary: true, kind: 's3' as const }
  const input = { ...own, s3, s3SecretAccessKey: secretAccessKey }
  db.tx(() => destinationStore(db, settings, () => undefined).create(destinationId, input, at))
  const bucket = await openBucket(options)
  return {
    close: () => bucket.close(),
    findings: () => bucketFindings(bucket, prefix),
    keep({ entry: { checksum, index, path: file }, etag = null, place, recordingId }, library) {
      const folders = segments(place).slice(segments(prefix).length, -1)
      library.putUploaded({
        ...{ id: recordingId, uploadId: ids.make('upload'), destinationId, at, checksum, path: file },
        ...{ chunkId: index === undefined ? null : `chunk_${recordingId}_${index}`, index: index ?? null },
        ...{ fileName: path.posix.basename(place), pathOverride: folders.join('/') || null },
        target: [target, ...folders].join('/'),
      })
      library.putCopy({ id: recordingId, checksum, destinationId, key: place, etag, at })
    },
    remote: true,
    read: async ({ place, sizeBytes }, id) => ({
      checksum: await checksumAt(bucket, place, sizeBytes),
      durationSeconds: 0,
      path: `ad-hoc/${id}${path.posix.extname(place)}`,
    }),
  }
}
